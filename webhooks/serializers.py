"""The bodies of the calls under `/api/webhooks` (contract 9)."""

from datetime import datetime
from typing import Any

from rest_framework import serializers

from config.api.errors import ApiError, ErrorCode
from config.api.paging import ListQuery, TimeInQueryField
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
from webhooks.endpoints import UNCHANGED, Change
from webhooks.models import Attempt, Delivery, Endpoint, EventType
from webhooks.outbound import check_url
from webhooks.secrets_at_rest import decrypt

_MOST_TYPES_NAMED = 50


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


class EndpointChangeSerializer(StrictSerializer):
    """The body of PUT. `url` has to be there, null to remove; what else is left out, or null, keeps its value.

    `enabled_events` alone has a null of its own: the default types again.
    """

    url = WebhookAddressField(allow_null=True)
    is_enabled = TrueOrFalseField(required=False, allow_null=True)
    enabled_events = EventTypesField(allow_null=True, required=False)
    rotate_secret = TrueOrFalseField(required=False, allow_null=True, default=False)

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


class TestSerializer(StrictSerializer):
    """The body of a test call."""

    type = OneOfField(
        choices=EventType.choices,
        required=False,
        allow_null=True,
        default=EventType.PAYMENT_SUCCEEDED.value,
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

    type = OneOfField(choices=EventType.choices, required=False)
    created_after = TimeInQueryField(required=False)
    created_before = TimeInQueryField(required=False)


class DeliveryListQuery(ListQuery):
    """The query of GET /api/webhooks/deliveries."""

    event_id = TextField(max_length=64, required=False)
    type = OneOfField(choices=EventType.choices, required=False)
    status = OneOfField(choices=Delivery.Status.choices, required=False)


class AttemptSerializer(serializers.ModelSerializer[Attempt]):
    """One attempt; `duration_ms` is null while it is under way, `error` where there was none."""

    started_at = TimestampField()
    error = serializers.SerializerMethodField()

    class Meta:
        model = Attempt
        fields = ("number", "url", "started_at", "duration_ms", "status_code", "error", "response_excerpt")

    def get_error(self, attempt: Attempt) -> str | None:
        """Return what went wrong, for people."""
        return attempt.error or None


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """A delivery without its attempts."""

    object = serializers.ReadOnlyField(default="webhook_delivery")
    event_id = serializers.CharField(source="public_event_id", read_only=True)
    url = serializers.SerializerMethodField()
    attempt_count = serializers.IntegerField(source="attempts", read_only=True)
    next_attempt_at = TimestampField(source="due_at")
    created_at = TimestampField()
    finished_at = TimestampField()
    redelivered_at = TimestampField()

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

    def get_url(self, delivery: Delivery) -> str | None:
        """Return where it goes now: the payment request's own URL, else the endpoint's of the moment."""
        if delivery.url_override:
            return delivery.url_override
        endpoint = getattr(delivery.merchant, "webhook_endpoint", None)
        return endpoint.url if endpoint else None


class DeliveryDetailSerializer(DeliverySerializer):
    """A delivery with every attempt, oldest first."""

    attempts = AttemptSerializer(source="attempt_set", many=True, read_only=True)

    class Meta(DeliverySerializer.Meta):
        fields = (*DeliverySerializer.Meta.fields, "attempts")
