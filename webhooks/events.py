"""The outbox: an event is written in the transaction of the change that it tells of (contract 9).

A merchant's events are written one after the other: whoever has seen one has seen, or can list after it, every other.
"""

import json
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from merchants.models import Merchant
from webhooks.endpoints.configuration import ensure_secret
from webhooks.event_types import DEFAULT_EVENT_TYPES, EventType
from webhooks.models import Delivery, Endpoint, Event

_ORDER_LOCK = 0x6576  # names these locks among PostgreSQL's advisory ones


def record_event(
    *,
    merchant: Merchant,
    type: str,
    dedupe_key: str,
    data: dict[str, Any],
    webhook_url: str | None = None,
) -> Event | None:
    """Write the event and its delivery inside the caller's transaction; None if it is written already.

    `dedupe_key` (up to 200 characters) names the occurrence: the same merchant, type and key never make a
    second event. `data` becomes `data.object`, its integers exact. `webhook_url` is the payment request's
    own, checked when it was set; without one the event goes to the merchant's endpoint, if that is enabled
    and wants the type. The periodic sweep sends it within about a second of the commit: nothing here touches
    the network or the broker.

    From here to the commit no other event of the merchant can be written, so this belongs at the end of the
    transaction, after its other locks.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("record_event belongs in the transaction of the change that it tells of")
    created = _next_moment(merchant)
    event = Event(merchant=merchant, type=EventType(type).value, created=created, dedupe_key=dedupe_key)
    event.body = envelope(event.id, event.type, created, data)
    _, is_new = Event.objects.get_or_create(
        merchant=merchant,
        type=event.type,
        dedupe_key=dedupe_key,
        defaults={"id": event.id, "created": created, "body": event.body},
    )
    if not is_new:
        return None
    if webhook_url:
        ensure_secret(merchant)
    if _is_wanted(merchant, event.type, webhook_url):
        Delivery.objects.create(
            merchant=merchant,
            event_id=event.id,
            public_event_id=event.id,
            type=event.type,
            url_override=webhook_url or "",
            due_at=timezone.now(),
        )
    return event


def _next_moment(merchant: Merchant) -> datetime:
    """Return the time for an event of `merchant`: later than any that it has, by the database's clock.

    The lock is held until the commit, so that events are committed in the order of their times. Without it a slow
    transaction's event would appear behind a newer one that a poller of `/api/events` has passed already.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_ORDER_LOCK, str(merchant.pk)])
        # A statement of its own: it sees what was committed while the lock was waited for.
        cursor.execute(
            "SELECT greatest(clock_timestamp(), max(created) + interval '1 microsecond')"
            " FROM webhooks_event WHERE merchant_id = %s",
            [merchant.pk],
        )
        moment: datetime = cursor.fetchone()[0]
    return moment


def envelope(event_id: str, type_: str, created: datetime, data: dict[str, Any]) -> bytes:
    """Return the body of spec 2.7: compact UTF-8 JSON, its integers written out in full."""
    content = {"id": event_id, "type": type_, "created": int(created.timestamp()), "data": {"object": data}}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _is_wanted(merchant: Merchant, type_: str, webhook_url: str | None) -> bool:
    """Whether anybody is told. A request's own URL always gets the default types, the others if named."""
    endpoint = Endpoint.objects.filter(merchant=merchant).first()
    named = endpoint is not None and type_ in endpoint.event_types
    if webhook_url:
        return named or type_ in DEFAULT_EVENT_TYPES
    return named and endpoint is not None and endpoint.is_reachable
