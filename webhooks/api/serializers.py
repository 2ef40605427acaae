from typing import Any

from rest_framework import serializers

from config.api.errors import ApiError
from config.api.paging import ListQuery, TimeInQueryField
from config.api.schema.operations import described
from config.api.serializers import (
    OneOfField,
    StrictSerializer,
    TextField,
    TrueOrFalseField,
    UrlField,
    invalid,
    kind_of,
)
from webhooks.dispatch.http_client import check_url
from webhooks.endpoints.configuration import UNCHANGED, Change
from webhooks.event_types import EventType
from webhooks.models import Delivery

_MAX_TYPES_NAMED = 50


class WebhookAddressField(UrlField):
    """The URL of a receiver. The service will call it, so private addresses are rejected."""

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        try:
            check_url(text)
        except ApiError as error:
            problem = error.problems[0]
            raise invalid(problem.message, problem.code) from error
        return text


class EventTypesField(serializers.ListField):
    child = OneOfField(choices=EventType.choices)

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            raise invalid(f"This should be an array of event types; got {kind_of(data)}.")
        if not 1 <= len(data) <= _MAX_TYPES_NAMED:
            message = f"This should name 1 to {_MAX_TYPES_NAMED} event types; null means the default ones."
            raise invalid(message)
        return self.run_child_validation(data)


@described(
    "WebhookConfigurationChange",
    (
        "The new settings. `url` is required, unless no URL is set and you send `enabled_events`. Other "
        "fields keep their value if they are missing or null."
    ),
    {
        "url": "https://shop.example.com/webhooks/quittance",
        "is_enabled": True,
        "enabled_events": ["payment.succeeded", "payment.failed", "payment.expired"],
        "rotate_secret": False,
    },
)
class EndpointChangeSerializer(StrictSerializer):
    """The body of PUT /api/webhooks. Omitted settings keep their values. A null `is_enabled` also keeps its value.

    A null `url` removes the URL. A null `enabled_events` restores the default types. `url` may be omitted if the
    merchant has no URL: the event types then apply to payment requests with their own `webhook_url`.
    """

    url = WebhookAddressField(
        allow_null=True,
        required=False,
        help_text=(
            "The https URL for events. The port must be 80, 443, or at least 1024. Private addresses are rejected. "
            "Null removes the URL and keeps the secret and `enabled_events`."
        ),
    )
    is_enabled = TrueOrFalseField(
        required=False,
        allow_null=True,
        help_text=(
            "Whether to send events. If false, pending deliveries wait, and new events create no deliveries."
        ),
    )
    enabled_events = EventTypesField(
        allow_null=True,
        required=False,
        min_length=1,
        max_length=_MAX_TYPES_NAMED,
        help_text=(
            "The event types to send, 1 to 50. Null selects the first three types. A request's own `webhook_url` also "
            "gets these types, and always the first three."
        ),
    )
    rotate_secret = TrueOrFalseField(
        required=False,
        allow_null=True,
        default=False,
        help_text=(
            "Whether to create a new secret. For 24 hours, events are also signed with the previous secret, in "
            "another `v1=`."
        ),
    )

    def to_internal_value(self, data: Any) -> Any:
        """Require `url` if the body has no event types."""
        self.fields["url"].required = not (isinstance(data, dict) and "enabled_events" in data)
        return super().to_internal_value(data)

    def change(self) -> Change:
        """Return the change. Sort the event types in their declared order, without duplicates."""
        data = self.validated_data
        events = data.get("enabled_events", UNCHANGED)
        if isinstance(events, list):
            events = [type_ for type_ in EventType.values if type_ in events]
        return Change(
            url=data.get("url", UNCHANGED),
            is_enabled=UNCHANGED if data.get("is_enabled") is None else data["is_enabled"],
            enabled_events=events,
            rotate_secret=bool(data["rotate_secret"]),
        )


@described("WebhookTestOrder", "The test event to send.", {"type": "payment.succeeded"})
class TestSerializer(StrictSerializer):
    type = OneOfField(
        choices=EventType.choices,
        required=False,
        allow_null=True,
        default=EventType.PAYMENT_SUCCEEDED.value,
        help_text="The type of the test event.",
    )


class EventListQuery(ListQuery):
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
        choices=Delivery.Status.choices, required=False, help_text="Only deliveries with this status."
    )


@described(
    "RedeliverFailed",
    "The failed deliveries to send again.",
    {"since": "2026-11-20T08:00:00Z", "type": "payment.succeeded"},
)
class RedeliverFailedSerializer(StrictSerializer):
    """The body of POST /api/webhooks/deliveries/redeliver."""

    since = TimeInQueryField(help_text="Only deliveries that failed at this time or later.")
    type = OneOfField(
        choices=EventType.choices, required=False, help_text="Only deliveries of this event type."
    )
