"""Real workers whose database connections are cut, or that are asked to stop, in the middle of their work."""

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest
from django.db import connection

from config.celery import app
from config.database.leases import DURATION
from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.integration.payments.workers.test_worker_lost import (
    TAKEN_OVER_WITHIN,
    Looks,
    assert_credited_once,
    is_completed,
    node,
    slow_receiver,
    start,
    ticking,
)
from tests.processes import Process, eventually
from tests.support.payments.world import pay, submit
from tests.support.webhooks.receiver import Receiver, answer
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Attempt, Delivery

__all__ = ["node", "slow_receiver", "start", "ticking"]

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., Process]


def connections() -> list[int]:
    """Return the connections to this database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        return [pid for (pid,) in cursor.fetchall()]


def cut_connections(spared: list[int]) -> int:
    """End every connection to this database but these, as a restart of the database does; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> ALL(%s) AND pid <> pg_backend_pid()",
            [spared],
        )
        return int(cursor.fetchone()[0])


def test_a_look_during_which_every_connection_is_cut_is_taken_up_again(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, node: FaultProxy, start: Start
) -> None:
    """The workers' own and their heartbeats'."""
    looks = Looks(stalled=1)
    node.break_with(looks, "eth_getTransactionByHash")
    request = request_for("1")
    payment = submit(request, pay(local_chain, request))
    # The later tests of this process need its own connections.
    own = connections()
    start()
    start()
    eventually(lambda: looks.now == 1, "a worker looks")
    until = time.monotonic() + DURATION.total_seconds()

    def are_cut_for_long_enough() -> bool:
        looks.released.wait(0.2)  # nothing sets it yet: a moment for the workers to connect again
        return cut_connections(own) > 0 and time.monotonic() > until

    eventually(are_cut_for_long_enough, "a lease's time has passed")
    looks.released.set()
    released_at = time.monotonic()
    eventually(lambda: is_completed(payment), "it was completed", 60)
    assert time.monotonic() - released_at < TAKEN_OVER_WITHIN
    assert_credited_once(payment)


def test_a_worker_that_is_asked_to_stop_during_a_look_finishes_it_or_leaves_it_to_another(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, node: FaultProxy, start: Start
) -> None:
    looks = Looks(stalled=1)
    node.break_with(looks, "eth_getTransactionByHash")
    request = request_for("1")
    payment = submit(request, pay(local_chain, request))
    first = start()
    eventually(lambda: looks.now == 1, "the first worker looks")
    start()
    first.ask_to_stop()
    eventually(lambda: len(app.control.ping(timeout=1)) == 1, "the first takes no more work")
    looks.released.set()
    assert first.wait(60) == 0
    ended_at = time.monotonic()
    eventually(lambda: is_completed(payment), "it was completed", 60)
    assert time.monotonic() - ended_at < TAKEN_OVER_WITHIN
    assert_credited_once(payment)


def test_a_worker_that_was_paused_while_it_sent_writes_nothing_about_an_attempt_that_another_repeated(
    merchant: Merchant,
    slow_receiver: tuple[Receiver, threading.Event],
    request_for: Callable[..., PaymentRequest],
    local_chain: LocalChain,
    start: Start,
) -> None:
    receiver, released = slow_receiver
    configure(merchant, Change(url=receiver.url))
    first, second = start(), start()
    second.pause()
    request = request_for("1")
    submit(request, pay(local_chain, request))
    eventually(lambda: len(receiver.received) == 1, "the first worker sends")
    first.pause()
    second.resume()
    paused_at = time.monotonic()
    eventually(lambda: Delivery.objects.filter(status="delivered").exists(), "the second sent it too")
    assert time.monotonic() - paused_at < TAKEN_OVER_WITHIN
    before = Delivery.objects.values().get(), list(Attempt.objects.order_by("number").values())
    released.set()
    first.resume()
    eventually(lambda: len(app.control.ping(timeout=1)) == 2, "the first goes on")
    # What it does next comes after what it had begun.
    other = request_for("1")
    submit(other, pay(local_chain, other))
    eventually(lambda: Delivery.objects.filter(status="delivered").count() == 2, "the next was sent")
    first.ask_to_stop()
    assert first.wait(60) == 0
    old = Delivery.objects.values().get(pk=before[0]["id"])
    attempts = list(Attempt.objects.filter(delivery=before[0]["id"]).order_by("number").values())
    assert (old, attempts) == before
    assert [(each["number"], each["status_code"]) for each in attempts] == [(1, None), (2, 200)]
    assert len(receiver.received) == 3


def test_a_worker_that_is_asked_to_stop_while_it_sends_sends_once(
    merchant: Merchant,
    slow_receiver: tuple[Receiver, threading.Event],
    request_for: Callable[..., PaymentRequest],
    local_chain: LocalChain,
    start: Start,
) -> None:
    receiver, released = slow_receiver

    def hold(handler: BaseHTTPRequestHandler) -> None:
        released.wait(60)
        answer(200)(handler)

    receiver.answers = [hold]
    configure(merchant, Change(url=receiver.url))
    first, second = start(), start()
    second.pause()
    request = request_for("1")
    submit(request, pay(local_chain, request))
    eventually(lambda: len(receiver.received) == 1, "the first worker sends")
    first.ask_to_stop()
    second.resume()
    eventually(lambda: len(app.control.ping(timeout=1)) == 1, "the first takes no more work")
    released.set()
    assert first.wait(60) == 0
    eventually(lambda: Delivery.objects.filter(status="delivered").exists(), "it was delivered", 60)
    assert [each.status_code for each in Attempt.objects.all()] == [200]
    assert len(receiver.received) == 1
