"""The OpenAPI description of the calls that a merchant's endpoint receives."""

from typing import Any

from webhooks.dispatch.retry_schedule import MAX_ATTEMPTS, schedule_text
from webhooks.event_types import ABOUT, About, EventType

_VERIFYING = f"""Sent as a POST to your endpoint. To verify it:

1. Use the raw bytes of the body, before any parsing.
2. From `Service-Signature`, read `t` and every `v1` (two or more while a secret is being rotated).
3. Reject the call if `t` is more than 300 seconds from now.
4. Compute HMAC-SHA256, with your secret as the key, over `t`, a dot and the body, in lower-case hexadecimal.
5. Compare it in constant time with each `v1`: one must match. Only then parse the body.

Handle each event id once, and use the state in the event: events can arrive twice and out of order. Any 2xx within
10 seconds is success. Anything else, including a redirect, is retried after
{schedule_text()}: {MAX_ATTEMPTS} attempts of the same bytes, each freshly signed."""
_HEADERS = {
    "Service-Signature": (
        "The time of signing and the signature, as `t=<Unix seconds>,v1=<hex>`.",
        {"type": "string", "pattern": "^t=[0-9]+(,v1=[0-9a-f]{64})+$"},
    ),
    "Service-Event-Id": ("The event's `id`.", {"type": "string", "pattern": "^evt_[A-Za-z0-9]{24}$"}),
    "Service-Event-Type": ("The event's `type`.", {"$ref": "#/components/schemas/EventType"}),
}


def described_calls() -> dict[str, Any]:
    """Return the calls by event type, in the format of `webhooks` in OpenAPI."""
    return {type_.value: {"post": _call(type_, about)} for type_, about in ABOUT.items()}


def _call(type_: EventType, about: About) -> dict[str, Any]:
    only = {"type": "object", "properties": {"type": {"const": type_.value}}}
    return {
        "operationId": f"on_{type_.value.replace('.', '_')}",
        "tags": ["Webhook events"],
        "summary": type_.value,
        "description": f"{about.when}\n\n{_VERIFYING}",
        "parameters": [
            {"name": name, "in": "header", "required": True, "description": text, "schema": schema}
            for name, (text, schema) in _HEADERS.items()
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"allOf": [{"$ref": "#/components/schemas/Event"}, only]}}
            },
        },
        "responses": {
            "2XX": {"description": "Received. The body is ignored."},
            "default": {"description": "Not received: the delivery is retried."},
        },
    }
