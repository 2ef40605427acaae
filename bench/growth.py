"""Measure whether calls and periodic tasks get slower as tables grow: 10,000, 100,000 and 1,000,000 payment requests.

`make bench-scale`, or `SCALE=5000000 make bench-scale` for a fourth size.

A larger database has a longer history, but the same number of requests per day. A request has at most one payment, its
history, and two events with deliveries and attempts. All events are from the last 29 days.

There is one database for each size, all on one server. Each operation is measured in the databases by turns. So a busy
machine slows down all sizes equally. Calls are made with Django's test client in this process, without a network. The
periodic tasks find the same number of due rows at each size. The tasks' changes are rolled back.
"""

# ruff: noqa: S311, S608 - nothing here is secret, and the SQL is put together from this file's own words

import argparse
import os
import platform
import random
import shutil
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.admin_pages import _SETTINGS

SIZES = (10_000, 100_000, 1_000_000, 5_000_000)
EVENTS_EACH = 2
DUE = 100
OLD_EVENTS = 500
GOAL = 1.2
ROUNDS = 30
FEWEST = 5
LONGEST_SECONDS = 12.0
REQUESTS_A_DAY = 10_000 / 36
BYTES_PER_REQUEST = 9_000


@dataclass
class Database:
    """A filled database, with its connection, its test clients, and the rows that the calls request."""

    size: int
    connection: Any
    api: Any = None
    portal: Any = None
    staff: Any = None
    requests: list[Any] = field(default_factory=list)
    payments: list[Any] = field(default_factory=list)
    token: Any = None
    bytes: int = 0
    asked: dict[str, float] = field(default_factory=dict)


Operation = Callable[[Database], object]


def main(arguments: argparse.Namespace) -> int:
    """Fill the databases, measure, and print.

    Return 1 if an operation takes more than 1.2 times as long as at the smallest size.
    """
    sizes = [size for size in arguments.sizes if size <= arguments.scale]
    needed, free = sum(sizes) * BYTES_PER_REQUEST, shutil.disk_usage("/tmp").free  # noqa: S108 - where it is
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    if free < needed * 1.2:
        print(f"This takes {needed / 1e9:.0f} GB in /tmp, where {free / 1e9:.0f} GB are free.")
        return 2
    began = time.perf_counter()
    databases = [_filled(size, arguments.events) for size in sizes]
    print(f"filled in {time.perf_counter() - began:.0f} s; measuring…", flush=True)
    for database in databases:
        with _used(database):
            _prepare(database)
    print(_heading(databases))
    chosen = {name: operation for name, operation in operations().items() if arguments.only in name}
    missed = [name for name, operation in chosen.items() if not _measured(name, operation, databases)]
    print(
        f"goal: at most {GOAL} times the smallest size: {'missed by ' + ', '.join(missed) if missed else 'met'}"
    )
    return int(bool(missed))


def operations() -> dict[str, Operation]:
    """Return the operations to measure, by name."""
    return {
        "create": _create,
        "get": lambda at: _ok(at.api.get(f"/api/payment-requests/{random.choice(at.requests).pk}")),
        "public details": lambda at: _ok(
            at.api.get(f"/api/public/payment-requests/{random.choice(at.requests).shortcode}")
        ),
        **{f"list: {name}": _api(path) for name, path in _LISTS.items()},
        "list: by order number": lambda at: _ok(
            at.api.get("/api/payment-requests", {"external_id": random.choice(at.requests).external_id})
        ),
        "list: from the middle": lambda at: _ok(
            at.api.get("/api/payment-requests", {"starting_after": str(random.choice(at.requests).pk)})
        ),
        **{f"search: {name}": _search(value) for name, value in _SEARCHES.items()},
        **{f"sweep: {name}": sweep for name, sweep in _sweeps().items()},
        **{f"portal: {name}": _portal(path) for name, path in _PAGES.items()},
        **{f"merchant's portal: {name}": _staff(path) for name, path in _PAGES.items() if name in _FOR_STAFF},
    }


