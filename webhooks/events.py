"""The outbox. An event is written in the same database transaction as the change that it describes.

A merchant's events are committed in the order of their times. So a client that polls for newer events misses no event.
"""

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from config.api.log_context import log_context
from config.due_work.listening import Channel, notify
from merchants.models import Merchant
from webhooks.endpoints.configuration import ensure_secret
from webhooks.event_types import DEFAULT_EVENT_TYPES, EventType
from webhooks.models import Delivery, Endpoint, Event, EventBody

logger = logging.getLogger(__name__)

# The first number of each merchant's advisory lock. The second number is a hash of the merchant's ID.
_ORDER_LOCK = 0x6576
# A transaction may write events of several merchants. To prevent deadlocks, it takes the merchants' locks in ascending
# order of their numbers.
_LOCK_IN_ORDER = """
    SELECT pg_advisory_xact_lock(%s, number)
    FROM (SELECT DISTINCT hashtext(merchant) AS number FROM unnest(%s::text[]) AS merchant ORDER BY number) AS ordered
"""
_MOMENTS = """
    SELECT merchant.id, greatest(clock_timestamp(), latest.created + interval '1 microsecond')
    FROM unnest(%s::uuid[]) AS merchant (id)
    LEFT JOIN LATERAL (
        SELECT created FROM webhooks_event WHERE merchant_id = merchant.id ORDER BY created DESC LIMIT 1
    ) AS latest ON true
"""


@dataclass(frozen=True)
class NewEvent:
    """An event to write. `record_event` explains most fields. `logged` has the ids to add to log lines."""

    merchant: Merchant
    type: str
    dedupe_key: str
    data: dict[str, Any]
    webhook_url: str | None = None
    logged: Mapping[str, object] = field(default_factory=dict)


def record_event(
    *,
    merchant: Merchant,
    type: str,
    dedupe_key: str,
    data: dict[str, Any],
    webhook_url: str | None = None,
) -> Event | None:
    """Write an event and its delivery in the caller's transaction. Return None if the event already exists.

    `dedupe_key` has up to 200 characters. There is only one event for each merchant, type and key. `data` becomes the
    event's `data.object`, with exact integers. `webhook_url` is the payment request's own URL. If it is None, the event
    goes to the merchant's endpoint, if the endpoint is enabled and subscribed to the type. The delivery starts after
    the commit.

    Until the commit, no other event of the merchant can be written. So call this function at the end of the
    transaction, after taking other locks.
    """
    [event] = record_events([NewEvent(merchant, type, dedupe_key, data, webhook_url)])
    return event


def record_events(new: Sequence[NewEvent]) -> list[Event | None]:
    """Write several events and their deliveries, as `record_event` does for one event.

    The events of a merchant get times in the order of the list. For an event that already exists, the result contains
    None.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("record_event must be called in the transaction of the change that it describes")
    moments = _next_moments({each.merchant.pk for each in new})
    events: list[Event | None] = []
    existing = _existing(new)
    for each in new:
        key = (each.merchant.pk, EventType(each.type).value, each.dedupe_key)
        if key in existing:
            events.append(None)
            continue
        existing.add(key)
        created = moments[each.merchant.pk]
        moments[each.merchant.pk] = created + timedelta(microseconds=1)
        event = Event(merchant=each.merchant, type=key[1], created=created, dedupe_key=each.dedupe_key)
        event.body = envelope(event.id, event.type, created, each.data)
        events.append(event)
    recorded = [event for event in events if event is not None]
    Event.objects.bulk_create(recorded)
    EventBody.objects.bulk_create(
        EventBody(event_id=event.id, created=event.created, body=event.body) for event in recorded
    )
    written = [(each, event) for each, event in zip(new, events, strict=True) if event is not None]
    _write_deliveries(written)
    transaction.on_commit(lambda: _log(written), robust=True)
    return events


def _log(written: Sequence[tuple[NewEvent, Event]]) -> None:
    for each, event in written:
        with log_context(event_id=event.id, **each.logged):
            logger.info("event %s recorded", event.type)


def _existing(new: Sequence[NewEvent]) -> set[tuple[UUID, str, str]]:
    """Return the merchant, type and key of events that already exist. The merchants must be locked."""
    rows = Event.objects.filter(
        merchant_id__in={each.merchant.pk for each in new},
        type__in={EventType(each.type).value for each in new},
        dedupe_key__in=[each.dedupe_key for each in new],
    )
    return set(rows.values_list("merchant_id", "type", "dedupe_key"))


def _write_deliveries(recorded: Sequence[tuple[NewEvent, Event]]) -> None:
    merchants = {each.merchant.pk: each.merchant for each, _ in recorded}
    endpoints = {each.merchant_id: each for each in Endpoint.objects.filter(merchant_id__in=merchants)}
    for each, _ in recorded:
        if each.webhook_url and each.merchant.pk not in endpoints:
            endpoints[each.merchant.pk] = ensure_secret(each.merchant)
    deliveries = [
        Delivery(
            merchant=each.merchant,
            event_id=event.id,
            public_event_id=event.id,
            type=event.type,
            url_override=each.webhook_url or "",
            due_at=timezone.now(),
        )
        for each, event in recorded
        if _is_delivered(endpoints.get(each.merchant.pk), event.type, each.webhook_url)
    ]
    if deliveries:
        Delivery.objects.bulk_create(deliveries)
        notify(Channel.DELIVERIES)


def _next_moments(merchants: Collection[UUID]) -> dict[UUID, datetime]:
    """Return, for each merchant, the time of a new event.

    It is the database's time, but at least a microsecond after the merchant's newest event. The merchants are locked
    until the commit. Without the locks, a slow transaction could commit an older event after a newer one. A polling
    client that has already seen the newer event would miss the older one.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_IN_ORDER, [_ORDER_LOCK, [str(merchant) for merchant in merchants]])
        # The times are read by a second statement, which sees the commits for which the first statement had to wait.
        cursor.execute(_MOMENTS, [list(merchants)])
        return dict(cursor.fetchall())


def envelope(event_id: str, type_: str, created: datetime, data: dict[str, Any]) -> bytes:
    """Return the event object as compact UTF-8 JSON with exact integers."""
    content = {"id": event_id, "type": type_, "created": int(created.timestamp()), "data": {"object": data}}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _is_delivered(endpoint: Endpoint | None, type_: str, webhook_url: str | None) -> bool:
    """Whether the event is delivered.

    A payment request's own URL always gets the default types. That URL gets other types only if the endpoint is
    subscribed to them.
    """
    named = endpoint is not None and type_ in endpoint.event_types
    if webhook_url:
        return named or type_ in DEFAULT_EVENT_TYPES
    return named and endpoint is not None and endpoint.is_reachable
