"""The bodies of the calls under `/api/webhooks` (contract 9)."""

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.api.errors import ApiError, ErrorCode
from config.api.paging import ListQuery, TimeInQueryField
from config.api.schema.operations import described
from config.api.serializers import (
    OneOfField,
    StrictSerializer,
    TextField,
    TimestampField,
    TrueOrFalseField,
    invalid,
    kind_of,
    timestamp,
)
from webhooks.dispatch.http_client import check_url
from webhooks.endpoints.configuration import UNCHANGED, Change
from webhooks.endpoints.secrets_at_rest import decrypt
from webhooks.models import Attempt, Delivery, Endpoint, EventType

_MOST_TYPES_NAMED = 50


@extend_schema_field({"type": "string", "format": "uri", "maxLength": 2048})
class WebhookAddressField(TextField):
    """An address that the service itself calls: never a private one (contract 9)."""

    default_error_messages = {"blank": "The URL should be an absolute https address; got an empty string."}

    def __init__(self, **options: Any) -> None:
        super().__init__(code=ErrorCode.URL_INVALID, **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the address unchanged, or refuse it."""
        text = super().to_internal_value(data)
        try:
            check_url(text)
        except ApiError as error:
            problem = error.problems[0]
            raise invalid(problem.message, problem.code) from error
        return text


class EventTypesField(serializers.ListField):
    """Names of event types."""

    child = OneOfField(choices=EventType.choices)

    def to_internal_value(self, data: Any) -> list[Any]:
        """Return the types, or refuse what is no list of them."""
        if not isinstance(data, list):
            raise invalid(f"This should be an array of event types; got {kind_of(data)}.")
        if not 1 <= len(data) <= _MOST_TYPES_NAMED:
            message = (
                f"This should name 1 to {_MOST_TYPES_NAMED} event types; null stands for the default ones."
            )
            raise invalid(message)
        return self.run_child_validation(data)


@described(
    "WebhookConfigurationChange",
    "What is to change. `url` has to be there; what else is left out, or null, keeps its value.",
    {
        "url": "https://shop.example.com/webhooks/quittance",
        "is_enabled": True,
        "enabled_events": ["payment.succeeded", "payment.failed", "payment.expired"],
        "rotate_secret": False,
    },
)
class EndpointChangeSerializer(StrictSerializer):
    """The body of PUT. `url` has to be there, null to remove; what else is left out, or null, keeps its value.

    `enabled_events` alone has a null of its own: the default types again.
    """

    url = WebhookAddressField(
        allow_null=True,
        help_text=(
            "Where events go: https, on port 80, 443 or one from 1024 up, never a private address. Null removes the "
            "endpoint; its secret survives."
        ),
    )
    is_enabled = TrueOrFalseField(
        required=False, allow_null=True, help_text="False holds deliveries back; new events then get none."
    )
    enabled_events = EventTypesField(
        allow_null=True,
        required=False,
        min_length=1,
        max_length=_MOST_TYPES_NAMED,
        help_text="The event types to send, 1 to 50 names. Null stands for the first three again.",
    )
    rotate_secret = TrueOrFalseField(
        required=False,
        allow_null=True,
        default=False,
        help_text="True makes a new secret. For 24 hours both sign: the header then has two `v1=`.",
    )

    def change(self) -> Change:
        """Return what is asked for; event types in their own order, each once."""
        given = self.validated_data
        events = given.get("enabled_events", UNCHANGED)
        if isinstance(events, list):
            events = [type_ for type_ in EventType.values if type_ in events]
        return Change(
            url=given["url"],
            is_enabled=UNCHANGED if given.get("is_enabled") is None else given["is_enabled"],
            enabled_events=events,
            rotate_secret=bool(given["rotate_secret"]),
        )


@described("WebhookTestOrder", "Which sample to send.", {"type": "payment.succeeded"})
class TestSerializer(StrictSerializer):
    """The body of a test call."""

    type = OneOfField(
        choices=EventType.choices,
        required=False,
        allow_null=True,
        default=EventType.PAYMENT_SUCCEEDED.value,
        help_text="The type of the sample.",
    )


def configuration(endpoint: Endpoint | None, now: datetime) -> dict[str, Any]:
    """Return the `webhook_configuration` object, its secret in the clear; all null where there is none."""
    if endpoint is None:
        fields = ("url", "secret", "is_enabled", "enabled_events", "created_at", "updated_at")
        never = dict.fromkeys((*fields, "previous_secret_expires_at", "disabled_reason"))
        return {"object": "webhook_configuration", **never}
    expires = endpoint.previous_secret_expires_at
    return {
        "object": "webhook_configuration",
        "url": endpoint.url,
        "secret": decrypt(endpoint.secret_encrypted),
        "is_enabled": endpoint.is_enabled,
        "enabled_events": endpoint.event_types,
        "created_at": timestamp(endpoint.created_at),
        "updated_at": timestamp(endpoint.updated_at),
        "previous_secret_expires_at": timestamp(expires) if expires and now < expires else None,
        "disabled_reason": endpoint.disabled_reason,
    }


class EventListQuery(ListQuery):
    """The query of GET /api/events."""

    type = OneOfField(choices=EventType.choices, required=False, help_text="Only events of this type.")
    created_after = TimeInQueryField(required=False, help_text="Only events later than this.")
    created_before = TimeInQueryField(required=False, help_text="Only events earlier than this.")


class DeliveryListQuery(ListQuery):
    """The query of GET /api/webhooks/deliveries."""

    event_id = TextField(max_length=64, required=False, help_text="Only deliveries of this event.")
    type = OneOfField(
        choices=EventType.choices, required=False, help_text="Only deliveries of this event type."
    )
    status = OneOfField(
        choices=Delivery.Status.choices, required=False, help_text="Only those in this state."
    )


@described("RedeliverFailed", "Since when.", {"since": "2026-11-20T08:00:00Z", "type": "payment.succeeded"})
class RedeliverFailedSerializer(StrictSerializer):
    """The body of POST /api/webhooks/deliveries/redeliver."""

    since = TimeInQueryField(help_text="Deliveries given up at this time or later are sent again.")
    type = OneOfField(
        choices=EventType.choices, required=False, help_text="Only deliveries of this event type."
    )


_ATTEMPT: dict[str, Any] = {
    "number": 1,
    "url": "https://shop.example.com/webhooks/quittance",
    "started_at": "2026-11-21T10:06:53.204417Z",
    "duration_ms": 84,
    "status_code": 200,
    "error": None,
    "response_excerpt": "ok",
}
_DELIVERY: dict[str, Any] = {
    "id": "del_7Hq2mVXc9RtKd4NwZb6YpLs3",
    "object": "webhook_delivery",
    "event_id": "evt_LTtaHpfHNyNZ6GLTJmHUyxN5",
    "type": "payment.succeeded",
    "url": "https://shop.example.com/webhooks/quittance",
    "status": "delivered",
    "attempt_count": 1,
    "next_attempt_at": None,
    "is_test": False,
    "created_at": "2026-11-21T10:06:52.620914Z",
    "finished_at": "2026-11-21T10:06:53.288420Z",
    "redelivered_at": None,
}


@described("WebhookAttempt", "One try at a delivery.", _ATTEMPT)
class AttemptSerializer(serializers.ModelSerializer[Attempt]):
    """One attempt; `duration_ms` is null while it is under way, `error` where there was none."""

    started_at = TimestampField(help_text="When it began.")
    error = serializers.SerializerMethodField(help_text="What went wrong, for people; null if nothing.")

    class Meta:
        model = Attempt
        fields = ("number", "url", "started_at", "duration_ms", "status_code", "error", "response_excerpt")
        read_only_fields = fields
        extra_kwargs = {
            "number": {"help_text": "1 for the first; numbers go on when it is sent again."},
            "url": {"help_text": "Where it went."},
            "duration_ms": {"help_text": "How long it took, in milliseconds; null while it is under way."},
            "status_code": {"help_text": "What the receiver answered; null if nothing."},
            "response_excerpt": {"help_text": "The first 1 KiB of the receiver's answer; may be empty."},
        }

    def get_error(self, attempt: Attempt) -> str | None:
        """Return what went wrong, for people."""
        return attempt.error or None


@described("WebhookDelivery", "The sending of one event to one place.", _DELIVERY)
class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """A delivery without its attempts."""

    object = serializers.ReadOnlyField(default="webhook_delivery", help_text="Always `webhook_delivery`.")
    event_id = serializers.CharField(
        source="public_event_id",
        read_only=True,
        help_text="The event that it brings; a test's stands in no list.",
    )
    url = serializers.SerializerMethodField(help_text="Where it goes now; null if nowhere.")
    attempt_count = serializers.IntegerField(
        source="attempts", read_only=True, help_text="How often it was tried."
    )
    next_attempt_at = TimestampField(
        source="due_at", allow_null=True, help_text="When it is tried next; null once it is decided."
    )
    created_at = TimestampField(help_text="When it was made.")
    finished_at = TimestampField(allow_null=True, help_text="When it was decided; null while it is pending.")
    redelivered_at = TimestampField(
        allow_null=True, help_text="When it was last sent again on request; null if never."
    )

    class Meta:
        model = Delivery
        fields: tuple[str, ...] = (
            "id",
            "object",
            "event_id",
            "type",
            "url",
            "status",
            "attempt_count",
            "next_attempt_at",
            "is_test",
            "created_at",
            "finished_at",
            "redelivered_at",
        )
        read_only_fields = fields
        extra_kwargs: dict[str, dict[str, Any]] = {
            "id": {"help_text": "`del_` and 24 characters."},
            "type": {"help_text": "The event's type."},
            "status": {
                "help_text": "`pending` while attempts remain, `delivered` after a 2xx, `failed` after the eighth."
            },
            "is_test": {"help_text": "Whether it is a sample, sent by a test."},
        }

    def get_url(self, delivery: Delivery) -> str | None:
        """Return where it goes now: the payment request's own URL, else the endpoint's of the moment."""
        if delivery.url_override:
            return delivery.url_override
        endpoint = getattr(delivery.merchant, "webhook_endpoint", None)
        return endpoint.url if endpoint else None


@described(
    "WebhookDeliveryDetail", "A delivery with all of its attempts.", {**_DELIVERY, "attempts": [_ATTEMPT]}
)
class DeliveryDetailSerializer(DeliverySerializer):
    """A delivery with every attempt, oldest first."""

    attempts = AttemptSerializer(
        source="attempt_set", many=True, read_only=True, help_text="Every attempt, oldest first."
    )

    class Meta(DeliverySerializer.Meta):
        fields = (*DeliverySerializer.Meta.fields, "attempts")