_LISTS = {
    "requests": "/api/payment-requests",
    "active": "/api/payment-requests?status=active",
    "completed": "/api/payment-requests?status=completed",
    "events": "/api/events",
    "events of a type": "/api/events?type=payment.failed",
    "deliveries": "/api/webhooks/deliveries",
    "failed deliveries": "/api/webhooks/deliveries?status=failed",
}
_SEARCHES: dict[str, Callable[[Any], str]] = {
    "shortcode": lambda payment: payment.request.shortcode,
    "order number": lambda payment: payment.request.external_id,
    "transaction": lambda payment: payment.transaction_hash,
    "payment": lambda payment: payment.pk,
    "wallet": lambda payment: payment.from_address,
}
_PAGES = {
    "dashboard": "/admin/",
    "requests": "/admin/payments/paymentrequest/",
    "completed requests": "/admin/payments/paymentrequest/?status__exact=completed",
    "payments": "/admin/payments/payment/",
    "failed payments": "/admin/payments/payment/?status__exact=failed",
    "could be accepted": "/admin/payments/payment/?attention=not_bound",
    "history": "/admin/payments/transition/",
    "transfers": "/admin/payments/consumedtransfer/",
    "events": "/admin/webhooks/event/",
    "deliveries": "/admin/webhooks/delivery/",
    "failed deliveries": "/admin/webhooks/delivery/?status__exact=failed",
}
_FOR_STAFF = ("dashboard", "requests", "payments", "deliveries")


def _filled(size: int, events: int) -> Database:
    """Create and fill a database. Return it with a connection."""
    from django.core.management import call_command
    from django.db import connection

    from bench.admin_data import Size, chains_at_work, generate

    name = f"growth_{size}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    home = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = name
    try:
        call_command("migrate", verbosity=0)
        days = max(round(size / REQUESTS_A_DAY), 1)
        contents = Size(size, size * events, 400, 4_000, days=days, event_days=29)
        generate(contents, lambda text: print(f"  {size:,}: {text}", flush=True))
        chains_at_work()
        _count_days(size)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            database = Database(size, connection.connection, bytes=cursor.fetchone()[0])
        connection.connection = None
        return database
    finally:
        connection.settings_dict["NAME"] = home


def _count_days(size: int) -> None:
    """Compute the daily statistics only for the days that the dashboard shows, because all days would take long."""
    from datetime import timedelta

    from django.utils import timezone

    from payments.models import FiguresProgress
    from payments.stats.daily import rebuild, update_statistics

    today = timezone.now().date()
    FiguresProgress.objects.get_or_create(
        pk=1, defaults={"seen_until": timezone.now(), "filled_from": today - timedelta(days=36500)}
    )
    days = list(rebuild(today - timedelta(days=35), today))
    update_statistics()
    print(f"  {size:,}: {len(days)} days counted", flush=True)


@contextmanager
def _used(database: Database) -> Any:
    """Let Django use this database's connection."""
    from django.db import connection

    connection.connection = database.connection
    try:
        yield
    finally:
        connection.connection = None


