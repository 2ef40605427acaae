"""`quittance requests`: create, list, get and cancel."""

import argparse
from itertools import islice

from quittance.cli.output import Output
from quittance.cli.parser import Commands, Parser
from quittance.cli.settings import SettingsError, add_limit, client_of, page_limit
from quittance.objects import PaymentRequest

_HEADINGS = ("ID", "STATUS", "AMOUNT", "PAID", "REFERENCE", "CREATED")


def add(commands: Commands) -> list[Parser]:
    """Describe the commands."""
    group = commands.add_parser("requests", help="create, list, get and cancel payment requests")
    actions = group.add_subparsers(metavar="ACTION", required=True)

    create = actions.add_parser("create", help="create a payment request")
    asked = create.add_mutually_exclusive_group(required=True)
    asked.add_argument("--amount", help="amount in whole tokens, such as 12.50")
    asked.add_argument(
        "--price",
        nargs=2,
        metavar=("AMOUNT", "CURRENCY"),
        help="price in a currency, such as 25.00 EUR; the service converts it into the token",
    )
    create.add_argument("--chain-id", type=int, required=True, help="chain id, from `quittance chains`")
    create.add_argument(
        "--token-id", type=int, required=True, help="token id, from `quittance tokens CHAIN_ID`"
    )
    create.add_argument("--recipient-address", required=True, help="wallet that receives the payment")
    create.add_argument("--external-id", help="your own reference, such as an order number")
    create.add_argument("--description", help="text that the customer sees")
    create.add_argument(
        "--metadata",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="your own key-value pair; repeatable",
    )
    create.add_argument("--redirect-url", help="URL that customers return to after completion")
    create.add_argument("--cancel-url", help="URL that customers return to if they cancel")
    create.add_argument(
        "--expires-in",
        type=int,
        metavar="SECONDS",
        help="seconds until the request expires, 60 to 2592000 (default: 3600)",
    )
    create.add_argument(
        "--webhook-url", help="URL that receives this request's events instead of your endpoint"
    )
    create.add_argument("--idempotency-key", help="makes retries safe: the same key returns the same request")
    create.set_defaults(run=_create)

    listing = actions.add_parser("list", help="list them, newest first")
    listing.add_argument("--status", choices=("active", "completed", "expired", "cancelled"))
    listing.add_argument("--external-id", help="your own reference")
    listing.add_argument("--chain-id", type=int)
    listing.add_argument("--token-id", type=int)
    listing.add_argument("--created-after", metavar="TIME", help="time such as 2026-01-31T12:00:00Z")
    listing.add_argument("--created-before", metavar="TIME")
    add_limit(listing)
    listing.set_defaults(run=_list)

    get = actions.add_parser("get", help="show a request with its payments")
    get.add_argument("id", metavar="ID")
    get.set_defaults(run=_get)

    cancel = actions.add_parser("cancel", help="cancel an active request")
    cancel.add_argument("id", metavar="ID")
    cancel.set_defaults(run=_cancel)
    return [create, listing, get, cancel]


def _create(options: argparse.Namespace, out: Output) -> int:
    metadata = dict(_pair(text) for text in options.metadata)
    with client_of(options) as client:
        request = client.payment_requests.create(
            amount=options.amount,
            price=options.price and {"amount": options.price[0], "currency": options.price[1]},
            token_id=options.token_id,
            chain_id=options.chain_id,
            recipient_address=options.recipient_address,
            external_id=options.external_id,
            description=options.description,
            metadata=metadata or None,
            redirect_url=options.redirect_url,
            cancel_url=options.cancel_url,
            expires_in=options.expires_in,
            webhook_url=options.webhook_url,
            idempotency_key=options.idempotency_key,
        )
    out.result(request, in_words(request))
    return 0


def _list(options: argparse.Namespace, out: Output) -> int:
    limit = page_limit(options)
    with client_of(options) as client:
        page = client.payment_requests.list(
            status=options.status,
            external_id=options.external_id,
            chain_id=options.chain_id,
            token_id=options.token_id,
            created_after=options.created_after,
            created_before=options.created_before,
            limit=limit,
        )
        rows = ((request, _row(request)) for request in islice(page.auto_paging_iter(), options.limit))
        out.table(_HEADINGS, rows, "There is no such payment request.")
    return 0


def _get(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        request = client.payment_requests.retrieve(options.id)
    out.result(request, in_words(request))
    return 0


def _cancel(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        request = client.payment_requests.cancel(options.id)
    out.result(request, in_words(request))
    return 0


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise SettingsError(f"--metadata should be KEY=VALUE; got {text!r}.")
    return key, value


def _row(request: PaymentRequest) -> tuple[str, ...]:
    return (
        request.id,
        request.status,
        f"{request.amount} {request.token.symbol}",
        str(request.amount_paid),
        request.external_id or "",
        f"{request.created_at:%Y-%m-%d %H:%M:%S}Z",
    )


def in_words(request: PaymentRequest) -> list[str]:
    """Return a request as lines of text."""
    lines = [
        f"Payment request {request.id}: {request.status}",
        f"  amount     {request.amount} {request.token.symbol} on chain {request.chain_id}",
        f"  paid       {request.amount_paid} ({request.amount_remaining} to go)",
        f"  to         {request.recipient_address}",
        f"  pay at     {request.payment_url}",
        f"  expires    {request.expires_at:%Y-%m-%d %H:%M:%S}Z",
    ]
    if request.external_id:
        lines.append(f"  reference  {request.external_id}")
    for payment in request.payments or []:
        lines.append(
            f"  payment    {payment.id}: {payment.status}  {payment.transaction_hash or ''}".rstrip()
        )
        if payment.failure_code:
            lines.append(f"             {payment.failure_code}: {payment.failure_message}")
    return lines
