"""Verify that a webhook is from Quittance. The functions need no clock, network or framework.

The header is `Service-Signature: t=<unix seconds>,v1=<hex>`. The hex is the HMAC-SHA256 of `<t>.<raw body>`. The HMAC's
key is the webhook secret. For 24 hours after a rotation, there is a `v1=` for each secret.
"""

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import Any

TOLERANCE_SECONDS = 300

_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_SIGNATURE = re.compile(r"[0-9a-f]{64}")


class SignatureError(ValueError):
    """The delivery can't be trusted."""


@dataclass(frozen=True)
class Event:
    """A verified event. `object` is its payment or refund."""

    id: str
    type: str
    object: dict[str, Any]


def verify(header: str, body: bytes, secret: str, *, now: float) -> Event:
    """Return the event in `body`. Raise SignatureError unless `header` has a valid signature with `secret`.

    The signature must be made within 300 s of `now`. Pass the raw body, because parsing and serialising it again may
    change its bytes.
    """
    timestamp, signatures = _parse(header)
    if abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        raise SignatureError("the signature's timestamp is too far from the present")
    expected = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    if not any(hmac.compare_digest(expected, signature) for signature in signatures):
        raise SignatureError("no signature matches the body")
    return _event(body)


def _parse(header: str) -> tuple[str, list[str]]:
    timestamps: list[str] = []
    signatures: list[str] = []
    for part in header.split(","):
        name, _, value = part.strip().partition("=")
        if name == "t" and _TIMESTAMP.fullmatch(value):
            timestamps.append(value)
        elif name == "v1" and _SIGNATURE.fullmatch(value):
            signatures.append(value)
    if len(timestamps) != 1 or not signatures:
        raise SignatureError("the header is not t=<seconds>,v1=<64 hex digits>")
    return timestamps[0], signatures


def _event(body: bytes) -> Event:
    try:
        envelope = json.loads(body)
        return Event(id=envelope["id"], type=envelope["type"], object=envelope["data"]["object"])
    except (ValueError, KeyError, TypeError) as error:
        raise SignatureError("the body is not an event") from error
