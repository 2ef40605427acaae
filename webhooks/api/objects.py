"""Webhook configurations, events and deliveries in the API's responses."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from config.api.answers import Answer, Choices, Time, doc
from config.api.schema.operations import described, list_of
from config.api.serializers import required_timestamp, timestamp
from webhooks import event_object
from webhooks.endpoints.secrets_at_rest import decrypt
from webhooks.event_object import EventData
from webhooks.event_types import EventType
from webhooks.models import Attempt, Delivery, Endpoint

EventTypeText = Annotated[str, Choices(EventType.choices)]
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


@described(
    "WebhookConfiguration",
    "The endpoint for your events. Until you set it, every field except `object` is null.",
    _CONFIGURATION,
)
class WebhookConfiguration(Answer, kw_only=True):
    """A merchant's endpoint, with its secret in plain text. Without an endpoint, all fields are null."""

    object: Annotated[Literal["webhook_configuration"], doc("Always `webhook_configuration`.")] = (
        "webhook_configuration"
    )
    url: Annotated[str | None, doc("The endpoint URL; null if none is set.")] = None
    secret: Annotated[
        str | None,
        doc(
            "The secret that signs the events. It is created with the first URL, with the first `enabled_events`, or "
            "with the first event for a request's own `webhook_url`. It changes only if you rotate it.",
            pattern=r"^whsec_[A-Za-z0-9]{32}$",
        ),
    ] = None
    is_enabled: Annotated[
        bool | None,
        doc(
            "Whether events are sent. If false, pending deliveries wait, and new events create no deliveries."
        ),
    ] = None
    enabled_events: Annotated[list[EventTypeText] | None, doc("The event types that are sent.")] = None
    created_at: Annotated[Time | None, doc("The time of the first configuration.")] = None
    updated_at: Annotated[Time | None, doc("The time of the last change.")] = None
    previous_secret_expires_at: Annotated[
        Time | None,
        doc("The time until which the previous secret signs events too; null if there is none."),
    ] = None
    disabled_reason: Annotated[
        str | None, doc("The reason why the service disabled the endpoint; null if it did not.")
    ] = None

    @classmethod
    def of(cls, endpoint: Endpoint | None, now: datetime) -> Self:
        if endpoint is None:
            return cls()
        expires = endpoint.previous_secret_expires_at
        return cls(
            url=endpoint.url,
            secret=decrypt(endpoint.secret_encrypted),
            is_enabled=endpoint.is_enabled,
            enabled_events=endpoint.event_types,
            created_at=timestamp(endpoint.created_at),
            updated_at=timestamp(endpoint.updated_at),
            previous_secret_expires_at=timestamp(expires) if expires and now < expires else None,
            disabled_reason=endpoint.disabled_reason,
        )


@described(
    "WebhookTest",
    "The result of a test.",
    {
        "event_id": "evt_LTtaHpfHNyNZ6GLTJmHUyxN5",
        "delivered": True,
        "status_code": 200,
        "duration_ms": 84,
        "error": None,
    },
)
class TestResult(Answer, kw_only=True):
    event_id: Annotated[str, doc("The test event's id: `evt_` and 24 characters.")]
    delivered: Annotated[bool, doc("Whether your endpoint returned 2xx within 10 seconds.")]
    status_code: Annotated[int | None, doc("The HTTP status of the response; null without a response.")]
    duration_ms: Annotated[int, doc("The duration in milliseconds.")]
    error: Annotated[str | None, doc("The error as a sentence, for people; null if there was none.")]


@described(
    "WebhookRedelivery",
    "The deliveries that are sent again.",
    {"object": "webhook_redelivery", "since": "2026-11-20T08:00:00Z", "count": 42},
)
class Redelivery(Answer, kw_only=True):
    object: Annotated[str, doc("Always `webhook_redelivery`.")] = "webhook_redelivery"
    since: Annotated[
        Time, doc("The `since` of your call. Deliveries that failed at this time or later are sent again.")
    ]
    count: Annotated[int, doc("The number of deliveries that are being sent again.", ge=0)]


@described(
    "Event",
    "A change that happened. Lists contain the same bytes that are signed and sent.",
    {
        "id": "evt_LTtaHpfHNyNZ6GLTJmHUyxN5",
        "type": "payment.succeeded",
        "created": 1795255624,
        "data": {"object": event_object.EXAMPLE},
    },
)
class EventEnvelope(Answer, kw_only=True):
    """Describes an event in the API reference.

    Events aren't encoded from this class: `webhooks.events.envelope` encodes them.
    """

    id: Annotated[str, doc("`evt_` and 24 characters. Handle each id once: the same event can arrive again.")]
    type: Annotated[EventTypeText, doc("The event type.")]
    created: Annotated[int, doc("The time of the event, in Unix seconds.")]
    data: Annotated[EventData, doc("The object that the event is about.")]


