"""`quittance refunds`: create, list, get and cancel."""

import argparse
from itertools import islice

from quittance.cli.output import Output
from quittance.cli.parser import Commands, Parser
from quittance.cli.settings import add_limit, client_of, page_limit
from quittance.objects import Refund

_HEADINGS = ("ID", "STATUS", "AMOUNT", "PAYMENT REQUEST", "CREATED")


def add(commands: Commands) -> list[Parser]:
    """Describe the commands."""
    group = commands.add_parser("refunds", help="create, list, get and cancel refunds")
    actions = group.add_subparsers(metavar="ACTION", required=True)

    create = actions.add_parser("create", help="refund a payment request; you sign the transaction yourself")
    create.add_argument("id", metavar="PAYMENT_REQUEST_ID")
    create.add_argument(
        "--amount", help="amount in whole tokens (default: the whole amount that can be refunded)"
    )
    create.add_argument(
        "--recipient-address",
        help="the customer's wallet (default: the customer enters one at the claim URL)",
    )
    create.add_argument("--payment-id", help="the payment to refund")
    create.add_argument("--reason", help="your reason; the customer doesn't see it")
    create.add_argument("--idempotency-key", help="makes retries safe: the same key returns the same refund")
    create.set_defaults(run=_create)

    listing = actions.add_parser("list", help="list them, newest first")
    listing.add_argument("--payment-request-id", help="only refunds of this payment request")
    add_limit(listing)
    listing.set_defaults(run=_list)

    get = actions.add_parser("get", help="show a refund")
    get.add_argument("id", metavar="ID")
    get.set_defaults(run=_get)

    cancel = actions.add_parser("cancel", help="cancel a refund before its transaction is sent")
    cancel.add_argument("id", metavar="ID")
    cancel.set_defaults(run=_cancel)
    return [create, listing, get, cancel]


def _create(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        refund = client.refunds.create(
            options.id,
            amount=options.amount,
            recipient_address=options.recipient_address,
            payment_id=options.payment_id,
            reason=options.reason,
            idempotency_key=options.idempotency_key,
        )
    out.result(refund, _lines(refund))
    return 0


def _list(options: argparse.Namespace, out: Output) -> int:
    limit = page_limit(options)
    with client_of(options) as client:
        page = client.refunds.list(options.payment_request_id, limit=limit)
        rows = ((refund, _row(refund)) for refund in islice(page.auto_paging_iter(), options.limit))
        out.table(_HEADINGS, rows, "There are no refunds.")
    return 0


def _get(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        refund = client.refunds.retrieve(options.id)
    out.result(refund, _lines(refund))
    return 0


def _cancel(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        refund = client.refunds.cancel(options.id)
    out.result(refund, _lines(refund))
    return 0


def _row(refund: Refund) -> tuple[str, ...]:
    return (
        refund.id,
        refund.status,
        f"{refund.amount.formatted} {refund.token.symbol}",
        refund.payment_request,
        f"{refund.created_at:%Y-%m-%d %H:%M:%SZ}",
    )


def _lines(refund: Refund) -> list[str]:
    lines = [
        f"{refund.id}: {refund.status}",
        f"  amount           {refund.amount.formatted} {refund.token.symbol} on chain {refund.chain_id}",
        f"  payment request  {refund.payment_request}",
        f"  recipient        {refund.recipient_address or 'none yet: the customer names one at the claim URL'}",
        f"  claim URL        {refund.claim_url}",
    ]
    if refund.refund_url:
        lines.append(f"  sign it at       {refund.refund_url}")
    if refund.transaction_hash:
        lines.append(f"  transaction      {refund.transaction_hash}")
    if refund.failure_code:
        lines.append(f"  failure          {refund.failure_code}: {refund.failure_message}")
    return lines
