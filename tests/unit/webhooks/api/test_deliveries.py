"""Deliveries by the API: the sent body, each attempt, and redelivery."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from merchants.models import Merchant
from tests.conftest import Api
from tests.support.webhooks.delivering import deliver_next
from tests.support.webhooks.fixtures import Clock
from tests.support.webhooks.receiver import Receiver, answer
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Delivery, Endpoint, Event

Record = Callable[..., Event]
PATH = "/api/webhooks/deliveries"


def listed(api: Api, query: str = "") -> list[dict[str, Any]]:
    response = api.get(PATH + query)
    assert response.status_code == 200, response.content
    deliveries: list[dict[str, Any]] = response.json()["data"]
    return deliveries


def test_a_delivery_is_shown_with_every_attempt(
    api: Api, receiver: Receiver, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    event = record()
    receiver.answers = [answer(503, b"come back later" + b"!" * 2000), answer(204)]
    deliver_next(clock=clock)
    first_at = clock.now
    (waiting,) = listed(api)
    assert (waiting["status"], waiting["attempt_count"], waiting["finished_at"]) == ("pending", 1, None)
    assert waiting["next_attempt_at"].endswith("Z")
    clock.forward(timedelta(minutes=2))
    deliver_next(clock=clock)

    (short,) = listed(api)
    shown = api.get(f"{PATH}/{short['id']}")
    assert shown["Cache-Control"] == "no-store"
    whole = shown.json()
    attempts = whole.pop("attempts")
    assert whole == short
    assert {name: whole[name] for name in ("object", "event_id", "type", "url", "status", "is_test")} == {
        "object": "webhook_delivery",
        "event_id": event.id,
        "type": "payment.succeeded",
        "url": receiver.url,
        "status": "delivered",
        "is_test": False,
    }
    assert (whole["attempt_count"], whole["next_attempt_at"], whole["redelivered_at"]) == (2, None, None)
    refused, taken = attempts
    assert refused["started_at"] == first_at.isoformat().replace("+00:00", "Z")
    assert (refused["number"], refused["status_code"], refused["url"]) == (1, 503, receiver.url)
    assert refused["duration_ms"] >= 0
    assert "503" in refused["error"]
    assert refused["response_excerpt"] == "come back later" + "!" * (1024 - 15)
    assert (taken["status_code"], taken["error"], taken["response_excerpt"]) == (204, None, "")


def test_no_response_has_the_secret(api: Api, secret: str, endpoint: Endpoint, record: Record) -> None:
    record()
    deliver_next()
    (delivery,) = listed(api)
    assert secret not in api.get(f"{PATH}/{delivery['id']}").content.decode()


def test_they_can_be_filtered(api: Api, receiver: Receiver, endpoint: Endpoint, record: Record) -> None:
    first, second = record(type="payment.failed"), record()
    receiver.answers = [answer(200), answer(500)]
    deliver_next()
    deliver_next()
    assert [item["event_id"] for item in listed(api, f"?event_id={first.id}")] == [first.id]
    assert [item["event_id"] for item in listed(api, "?type=payment.succeeded")] == [second.id]
    assert [item["event_id"] for item in listed(api, "?status=pending")] == [second.id]
    assert [item["event_id"] for item in listed(api, "?status=delivered&type=payment.failed")] == [first.id]
    assert listed(api, "?status=failed") == []
    assert listed(api, "?event_id=evt_1") == []
    for query in ("?status=lost", "?type=payment", "?event_id=%00", "?event_id=" + "x" * 65, "?id=1"):
        assert api.get(PATH + query).status_code == 400


def test_delivery_url_is_from_request_or_current_endpoint(
    api: Api, merchant: Merchant, endpoint: Endpoint, record: Record
) -> None:
    record(webhook_url="https://shop.example/own")
    record()
    configure(merchant, Change(url="https://shop.example/moved"))
    assert [item["url"] for item in listed(api)] == ["https://shop.example/moved", "https://shop.example/own"]
    configure(merchant, Change(url=None))
    assert [item["url"] for item in listed(api)] == [None, "https://shop.example/own"]


def test_sending_it_again(
    api: Api, receiver: Receiver, endpoint: Endpoint, record: Record, clock: Clock
) -> None:
    event = record()
    deliver_next(clock=clock)
    (delivery,) = listed(api)
    response = api.post(f"{PATH}/{delivery['id']}/redeliver")
    again = response.json()
    assert response.status_code == 200
    assert (again["id"], again["status"], again["finished_at"]) == (delivery["id"], "pending", None)
    assert again["next_attempt_at"] == again["redelivered_at"]
    assert [attempt["number"] for attempt in again["attempts"]] == [1]
    assert Delivery.objects.get().redelivered_by.startswith("api key quitt_")
    clock.forward(timedelta(seconds=5))
    deliver_next(clock=clock)
    assert [received.body for received in receiver.received] == [bytes(event.body)] * 2
    assert listed(api)[0]["status"] == "delivered"
    assert api.call("POST", f"{PATH}/{delivery['id']}/redeliver").status_code == 200


def test_without_a_url_it_is_409_and_nothing_changes(
    api: Api, merchant: Merchant, endpoint: Endpoint, record: Record
) -> None:
    record()
    deliver_next()
    configure(merchant, Change(url=None))
    (before,) = listed(api)
    response = api.post(f"{PATH}/{before['id']}/redeliver")
    assert (response.status_code, response.json()["error"]["code"]) == (409, "webhook_not_configured")
    assert listed(api) == [before]
