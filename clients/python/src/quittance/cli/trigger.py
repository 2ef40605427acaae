"""`quittance trigger`: cause a real event, on a staging deployment."""

import argparse
import time

from quittance.cli.output import Output
from quittance.cli.parser import Commands, Parser
from quittance.cli.settings import SettingsError, client_of
from quittance.client import Client
from quittance.errors import APIError
from quittance.objects import Chain, Event, PaymentRequest, Token

# For each type of event, the outcomes that cause it. They are simulated for a new payment request, in this order.
OUTCOMES = {
    "payment.succeeded": ("paid",),
    "payment.failed": ("failed",),
    "payment.expired": ("expired",),
    "payment.partially_paid": ("underpaid",),
    "payment.overpaid": ("paid", "overpaid"),
    "payment.reorged": ("reorged",),
    "refund.completed": ("refunded",),
    "refund.failed": ("refund_failed",),
}
# Addresses that are derived from the SHA-256 of `quittance trigger`, so their keys are unknown.
_RECIPIENTS = {
    "evm": "0x4Fd8f84A1f58b7cE44Dfb7dAF132067f3569FB49",
    "solana": "6Nh6ec9BNgx4w4R62pT3cCX4RbjW9PEyaXMUafBRmCPL",
}
_PREFERRED = ("USDC", "USDT", "DAI")
_LOOKS = 20
_PAUSE_SECONDS = 0.25


class NoSandbox(Exception):
    """The deployment is not a staging deployment."""


def add(commands: Commands) -> Parser:
    """Describe the command."""
    parser = commands.add_parser(
        "trigger",
        help="trigger a real event (staging only)",
        description="Creates a small payment request and simulates its outcome, so that a real event is recorded "
        "and delivered. No money moves. Needs a staging deployment, and an API key of that deployment with "
        "create_payments.",
    )
    parser.add_argument("event", choices=list(OUTCOMES), metavar="EVENT", help=", ".join(OUTCOMES))
    parser.add_argument("--amount", default="1", help="amount in whole tokens (default: 1)")
    parser.add_argument("--chain-id", type=int, help="chain id (default: an active chain)")
    parser.add_argument("--token-id", type=int, help="token id (default: a stablecoin)")
    parser.add_argument(
        "--recipient-address",
        help="wallet that receives the payment (default: an address without a known key)",
    )
    parser.add_argument("--external-id", default="quittance-trigger", help="your own reference")
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace, out: Output) -> int:
    """Cause the event and print it."""
    with client_of(options) as client:
        require_sandbox(client, "trigger", "Nothing was created.")
        request = _ask(client, options)
        for outcome in OUTCOMES[options.event]:
            client.sandbox.simulate(request.id, outcome)
        event = _find(client, options.event, request)
    out.result(event, _in_words(event, request))
    return 0


def require_sandbox(client: Client, command: str, unchanged: str) -> None:
    """Raise NoSandbox if this is not a staging deployment. `unchanged` is the last sentence of the message."""
    if not client.sandbox.is_available():
        raise NoSandbox(
            f"{client.base_url} has no sandbox. `quittance {command}` needs a staging deployment: set "
            f"QUITTANCE_BASE_URL to its URL and QUITTANCE_API_KEY to one of its keys. {unchanged}"
        )


def _ask(client: Client, options: argparse.Namespace) -> PaymentRequest:
    chain = _chain(client, options.chain_id)
    token = _token(client.chains.tokens(chain.id), options.token_id)
    recipient = options.recipient_address or _RECIPIENTS.get(chain.chain_type)
    if recipient is None:
        raise SettingsError(f"Set --recipient-address to a wallet on {chain.name}.")
    return client.payment_requests.create(
        amount=options.amount,
        token_id=token.id,
        chain_id=chain.id,
        recipient_address=recipient,
        external_id=options.external_id,
        description=f"Created by quittance trigger {options.event}",
    )


def _chain(client: Client, id: int | None) -> Chain:
    chains = client.chains.list()
    fitting = [chain for chain in chains if chain.id == id] if id is not None else chains
    if not fitting:
        there = ", ".join(f"{chain.id} ({chain.name})" for chain in chains) or "none"
        raise SettingsError(f"No active chain has this id. Active chains: {there}.")
    return min(fitting, key=lambda chain: chain.chain_type != "evm")


def _token(tokens: list[Token], id: int | None) -> Token:
    fitting = [token for token in tokens if token.id == id] if id is not None else tokens
    if not fitting:
        there = ", ".join(f"{token.id} ({token.symbol})" for token in tokens) or "none"
        raise SettingsError(f"No active token of this chain has this id. Active tokens: {there}.")
    return min(fitting, key=lambda token: token.symbol not in _PREFERRED)


def _find(client: Client, type: str, request: PaymentRequest) -> Event:
    """Return the event that the outcome caused.

    The service stores the event in the same database transaction as the outcome, so the event exists already.
    """
    for look in range(_LOOKS):
        if look:
            time.sleep(_PAUSE_SECONDS)
        for event in client.events.list(type=type, limit=20):
            if event.data.object.payment_request == request.id:
                return event
    raise APIError(f"The outcome was simulated, but no {type} was recorded for payment request {request.id}.")


def _in_words(event: Event, request: PaymentRequest) -> list[str]:
    about = event.data.object
    return [
        f"{event.type}  {event.id}",
        f"  payment request  {request.id} ({about.request_status})",
        f"  amount           {request.amount} {request.token.symbol}",
        f"  reference        {about.reference}",
        f"  payment_url      {request.payment_url}",
        "It is sent to your endpoint if that subscribes to this type; `quittance listen` always forwards it.",
    ]
