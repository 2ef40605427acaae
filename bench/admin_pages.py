"""Measure the pages of the admin and the lists of the API with a million requests and five million deliveries.

`make bench-admin`, or `python -m demo.services python -m bench.admin_pages [--requests N --deliveries N]`.

Django's test client builds each page in this process. So only the server's time is measured, without a network. In the
same run, an empty page of the admin is measured (the floor). It shows the least time that the framework and the theme
need. The database's time is the duration of the queries. On a busy machine, it includes waiting.
"""

import argparse
import os
import platform
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

_SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "DEBUG": "false",
    "ENVIRONMENT": "staging",
    "BASE_URL": "http://localhost",
    "CHECKOUT_URL": "http://localhost",
    "ALLOWED_HOSTS": "*",
    "ALLOW_HTTP_URLS": "true",
    "EMAIL_URL": "memorymail://",
    "LOG_LEVEL": "ERROR",
    "RATE_LIMIT_API": "1000000/second",
}
GOAL_MS = 200
ROUNDS = 20
LONGEST_MS = 10_000
# Pages as members of the largest merchant see them, with only that merchant's rows.
OF_MERCHANT_STAFF = (
    "dashboard, 90 days",
    "keys",
    "requests",
    "requests: overpaid",
    "payments",
    "deliveries",
    "history",
)
OK = 200
MISSED = "MISSED"
FLOOR = "floor: an empty page of the admin"


@dataclass(frozen=True)
class Page:
    """One page to measure. `get` builds it and returns its status."""

    name: str
    get: Callable[[], int]


@dataclass(frozen=True)
class Measured:
    """The times of a page in milliseconds (total, database, processor), and the number of its queries."""

    name: str
    p50: float
    p95: float
    database: float
    processor: float
    queries: int
    slowest_query: str


