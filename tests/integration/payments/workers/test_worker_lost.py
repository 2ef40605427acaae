"""Workers die, freeze or wait for a slow node. Another takes over within seconds, but never while one still works."""

import time
from typing import Any

import pytest
from django.db.models import F

from chains.models import Chain
from config.celery import app
from payments.models import ConsumedTransfer, Lookup, Payment, Transition
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy, proxying
from tests.integration.payments.workers.conftest import (
    TAKEN_OVER_WITHIN,
    Looks,
    Stopped,
    Submit,
    assert_credited_once,
    is_completed,
)
from tests.processes import Process, eventually
from webhooks.models import Attempt, Delivery, Event

pytestmark = pytest.mark.django_db(transaction=True)


def test_lookup_of_a_killed_worker_is_taken_over(looking: Stopped) -> None:
    looking.first.kill()
    eventually(lambda: is_completed(looking.payment), "another worker completed it", TAKEN_OVER_WITHIN)
    looking.released.set()
    assert_credited_once(looking.payment)


def _rows(payment: Payment) -> list[dict[str, Any]]:
    """Return the stored rows of the payment and its lookup."""
    return [Payment.objects.values().get(pk=payment.pk), Lookup.objects.values().get(of_payment=payment)]


def test_paused_worker_writes_nothing_after_a_takeover(looking: Stopped, submitted: Submit) -> None:
    looking.first.pause()
    eventually(lambda: is_completed(looking.payment), "another worker completed it", TAKEN_OVER_WITHIN)
    Lookup.objects.update(confirmations=F("confirmations") + 7)
    before = _rows(looking.payment)
    looking.released.set()
    looking.first.resume()
    eventually(lambda: len(app.control.ping(timeout=1, limit=2)) == 2, "the first goes on")
    looking.second.kill()
    # The worker finishes its earlier work before this.
    second = submitted()
    eventually(lambda: is_completed(second), "the first completed the next payment")
    assert _rows(looking.payment) == before
    assert ConsumedTransfer.objects.filter(payment=looking.payment).count() == 1
    assert Transition.objects.filter(payment=looking.payment, to_status="completed").count() == 1


def test_stopped_worker_finishes_its_lookup_or_returns_it(looking: Stopped) -> None:
    looking.first.ask_to_stop()
    eventually(lambda: len(app.control.ping(timeout=1)) == 1, "the first takes no more work")
    looking.released.set()
    assert looking.first.wait(60) == 0
    eventually(lambda: is_completed(looking.payment), "it was completed", TAKEN_OVER_WITHIN)
    assert_credited_once(looking.payment)


def test_node_slower_than_a_lease_keeps_one_worker(
    local_chain: LocalChain,
    chain: Chain,
    node: FaultProxy,
    workers: tuple[Process, Process],
    submitted: Submit,
) -> None:
    """Two nodes are silent for nine seconds each, so the lookup takes longer than a lease."""
    looks, broken_looks = Looks(seconds=9), Looks(seconds=9, answer=fault_proxy.wrong_id)
    node.break_with(looks, "eth_getTransactionByHash")
    with proxying(local_chain.url) as broken:
        broken.break_with(broken_looks, "eth_getTransactionByHash")
        chain.rpc_urls = [broken.url, node.url]
        chain.save()
        payment = submitted()
        began_at = time.monotonic()
        eventually(lambda: is_completed(payment), "it was completed", 90)
        assert time.monotonic() - began_at > 15, "the look took longer than a lease"
    assert looks.most == 1
    assert broken_looks.most == 1
    assert_credited_once(payment)


def test_event_of_a_killed_worker_is_sent_by_another(sending: Stopped) -> None:
    sending.first.kill()
    eventually(
        lambda: Delivery.objects.filter(status="delivered").exists(), "another sent it", TAKEN_OVER_WITHIN
    )
    received = [call.headers["Service-Event-Id"] for call in sending.receiver.received]
    assert received == [Event.objects.get().id] * 2
    assert "worker" in Attempt.objects.get(number=1).error


def test_paused_sender_writes_nothing_after_a_takeover(sending: Stopped, submitted: Submit) -> None:
    sending.first.pause()
    eventually(
        lambda: Delivery.objects.filter(status="delivered").exists(), "another sent it", TAKEN_OVER_WITHIN
    )
    delivery = Delivery.objects.get()
    attempts = list(Attempt.objects.filter(delivery=delivery.pk).order_by("number").values())
    before = Delivery.objects.values().get()
    sending.released.set()
    sending.first.resume()
    eventually(lambda: len(app.control.ping(timeout=1, limit=2)) == 2, "the first goes on")
    # The worker finishes its earlier work before this.
    submitted()
    eventually(lambda: Delivery.objects.filter(status="delivered").count() == 2, "the next was sent")
    sending.first.ask_to_stop()
    assert sending.first.wait(60) == 0
    assert Delivery.objects.values().get(pk=delivery.pk) == before
    assert list(Attempt.objects.filter(delivery=delivery.pk).order_by("number").values()) == attempts
    assert [(each["number"], each["status_code"]) for each in attempts] == [(1, None), (2, 200)]
    assert len(sending.receiver.received) == 3


def test_stopped_worker_sends_once(sending: Stopped) -> None:
    sending.first.ask_to_stop()
    eventually(lambda: len(app.control.ping(timeout=1)) == 1, "the first takes no more work")
    sending.released.set()
    assert sending.first.wait(60) == 0
    eventually(lambda: Delivery.objects.filter(status="delivered").exists(), "it was delivered", 60)
    assert [each.status_code for each in Attempt.objects.all()] == [200]
    assert len(sending.receiver.received) == 1


def test_receiver_that_times_out_gets_no_second_copy(sending: Stopped) -> None:
    eventually(
        lambda: Attempt.objects.filter(number=1, duration_ms__isnull=False).exists(), "the attempt ended", 30
    )
    attempt = Attempt.objects.get()
    assert (attempt.status_code, attempt.error) == (None, "No response within 10 seconds.")
    assert len(sending.receiver.received) == 1
    assert Delivery.objects.get().claim_id is None
