"""`quittance deposits`: recompute a deposit address and build its sweep, offline."""

import argparse
from dataclasses import asdict

from quittance import deposits
from quittance.cli.output import Output
from quittance.cli.parser import Commands, Parser

_NATIVE = "native"


def add(commands: Commands) -> list[Parser]:
    """Describe the commands."""
    group = commands.add_parser(
        "deposits", help="recompute deposit addresses and build sweeps without network access"
    )
    actions = group.add_subparsers(metavar="ACTION", required=True)

    address = actions.add_parser("address", help="recompute a deposit address")
    _add_deposit(address)
    address.add_argument(
        "--init-code", metavar="HEX", help="use this init code of the forwarder instead of a recipient"
    )
    address.add_argument(
        "--init-code-hash",
        metavar="HEX",
        help="use this Keccak-256 hash of the init code instead of the init code",
    )
    address.set_defaults(run=_address)

    sweep = actions.add_parser(
        "sweep", help="print, as JSON, the unsigned transaction that sends the whole balance to the recipient"
    )
    _add_deposit(sweep)
    sweep.add_argument(
        "--token",
        action="append",
        metavar="0x…",
        help=f"a token's contract, or {_NATIVE}; repeat it for several",
    )
    sweep.set_defaults(run=_sweep)
    return [address, sweep]


def _add_deposit(parser: Parser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--payment-request", metavar="ID", help="the ID of the payment request")
    source.add_argument("--salt", metavar="HEX", help="the salt that the API returned")
    parser.add_argument("--recipient", metavar="0x…", help="the recipient of the payment request")
    parser.add_argument("--factory", metavar="0x…", default=deposits.FACTORY, help="default: %(default)s")


def _address(options: argparse.Namespace, out: Output) -> int:
    if options.init_code is None and options.init_code_hash is None:
        deposit = _deposit(options)
        out.result(asdict(deposit), [deposit.address])
        return 0
    if options.salt is None or options.recipient is not None:
        raise ValueError("With --init-code or --init-code-hash, pass --salt, and no --recipient.")
    address = deposits.compute_address(
        options.factory, options.salt, init_code=options.init_code, init_code_hash=options.init_code_hash
    )
    lines = [address]
    if options.init_code is not None:
        lines.append(f"  recipient  {deposits.recipient_of(options.init_code)}")
    out.result({"address": address}, lines)
    return 0


def _sweep(options: argparse.Namespace, out: Output) -> int:
    if not options.token:
        raise ValueError(f"Pass --token with a token's contract, or --token {_NATIVE}.")
    deposit = _deposit(options)
    assets = ["" if token == _NATIVE else token for token in options.token]
    out.json([deposits.build_sweep([(deposit, asset) for asset in assets])])
    return 0


def _deposit(options: argparse.Namespace) -> deposits.Deposit:
    if options.recipient is None:
        raise ValueError("Pass --recipient, the recipient of the payment request.")
    if options.payment_request is not None:
        return deposits.find(options.payment_request, options.recipient, factory=options.factory)
    return deposits.from_salt(options.salt, options.recipient, factory=options.factory)
