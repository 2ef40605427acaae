"""Measure webhook delivery, and whether failing endpoints delay deliveries to other endpoints.

The result is compared with a bare loop of signed posts (the floor).

`make bench`, or `python -m demo.services python -m bench.webhook_delivery [DELIVERIES]`.

Everything is on this machine: two worker processes with the product's dispatcher, PostgreSQL, and a receiver. The floor
is measured in the same run with the same receiver, and the same number of processes and threads. The floor posts signed
bodies from memory with `requests.Session`, without a database.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any
from urllib.request import urlopen

_SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "DEBUG": "false",
    "ENVIRONMENT": "staging",
    "BASE_URL": "http://localhost",
    "CHECKOUT_URL": "http://localhost",
    "ALLOW_HTTP_URLS": "true",
    "WEBHOOK_ALLOW_PRIVATE": "true",
    "EMAIL_URL": "memorymail://",
    "LOG_LEVEL": "ERROR",
}
DELIVERIES = 20_000
MERCHANTS = 100
PROCESSES = 2
THREADS = 32
STEADY_RATE = 100
STEADY_SECONDS = 20
HOSTILE_SHARE = 0.1


class Crew:
    """Processes that start at the same time and run in parallel."""

    def __init__(self, module: str, *arguments: object) -> None:
        command = [sys.executable, "-m", module, *map(str, arguments)]
        self._members = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(PROCESSES)
        ]
        for member in self._members:
            assert member.stdout is not None
            member.stdout.readline()

    def notify(self) -> None:
        """Send each process a line. The first call begins the work, and the second call ends it."""
        for member in self._members:
            assert member.stdin is not None
            member.stdin.write("\n")
            member.stdin.flush()

    def join(self) -> list[str]:
        """Wait until all processes have ended. Return their output."""
        return [member.communicate()[0] for member in self._members]


def main(count: int) -> None:
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    receiver = subprocess.Popen(
        [sys.executable, "-m", "bench.webhook_receiver"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert receiver.stdout is not None
        origin = f"http://127.0.0.1:{receiver.stdout.readline().strip()}"
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()};", end=" ")
        print(f"{PROCESSES} processes of {THREADS} threads, {MERCHANTS} endpoints", flush=True)
        merchants = _merchants(origin)
        floor = _floor(origin, count)
        ours = _throughput(merchants, count)
        print(f"{'bare loop of requests.Session':40}{floor:8.0f} posts/s")
        print(f"{'deliveries':40}{ours:8.0f} per second, {ours / floor:.0%} of the bare loop", flush=True)
        quiet = _steady(origin, merchants)
        _turn_hostile(merchants, origin)
        hostile = _steady(origin, merchants)
        print(f"\nhealthy endpoints at {STEADY_RATE} events/s, from commit to arrival: p50, p99")
        print(f"{'undisturbed':40}{quiet[0]:8.0f} ms {quiet[1]:8.0f} ms")
        name = f"{HOSTILE_SHARE:.0%} of endpoints hang for 10 s"
        print(f"{name:40}{hostile[0]:8.0f} ms {hostile[1]:8.0f} ms, {hostile[1] / quiet[1]:.2f} times")
    finally:
        receiver.kill()


def _merchants(origin: str) -> list[Any]:
    from merchants.models import Merchant
    from webhooks.endpoints.configuration import Change, configure

    made = Merchant.objects.bulk_create(Merchant(name=f"Bench {number}") for number in range(MERCHANTS))
    for number, merchant in enumerate(made):
        configure(merchant, Change(url=f"{origin}/fast/{number}"))
    return made


def _turn_hostile(merchants: list[Any], origin: str) -> None:
    from webhooks.endpoints.configuration import Change, configure

    for merchant in merchants[: int(len(merchants) * HOSTILE_SHARE)]:
        configure(merchant, Change(url=f"{origin}/hang"))


def _floor(origin: str, count: int) -> float:
    """Return the posts per second of the bare loop."""
    crew = Crew("bench.webhook_floor", f"{origin}/fast/floor", count // PROCESSES, THREADS)
    crew.notify()
    return count / max(float(said) for said in crew.join())


def _throughput(merchants: list[Any], count: int) -> float:
    """Return how many waiting deliveries are sent per second."""
    from webhooks.models import Delivery

    _record([merchants[number % len(merchants)] for number in range(count)])
    crew = Crew("bench.webhook_dispatcher", THREADS)
    started = time.perf_counter()
    crew.notify()
    while Delivery.objects.filter(status=Delivery.Status.PENDING).exists():
        time.sleep(0.05)
    seconds = time.perf_counter() - started
    crew.notify()
    crew.join()
    return count / seconds


def _steady(origin: str, merchants: list[Any]) -> tuple[float, float]:
    """Write events at a steady rate. Return p50 and p99 of the delivery times of healthy endpoints, in milliseconds."""
    healthy = merchants[int(len(merchants) * HOSTILE_SHARE) :]
    urlopen(f"{origin}/report").read()
    crew = Crew("bench.webhook_dispatcher", THREADS)
    crew.notify()
    watched: set[str] = set()
    began = time.perf_counter()
    for number in range(STEADY_RATE * STEADY_SECONDS):
        time.sleep(max(began + number / STEADY_RATE - time.perf_counter(), 0))
        merchant = merchants[number % len(merchants)]
        (event,) = _record([merchant])
        if merchant in healthy:
            watched.add(event)
    arrivals: dict[str, float] = {}
    deadline = time.perf_counter() + 30
    while not watched <= arrivals.keys() and time.perf_counter() < deadline:
        time.sleep(0.2)
        arrivals |= json.loads(urlopen(f"{origin}/report").read())
    crew.notify()
    crew.join()
    missing = watched - arrivals.keys()
    assert not missing, f"{len(missing)} events to healthy endpoints did not arrive"
    times = sorted(arrivals[event] for event in watched)
    return statistics.median(times), times[int(len(times) * 0.99)]


def _record(merchants: list[Any]) -> list[str]:
    """Write an event and its delivery for each of `merchants`, in one transaction. Return the ids of the events."""
    from django.utils import timezone

    from webhooks.events import envelope
    from webhooks.models import Delivery, Event, EventBody

    now = timezone.now()
    data = {"sent": time.time(), "text": "x" * 900}
    events = [Event(merchant=merchant, type="payment.succeeded", created=now) for merchant in merchants]
    for event in events:
        event.dedupe_key = event.id
        event.body = envelope(event.id, event.type, now, data)
    deliveries = [
        Delivery(
            merchant=event.merchant,
            event=event,
            public_event_id=event.id,
            type=event.type,
            due_at=now - timedelta(microseconds=number),
        )
        for number, event in enumerate(events)
    ]
    from django.db import transaction

    with transaction.atomic():
        Event.objects.bulk_create(events, batch_size=1000)
        EventBody.objects.bulk_create(
            [EventBody(event_id=event.id, created=event.created, body=event.body) for event in events],
            batch_size=1000,
        )
        Delivery.objects.bulk_create(deliveries, batch_size=1000)
    return [event.id for event in events]


if __name__ == "__main__":
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    import django

    django.setup()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DELIVERIES)
