"""Stripe's own library, whose scheme we use, verifies our signatures."""

import hashlib
import hmac
from collections.abc import Callable

import stripe

from merchants.models import Merchant
from tests.support.webhooks.delivering import deliver_next
from tests.support.webhooks.fixtures import Clock
from tests.support.webhooks.receiver import Received, Receiver
from webhooks.dispatch.signing import sign
from webhooks.endpoints.configuration import ROTATION_OVERLAP, Change, configure
from webhooks.endpoints.secrets_at_rest import decrypt
from webhooks.models import Endpoint, Event

Record = Callable[..., Event]


def verify(received: Received, secret: str) -> None:
    """Raise unless Stripe's library accepts the delivery now."""
    text = received.body.decode()
    assert stripe.WebhookSignature.verify_header(text, received.signature, secret, tolerance=300)


def test_stripes_library_verifies_a_delivery(receiver: Receiver, secret: str, record: Record) -> None:
    event = record(data={"amount": 2**256 - 1, "reference": "Zoë 🧾"})
    assert deliver_next()
    received = receiver.received[0]
    verify(received, secret)
    assert received.body == bytes(event.body)


def test_the_headers_are_those_of_the_specification(receiver: Receiver, secret: str, record: Record) -> None:
    event = record()
    deliver_next()
    headers = receiver.received[0].headers
    assert headers["Service-Event-Id"] == event.id
    assert headers["Service-Event-Type"] == "payment.succeeded"
    assert headers["Content-Type"] == "application/json"
    assert headers["User-Agent"] == "Quittance-Webhooks/1"
    assert headers["Accept-Encoding"] == "identity"


def test_after_a_rotation_both_secrets_sign_for_24_hours(
    merchant: Merchant, receiver: Receiver, endpoint: Endpoint, secret: str, record: Record, clock: Clock
) -> None:
    rotated = configure(merchant, Change(url=endpoint.url, rotate_secret=True))
    assert rotated is not None
    new = decrypt(rotated.secret_encrypted)
    assert new != secret
    record()
    deliver_next()
    verify(receiver.received[0], secret)
    verify(receiver.received[0], new)
    assert receiver.received[0].signature.count("v1=") == 2

    clock.forward(ROTATION_OVERLAP)
    record()
    deliver_next(clock=clock)
    assert receiver.received[1].signature.count("v1=") == 1


def test_second_rotation_in_a_day_keeps_each_secret_24_hours(
    merchant: Merchant, receiver: Receiver, endpoint: Endpoint, secret: str, record: Record, clock: Clock
) -> None:
    held = [secret]
    for _ in range(2):
        rotated = configure(merchant, Change(url=endpoint.url, rotate_secret=True))
        assert rotated is not None
        held.append(decrypt(rotated.secret_encrypted))
    record()
    deliver_next()
    for each in held:
        verify(receiver.received[0], each)
    assert receiver.received[0].signature.count("v1=") == 3

    clock.forward(ROTATION_OVERLAP)
    record()
    deliver_next(clock=clock)
    verify(receiver.received[1], held[-1])
    assert receiver.received[1].signature.count("v1=") == 1


def test_the_signed_message_is_timestamp_dot_body() -> None:
    expected = hmac.new(b"whsec_x", b'1700000000.{"a":1}', hashlib.sha256).hexdigest()
    assert sign(["whsec_x"], 1700000000, b'{"a":1}') == f"t=1700000000,v1={expected}"
