"""If no event arrives at an endpoint, there is an e-mail after a day, and the endpoint is disabled after five.

Each once.
"""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core import mail
from django.db import DatabaseError

from merchants.mail.sending import send_due
from merchants.models import Mail, Merchant
from tests.support.webhooks.delivering import store_result
from tests.support.webhooks.fixtures import Clock
from webhooks.dispatch.http_client import Answer
from webhooks.dispatch.leasing import claim_due
from webhooks.endpoints.configuration import Change, configure
from webhooks.endpoints.health import DISABLE_AFTER, WARN_AFTER, notify_merchants
from webhooks.models import Delivery, Endpoint, Event

pytestmark = pytest.mark.django_db
Record = Callable[..., Event]
FAILED = Answer(500, "Answered 500.", "", 12)
DELIVERED = Answer(200, "", "", 12)


@pytest.fixture(autouse=True)
def with_an_address(merchant: Merchant) -> None:
    Merchant.objects.update(email="ops@alice.example")


def try_once(record: Record, clock: Clock, answer: Answer = FAILED) -> None:
    record()
    [claim] = claim_due(limit=1, now=clock.now)
    assert store_result(claim, answer, ended_at=clock.now)


def test_after_a_day_of_failures_the_merchant_is_mailed_once(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    try_once(record, clock)
    clock.forward(WARN_AFTER - timedelta(seconds=1))
    assert notify_merchants(now=clock) == 0
    clock.forward(timedelta(seconds=1))
    assert notify_merchants(now=clock) == 1
    assert notify_merchants(now=clock) == 0
    send_due()
    [letter] = mail.outbox
    assert letter.to == ["ops@alice.example"]
    assert "are failing" in letter.subject
    assert endpoint.url is not None
    assert endpoint.url in letter.body
    assert "whsec_" not in letter.body
    assert Endpoint.objects.get().is_enabled


def test_after_a_success_the_next_trouble_is_a_new_one(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    try_once(record, clock)
    clock.forward(WARN_AFTER)
    assert notify_merchants(now=clock) == 1
    try_once(record, clock, DELIVERED)
    clock.forward(WARN_AFTER)
    assert notify_merchants(now=clock) == 0
    try_once(record, clock)
    clock.forward(WARN_AFTER)
    assert notify_merchants(now=clock) == 1


def test_endpoint_failing_five_days_is_disabled_with_queue_kept(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    try_once(record, clock)
    clock.forward(DISABLE_AFTER - timedelta(seconds=1))
    try_once(record, clock)
    assert Endpoint.objects.get().is_enabled
    clock.forward(timedelta(seconds=1))
    try_once(record, clock)
    off = Endpoint.objects.get()
    assert (off.is_enabled, off.disabled_reason) == (False, "Every attempt of the last 5 days failed.")
    assert notify_merchants(now=clock) == 1
    assert notify_merchants(now=clock) == 0
    assert "disabled" in Mail.objects.latest("pk").subject
    clock.forward(timedelta(days=1))
    assert claim_due(limit=10, now=clock.now) == []
    assert Delivery.objects.filter(status="pending").count() == 3
    configure(off.merchant, Change(url=off.url, is_enabled=True))
    assert claim_due(limit=10, now=clock.now) != []


def test_silence_after_a_failure_switches_nothing_off(
    endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    try_once(record, clock)
    clock.forward(timedelta(days=30))
    notify_merchants(now=clock)
    assert Endpoint.objects.get().is_enabled


def test_another_address_is_a_new_beginning(
    merchant: Merchant, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    try_once(record, clock)
    configure(merchant, Change(url="https://shop.example/other"))
    clock.forward(WARN_AFTER)
    assert notify_merchants(now=clock) == 0


def test_mail_is_owed_until_it_is_stored(
    endpoint: Endpoint, record: Record, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise DatabaseError

    try_once(record, clock)
    clock.forward(WARN_AFTER)
    with monkeypatch.context() as patched:
        patched.setattr("merchants.mail.notices.enqueue", broken)
        with pytest.raises(DatabaseError):
            notify_merchants(now=clock)
    assert notify_merchants(now=clock) == 1
    assert Mail.objects.count() == 1


def test_without_an_address_nobody_is_mailed(endpoint: Endpoint, record: Record, clock: Clock) -> None:
    Merchant.objects.update(email="")
    try_once(record, clock)
    clock.forward(WARN_AFTER)
    assert notify_merchants(now=clock) == 0
    assert not Mail.objects.exists()
