"""What the API's reference says of webhooks: the configuration, the event, and what a receiver gets (contract 9)."""

from typing import Any

from drf_spectacular.utils import OpenApiWebhook
from rest_framework import serializers

from chains.serializers import AmountSerializer
from config.api.schema.operations import described, list_of
from config.api.serializers import TimestampField
from webhooks.models import EventType

_SUM = {"raw": "12500000", "formatted": "12.500000", "decimals": 6}
_NOTHING = {"raw": "0", "formatted": "0.000000", "decimals": 6}
_CONFIGURATION: dict[str, Any] = {
    "object": "webhook_configuration",
    "url": "https://shop.example.com/webhooks/quittance",
    "secret": "whsec_9aQm2Zr7TbXc4VdKe8WfLg5HjNp3Ys6U",
    "is_enabled": True,
    "enabled_events": ["payment.succeeded", "payment.failed", "payment.expired"],
    "created_at": "2026-11-21T09:00:00.000000Z",
    "updated_at": "2026-11-21T09:00:00.000000Z",
    "previous_secret_expires_at": None,
    "disabled_reason": None,
}
_TOKEN = {
    "id": 2,
    "symbol": "USDC",
    "decimals": 6,
    "contract_address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
}
_OBJECT: dict[str, Any] = {
    "id": "pay_LuEmx6pbX844yEZ3nq8pdsoC",
    "amount": 12500000,
    "currency": "USDC",
    "status": "succeeded",
    "reference": "order-1001",
    "payment_request": "01a1fd92-caa6-7393-afe5-964ec9235339",
    "shortcode": "Yj5LTJ4eWhtQ",
    "token": _TOKEN,
    "chain_id": 8453,
    "transaction_hash": "0x1674e0fa8c5ef411b67eeea593c73d514b2bda129634cbf60a4dc2a9bcb3427f",
    "type": "direct",
    "source_chain_id": 8453,
    "destination_transaction_hash": "0x1674e0fa8c5ef411b67eeea593c73d514b2bda129634cbf60a4dc2a9bcb3427f",
    "amount_details": _SUM,
    "request_amount": _SUM,
    "amount_paid": _SUM,
    "amount_overpaid": _NOTHING,
    "request_status": "completed",
    "metadata": {"customer": "c-42"},
}
_EVENT: dict[str, Any] = {
    "id": "evt_LTtaHpfHNyNZ6GLTJmHUyxN5",
    "type": "payment.succeeded",
    "created": 1795255624,
    "data": {"object": _OBJECT},
}
_DOCUMENTED_STATUSES = ("succeeded", "failed", "expired", "partially_paid", "overpaid", "reorged")


@described(
    "WebhookConfiguration", "Where your events go. Before any configuration, all null.", _CONFIGURATION
)
class ConfigurationSerializer(serializers.Serializer[Any]):
    """The answer of GET and PUT /api/webhooks, as `webhooks.api.serializers.configuration` makes it."""

    object = serializers.ReadOnlyField(
        default="webhook_configuration", help_text="Always `webhook_configuration`."
    )
    url = serializers.CharField(
        read_only=True, allow_null=True, help_text="Where events go; null if nowhere."
    )
    secret = serializers.RegexField(
        r"^whsec_[A-Za-z0-9]{32}$",
        read_only=True,
        allow_null=True,
        help_text="What signs the events. Made with the first URL, and kept until it is rotated.",
    )
    is_enabled = serializers.BooleanField(
        read_only=True, allow_null=True, help_text="Whether events are sent; false holds them back."
    )
    enabled_events = serializers.ListField(
        child=serializers.ChoiceField(EventType.choices),
        read_only=True,
        allow_null=True,
        help_text="The event types that are sent.",
    )
    created_at = TimestampField(allow_null=True, help_text="When it was first configured.")
    updated_at = TimestampField(allow_null=True, help_text="When it was last changed.")
    previous_secret_expires_at = TimestampField(
        allow_null=True,
        help_text="Until when the former secret signs as well, after a rotation; null if it does not.",
    )
    disabled_reason = serializers.CharField(
        read_only=True, allow_null=True, help_text="Why the service switched it off; null unless it did."
    )


@described(
    "WebhookTest",
    "How a test went.",
    {
        "event_id": "evt_LTtaHpfHNyNZ6GLTJmHUyxN5",
        "delivered": True,
        "status_code": 200,
        "duration_ms": 84,
        "error": None,
    },
)
class TestResultSerializer(serializers.Serializer[Any]):
    """The answer of POST /api/webhooks/test."""

    event_id = serializers.CharField(read_only=True, help_text="The sample's id: `evt_` and 24 characters.")
    delivered = serializers.BooleanField(
        read_only=True, help_text="Whether your endpoint answered 2xx within 10 seconds."
    )
    status_code = serializers.IntegerField(
        read_only=True, allow_null=True, help_text="What it answered; null if nothing."
    )
    duration_ms = serializers.IntegerField(read_only=True, help_text="How long it took, in milliseconds.")
    error = serializers.CharField(
        read_only=True, allow_null=True, help_text="What went wrong; null if nothing."
    )


