"""Compute the webhook signature. Pure functions."""

import hashlib
import hmac
from collections.abc import Sequence


def sign(secrets: Sequence[str], timestamp: int, body: bytes) -> str:
    """Return `t=<timestamp>,v1=<hex>`, with one `v1` for each secret in order.

    A `v1` is the HMAC-SHA256 of `<timestamp>.<body>`: the timestamp in Unix seconds, a dot, and the body exactly as it
    is sent.
    """
    message = b"%d." % timestamp + body
    digests = [hmac.new(secret.encode("ascii"), message, hashlib.sha256).hexdigest() for secret in secrets]
    return ",".join([f"t={timestamp}", *(f"v1={digest}" for digest in digests)])
