"""`quittance simulate`: simulate an outcome of your own payment request, on a staging deployment."""

import argparse

from quittance.cli.output import Output
from quittance.cli.parser import Commands, Parser
from quittance.cli.payment_requests import in_words
from quittance.cli.settings import client_of
from quittance.cli.trigger import require_sandbox

OUTCOMES = (
    "paid",
    "underpaid",
    "overpaid",
    "paid_late",
    "pending",
    "processing",
    "sped_up",
    "failed",
    "not_bound",
    "ambiguous",
    "not_verifiable",
    "not_found",
    "timed_out",
    "replaced",
    "expired",
    "reorged",
    "restored",
    "swap_completed",
    "swap_partial",
    "swap_failed",
    "bridge_refunded",
    "refunded",
    "refund_requires_address",
    "refund_claimed",
    "refund_ready",
    "refund_processing",
    "refund_completed",
    "refund_failed",
    "refund_cancelled",
)


def add(commands: Commands) -> Parser:
    """Describe the command."""
    parser = commands.add_parser(
        "simulate",
        help="simulate an outcome of a payment request (staging only)",
        description="Simulates an outcome of an existing payment request. The same events are sent as in production. "
        "No money moves. Needs a staging deployment, and an API key of that deployment with create_payments.",
    )
    parser.add_argument("id", metavar="ID", help="id of the payment request")
    parser.add_argument("outcome", choices=OUTCOMES, metavar="OUTCOME", help=", ".join(OUTCOMES))
    parser.add_argument(
        "--payment-id",
        metavar="ID",
        help="open simulated payment to complete or fail (default: the newest; if there is none, a new one)",
    )
    parser.add_argument(
        "--refund-id",
        metavar="ID",
        help="refund to complete or fail (default: the newest open one; if there is none, a new one)",
    )
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace, out: Output) -> int:
    """Simulate the outcome and print the request."""
    with client_of(options) as client:
        require_sandbox(client, "simulate", "Nothing was changed.")
        request = client.sandbox.simulate(
            options.id, options.outcome, payment_id=options.payment_id, refund_id=options.refund_id
        )
    out.result(request, in_words(request))
    return 0