@described(
    "WebhookRedelivery",
    "How much is sent again.",
    {"object": "webhook_redelivery", "since": "2026-11-20T08:00:00Z", "count": 42},
)
class RedeliveryResultSerializer(serializers.Serializer[Any]):
    """The answer of POST /api/webhooks/deliveries/redeliver."""

    object = serializers.CharField(read_only=True, help_text="Always `webhook_redelivery`.")
    since = TimestampField(help_text="The time that was asked for.")
    count = serializers.IntegerField(
        read_only=True, min_value=0, help_text="How many deliveries are pending again."
    )


@described("EventToken", "The requested token.", _TOKEN)
class EventTokenSerializer(serializers.Serializer[Any]):
    """The token in an event."""

    id = serializers.IntegerField(read_only=True, help_text="Its `id` in the catalogue.")
    symbol = serializers.CharField(read_only=True, help_text="For people.")
    decimals = serializers.IntegerField(
        read_only=True, min_value=0, help_text="How many fraction digits an amount of it has."
    )
    contract_address = serializers.CharField(
        read_only=True, help_text="Its contract or mint; empty for the chain's own coin."
    )


@described("EventObject", "What the event tells of: a payment, and how its request stands.", _OBJECT)
class EventObjectSerializer(serializers.Serializer[Any]):
    """`data.object` of spec 2.7 and contract 9, as `payments.requests.events.event_object` makes it."""

    id = serializers.CharField(
        read_only=True,
        allow_null=True,
        help_text="The payment: `pay_` and 24 characters. For `payment.expired` the latest, or null if nobody tried.",
    )
    amount = serializers.IntegerField(
        read_only=True,
        min_value=0,
        help_text=(
            "What this payment delivered, in the requested token's smallest unit, as a JSON integer. For "
            "`payment.failed` what was due, for `payment.expired` the request's. It may be larger than 2^53: where "
            "your language reads numbers as floats, take `amount_details`."
        ),
    )
    currency = serializers.CharField(read_only=True, help_text="The requested token's symbol.")
    status = serializers.ChoiceField(
        _DOCUMENTED_STATUSES, read_only=True, help_text="The last part of the event's type."
    )
    reference = serializers.CharField(
        read_only=True, allow_null=True, help_text="The request's `external_id`."
    )
    payment_request = serializers.UUIDField(read_only=True, help_text="The payment request's `id`.")
    shortcode = serializers.CharField(read_only=True, help_text="The payment request's `shortcode`.")
    token = EventTokenSerializer(read_only=True, help_text="The requested token.")
    chain_id = serializers.IntegerField(read_only=True, help_text="The chain that was asked for.")
    transaction_hash = serializers.CharField(
        read_only=True, allow_null=True, help_text="The customer's transaction; null if nobody tried."
    )
    type = serializers.ChoiceField(
        (("direct", "Direct"), ("swap", "Swap")),
        read_only=True,
        allow_null=True,
        help_text="`swap` where a routing provider delivered, `direct` else; null if nobody tried.",
    )
    source_chain_id = serializers.IntegerField(
        read_only=True,
        allow_null=True,
        help_text="The chain of `transaction_hash`, which of a swap may be another one; null if nobody tried.",
    )
    destination_transaction_hash = serializers.CharField(
        read_only=True,
        allow_null=True,
        help_text="The transaction that delivered on `chain_id`: once it succeeded, the same one unless it is a swap.",
    )
    amount_details = AmountSerializer(read_only=True, help_text="`amount`, exact in every language.")
    request_amount = AmountSerializer(read_only=True, help_text="What the whole request asks for.")
    amount_paid = AmountSerializer(read_only=True, help_text="What has come for the whole request.")
    amount_overpaid = AmountSerializer(read_only=True, help_text="What came beyond the amount asked for.")
    request_status = serializers.ChoiceField(
        (
            ("active", "Active"),
            ("completed", "Completed"),
            ("expired", "Expired"),
            ("cancelled", "Cancelled"),
        ),
        read_only=True,
        help_text="How the payment request stands after it.",
    )
    metadata = serializers.DictField(
        child=serializers.CharField(allow_blank=True),
        read_only=True,
        help_text="The request's own pairs.",
    )
    failure_code = serializers.CharField(
        required=False, help_text="`payment.failed` alone: why, for programs."
    )
    failure_message = serializers.CharField(
        required=False, help_text="`payment.failed` alone: why, for people."
    )
    test = serializers.BooleanField(required=False, help_text="True in a sample; left out in real events.")


@described("EventData", "What happened to what.", _EVENT["data"])
class EventDataSerializer(serializers.Serializer[Any]):
    """`data` of the envelope."""

    object = EventObjectSerializer(read_only=True, help_text="What the event tells of.")


@described("Event", "Something that happened. The same bytes are listed here, signed and sent.", _EVENT)
class EventSerializer(serializers.Serializer[Any]):
    """The envelope of spec 2.7."""

    id = serializers.CharField(
        read_only=True,
        help_text="`evt_` and 24 characters. Act once per id: the same event can arrive again.",
    )
    type = serializers.ChoiceField(EventType.choices, read_only=True, help_text="What happened.")
    created = serializers.IntegerField(read_only=True, help_text="When, in Unix seconds.")
    data = EventDataSerializer(  # type: ignore[assignment]  # the envelope's word; DRF keeps fields apart
        read_only=True, help_text="What it happened to."
    )


EventListSerializer = list_of(EventSerializer, "EventList")

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
