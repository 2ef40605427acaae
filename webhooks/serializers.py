"""The bodies of the calls under `/api/webhooks` (contract 9)."""

from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers

from config.api.errors import ErrorCode
from config.api.serializers import StrictSerializer, TextField, TrueOrFalseField
from webhooks.endpoints import UNCHANGED, Change
from webhooks.models import Endpoint, EventType
from webhooks.secrets_at_rest import decrypt

_KNOWN_TYPES = ", ".join(EventType.values)


class EventTypeField(TextField):
    """The name of one event type."""

    def to_internal_value(self, data: Any) -> str:
        """Return the type, or refuse a name that no event has."""
        text = super().to_internal_value(data)
        if text not in EventType.values:
            message = f"There is no event type {text[:64]!r}; there are {_KNOWN_TYPES}."
            raise serializers.ValidationError(message, ErrorCode.PARAMETER_INVALID.value)
        return text


class EndpointChangeSerializer(StrictSerializer):
    """The body of PUT. `url` has to be there, null to remove; what else is left out keeps its value."""

    url = TextField(allow_null=True, allow_blank=True)
    is_enabled = TrueOrFalseField(required=False)
    enabled_events = serializers.ListField(
        child=EventTypeField(), allow_null=True, allow_empty=False, required=False
    )
    rotate_secret = TrueOrFalseField(required=False, default=False)

    def change(self) -> Change:
        """Return what is asked for; event types in their own order, each once."""
        given = self.validated_data
        events = given.get("enabled_events", UNCHANGED)
        if isinstance(events, list):
            events = [type_ for type_ in EventType.values if type_ in events]
        return Change(
            url=given["url"],
            is_enabled=given.get("is_enabled", UNCHANGED),
            enabled_events=events,
            rotate_secret=given["rotate_secret"],
        )


class TestSerializer(StrictSerializer):
    """The body of a test call."""

    type = EventTypeField(required=False, default=EventType.PAYMENT_SUCCEEDED.value)


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
        "created_at": _timestamp(endpoint.created_at),
        "updated_at": _timestamp(endpoint.updated_at),
        "previous_secret_expires_at": _timestamp(expires) if expires and now < expires else None,
        "disabled_reason": endpoint.disabled_reason,
    }


def _timestamp(time: datetime) -> str:
    """Return `time` as RFC 3339 in UTC ending in Z."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
