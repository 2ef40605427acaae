import hashlib
import hmac
import json

import pytest

from demo.shop.webhook import SignatureError, verify

SECRET = "whsec_9fKq2LmZ7RtXb4VwNc8HdPs3JyGe6Ua1"
OTHER_SECRET = "whsec_0aBcDeFgHiJkLmNoPqRsTuVwXyZ12345"
NOW = 1_790_000_000
BODY = json.dumps(
    {
        "id": "evt_8sT2mWq4Xc6Vb9Nz1Lk3Jh5G",
        "type": "payment.succeeded",
        "created": NOW,
        "data": {"object": {"id": "pay_3", "amount": 12_500_000, "currency": "USDC", "reference": "HC-É"}},
    },
    ensure_ascii=False,
).encode()


def signature(timestamp: int | str = NOW, body: bytes = BODY, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def header(timestamp: int | str = NOW, body: bytes = BODY, secret: str = SECRET) -> str:
    return f"t={timestamp},v1={signature(timestamp, body, secret)}"


def test_a_rightly_signed_body_gives_its_event() -> None:
    event = verify(header(), BODY, SECRET, now=NOW + 2.5)
    assert (event.id, event.type) == ("evt_8sT2mWq4Xc6Vb9Nz1Lk3Jh5G", "payment.succeeded")
    assert event.object["reference"] == "HC-É"


def test_another_merchants_secret_is_rejected() -> None:
    with pytest.raises(SignatureError):
        verify(header(secret=OTHER_SECRET), BODY, SECRET, now=NOW)


@pytest.mark.parametrize("drift", [-300, 300])
def test_timestamp_up_to_five_minutes_off_is_accepted(drift: int) -> None:
    verify(header(), BODY, SECRET, now=NOW + drift)


@pytest.mark.parametrize("drift", [301, -301])
def test_older_or_later_timestamp_is_rejected(drift: int) -> None:
    with pytest.raises(SignatureError, match="timestamp"):
        verify(header(), BODY, SECRET, now=NOW + drift)


def test_old_signature_with_new_timestamp_is_rejected() -> None:
    with pytest.raises(SignatureError, match="no signature"):
        verify(f"t={NOW},v1={signature(NOW - 1_000)}", BODY, SECRET, now=NOW)


def test_altered_body_is_rejected() -> None:
    with pytest.raises(SignatureError, match="no signature"):
        verify(header(), BODY.replace(b"12500000", b"12500001"), SECRET, now=NOW)


@pytest.mark.parametrize("current", [SECRET, OTHER_SECRET], ids=["old secret", "new secret"])
def test_either_signature_is_enough_during_a_rotation(current: str) -> None:
    both = f"t={NOW},v1={signature(secret=OTHER_SECRET)},v1={signature(secret=SECRET)}"
    verify(both, BODY, current, now=NOW)


def test_unknown_signature_version_is_ignored() -> None:
    verify(f"t={NOW},v2=abc,v1={signature()}", BODY, SECRET, now=NOW)


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        f"t={NOW}",
        f"t=,v1={signature('')}",
        f"t={'9' * 5_000},v1={signature('9' * 5_000)}",
        f"t={NOW},t={NOW},v1={signature()}",
        f"t={NOW},v1={signature().upper()}",
        f"t={NOW},v1=é{signature()[1:]}",
        f"t={NOW},v0={signature()}",
    ],
)
def test_malformed_signature_header_is_rejected(garbage: str) -> None:
    with pytest.raises(SignatureError, match="header"):
        verify(garbage, BODY, SECRET, now=NOW)


@pytest.mark.parametrize("body", [b"[]", b"{}", b"not json"])
def test_signed_body_that_is_no_event_is_rejected(body: bytes) -> None:
    with pytest.raises(SignatureError, match="not an event"):
        verify(header(body=body), body, SECRET, now=NOW)
