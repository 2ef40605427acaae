import hashlib
import hmac
import json
import re
import time
from typing import Any

TOLERANCE_SECONDS = 300


class InvalidSignature(Exception):
    """Not signed by Quittance, or too old. Respond with 400 and change nothing."""


def verify(header: str | None, body: bytes, secret: str, now: float | None = None) -> dict[str, Any]:
    """Return the event in `body` (the raw bytes) if `header`, the Service-Signature, signs it; else raise."""
    if not secret:
        raise RuntimeError("The webhook secret is not set.")  # anyone could sign with an empty one
    fields = [field.partition("=")[::2] for field in (header or "").split(",")]
    timestamp = dict(fields).get("t", "")
    if not re.fullmatch("[0-9]{1,12}", timestamp):
        raise InvalidSignature("The header is not t=<seconds>,v1=<hex>.")
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE_SECONDS:
        raise InvalidSignature("Signed too long ago, or in the future.")
    expected = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    # While a secret is being rotated there are several v1=; one match is enough.
    signatures = [value for name, value in fields if name == "v1"]
    if not any(hmac.compare_digest(expected.encode(), each.encode()) for each in signatures):
        raise InvalidSignature("No signature matches.")
    return json.loads(body)
