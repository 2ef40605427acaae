"""The outbox: events are written in the transaction of the change that they describe.

The events of one merchant are committed in the order of their times, so that a client that polls for newer events never
misses one.
"""

import json
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from merchants.models import Merchant
from webhooks.endpoints.configuration import ensure_secret
from webhooks.event_types import DEFAULT_EVENT_TYPES, EventType
from webhooks.models import Delivery, Endpoint, Event, EventBody

_ORDER_LOCK = 0x6576  # the namespace of these advisory locks


def record_event(
    *,
    merchant: Merchant,
    type: str,
    dedupe_key: str,
    data: dict[str, Any],
    webhook_url: str | None = None,
) -> Event | None:
    """Write an event and its delivery inside the caller's transaction; return None if it already exists.

    `dedupe_key` (up to 200 characters) identifies the occurrence: there is one event per merchant, type and key. `data`
    becomes `data.object`, with exact integers. `webhook_url` is the payment request's own URL, checked when it was set.
    Without one, the event goes to the merchant's endpoint if that is enabled and subscribed to the type. The periodic
    sweep sends it within about a second of the commit; nothing here uses the network or the broker.

    Until the commit no other event of the merchant can be written, so call this at the end of the transaction, after
    taking other locks.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("record_event must be called in the transaction of the change that it describes")
    created = _next_moment(merchant)
    event = Event(merchant=merchant, type=EventType(type).value, created=created, dedupe_key=dedupe_key)
    event.body = envelope(event.id, event.type, created, data)
    _, is_new = Event.objects.get_or_create(
        merchant=merchant,
        type=event.type,
        dedupe_key=dedupe_key,
        defaults={"id": event.id, "created": created},
    )
    if not is_new:
        return None
    EventBody.objects.create(event_id=event.id, created=created, body=event.body)
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
    """Return the time for a new event of `merchant`: the database's clock, but later than all its events.

    The lock is held until the commit, so that events are committed in the order of their times. Without it, the event
    of a slow transaction could appear behind a newer one that a client polling `/api/events` has already passed.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_ORDER_LOCK, str(merchant.pk)])
        # A separate statement, which sees what was committed while waiting for the lock.
        cursor.execute(
            "SELECT greatest(clock_timestamp(), max(created) + interval '1 microsecond')"
            " FROM webhooks_event WHERE merchant_id = %s",
            [merchant.pk],
        )
        moment: datetime = cursor.fetchone()[0]
    return moment


def envelope(event_id: str, type_: str, created: datetime, data: dict[str, Any]) -> bytes:
    """Return the event object as compact UTF-8 JSON, with integers in full."""
    content = {"id": event_id, "type": type_, "created": int(created.timestamp()), "data": {"object": data}}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _is_wanted(merchant: Merchant, type_: str, webhook_url: str | None) -> bool:
    """Whether the event is delivered. A request's own URL always gets the default types, others if subscribed."""
    endpoint = Endpoint.objects.filter(merchant=merchant).first()
    named = endpoint is not None and type_ in endpoint.event_types
    if webhook_url:
        return named or type_ in DEFAULT_EVENT_TYPES
    return named and endpoint is not None and endpoint.is_reachable
