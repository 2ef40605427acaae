"""`manage.py setup`: read the flags, prompt for missing settings, write `.env`, and run doctor."""

import argparse
import getpass
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from config.environment import SettingsError
from config.environment.checking import check
from config.environment.declared import declared
from config.setup import env_file
from config.setup.values import NEEDED, QUESTIONS, SECRET, complete

REPOSITORY = Path(__file__).resolve().parents[2]
_ASSIGNMENT = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)")
_NODE_ENDINGS = ("_RPC_URL", "_RPC_URL_2", "_RPC_URL_3")
_FLAGS = {
    "BASE_URL": "address of API and portal; other settings derive from it",
    "CHECKOUT_URL": "address of the checkout, if it differs",
    "DATABASE_URL": "PostgreSQL; prefer the environment, because other users see a command's arguments",
    "REDIS_URL": "Redis",
    "EMAIL_URL": "mail server",
    "ENVIRONMENT": "production (default) or staging",
    "TRUSTED_PROXIES": "proxies in front: a number (default 1 for https) or their networks",
}
_PROCESSES = ("web", "worker", "beat", "events")
_NEEDS_ATTENTION = 1  # doctor's exit code

Run = Callable[[Sequence[str]], int]


def main(
    arguments: Sequence[str],
    *,
    is_terminal: bool | None = None,
    run: Run | None = None,
    folder: Path = REPOSITORY,
) -> int:
    """Write `.env` in `folder`. Return the exit code: 0, the code of a failed step, or 2 if `.env` was not written."""
    options = _parser().parse_args(arguments)
    path = folder / ".env"
    if path.exists() or path.is_symlink():
        return _fail(f"{path} exists, and setup never overwrites it: edit it, or move it away.")
    given = _given(options)
    if isinstance(given, str):
        return _fail(given)
    if sys.stdin.isatty() if is_terminal is None else is_terminal:
        _prompt(given)
    missing = [name for name in NEEDED if not given.get(name)]
    if missing:
        flags = ", ".join(_flag(name) for name in missing)
        return _fail(f"Give {flags}, or set {', '.join(missing)} in the environment. Nothing was written.")
    values = complete(given)
    try:
        check(values, nodes=[name for name in values if name not in declared()])
        env_file.write(path, env_file.text_of(values))
    except (SettingsError, env_file.Unwritable) as error:
        return _fail(f"{error}\nNothing was written.")
    print(f"{path} written, with new keys, readable only by this user. Keep a copy of it in your vault.")
    return _finish(options, run or _run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="manage.py setup",
        description="Write .env for a new deployment, with generated keys. An existing .env is never overwritten. "
        "Settings in the environment are copied to the file.",
    )
    for name, text in _FLAGS.items():
        parser.add_argument(_flag(name), dest=name, metavar="VALUE", help=text)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other setting, or a node's URL such as BASE_RPC_URL=https://…; repeatable",
    )
    parser.add_argument(
        "--migrate",
        action="store_true",
        help="migrate the database and collect static files after .env is written",
    )
    parser.add_argument("--catalogue", metavar="FILE", help="load this catalogue at the end")
    parser.add_argument("--no-doctor", action="store_true", help="don't run doctor at the end")
    return parser


def _given(options: argparse.Namespace) -> dict[str, str] | str:
    """Return the values of flags and environment, or an error message."""
    given = {name: value for name, value in os.environ.items() if value and _is_known(name)}
    given |= {name: value for name in _FLAGS if (value := getattr(options, name))}
    for text in options.set:
        match = _ASSIGNMENT.fullmatch(text)
        if match is None:
            return "--set needs NAME=VALUE, with NAME in capitals."
        if not _is_known(match[1]):
            return f"There is no setting {match[1]}; .env.example lists all."
        given[match[1]] = match[2]
    return given


def _is_known(name: str) -> bool:
    return name in declared() or name.endswith(_NODE_ENDINGS)


def _prompt(given: dict[str, str]) -> None:
    for name, question in QUESTIONS.items():
        while not given.get(name):
            prompt = f"{question}\n{name}: "
            given[name] = (getpass.getpass(prompt) if name in SECRET else input(prompt)).strip()
            if name not in NEEDED:
                break


def _finish(options: argparse.Namespace, run: Run) -> int:
    steps = []
    if options.migrate:
        steps += [["migrate", "--noinput"], ["collectstatic", "--noinput", "--verbosity", "0"]]
    if options.catalogue:
        # The path must be absolute, because the command runs in another folder.
        steps.append(["load_catalogue", str(Path(options.catalogue).resolve())])
    for step in steps:
        if code := run(step):
            print(
                f"manage.py {step[0]} failed. .env is kept: fix the cause and run the step again.",
                file=sys.stderr,
            )
            return code
    code = 0 if options.no_doctor else run(["doctor"])
    if code not in (0, _NEEDS_ATTENTION):
        return code
    print(_next_steps(options, is_ready=code == 0 and not options.no_doctor))
    return 0


def _next_steps(options: argparse.Namespace, *, is_ready: bool) -> str:
    if is_ready:
        return "Set-up is complete, and doctor found nothing to do."
    steps = []
    if not options.migrate:
        steps.append("Run manage.py migrate, and collectstatic unless an image contains the static files.")
    if not options.catalogue:
        steps.append("Load a catalogue of chains and tokens: manage.py load_catalogue FILE.")
    steps += [
        "Create your account: manage.py createsuperuser.",
        f"Start the processes {', '.join(_PROCESSES)}, and a timer for backups; deploy/README.md shows how.",
        "Run manage.py doctor until it finds nothing.",
    ]
    return "Set-up is complete. Still to do:\n" + "\n".join(f"  - {step}" for step in steps)


def _run(arguments: Sequence[str]) -> int:
    command = [sys.executable, str(REPOSITORY / "manage.py"), *arguments]
    return subprocess.run(command, cwd=REPOSITORY, env=_environment()).returncode  # noqa: S603 - our own commands


def _environment() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if name not in declared()}


def _flag(name: str) -> str:
    return f"--{name.lower().replace('_', '-')}"


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 2
