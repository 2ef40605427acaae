"""Events by the API: the very envelopes that are signed and sent, in order and complete for whoever polls."""

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
from webhooks.endpoints.configuration import Change, configure
from webhooks.events import record_event
from webhooks.models import Endpoint, Event

Record = Callable[..., Event]
PATH = "/api/events"


def listed(api: Api, query: str = "") -> list[dict[str, Any]]:
    answer = api.get(PATH + query)
    assert answer.status_code == 200, answer.content
    events: list[dict[str, Any]] = answer.json()["data"]
    return events


def test_an_event_is_answered_byte_for_byte_as_it_was_sent(
    api: Api, receiver: Receiver, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    event = record(data={"id": "pay_1", "amount": 2**256 - 1, "reference": "für Zoë \u2028 </script>"})
    deliver_next(clock=clock)
    answer = api.get(f"{PATH}/{event.id}")
    assert answer.content == receiver.received[0].body == bytes(event.body)
    assert answer["Content-Type"] == "application/json"
    assert answer["Cache-Control"] == "no-store"
    assert set(answer.json()) == {"id", "type", "created", "data"}


def test_a_list_holds_the_same_envelopes_with_their_integers_exact(api: Api, record: Record) -> None:
    event = record(data={"amount": 2**256 - 1, "reference": "für Zoë"})
    assert str(2**256 - 1).encode() in api.get(PATH).content
    assert listed(api) == [json.loads(bytes(event.body))]


def test_any_active_key_reads_events(merchant: Merchant, record: Record) -> None:
    event = record()
    reader = Api(issue_key(merchant=merchant, permissions=[])[1])
    assert [item["id"] for item in listed(reader)] == [event.id]
    assert reader.get(f"{PATH}/{event.id}").json()["id"] == event.id


def test_they_are_there_with_or_without_anywhere_to_send_them(api: Api, record: Record) -> None:
    ids = [record(type=type_).id for type_ in ("payment.failed", "payment.overpaid", "payment.succeeded")]
    assert [item["id"] for item in listed(api)] == ids[::-1]


def test_a_test_is_no_event(api: Api, endpoint: Endpoint) -> None:
    sent = api.post("/api/webhooks/test").json()["event_id"]
    assert listed(api) == []
    assert api.get(f"{PATH}/{sent}").status_code == 404
    assert [item["event_id"] for item in api.get("/api/webhooks/deliveries").json()["data"]] == [sent]


def test_they_can_be_filtered(api: Api, record: Record) -> None:
    first, second = record(type="payment.failed"), record(type="payment.succeeded")
    assert [item["id"] for item in listed(api, "?type=payment.failed")] == [first.id]
    moment = first.created.isoformat().replace("+00:00", "Z")
    assert [item["id"] for item in listed(api, f"?created_after={moment}")] == [second.id]
    earlier = (first.created - timedelta(seconds=1)).isoformat().replace("+00:00", "Z")
    assert listed(api, f"?created_before={earlier}") == []
    assert api.get(f"{PATH}?type=payment.refunded").json()["error"]["param"] == "type"


def test_a_poller_is_given_each_event_once_and_in_order(api: Api, record: Record) -> None:
    seen = [record().id]
    made = [*seen]
    for burst in (1, 0, 3, 5, 2):
        made += [record().id for _ in range(burst)]
        while True:
            answer = api.get(f"{PATH}?limit=2&ending_before={seen[-1]}").json()
            seen += [item["id"] for item in answer["data"]][::-1]
            if not answer["has_more"]:
                break
    assert seen == made


@pytest.mark.django_db(transaction=True)
def test_no_event_appears_behind_one_that_a_poller_has_passed(merchant: Merchant) -> None:
    """Transactions that overlap commit in the order of their events' times, however long each takes."""
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
    # The later one waits for the earlier one's commit: a poller sees neither, or the earlier one first.
    assert listed(Api(key)) == []
    may_commit.set()
    for thread in threads:
        thread.join(10)
    quick_one, slow_one = (Event.objects.get(dedupe_key=name) for name in ("quick", "slow"))
    assert [item["id"] for item in listed(Api(key))] == [quick_one.id, slow_one.id]
    assert [item["id"] for item in listed(Api(key), f"?ending_before={slow_one.id}")] == [quick_one.id]


@pytest.mark.django_db(transaction=True)
def test_a_poller_misses_nothing_of_many_writers(merchant: Merchant, other_merchant: Merchant) -> None:
    configure(other_merchant, Change(url="https://shop.example/hook"))
    api = Api(issue_key(merchant=merchant, permissions=[])[1])
    with transaction.atomic():
        first = record_event(merchant=merchant, type="payment.failed", dedupe_key="first", data={})
    assert first is not None
    seen = [first.id]

    def write(writer: int) -> None:
        try:
            for number in range(12):
                owner = other_merchant if number % 4 == 3 else merchant
                with transaction.atomic():
                    record_event(
                        merchant=owner, type="payment.failed", dedupe_key=f"{writer} {number}", data={}
                    )
        finally:
            connections.close_all()

    def poll() -> None:
        query = f"?limit=7&ending_before={seen[-1]}"
        seen.extend([item["id"] for item in listed(api, query)][::-1])

    writers = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in writers:
        thread.start()
    while any(thread.is_alive() for thread in writers):
        poll()
    for _ in range(20):
        poll()
    made = list(merchant.events.order_by("created", "id").values_list("id", flat=True))
    assert len(made) == 1 + 6 * 9
    assert seen == made
