"""The outbox: an event is written in the transaction of the change that it tells of (contract 9)."""

import json
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from merchants.models import Merchant
from webhooks.endpoints import ensure_secret
from webhooks.models import DEFAULT_EVENT_TYPES, Delivery, Endpoint, Event, EventType


def record_event(
    *,
    merchant: Merchant,
    type: str,
    dedupe_key: str,
    data: dict[str, Any],
    webhook_url: str | None = None,
    occurred_at: datetime | None = None,
) -> Event | None:
    """Write the event and its delivery inside the caller's transaction; None if it is written already.

    `dedupe_key` (up to 200 characters) names the occurrence: the same merchant, type and key never make a
    second event. `data` becomes `data.object`, its integers exact. `webhook_url` is the payment request's
    own, checked when it was set; without one the event goes to the merchant's endpoint, if that is enabled
    and wants the type. The periodic sweep sends it within about a second of the commit: nothing here touches
    the network or the broker.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("record_event belongs in the transaction of the change that it tells of")
    created = occurred_at or timezone.now()
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
