"""`quittance events`: list events."""

import argparse
import time
from itertools import islice

from quittance.cli.output import Output
from quittance.cli.parser import Commands, Parser
from quittance.cli.settings import add_limit, client_of, page_limit
from quittance.objects import Event

_HEADINGS = ("ID", "TYPE", "CREATED", "PAYMENT REQUEST", "REFERENCE")


def add(commands: Commands) -> list[Parser]:
    """Describe the commands."""
    group = commands.add_parser("events", help="list and get events")
    actions = group.add_subparsers(metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list them, newest first")
    listing.add_argument("--type", help="only events of this type, such as payment.succeeded")
    add_limit(listing)
    listing.set_defaults(run=_list)
    get = actions.add_parser("get", help="show an event as it is delivered")
    get.add_argument("id", metavar="ID")
    get.set_defaults(run=_get)
    return [listing, get]


def _list(options: argparse.Namespace, out: Output) -> int:
    limit = page_limit(options)
    with client_of(options) as client:
        page = client.events.list(type=options.type, limit=limit)
        rows = ((event, _row(event)) for event in islice(page.auto_paging_iter(), options.limit))
        out.table(_HEADINGS, rows, "There is no such event.")
    return 0


def _get(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        event = client.events.retrieve(options.id)
    about = event.data.object
    lines = [
        f"{event.type}  {event.id}",
        f"  created          {_time(event)}",
        f"  payment request  {about.payment_request} ({about.request_status})",
        f"  payment          {about.id or 'none'}: {about.status}",
        f"  amount           {about.amount_details or about.amount} {about.currency}",
        f"  reference        {about.reference or ''}".rstrip(),
    ]
    out.result(event, lines)
    return 0


def _row(event: Event) -> tuple[str, ...]:
    about = event.data.object
    return event.id, event.type, _time(event), about.payment_request or "", about.reference or ""


def _time(event: Event) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(event.created))
