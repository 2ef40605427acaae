"""POST /api/webhooks/test sends one test event immediately, and returns the result."""

import json
from datetime import timedelta

import pytest
import stripe
from django.utils import timezone

from tests.conftest import Api
from tests.support.webhooks.delivering import deliver_next
from tests.support.webhooks.receiver import Receiver, answer
from webhooks.event_types import EventType
from webhooks.models import Delivery, Endpoint, Event


def test_a_sample_is_delivered_signed_and_said_to_be_a_test(
    api: Api, receiver: Receiver, endpoint: Endpoint, secret: str
) -> None:
    response = api.post("/api/webhooks/test")
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    body = response.json()
    assert set(body) == {"event_id", "delivered", "status_code", "duration_ms", "error"}
    assert (body["delivered"], body["status_code"], body["error"]) == (True, 200, None)
    [received] = receiver.received
    assert stripe.WebhookSignature.verify_header(
        received.body.decode(), received.signature, secret, tolerance=300
    )
    event = json.loads(received.body)
    assert (event["id"], event["type"]) == (body["event_id"], "payment.succeeded")
    assert received.headers["Service-Event-Id"] == body["event_id"]
    assert event["data"]["object"]["test"] is True


@pytest.mark.parametrize("type_", EventType.values)
def test_there_is_a_sample_of_each_type(api: Api, receiver: Receiver, endpoint: Endpoint, type_: str) -> None:
    assert api.post("/api/webhooks/test", {"type": type_}).json()["delivered"]
    event = json.loads(receiver.received[0].body)
    assert event["type"] == type_
    content = event["data"]["object"]
    assert str(content["amount"]) == content["amount_details"]["raw"]
    assert {"id", "currency", "status", "reference", "payment_request", "request_status"} <= set(content)
    assert bool(content.get("failure_code")) == type_.endswith(".failed")


def test_test_event_is_listed_in_deliveries_not_events(
    api: Api, receiver: Receiver, endpoint: Endpoint
) -> None:
    receiver.answers = [answer(500, b"broken")]
    body = api.post("/api/webhooks/test").json()
    assert (body["delivered"], body["status_code"]) == (False, 500)
    assert "500" in body["error"]
    assert "broken" not in str(body)
    assert not Event.objects.exists()
    delivery = Delivery.objects.get()
    assert (delivery.is_test, delivery.status, delivery.public_event_id) == (True, "failed", body["event_id"])
    assert delivery.body == receiver.received[0].body
    attempt = delivery.attempt_set.get()
    assert (attempt.status_code, attempt.response_excerpt) == (500, "broken")


def test_it_is_not_retried(api: Api, receiver: Receiver, endpoint: Endpoint) -> None:
    receiver.answers = [answer(500)]
    api.post("/api/webhooks/test")
    assert not deliver_next(clock=lambda: timezone.now() + timedelta(days=1))
    assert len(receiver.received) == 1


def test_it_works_on_a_disabled_endpoint(api: Api, receiver: Receiver, endpoint: Endpoint) -> None:
    api.put("/api/webhooks", {"url": receiver.url, "is_enabled": False})
    assert api.post("/api/webhooks/test").json()["delivered"] is True
