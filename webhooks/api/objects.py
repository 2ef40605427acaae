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
    "WebhookConfiguration", "Where your events go. Before any configuration, all null.", _CONFIGURATION
)
class WebhookConfiguration(Answer, kw_only=True):
    """A merchant's endpoint, its secret in the clear; all null where there is none."""

    object: Annotated[Literal["webhook_configuration"], doc("Always `webhook_configuration`.")] = (
        "webhook_configuration"
    )
    url: Annotated[str | None, doc("Where events go; null if nowhere.")] = None
    secret: Annotated[
        str | None,
        doc(
            "The secret that signs the events. Created with the first URL, the first `enabled_events` or the first "
            "event for a request's own `webhook_url`; kept until it is rotated.",
            pattern=r"^whsec_[A-Za-z0-9]{32}$",
        ),
    ] = None
    is_enabled: Annotated[bool | None, doc("Whether events are sent; false holds them back.")] = None
    enabled_events: Annotated[list[EventTypeText] | None, doc("The event types that are sent.")] = None
    created_at: Annotated[Time | None, doc("When it was first configured.")] = None
    updated_at: Annotated[Time | None, doc("When it was last changed.")] = None
    previous_secret_expires_at: Annotated[
        Time | None,
        doc("Until when the former secret signs as well, after a rotation; null if it does not."),
    ] = None
    disabled_reason: Annotated[str | None, doc("Why the service switched it off; null unless it did.")] = None

    @classmethod
    def of(cls, endpoint: Endpoint | None, now: datetime) -> Self:
        """Return the configuration of this endpoint."""
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
    """The result of a test event."""

    event_id: Annotated[str, doc("The test event's id: `evt_` and 24 characters.")]
    delivered: Annotated[bool, doc("Whether your endpoint answered 2xx within 10 seconds.")]
    status_code: Annotated[int | None, doc("What it answered; null if nothing.")]
    duration_ms: Annotated[int, doc("How long it took, in milliseconds.")]
    error: Annotated[str | None, doc("What went wrong; null if nothing.")]


@described(
    "WebhookRedelivery",
    "How much is sent again.",
    {"object": "webhook_redelivery", "since": "2026-11-20T08:00:00Z", "count": 42},
)
class Redelivery(Answer, kw_only=True):
    """What is sent again."""

    object: Annotated[str, doc("Always `webhook_redelivery`.")] = "webhook_redelivery"
    since: Annotated[Time, doc("The requested time.")]
    count: Annotated[int, doc("How many deliveries are pending again.", ge=0)]


@described(
    "Event",
    "Something that happened. The same bytes are listed here, signed and sent.",
    {
        "id": "evt_LTtaHpfHNyNZ6GLTJmHUyxN5",
        "type": "payment.succeeded",
        "created": 1795255624,
        "data": {"object": event_object.EXAMPLE},
    },
)
class EventEnvelope(Answer, kw_only=True):
    """An event. It is stored as the bytes that are sent, so this only describes it (`webhooks.events.envelope`)."""

    id: Annotated[str, doc("`evt_` and 24 characters. Act once per id: the same event can arrive again.")]
    type: Annotated[EventTypeText, doc("What happened.")]
    created: Annotated[int, doc("When, in Unix seconds.")]
    data: Annotated[EventData, doc("What it happened to.")]


EventList = list_of(EventEnvelope, "EventList")


@described("WebhookAttempt", "One try at a delivery.", _ATTEMPT)
class AttemptObject(Answer, kw_only=True):
    """One attempt; `duration_ms` is null while it is under way."""

    number: Annotated[int, doc("1 for the first; numbers go on when it is sent again.")]
    url: Annotated[str, doc("Where it went.")]
    started_at: Annotated[Time, doc("When it began.")]
    duration_ms: Annotated[int | None, doc("How long it took, in milliseconds; null while it is under way.")]
    status_code: Annotated[int | None, doc("What the receiver answered; null if nothing.")]
    error: Annotated[str | None, doc("What went wrong, for people; null if nothing.")]
    response_excerpt: Annotated[str, doc("The first 1 KiB of the receiver's answer; may be empty.")]

    @classmethod
    def of(cls, attempt: Attempt) -> Self:
        """Return the attempt's object."""
        return cls(
            number=attempt.number,
            url=attempt.url,
            started_at=required_timestamp(attempt.started_at),
            duration_ms=attempt.duration_ms,
            status_code=attempt.status_code,
            error=attempt.error or None,
            response_excerpt=attempt.response_excerpt,
        )


@described("WebhookDelivery", "The sending of one event to one place.", _DELIVERY)
class DeliveryObject(Answer, kw_only=True):
    """A delivery without its attempts."""

    id: Annotated[str, doc("`del_` and 24 characters.")]
    object: Annotated[Literal["webhook_delivery"], doc("Always `webhook_delivery`.")] = "webhook_delivery"
    event_id: Annotated[str, doc("The event that it brings; a test's is in no list.")]
    type: Annotated[EventTypeText, doc("The event's type.")]
    url: Annotated[str | None, doc("Where it goes now; null if nowhere.")]
    status: Annotated[
        str,
        Choices(Delivery.Status.choices),
        doc("`pending` while attempts remain, `delivered` after a 2xx, `failed` after the eighth."),
    ]
    attempt_count: Annotated[int, doc("How often it was tried.")]
    next_attempt_at: Annotated[Time | None, doc("When it is tried next; null once it is decided.")]
    is_test: Annotated[bool, doc("Whether it is a test event.")]
    created_at: Annotated[Time, doc("When it was made.")]
    finished_at: Annotated[Time | None, doc("When it was decided; null while it is pending.")]
    redelivered_at: Annotated[Time | None, doc("When it was last sent again on request; null if never.")]

    @classmethod
    def of(cls, delivery: Delivery, **own: Any) -> Self:
        """Return the delivery's object; `own` are the fields that only this kind of object has."""
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
    """Return where it goes now: the payment request's own URL, else the endpoint's of the moment."""
    if delivery.url_override:
        return delivery.url_override
    endpoint = getattr(delivery.merchant, "webhook_endpoint", None)
    return endpoint.url if endpoint else None


@described(
    "WebhookDeliveryDetail", "A delivery with all of its attempts.", {**_DELIVERY, "attempts": [_ATTEMPT]}
)
class DeliveryDetail(DeliveryObject, kw_only=True):
    """A delivery with every attempt, oldest first."""

    attempts: Annotated[list[AttemptObject], doc("Every attempt, oldest first.")]


def delivery_detail(delivery: Delivery) -> DeliveryDetail:
    """Return the delivery with every attempt."""
    return DeliveryDetail.of(
        delivery, attempts=[AttemptObject.of(each) for each in delivery.attempt_set.all()]
    )