def main(arguments: argparse.Namespace) -> int:
    """Fill the database, measure, and print. Return 1 if a page misses the goal."""
    from django.core.management import call_command

    from bench.admin_data import Size, chains_at_work, generate
    from payments.stats.daily import update_statistics

    call_command("migrate", verbosity=0)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    generate(Size(arguments.requests, arguments.deliveries, arguments.merchants, arguments.keys), _say)
    chains_at_work()
    began = time.perf_counter()
    days = 0
    while counted := update_statistics():
        days += counted
        if counted <= 2:
            break
    print(f"daily figures: {days} days counted in {time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    update_statistics()
    print(f"daily figures: kept up in {time.perf_counter() - began:.2f} s")
    results = [measure(page, arguments.rounds) for page in pages()]
    show(results)
    if arguments.keep_open:
        input(
            f"DATABASE_URL={os.environ['DATABASE_URL']}\nREDIS_URL={os.environ['REDIS_URL']}\nEnter ends it. "
        )
    return int(any(verdict(result) == MISSED for result in results))


def pages() -> Iterator[Page]:
    """Yield the pages to measure. The first one is the empty page to compare with."""
    from django.contrib.auth.models import User
    from django.test import Client

    from merchants.models import Merchant
    from merchants.services import issue_key

    operator = User.objects.create_superuser("bench")  # no password: the bench signs in directly
    portal = Client()
    portal.force_login(operator)
    busiest = Merchant.objects.order_by("name").first()
    assert busiest is not None
    _, key = issue_key(merchant=busiest, permissions=["create_payments", "manage_webhooks"], name="bench")
    api = Client(headers={"X-API-Key": key})
    yield Page(FLOOR, lambda: portal.get("/admin/password_change/").status_code)
    for name, path in admin_paths(busiest.pk).items():
        yield Page(name, partial(_fetched, portal, path))
    merchants_own = Client()
    merchants_own.force_login(_staff_of(busiest))
    for name in OF_MERCHANT_STAFF:
        path = admin_paths(busiest.pk)[name]
        yield Page(f"its staff: {name}", partial(_fetched, merchants_own, path))
    for name, path in api_paths(busiest.pk).items():
        yield Page(name, partial(_fetched, api, path))


def admin_paths(merchant: Any) -> dict[str, str]:
    """Return the admin's pages by name. The object to search for is in the middle of the table."""
    from django.contrib.admin.utils import quote

    from payments.models import Payment
    from webhooks.models import Delivery

    middle = Payment.objects.filter(status="completed").select_related("request").order_by("request_id")
    payment = middle[middle.count() // 2]
    request = payment.request
    delivery = Delivery.objects.order_by("created_at")[10]
    lists = "/admin/payments/paymentrequest/"
    return {
        "dashboard, 30 days": "/admin/",
        "dashboard, 90 days": "/admin/?days=90",
        "keys": "/admin/merchants/apikey/",
        "keys: search": "/admin/merchants/apikey/?q=Merchant+0007",
        "keys: active": "/admin/merchants/apikey/?status=active",
        "merchants": "/admin/merchants/merchant/",
        "one merchant": f"/admin/merchants/merchant/{merchant}/change/",
        "requests": lists,
        "requests: by shortcode": f"{lists}?q={request.shortcode}",
        "requests: by order number": f"{lists}?q={request.external_id}",
        "requests: by id": f"{lists}?q={request.pk}",
        "requests: by transaction": f"{lists}?q={payment.transaction_hash}",
        "requests: by wallet": f"{lists}?q={request.recipient_address}",
        "requests: by payment id": f"{lists}?q={payment.pk}",
        "requests: of nothing": f"{lists}?q=there-is-no-such-thing",
        "requests: completed": f"{lists}?status__exact=completed",
        "requests: active": f"{lists}?status__exact=active",
        "requests: overpaid": f"{lists}?attention=overpaid",
        "requests: ended partly paid": f"{lists}?attention=partly",
        "requests: page 2": f"{lists}?p=2",
        "requests: CSV, first byte": f"{lists}export.csv",
        "one request": f"{lists}{request.pk}/change/",
        "payments": "/admin/payments/payment/",
        "payments: by transaction": f"/admin/payments/payment/?q={payment.transaction_hash}",
        "payments: failed": "/admin/payments/payment/?status__exact=failed",
        "payments: could be accepted": "/admin/payments/payment/?attention=not_bound",
        "payments: vanished": "/admin/payments/payment/?attention=reorged",
        "payments: without an answer": "/admin/payments/payment/?attention=unanswered",
        "payments: CSV, first byte": "/admin/payments/payment/export.csv",
        "one payment": f"/admin/payments/payment/{quote(payment.pk)}/change/",
        "history": "/admin/payments/transition/",
        "credited transfers": "/admin/payments/consumedtransfer/",
        "endpoints": "/admin/webhooks/endpoint/",
        "endpoints in trouble": "/admin/webhooks/endpoint/?trouble=yes",
        "events": "/admin/webhooks/event/",
        "events: of one kind": "/admin/webhooks/event/?type__exact=payment.failed",
        "deliveries": "/admin/webhooks/delivery/",
        "deliveries: failed": "/admin/webhooks/delivery/?status__exact=failed",
        "deliveries: pending": "/admin/webhooks/delivery/?status__exact=pending",
        "deliveries: given up": "/admin/webhooks/delivery/?attention=given_up",
        "deliveries: by id": f"/admin/webhooks/delivery/?q={delivery.pk}",
        "deliveries: by event": f"/admin/webhooks/delivery/?q={delivery.public_event_id}",
        "one delivery": f"/admin/webhooks/delivery/{quote(delivery.pk)}/change/",
        "chains": "/admin/chains/chain/",
        "choice of a merchant": "/admin/autocomplete/?app_label=merchants&model_name=apikey&field_name=merchant&term=9",
    }


def _staff_of(merchant: Any) -> Any:
    from django.contrib.auth.models import User

    from merchants.staff.roles import assign_role

    user = User.objects.create_user("bench staff", is_staff=True)
    assign_role(user, "merchant", merchant)
    return user


def api_paths(merchant: Any) -> dict[str, str]:
    """Return the API's lists by name: the first page, and one from the middle of the merchant's rows."""
    from payments.models import PaymentRequest
    from webhooks.models import Delivery, Event

    requests = PaymentRequest.objects.filter(merchant=merchant)
    request = requests[requests.count() // 2]
    event = Event.objects.filter(merchant=merchant)[1000]
    delivery = Delivery.objects.filter(merchant=merchant)[1000]
    return {
        "API requests": "/api/payment-requests",
        "API requests, deep": f"/api/payment-requests?starting_after={request.pk}",
        "API requests: completed": "/api/payment-requests?status=completed",
        "API requests: by order": f"/api/payment-requests?external_id={request.external_id}",
        "API one request": f"/api/payment-requests/{request.pk}",
        "API events": "/api/events",
        "API events, deep": f"/api/events?starting_after={event.pk}",
        "API deliveries": "/api/webhooks/deliveries",
        "API deliveries, deep": f"/api/webhooks/deliveries?starting_after={delivery.pk}",
        "API deliveries: failed": "/api/webhooks/deliveries?status=failed",
    }


def measure(page: Page, rounds: int) -> Measured:
    """Build the page once to warm up, then `rounds` times. If that takes longer than LONGEST_MS, stop earlier."""
    from django.db import connection

    asked: list[tuple[float, str]] = []

    def listen(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            asked.append((time.perf_counter() - began, f"{sql} {params}"))

    with connection.execute_wrapper(listen):
        status = page.get()
        if status != OK:
            return Measured(f"{page.name} (HTTP {status})", 0, 0, 0, 0, len(asked), "")
        queries, slowest = len(asked), max(asked, default=(0.0, ""))
        took, waited, worked = [], [], []
        while len(took) < rounds and sum(took) < LONGEST_MS:
            asked.clear()
            began, worked_before = time.perf_counter(), time.process_time()
            page.get()
            worked.append((time.process_time() - worked_before) * 1000)
            took.append((time.perf_counter() - began) * 1000)
            waited.append(sum(seconds for seconds, _ in asked) * 1000)
    p95 = statistics.quantiles(took, n=20, method="inclusive")[18] if len(took) > 1 else took[0]
    return Measured(
        page.name,
        statistics.median(took),
        p95,
        statistics.median(waited),
        statistics.median(worked),
        queries,
        f"{slowest[0]:.3f} s: {slowest[1]}",
    )


def show(results: list[Measured]) -> None:
    """Print the table. For a page that misses the goal, print the slowest query of the first build."""
    floor = next(result for result in results if result.name == FLOOR)
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        print(
            f"\nThe machine is busy: {load:.1f} processes want its {cores} cores, and what is here waits for them too."
        )
    print(
        f"\n{'':34}{'p50 ms':>9}{'p95 ms':>9}{'database':>10}{'processor':>10}{'queries':>9}   goal {GOAL_MS} ms"
    )
    for result in results:
        kept = "" if result is floor else verdict(result)
        print(
            f"{result.name:34}{result.p50:9.1f}{result.p95:9.1f}{result.database:10.1f}{result.processor:10.1f}"
            f"{result.queries:9}   {kept}"
        )
    for result in results:
        if result.p95 > GOAL_MS:
            print(f"\n{result.name}: {result.slowest_query[:1500]}")


def verdict(result: Measured) -> str:
    """Return a text that says whether the page meets the goal at p95, only at p50, or not at all."""
    if result.p95 <= GOAL_MS:
        return "ok"
    return "mostly" if result.p50 <= GOAL_MS else MISSED


def _fetched(client: Any, path: str) -> int:
    """Fetch and read the page, and return its status. If the response is a stream, read only its beginning."""
    response = client.get(path)
    if response.streaming:
        next(iter(response.streaming_content))
        response.close()
    status: int = response.status_code
    return status


def _say(text: str) -> None:
    print(f"  {text}", flush=True)


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.admin_pages", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--deliveries", type=int, default=5_000_000)
    parser.add_argument("--merchants", type=int, default=400)
    parser.add_argument("--keys", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--keep-open", action="store_true", help="keep the database until Enter is pressed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    warnings.filterwarnings("ignore", "No directory at")  # static files may not be collected
    import django

    django.setup()
    sys.exit(main(parsed(sys.argv[1:])))