def _prepare(database: Database) -> None:
    """Make some rows due for the periodic tasks, as many as in the other databases.

    Choose the rows that the calls request.
    """
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client

    from chains.models import Token
    from merchants.models import Merchant
    from merchants.services import issue_key
    from merchants.staff.roles import assign_role
    from payments.models import Payment, PaymentRequest

    with connection.cursor() as cursor:
        for statement in _DUE_ROWS:
            cursor.execute(statement)
        cursor.execute("ANALYZE")
    busiest = Merchant.objects.order_by("name").first()
    assert busiest is not None
    _, key = issue_key(merchant=busiest, permissions=["create_payments", "manage_webhooks"], name="bench")
    database.api, database.portal, database.staff = Client(headers={"X-API-Key": key}), Client(), Client()
    database.portal.force_login(User.objects.create_superuser("bench"))
    user = User.objects.create_user("bench staff", is_staff=True)
    assign_role(user, "merchant", busiest)
    database.staff.force_login(user)
    step = max(PaymentRequest.objects.filter(merchant=busiest).count() // 200, 1)
    ids = list(
        PaymentRequest.objects.filter(merchant=busiest).order_by("pk").values_list("pk", flat=True)[::step]
    )
    database.requests = list(PaymentRequest.objects.filter(pk__in=ids))
    database.payments = list(Payment.objects.filter(request__in=ids).select_related("request"))
    database.token = Token.objects.filter(is_active=True, symbol="USDC", chain__chain_type="evm").first()


_DUE_ROWS = (
    "UPDATE payments_paymentrequest SET status = 'active', expired_at = NULL, cancelled_at = NULL,"
    " expires_at = now() - interval '1 second', expiry_check_at = now() - interval '1 second' WHERE id IN ("
    " SELECT id FROM payments_paymentrequest WHERE status = 'expired' AND amount_paid = 0"
    f" ORDER BY created_at DESC LIMIT {DUE})",
    "UPDATE payments_paymentrequest SET link_shown_at = created_at WHERE id IN ("
    f" SELECT id FROM payments_paymentrequest ORDER BY created_at DESC LIMIT {DUE})",
    "WITH reopened AS (UPDATE payments_payment SET status = 'processing', failed_at = NULL, failure_code = ''"
    " WHERE id IN (SELECT id FROM payments_payment WHERE status = 'failed'"
    f" ORDER BY created_at DESC LIMIT {DUE}) RETURNING id) UPDATE payments_lookup SET next_check_at = now()"
    " FROM reopened WHERE of_payment_id = reopened.id",
    "UPDATE webhooks_delivery SET status = 'pending', due_at = now(), finished_at = NULL, attempts = 0"
    " WHERE id IN (SELECT id FROM webhooks_delivery WHERE status = 'delivered'"
    f" ORDER BY created_at DESC LIMIT {DUE})",
    "UPDATE webhooks_event SET created = created - interval '2 days' WHERE id IN ("
    f" SELECT id FROM webhooks_event ORDER BY created LIMIT {OLD_EVENTS})",
    "UPDATE merchants_idempotencykey SET expires_at = now()",
)


def _create(at: Database) -> object:
    body = {
        "chain_id": at.token.chain_id,
        "token_id": at.token.pk,
        "amount": "12.5",
        "recipient_address": "0x52908400098527886E0F7030069857D2E4169EE7",
        "external_id": f"order-{random.getrandbits(40)}",
    }
    response = at.api.post(
        "/api/payment-requests",
        body,
        content_type="application/json",
        headers={"Idempotency-Key": f"{random.getrandbits(80)}"},
    )
    if response.status_code != 201:
        raise RuntimeError(f"HTTP {response.status_code}: {response.content[:300]!r}")
    return response


def _api(path: str) -> Operation:
    return lambda at: _ok(at.api.get(path))


def _portal(path: str) -> Operation:
    return lambda at: _ok(at.portal.get(path))


def _staff(path: str) -> Operation:
    return lambda at: _ok(at.staff.get(path))


def _search(value: Callable[[Any], str]) -> Operation:
    return lambda at: _ok(
        at.portal.get("/admin/payments/paymentrequest/", {"q": value(random.choice(at.payments))})
    )


def _ok(response: Any) -> object:
    if response.status_code != 200:
        raise RuntimeError(f"HTTP {response.status_code}: {response.content[:300]!r}")
    return response


def _sweeps() -> dict[str, Operation]:
    from django.utils import timezone

    from chains.models import Chain
    from payments.discovery.watches import by_merchant, watched
    from payments.requests import lifecycle
    from payments.verification import leasing
    from webhooks.dispatch.leasing import claim_due
    from webhooks.storage import retention

    def discovery() -> None:
        now = timezone.now()
        for chain in Chain.objects.filter(is_active=True):
            by_merchant(watched(chain, now))

    def verification() -> None:
        now = timezone.now()
        for chain_id in leasing.LOOKUPS.lanes(now):
            leasing.claim_due(now, chain_id)

    return {
        "verify due": _rolled_back(verification),
        "expire due": _rolled_back(lifecycle.expire_due),
        "discovery plan": _rolled_back(discovery),
        "deliver due": _rolled_back(lambda: claim_due(limit=DUE, now=timezone.now())),
        "purge": _rolled_back(lambda: retention.purge(timezone.now())),
    }


def _rolled_back(sweep: Callable[[], object]) -> Operation:
    from django.db import transaction

    def run(_: Database) -> None:
        with transaction.atomic():
            sweep()
            transaction.set_rollback(True)

    return run


def _measured(name: str, operation: Operation, databases: list[Database]) -> bool:
    """Measure the operation in all databases by turns, and print a line with the results.

    Return whether the operation meets the goal.
    """
    took: dict[int, list[float]] = {database.size: [] for database in databases}
    waited: dict[int, list[float]] = {database.size: [] for database in databases}
    began, rounds = time.perf_counter(), 0
    for database in databases:
        database.asked.clear()
    while rounds < 2 + FEWEST or (rounds < 2 + ROUNDS and time.perf_counter() - began < LONGEST_SECONDS):
        for database in databases:
            seconds, in_database = _timed(operation, database)
            if rounds >= 2:  # the first two only warm up
                took[database.size].append(seconds * 1000)
                waited[database.size].append(in_database * 1000)
        rounds += 1
    medians = [statistics.median(took[database.size] or [0.0]) for database in databases]
    in_databases = [statistics.median(waited[database.size] or [0.0]) for database in databases]
    ratio = max(medians) / medians[0] if medians[0] else 0.0
    cells = "".join(f"{total:9.1f} ({part:.1f})" for total, part in zip(medians, in_databases, strict=True))
    print(f"{name:36}{cells}{ratio:8.2f}  {'ok' if ratio <= GOAL else 'MISSED'}", flush=True)
    if ratio > GOAL:
        first, last = databases[0].asked, databases[-1].asked
        grew = max(last, key=lambda sql: last[sql] - first.get(sql, 0.0))
        spent, before = last[grew] * 1000 / rounds, first.get(grew, 0.0) * 1000 / rounds
        print(f"    {before:.1f} → {spent:.1f} ms: {grew[:600]}")
    return ratio <= GOAL


def _timed(operation: Operation, database: Database) -> tuple[float, float]:
    """Return the operation's duration, and how much of it was spent on queries."""
    from django.db import connection

    waited = 0.0

    def listen(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal waited
        asked = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            waited += time.perf_counter() - asked
            database.asked[sql] = database.asked.get(sql, 0.0) + time.perf_counter() - asked

    with _used(database), connection.execute_wrapper(listen):
        began = time.perf_counter()
        operation(database)
        return time.perf_counter() - began, waited


def _heading(databases: list[Database]) -> str:
    sizes = "".join(f"{database.size:>15,}" for database in databases)
    space = "".join(f"{database.bytes / 1e9:>12.2f} GB" for database in databases)
    return f"{'median, in ms (in the database)':36}{sizes}   ratio\n{'database':36}{space}"


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.growth", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--scale", type=int, default=int(os.environ.get("SCALE") or 1_000_000))
    parser.add_argument("--only", default="", help="run only the operations whose name contains this text")
    parser.add_argument(
        "--events", type=int, default=EVENTS_EACH, help="number of events for each request, at least 1"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    warnings.filterwarnings("ignore", "No directory at")
    import django

    django.setup()
    from django.db import connection

    connection.settings_dict["OPTIONS"].pop("pool", None)
    random.seed(42)
    sys.exit(main(parsed(sys.argv[1:])))
