"""The bodies of the calls under `/api/webhooks` (contract 9)."""

from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers

from config.api.errors import ApiError, ErrorCode
from config.api.serializers import (
    OneOfField,
    StrictSerializer,
    TextField,
    TrueOrFalseField,
    invalid,
    kind_of,
)
from webhooks.endpoints import UNCHANGED, Change
from webhooks.models import Endpoint, EventType
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
        "created_at": _timestamp(endpoint.created_at),
        "updated_at": _timestamp(endpoint.updated_at),
        "previous_secret_expires_at": _timestamp(expires) if expires and now < expires else None,
        "disabled_reason": endpoint.disabled_reason,
    }


def _timestamp(time: datetime) -> str:
    """Return `time` as RFC 3339 in UTC ending in Z."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
