"""Verify that a webhook is from Quittance. The functions need no network and no framework.

The header is `Service-Signature: t=<Unix seconds>,v1=<hex>`. The hex is the HMAC-SHA256 of the timestamp, a dot and the
raw body. The HMAC's key is the webhook secret. For 24 hours after a rotation, there is a `v1=` for each secret.
"""

import hashlib
import hmac
import json
import re
import time
from collections.abc import Sequence

from quittance.errors import APIError, SignatureVerificationError
from quittance.objects import Event

TOLERANCE_SECONDS = 300

_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FORM = "it should be t=<Unix seconds>,v1=<64 hexadecimal digits>"


def verify(
    body: bytes,
    signature_header: str | None,
    secret: str | Sequence[str],
    tolerance: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> Event:
    """Return the event in `body`, if `signature_header` has a valid signature of it.

    `body` is the raw body, before any parsing. `signature_header` is the value of `Service-Signature`, or None if it is
    missing. The signature's time must be within `tolerance` seconds of `now` (Unix seconds; default: the current time).
    With several secrets, one match is enough.

    Raises SignatureVerificationError with the reason if the delivery can't be trusted, and TypeError or ValueError for
    invalid arguments, such as an empty secret.
    """
    if not isinstance(body, (bytes, bytearray, memoryview)):
        raise TypeError(f"body should be the raw bytes of the request, not {type(body).__name__}.")
    raw = bytes(body)
    keys = _keys(secret)
    if not tolerance >= 0:
        raise ValueError("tolerance should be a number of seconds.")
    timestamp, digests = _parse(signature_header)
    distance = abs((time.time() if now is None else now) - int(timestamp))
    if not distance <= tolerance:
        raise SignatureVerificationError(
            f"The signature's timestamp is {distance:.0f} s from now, and {tolerance:g} s are allowed. "
            "Is the clock of this machine right?"
        )
    if not _is_signed(timestamp, raw, keys, digests):
        raise SignatureVerificationError(
            "No signature matches the body. Check that you use the endpoint's secret and the raw, unparsed body."
        )
    return _event(raw)


def sign(body: bytes, secret: str | Sequence[str], timestamp: int) -> str:
    """Return a header value that signs `body`, with a `v1` for each secret. Use it to test your endpoint."""
    digests = (_digest(str(timestamp), body, key) for key in _keys(secret))
    return ",".join([f"t={timestamp}", *(f"v1={digest}" for digest in digests)])


def _keys(secret: str | Sequence[str]) -> list[bytes]:
    """Return the secrets as HMAC keys. An empty secret is rejected, because everyone could sign with it."""
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets or not all(isinstance(each, str) and each for each in secrets):
        raise ValueError("secret should be the endpoint's whsec_… or several of them; got an empty one.")
    return [each.encode() for each in secrets]


def _parse(header: str | None) -> tuple[str, list[str]]:
    if not header:
        raise SignatureVerificationError("There is no Service-Signature header.")
    timestamps: list[str] = []
    digests: list[str] = []
    for part in header.split(","):
        name, _, value = part.strip().partition("=")
        if name == "t":
            timestamps.append(value)
        elif name == "v1" and _DIGEST.fullmatch(value):
            digests.append(value)
    if len(timestamps) != 1 or not _TIMESTAMP.fullmatch(timestamps[0]):
        raise SignatureVerificationError(f"The Service-Signature header has no timestamp; {_FORM}.")
    if not digests:
        raise SignatureVerificationError(f"The Service-Signature header has no v1 signature; {_FORM}.")
    return timestamps[0], digests


def _is_signed(timestamp: str, body: bytes, keys: list[bytes], digests: list[str]) -> bool:
    """Compare each signature with each key in constant time. Don't stop at the first match."""
    expected = [_digest(timestamp, body, key) for key in keys]
    matches = [hmac.compare_digest(ours, theirs) for ours in expected for theirs in digests]
    return any(matches)


def _digest(timestamp: str, body: bytes, key: bytes) -> str:
    return hmac.new(key, f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def _event(body: bytes) -> Event:
    try:
        return Event.from_answer(json.loads(body))
    except (ValueError, APIError) as error:
        raise SignatureVerificationError(f"The signed body is not an event: {error}") from error
