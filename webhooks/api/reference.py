"""What the API's description says of the calls that a merchant's endpoint receives."""

from drf_spectacular.utils import OpenApiWebhook

from webhooks.models import EventType

_WHEN = {
    EventType.PAYMENT_SUCCEEDED: "A payment request is paid in full. At most once per request.",
    EventType.PAYMENT_FAILED: "A payment failed. Each time that one fails is a new event.",
    EventType.PAYMENT_EXPIRED: "A payment request expired without being paid in full. At most once per request.",
    EventType.PAYMENT_PARTIALLY_PAID: "A payment came, and something remains to be paid. Only if you name the type.",
    EventType.PAYMENT_OVERPAID: "A payment came for a request that was paid already. Only if you name the type.",
    EventType.PAYMENT_REORGED: "The block of a completed payment vanished from its chain. Only if you name the type.",
}
_VERIFYING = """Sent as a POST to your endpoint. To verify it:

1. Take the body as it came, byte for byte, before anything parses it.
2. From `Service-Signature`, take `t` and every `v1` (two while a secret is being rotated).
3. Refuse it if `t` is more than 300 seconds from now.
4. Compute HMAC-SHA256, keyed with your secret, over `t`, a dot and the body, in lowercase hexadecimal.
5. Compare it in constant time with each `v1`: one has to match. Only then parse.

Act once per event id, and read the state in the event: events can arrive twice, and in another order than they
happened. Any 2xx within 10 seconds is success. Anything else, redirects included, is tried again after 1, 3, 5, 10 and
30 minutes, 2 and 6 hours: eight attempts of the same bytes, each freshly signed."""
_HEADERS = {
    "Service-Signature": (
        "`t=<Unix seconds>,v1=<hex>`: when it was signed, and the signature.",
        {"type": "string", "pattern": "^t=[0-9]+(,v1=[0-9a-f]{64})+$"},
    ),
    "Service-Event-Id": ("The event's `id`.", {"type": "string", "pattern": "^evt_[A-Za-z0-9]{24}$"}),
    "Service-Event-Type": ("The event's `type`.", {"$ref": "#/components/schemas/EventType"}),
}


def _webhook(type_: EventType) -> OpenApiWebhook:
    """Return what a receiver of `type_` gets."""
    only = {"type": "object", "properties": {"type": {"const": type_.value}}}
    operation = {
        "operationId": f"on_{type_.value.replace('.', '_')}",
        "tags": ["Webhook events"],
        "summary": type_.value,
        "description": f"{_WHEN[type_]}\n\n{_VERIFYING}",
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
            "2XX": {"description": "Taken. Whatever the body says is not read."},
            "default": {"description": "Not taken: it is tried again."},
        },
    }
    return OpenApiWebhook(type_.value, {"post": operation})


PAYMENT_SUCCEEDED = _webhook(EventType.PAYMENT_SUCCEEDED)
PAYMENT_FAILED = _webhook(EventType.PAYMENT_FAILED)
PAYMENT_EXPIRED = _webhook(EventType.PAYMENT_EXPIRED)
PAYMENT_PARTIALLY_PAID = _webhook(EventType.PAYMENT_PARTIALLY_PAID)
PAYMENT_OVERPAID = _webhook(EventType.PAYMENT_OVERPAID)
PAYMENT_REORGED = _webhook(EventType.PAYMENT_REORGED)