EventList = list_of(EventEnvelope, "EventList")


@described("WebhookAttempt", "One attempt to send a delivery.", _ATTEMPT)
class AttemptObject(Answer, kw_only=True):
    number: Annotated[int, doc("The number of the attempt, starting at 1. A redelivery continues the count.")]
    url: Annotated[str, doc("The URL of the attempt.")]
    started_at: Annotated[Time, doc("The time of the start.")]
    duration_ms: Annotated[int | None, doc("The duration in milliseconds; null during the attempt.")]
    status_code: Annotated[int | None, doc("The HTTP status of the response; null without a response.")]
    error: Annotated[str | None, doc("The error as a sentence, for people; null if there was none.")]
    response_excerpt: Annotated[str, doc("The first 1 KiB of the response body. May be empty.")]

    @classmethod
    def of(cls, attempt: Attempt) -> Self:
        return cls(
            number=attempt.number,
            url=attempt.url,
            started_at=required_timestamp(attempt.started_at),
            duration_ms=attempt.duration_ms,
            status_code=attempt.status_code,
            error=attempt.error or None,
            response_excerpt=attempt.response_excerpt,
        )


@described("WebhookDelivery", "The sending of one event to one URL.", _DELIVERY)
class DeliveryObject(Answer, kw_only=True):
    id: Annotated[str, doc("`del_` and 24 characters.")]
    object: Annotated[Literal["webhook_delivery"], doc("Always `webhook_delivery`.")] = "webhook_delivery"
    event_id: Annotated[str, doc("The `id` of the event. Lists of events don't contain test events.")]
    type: Annotated[EventTypeText, doc("The event's type.")]
    url: Annotated[
        str | None,
        doc(
            "The URL of the next attempt: the request's `webhook_url`, or else your endpoint. Null if neither is set."
        ),
    ]
    status: Annotated[
        str,
        Choices(Delivery.Status.choices),
        doc(
            "The status: `pending` while attempts remain, `delivered` after a 2xx, `failed` after the "
            "eighth attempt."
        ),
    ]
    attempt_count: Annotated[int, doc("The number of attempts, including one in progress.")]
    next_attempt_at: Annotated[
        Time | None,
        doc(
            "The time of the next attempt; null after the last. While no URL is set, or the endpoint is disabled, the "
            "attempt waits beyond this time."
        ),
    ]
    is_test: Annotated[bool, doc("Whether the delivery sends a test event.")]
    created_at: Annotated[Time, doc("The time of creation.")]
    finished_at: Annotated[Time | None, doc("The time of delivery or failure; null while `pending`.")]
    redelivered_at: Annotated[
        Time | None, doc("The time at which you last requested a redelivery; null if never.")
    ]

    @classmethod
    def of(cls, delivery: Delivery, **own: Any) -> Self:
        """Return the response object. `own` are the fields that a subclass adds."""
        return cls(
            id=delivery.id,
            event_id=delivery.public_event_id,
            type=delivery.type,
            url=_url(delivery),
            status=delivery.status,
            attempt_count=delivery.attempts,
            next_attempt_at=timestamp(delivery.due_at),
            is_test=delivery.is_test,
            created_at=required_timestamp(delivery.created_at),
            finished_at=timestamp(delivery.finished_at),
            redelivered_at=timestamp(delivery.redelivered_at),
            **own,
        )


def _url(delivery: Delivery) -> str | None:
    """Return the payment request's own webhook URL or, if it has none, the endpoint's current URL."""
    if delivery.url_override:
        return delivery.url_override
    endpoint = getattr(delivery.merchant, "webhook_endpoint", None)
    return endpoint.url if endpoint else None


@described(
    "WebhookDeliveryDetail", "A delivery with all of its attempts.", {**_DELIVERY, "attempts": [_ATTEMPT]}
)
class DeliveryDetail(DeliveryObject, kw_only=True):
    attempts: Annotated[list[AttemptObject], doc("All attempts, oldest first.")]


def delivery_detail(delivery: Delivery) -> DeliveryDetail:
    return DeliveryDetail.of(
        delivery, attempts=[AttemptObject.of(each) for each in delivery.attempt_set.all()]
    )
