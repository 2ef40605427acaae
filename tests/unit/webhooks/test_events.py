"""An event exists if and only if its change was committed, and is sent once."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from merchants.models import Merchant
from webhooks.endpoints.configuration import Change, configure
from webhooks.events import record_event
from webhooks.models import Delivery, Endpoint, Event

Record = Callable[..., Event]


def test_the_body_is_the_envelope_of_the_specification(merchant: Merchant, record: Record) -> None:
    event = record(data={"id": "pay_1", "amount": 2**256 - 1, "reference": "Bestellung für Zoë"})
    event.refresh_from_db()
    body = bytes(event.body)
    assert json.loads(body) == {
        "id": event.id,
        "type": "payment.succeeded",
        "created": int(event.created.timestamp()),
        "data": {"object": {"id": "pay_1", "amount": 2**256 - 1, "reference": "Bestellung für Zoë"}},
    }
    assert event.id.startswith("evt_")
    assert len(event.id) == len("evt_") + 24
    assert str(2**256 - 1).encode() in body
    assert "für Zoë".encode() in body


def test_created_is_current_time_and_grows_if_clock_goes_back(record: Record) -> None:
    began = datetime.now(UTC)
    first = record()
    assert timedelta(0) <= first.created - began < timedelta(seconds=5)
    ahead = began + timedelta(hours=1)  # as a machine with a wrong clock would write it
    Event.objects.update(created=ahead)
    second, third = record(), record()
    assert ahead < second.created < third.created < ahead + timedelta(seconds=1)
    assert json.loads(bytes(third.body))["created"] == int(third.created.timestamp())


def test_duplicate_event_is_skipped_without_transaction_error(
    merchant: Merchant, endpoint: Endpoint, record: Record
) -> None:
    record(dedupe_key="request 1")
    with transaction.atomic():
        again = record_event(merchant=merchant, type="payment.succeeded", dedupe_key="request 1", data={})
        other = record_event(merchant=merchant, type="payment.failed", dedupe_key="request 1", data={})
    assert again is None
    assert other is not None
    assert Event.objects.count() == 2
    assert Delivery.objects.count() == 2


def test_two_merchants_may_use_one_key(merchant: Merchant, other_merchant: Merchant, record: Record) -> None:
    record(dedupe_key="1")
    record(dedupe_key="1", merchant=other_merchant)
    assert Event.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_outside_a_transaction_it_is_refused(merchant: Merchant) -> None:
    with pytest.raises(RuntimeError):
        record_event(merchant=merchant, type="payment.failed", dedupe_key="1", data={})
    assert not Event.objects.exists()


def test_an_unknown_type_is_refused(merchant: Merchant) -> None:
    with pytest.raises(ValueError, match="payment.refunded"), transaction.atomic():
        record_event(merchant=merchant, type="payment.refunded", dedupe_key="1", data={})


def test_event_without_endpoint_creates_no_delivery(record: Record) -> None:
    record()
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("change", [{"is_enabled": False}, {"url": None}])
def test_events_while_endpoint_is_off_or_removed_are_not_sent(
    merchant: Merchant, endpoint: Endpoint, record: Record, change: dict[str, object]
) -> None:
    configure(merchant, Change(**{"url": endpoint.url, **change}))  # type: ignore[arg-type]
    record()
    configure(merchant, Change(url=endpoint.url, is_enabled=True))
    assert Event.objects.count() == 1
    assert not Delivery.objects.exists()


def test_opt_in_types_go_only_to_endpoints_that_name_them(
    merchant: Merchant, endpoint: Endpoint, record: Record
) -> None:
    record(type="payment.overpaid")
    assert not Delivery.objects.exists()
    configure(merchant, Change(url=endpoint.url, enabled_events=["payment.overpaid"]))
    record(type="payment.overpaid")
    record(type="payment.succeeded")
    assert [delivery.type for delivery in Delivery.objects.all()] == ["payment.overpaid"]


def test_request_url_gets_default_event_types_and_a_new_secret(merchant: Merchant, record: Record) -> None:
    record(webhook_url="https://shop.example/own")
    record(webhook_url="https://shop.example/own", type="payment.overpaid")
    delivery = Delivery.objects.get()
    assert (delivery.url_override, delivery.type) == ("https://shop.example/own", "payment.succeeded")
    endpoint = Endpoint.objects.get(merchant=merchant)
    assert endpoint.url is None
    assert endpoint.secret_encrypted


def test_a_requests_own_url_takes_the_place_of_the_endpoint(endpoint: Endpoint, record: Record) -> None:
    record(webhook_url="https://shop.example/own")
    assert [delivery.url_override for delivery in Delivery.objects.all()] == ["https://shop.example/own"]
