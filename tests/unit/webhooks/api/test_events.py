"""Events by the API: the signed bodies, in order and complete for clients that poll."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction

from merchants.models import Merchant
from merchants.services import issue_key
from tests.conftest import Api
from tests.support.webhooks.delivering import deliver_next
from tests.support.webhooks.fixtures import Clock
from tests.support.webhooks.receiver import Receiver
from webhooks.events import record_event
from webhooks.models import Endpoint, Event

Record = Callable[..., Event]
PATH = "/api/events"


def listed(api: Api, query: str = "") -> list[dict[str, Any]]:
    answer = api.get(PATH + query)
    assert answer.status_code == 200, answer.content
    events: list[dict[str, Any]] = answer.json()["data"]
    return events


def test_event_is_returned_byte_for_byte_as_sent(
    api: Api, receiver: Receiver, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    event = record(data={"id": "pay_1", "amount": 2**256 - 1, "reference": "für Zoë \u2028 </script>"})
    deliver_next(clock=clock)
    answer = api.get(f"{PATH}/{event.id}")
    assert answer.content == receiver.received[0].body == bytes(event.body)
    assert answer["Content-Type"] == "application/json"
    assert answer["Cache-Control"] == "no-store"
    assert set(answer.json()) == {"id", "type", "created", "data"}


def test_event_list_returns_stored_envelopes_with_exact_integers(api: Api, record: Record) -> None:
    event = record(data={"amount": 2**256 - 1, "reference": "für Zoë"})
    assert str(2**256 - 1).encode() in api.get(PATH).content
    assert listed(api) == [json.loads(bytes(event.body))]


def test_they_can_be_filtered(api: Api, record: Record) -> None:
    first, second = record(type="payment.failed"), record(type="payment.succeeded")
    assert [item["id"] for item in listed(api, "?type=payment.failed")] == [first.id]
    moment = first.created.isoformat().replace("+00:00", "Z")
    assert [item["id"] for item in listed(api, f"?created_after={moment}")] == [second.id]
    earlier = (first.created - timedelta(seconds=1)).isoformat().replace("+00:00", "Z")
    assert listed(api, f"?created_before={earlier}") == []
    assert api.get(f"{PATH}?type=payment.refunded").json()["error"]["param"] == "type"


@pytest.mark.django_db(transaction=True)
def test_no_event_appears_behind_one_that_a_poller_has_passed(merchant: Merchant) -> None:
    """Overlapping transactions commit in the order of their events' times, even if the first takes longer."""
    key = issue_key(merchant=merchant, permissions=[])[1]
    wrote, may_commit = threading.Event(), threading.Event()

    def slow() -> None:
        try:
            with transaction.atomic():
                record_event(merchant=merchant, type="payment.failed", dedupe_key="slow", data={})
                wrote.set()
                may_commit.wait(10)
        finally:
            connections.close_all()

    def quick() -> None:
        try:
            wrote.wait(10)
            with transaction.atomic():
                record_event(merchant=merchant, type="payment.failed", dedupe_key="quick", data={})
        finally:
            connections.close_all()

    threads = [threading.Thread(target=slow), threading.Thread(target=quick)]
    for thread in threads:
        thread.start()
    assert wrote.wait(10)
    threads[1].join(0.3)
    # The later transaction waits for the earlier commit. So a poller sees neither event, or the earlier one
    # first.
    assert listed(Api(key)) == []
    may_commit.set()
    for thread in threads:
        thread.join(10)
    quick_one, slow_one = (Event.objects.get(dedupe_key=name) for name in ("quick", "slow"))
    assert [item["id"] for item in listed(Api(key))] == [quick_one.id, slow_one.id]
    assert [item["id"] for item in listed(Api(key), f"?ending_before={slow_one.id}")] == [quick_one.id]
