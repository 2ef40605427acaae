"""The `quittance` command: its arguments and exit codes."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from quittance import retries
from quittance.cli import (
    catalogue,
    deposits,
    events,
    listen,
    payment_requests,
    refunds,
    simulate,
    trigger,
    webhooks,
)
from quittance.cli.output import Output
from quittance.cli.parser import Parser, without_secrets
from quittance.cli.settings import SettingsError, add_options
from quittance.errors import (
    APIConnectionError,
    AuthenticationError,
    PermissionDeniedError,
    QuittanceError,
)
from quittance.version import __version__

OK, REFUSED, WRONG_USE, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 130
_EPILOG = """\
environment:
  QUITTANCE_API_KEY         the API key (or --api-key-file; never an argument, since those are seen by ps)
  QUITTANCE_BASE_URL        the deployment's URL (or --base-url)
  QUITTANCE_WEBHOOK_SECRET  what `listen` signs with

exit codes:
  0 success   1 rejected   2 usage or settings error   3 service unavailable   130 interrupted"""


def run() -> NoReturn:
    """Run the command with the process's arguments, and exit."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    out = Output(as_json=options.json)
    try:
        return int(options.run(options, out))
    except SettingsError as error:
        out.remark(without_secrets(f"quittance: {error}"))
        return WRONG_USE
    except ValueError as error:  # raised by the library before a call, for example for an invalid ID
        out.remark(f"quittance: {error}")
        return WRONG_USE
    except trigger.NoSandbox as error:
        out.remark(f"quittance: {error}")
        return REFUSED
    except QuittanceError as error:
        out.remark(f"quittance: {error}")
        for line in _advice(error):
            out.remark(f"  {line}")
        return _code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the program that reads the output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


def _parser() -> Parser:
    parser = Parser(
        prog="quittance",
        description="Try Quittance from the command line.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"quittance {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    described = [
        listen.add(commands),
        trigger.add(commands),
        simulate.add(commands),
        *payment_requests.add(commands),
        *refunds.add(commands),
        *webhooks.add(commands),
        *events.add(commands),
        *catalogue.add(commands),
        *deposits.add(commands),
    ]
    for command in described:
        add_options(command)
    return parser


def _advice(error: QuittanceError) -> list[str]:
    """Return the next step, if the API's message doesn't contain one."""
    if isinstance(error, AuthenticationError):
        return ["Check QUITTANCE_API_KEY: keys belong to one deployment, and are made in its admin."]
    if isinstance(error, PermissionDeniedError):
        return ["Use a key that has the permission; the admin shows what each key may do."]
    if isinstance(error, APIConnectionError):
        return ["Check QUITTANCE_BASE_URL and the network."]
    return [f"{each.get('param')}: {each.get('message')}" for each in error.details[1:]]


def _code(error: QuittanceError) -> int:
    if isinstance(error, APIConnectionError):
        return UNREACHABLE
    is_temporary = error.status is not None and retries.is_temporary(error.status, error.code)
    return UNREACHABLE if is_temporary else REFUSED
