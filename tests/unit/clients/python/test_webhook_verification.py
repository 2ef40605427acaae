"""`quittance.webhooks.verify` accepts only signatures of the service."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quittance import SignatureVerificationError
from quittance.webhooks import sign, verify

from webhooks.dispatch import signing
from webhooks.dispatch.testing import example_object
from webhooks.event_types import EventType

SECRET = "whsec_" + "a" * 32
OTHER = "whsec_" + "b" * 32
NOW = 1_795_255_624
BODY = json.dumps(
    {
        "id": "evt_1",
        "type": "payment.succeeded",
        "created": NOW,
        "data": {"object": example_object(EventType.PAYMENT_SUCCEEDED)},
    }
).encode()
HEADER = signing.sign([SECRET], NOW, BODY)


@pytest.mark.parametrize("type_", EventType)
def test_what_the_service_signed_is_believed(type_: EventType) -> None:
    body = json.dumps(
        {"id": "evt_1", "type": type_.value, "created": NOW, "data": {"object": example_object(type_)}}
    ).encode()
    event = verify(body, signing.sign([SECRET], NOW, body), SECRET, now=NOW)
    assert (event.id, event.type, event.created) == ("evt_1", type_.value, NOW)
    assert event.data.object.reference == "test-order"
    assert event.to_dict() == json.loads(body)


def test_the_clock_is_the_present_unless_said_otherwise() -> None:
    with pytest.raises(SignatureVerificationError, match="from now"):
        verify(BODY, HEADER, SECRET)


@pytest.mark.parametrize("age", [300, -300])
def test_a_signature_lives_300_seconds_to_either_side(age: float) -> None:
    assert verify(BODY, HEADER, SECRET, now=NOW + age).id == "evt_1"


@pytest.mark.parametrize("age", [300.5, -301, float("nan")])
def test_signature_of_another_time_is_rejected(age: float) -> None:
    with pytest.raises(SignatureVerificationError, match="timestamp"):
        verify(BODY, HEADER, SECRET, now=NOW + age)


def test_the_tolerance_can_be_narrowed() -> None:
    assert verify(BODY, HEADER, SECRET, tolerance=5, now=NOW + 5)
    with pytest.raises(SignatureVerificationError, match="5 s are allowed"):
        verify(BODY, HEADER, SECRET, tolerance=5, now=NOW + 6)


@pytest.mark.parametrize("tolerance", [-1, float("nan")])
def test_a_tolerance_that_means_nothing_is_a_wrong_call(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance"):
        verify(BODY, HEADER, SECRET, tolerance=tolerance, now=NOW)


@pytest.mark.parametrize(
    ("signed_with", "known"),
    [([SECRET, OTHER], SECRET), ([OTHER, SECRET], SECRET), ([SECRET], [OTHER, SECRET]), ([OTHER], (OTHER,))],
)
def test_any_of_several_secrets_and_signatures_will_do(
    signed_with: list[str], known: str | list[str]
) -> None:
    assert verify(BODY, signing.sign(signed_with, NOW, BODY), known, now=NOW).id == "evt_1"


@pytest.mark.parametrize(
    "break_it",
    [
        lambda header: None,
        lambda header: "",
        lambda header: "nonsense",
        lambda header: header.split(",")[0],
        lambda header: header.split(",")[1],
        lambda header: header[:-1] + ("0" if header[-1] != "0" else "1"),
        lambda header: header[:-1],
        lambda header: header.upper(),
        lambda header: header.replace("v1=", "v0="),
        lambda header: header.replace("t=", "t=0"),
        lambda header: header.replace("t=", "t=+"),
        lambda header: header.replace("t=", f"t={NOW},t="),
        lambda header: header.replace(f"t={NOW}", "t=\u0661"),
        lambda header: header + "é",
        lambda header: header.replace("v1=", "v1=é"),
    ],
)
def test_altered_header_is_rejected(break_it: Callable[[str], str | None]) -> None:
    with pytest.raises(SignatureVerificationError):
        verify(BODY, break_it(HEADER), SECRET, now=NOW)


@pytest.mark.parametrize(
    ("body", "secret"),
    [
        (BODY + b" ", SECRET),
        (json.dumps(json.loads(BODY), indent=1).encode(), SECRET),
        (BODY, OTHER),
        (BODY, [OTHER, OTHER]),
    ],
)
def test_another_body_or_secret_is_rejected(body: bytes, secret: str | list[str]) -> None:
    with pytest.raises(SignatureVerificationError, match="No signature matches"):
        verify(body, HEADER, secret, now=NOW)


@pytest.mark.parametrize("secret", ["", [], [SECRET, ""], None, [b"x"]])
def test_without_a_secret_nothing_is_verified(secret: Any) -> None:
    """If the variable with the secret isn't set, anyone could sign with an empty secret."""
    header = signing.sign([""], NOW, BODY)
    with pytest.raises((ValueError, TypeError)) as refused:
        verify(BODY, header, secret, now=NOW)
    assert not isinstance(refused.value, SignatureVerificationError)


@pytest.mark.parametrize("body", [BODY.decode(), json.loads(BODY), None])
def test_a_parsed_body_is_a_wrong_call(body: Any) -> None:
    with pytest.raises(TypeError, match="raw bytes"):
        verify(body, HEADER, SECRET, now=NOW)


@pytest.mark.parametrize(
    "body", [b"[]", b"null", b"not json", b"{}", b"\xff", b'{"id": "evt_1", "type": "a"}']
)
def test_signed_body_that_is_no_event_is_rejected(body: bytes) -> None:
    with pytest.raises(SignatureVerificationError, match="not an event"):
        verify(body, sign(body, SECRET, NOW), SECRET, now=NOW)


@settings(max_examples=30)
@given(st.text(max_size=200))
def test_no_header_however_made_is_believed_or_breaks_it(header: str) -> None:
    with pytest.raises(SignatureVerificationError):
        verify(BODY, header, SECRET, now=NOW)


@settings(max_examples=30)
@given(
    st.binary(max_size=100), st.lists(st.just(SECRET) | st.just(OTHER), min_size=1), st.integers(0, 10**11)
)
def test_it_signs_as_the_service_does(body: bytes, secrets: list[str], timestamp: int) -> None:
    assert sign(body, secrets, timestamp) == signing.sign(secrets, timestamp, body)


def test_event_without_a_payment_is_verified_and_parsed() -> None:
    body = b'{"id": "evt_2", "type": "endpoint.disabled", "created": 1, "data": {"object": {"url": "https://x"}}}'
    event = verify(body, sign(body, SECRET, NOW), SECRET, now=NOW)
    assert (event.type, event.data.object.to_dict()) == ("endpoint.disabled", {"url": "https://x"})


def test_fields_and_types_of_later_versions_do_no_harm() -> None:
    later = json.loads(BODY)
    later["type"], later["version"], later["data"]["object"]["mood"] = "payment.pondered", 2, "fine"
    body = json.dumps(later).encode()
    event = verify(body, sign(body, SECRET, NOW), SECRET, now=NOW)
    assert (event.type, event.to_dict()["version"]) == ("payment.pondered", 2)
    assert event.data.object.to_dict()["mood"] == "fine"
