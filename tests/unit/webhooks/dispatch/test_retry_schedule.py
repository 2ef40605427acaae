"""There are eight attempts at the documented times, none early. Each has the same body and a new signature."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
import stripe

from merchants.models import Merchant
from tests.conftest import Api
from tests.support.webhooks.delivering import deliver_next
from tests.support.webhooks.fixtures import Clock
from tests.support.webhooks.receiver import Receiver, answer
from webhooks.dispatch.retry_schedule import DELAYS, JITTER, next_due
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Delivery, Endpoint, Event

Record = Callable[..., Event]
MOMENT = timedelta(microseconds=1)


def test_the_whole_schedule(receiver: Receiver, secret: str, record: Record, clock: Clock) -> None:
    event = record()
    receiver.answers = [answer(500)] * 8
    for delay in DELAYS:
        assert deliver_next(clock=clock)
        due_at = Delivery.objects.get().due_at
        assert due_at is not None
        assert delay <= due_at - clock.now <= delay * (1 + JITTER)
        clock.now = due_at - MOMENT
        assert not deliver_next(clock=clock)
        clock.now = due_at
    assert deliver_next(clock=clock)

    delivery = Delivery.objects.get()
    assert delivery.status == "failed"
    assert (delivery.attempts, delivery.due_at) == (8, None)
    clock.forward(timedelta(days=30))
    assert not deliver_next(clock=clock)

    assert len(receiver.received) == 8
    assert {received.body for received in receiver.received} == {bytes(event.body)}
    stamps = [received.timestamp for received in receiver.received]
    assert stamps == sorted(set(stamps))
    for received in receiver.received:
        assert stripe.WebhookSignature.verify_header(received.body.decode(), received.signature, secret)


def test_the_delays_are_those_of_the_specification(clock: Clock) -> None:
    minutes = [1, 3, 5, 10, 30, 120, 360]
    assert [next_due(n, clock.now, lambda: 0.0) for n in range(1, 8)] == [
        clock.now + timedelta(minutes=m) for m in minutes
    ]
    assert next_due(1, clock.now, lambda: 1.0) == clock.now + timedelta(seconds=66)
    assert next_due(8, clock.now, lambda: 0.0) is None


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_is_not_followed(
    receiver: Receiver, endpoint: Endpoint, record: Record, status: int
) -> None:
    record()
    receiver.answers = [answer(status, Location=receiver.url + "/elsewhere")]
    deliver_next()
    assert len(receiver.received) == 1
    delivery = Delivery.objects.get()
    assert delivery.status == "pending"
    assert "redirects are not followed" in delivery.attempt_set.get().error


def test_unexpected_error_is_a_failed_attempt(endpoint: Endpoint, record: Record, clock: Clock) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    record()
    deliver_next(clock=clock, sender=broken)  # type: ignore[arg-type]
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.attempts, delivery.claim_id) == ("pending", 1, None)
    assert delivery.due_at is not None
    assert delivery.due_at >= clock.now + DELAYS[0]


@pytest.mark.parametrize("change", [{"is_enabled": False}, {"url": None}])
def test_deliveries_of_disabled_endpoint_wait_without_attempts(
    merchant: Merchant,
    receiver: Receiver,
    endpoint: Endpoint,
    record: Record,
    clock: Clock,
    change: dict[str, object],
) -> None:
    record()
    configure(merchant, Change(**{"url": endpoint.url, **change}))  # type: ignore[arg-type]
    clock.forward(timedelta(days=2))
    assert not deliver_next(clock=clock)
    assert Delivery.objects.get().attempts == 0

    configure(merchant, Change(url=endpoint.url, is_enabled=True))
    assert deliver_next(clock=clock)
    assert len(receiver.received) == 1


def test_a_waiting_delivery_goes_to_the_url_of_the_moment(
    merchant: Merchant, receiver: Receiver, endpoint: Endpoint, record: Record
) -> None:
    record()
    configure(merchant, Change(url=receiver.url + "/moved"))
    deliver_next()
    assert [received.path for received in receiver.received] == ["/hook/moved"]
    assert Delivery.objects.get().attempt_set.get().url == receiver.url + "/moved"


def test_opt_in_event_without_endpoint_is_delivered_to_own_url(
    merchant: Merchant, api: Api, receiver: Receiver, record: Record
) -> None:
    body = {"enabled_events": ["payment.overpaid"]}
    secret = api.put("/api/webhooks", body).json()["secret"]
    for type_ in ("payment.overpaid", "payment.reorged", "payment.succeeded"):
        record(webhook_url=receiver.url + "/own", type=type_)
    record(type="payment.overpaid")  # of a request without a URL
    while deliver_next():
        pass
    assert [json.loads(received.body)["type"] for received in receiver.received] == [
        "payment.overpaid",
        "payment.succeeded",
    ]
    for received in receiver.received:
        assert received.path == "/hook/own"
        assert stripe.WebhookSignature.verify_header(received.body.decode(), received.signature, secret)


def test_undecryptable_secret_fails_only_its_own_attempt(
    merchant: Merchant, other_merchant: Merchant, receiver: Receiver, endpoint: Endpoint, record: Record
) -> None:
    configure(other_merchant, Change(url=receiver.url))
    record()
    event = record(merchant=other_merchant)
    Endpoint.objects.filter(merchant=merchant).update(secret_encrypted=b"closed under a key that is gone")
    while deliver_next():
        pass
    assert [received.headers["Service-Event-Id"] for received in receiver.received] == [event.id]
    assert Delivery.objects.get(merchant=merchant).attempts == 1
