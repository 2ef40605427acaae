"""`quittance webhooks` and `quittance deliveries`: the endpoint, and the deliveries to it."""

import argparse
from itertools import islice
from typing import Any

from quittance.cli.output import Output
from quittance.cli.parser import Commands, Parser
from quittance.cli.settings import add_limit, client_of, page_limit
from quittance.objects import Delivery, WebhookConfiguration

_HEADINGS = ("ID", "TYPE", "STATUS", "ATTEMPTS", "CREATED", "EVENT")


def add(commands: Commands) -> list[Parser]:
    """Describe the commands."""
    return [*_add_webhooks(commands), *_add_deliveries(commands)]


def _add_webhooks(commands: Commands) -> list[Parser]:
    group = commands.add_parser("webhooks", help="get, set and test the webhook endpoint")
    actions = group.add_subparsers(metavar="ACTION", required=True)

    get = actions.add_parser("get", help="show the endpoint, without its secret")
    get.add_argument("--show-secret", action="store_true", help="print the signing secret as well")
    get.set_defaults(run=_get_endpoint)

    change = actions.add_parser("set", help="set the endpoint's URL")
    change.add_argument("url", metavar="URL")
    change.add_argument(
        "--event",
        metavar="TYPE",
        action="append",
        help="send only events of this type; repeatable (default: the types don't change)",
    )
    enabling = change.add_mutually_exclusive_group()
    enabling.add_argument("--enable", dest="is_enabled", action="store_true", default=None)
    enabling.add_argument("--disable", dest="is_enabled", action="store_false")
    change.set_defaults(run=_set_endpoint)

    test = actions.add_parser("test", help="send a test event now")
    test.add_argument("--type", help="the event type (default: payment.succeeded)")
    test.set_defaults(run=_test)
    return [get, change, test]


def _add_deliveries(commands: Commands) -> list[Parser]:
    group = commands.add_parser("deliveries", help="list, get and resend webhook deliveries")
    actions = group.add_subparsers(metavar="ACTION", required=True)

    listing = actions.add_parser("list", help="list them, newest first")
    listing.add_argument("--status", choices=("pending", "delivered", "failed"))
    listing.add_argument("--type", help="only this event type, such as payment.succeeded")
    listing.add_argument("--event-id", help="only deliveries of this event")
    add_limit(listing)
    listing.set_defaults(run=_list)

    get = actions.add_parser("get", help="show a delivery with its attempts")
    get.add_argument("id", metavar="ID")
    get.set_defaults(run=_get)

    resend = actions.add_parser("redeliver", help="send one delivery again")
    resend.add_argument("id", metavar="ID")
    resend.set_defaults(run=_redeliver)

    failed = actions.add_parser("redeliver-failed", help="send all failed deliveries again")
    failed.add_argument(
        "--since",
        metavar="TIME",
        required=True,
        help="only deliveries that failed since this time, such as 2026-01-31T12:00:00Z",
    )
    failed.add_argument("--type", help="only this event type")
    failed.set_defaults(run=_redeliver_failed)
    return [listing, get, resend, failed]


def _get_endpoint(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        _show(client.webhooks.retrieve(), out, with_secret=options.show_secret)
    return 0


def _set_endpoint(options: argparse.Namespace, out: Output) -> int:
    events: dict[str, Any] = {} if options.event is None else {"enabled_events": options.event}
    with client_of(options) as client:
        _show(client.webhooks.update(url=options.url, is_enabled=options.is_enabled, **events), out)
    return 0


def _show(endpoint: WebhookConfiguration, out: Output, *, with_secret: bool = False) -> None:
    answer = endpoint.to_dict()
    if not with_secret:
        answer.pop("secret", None)
    if endpoint.url is None:
        out.result(answer, ["No endpoint is set. Set one with: quittance webhooks set URL"])
        return
    state = "enabled" if endpoint.is_enabled else f"disabled ({endpoint.disabled_reason or 'by you'})"
    lines = [
        f"{endpoint.url}: {state}",
        f"  events  {', '.join(endpoint.enabled_events or ['the default types'])}",
    ]
    if with_secret:
        lines.append(f"  secret  {endpoint.secret}")
    out.result(answer, lines)


def _test(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        result = client.webhooks.test(type=options.type)
    how = f"HTTP {result.status_code} in {result.duration_ms} ms" if result.status_code else result.error
    out.result(result, [f"{result.event_id}: {'delivered' if result.delivered else 'not delivered'}, {how}"])
    return 0 if result.delivered else 1


def _list(options: argparse.Namespace, out: Output) -> int:
    limit = page_limit(options)
    with client_of(options) as client:
        page = client.deliveries.list(
            event_id=options.event_id,
            type=options.type,
            status=options.status,
            limit=limit,
        )
        rows = ((delivery, _row(delivery)) for delivery in islice(page.auto_paging_iter(), options.limit))
        out.table(_HEADINGS, rows, "There are no such deliveries.")
    return 0


def _get(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        delivery = client.deliveries.retrieve(options.id)
    out.result(delivery, _lines(delivery))
    return 0


def _redeliver(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        delivery = client.deliveries.redeliver(options.id)
    out.result(delivery, _lines(delivery))
    return 0


def _redeliver_failed(options: argparse.Namespace, out: Output) -> int:
    with client_of(options) as client:
        count = client.deliveries.redeliver_failed(options.since, type=options.type)
    out.result({"count": count}, [f"{count} deliveries are sent again."])
    return 0


def _row(delivery: Delivery) -> tuple[str, ...]:
    created = f"{delivery.created_at:%Y-%m-%d %H:%M:%SZ}"
    attempts = str(delivery.attempt_count)
    return delivery.id, delivery.type, delivery.status, attempts, created, delivery.event_id


def _lines(delivery: Delivery) -> list[str]:
    lines = [
        f"{delivery.id}: {delivery.status}",
        f"  event     {delivery.event_id} ({delivery.type})",
        f"  URL       {delivery.url or 'none'}",
        f"  attempts  {delivery.attempt_count}",
    ]
    if delivery.next_attempt_at:
        lines.append(f"  next      {delivery.next_attempt_at:%Y-%m-%d %H:%M:%SZ}")
    return lines
