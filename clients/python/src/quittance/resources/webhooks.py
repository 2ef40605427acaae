"""The webhook endpoint, its deliveries, and events."""

import enum
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal

from quittance.objects import Delivery, Event, WebhookConfiguration, WebhookTest
from quittance.pages import Page, query_of
from quittance.resources.paths import checked_id
from quittance.transport import Transport

_PATH = "/api/webhooks"


class Unchanged(enum.Enum):
    """The type of UNCHANGED."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED
"""Means "unchanged" where None has another meaning."""


class Webhooks:
    """This merchant's endpoint; the key needs `manage_webhooks`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def retrieve(self) -> WebhookConfiguration:
        """Return the endpoint and its secret; all None before there is one."""
        return WebhookConfiguration.from_answer(self._transport.request("GET", _PATH))

    def update(
        self,
        *,
        url: str | None,
        is_enabled: bool | None = None,
        enabled_events: Sequence[str] | Literal[Unchanged.UNCHANGED] | None = UNCHANGED,
        rotate_secret: bool = False,
    ) -> WebhookConfiguration:
        """Change the endpoint and return it. `url` None removes it; what else is left out stays as it is.

        `enabled_events` None means the default types again. After `rotate_secret` both secrets sign for 24 hours;
        such a call is not repeated when its answer is lost: see with `retrieve()` whether it was carried out.
        """
        body: dict[str, Any] = {"url": url}
        if is_enabled is not None:
            body["is_enabled"] = is_enabled
        if enabled_events is not UNCHANGED:
            body["enabled_events"] = None if enabled_events is None else list(enabled_events)
        if rotate_secret:
            body["rotate_secret"] = True
        answer = self._transport.request("PUT", _PATH, body=body, is_repeatable=not rotate_secret)
        return WebhookConfiguration.from_answer(answer)

    def test(self, *, type: str | None = None, idempotency_key: str | None = None) -> WebhookTest:
        """Send a test event to the endpoint once, immediately, and return the result."""
        body = {} if type is None else {"type": type}
        answer = self._transport.request("POST", f"{_PATH}/test", body=body, idempotency_key=idempotency_key)
        return WebhookTest.from_answer(answer)


class Deliveries:
    """What was, is or will be sent to the endpoint, samples included; the key needs `manage_webhooks`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        event_id: str | None = None,
        type: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
    ) -> Page[Delivery]:
        """Return the newest deliveries that fit; `status` is `pending`, `delivered` or `failed`."""
        query = query_of(
            event_id=event_id,
            type=type,
            status=status,
            limit=limit,
            starting_after=starting_after,
            ending_before=ending_before,
        )
        path = f"{_PATH}/deliveries"
        return Page(
            lambda query: self._transport.request("GET", path, query=query), query, Delivery.from_answer
        )

    def retrieve(self, id: str) -> Delivery:
        """Return a delivery with every attempt."""
        return Delivery.from_answer(self._transport.request("GET", f"{_PATH}/deliveries/{checked_id(id)}"))

    def redeliver(self, id: str, *, idempotency_key: str | None = None) -> Delivery:
        """Resend the delivery, in any state."""
        path = f"{_PATH}/deliveries/{checked_id(id)}/redeliver"
        answer = self._transport.request("POST", path, body={}, idempotency_key=idempotency_key)
        return Delivery.from_answer(answer)

    def redeliver_failed(
        self, since: datetime | str, *, type: str | None = None, idempotency_key: str | None = None
    ) -> int:
        """Have everything sent again that was given up since then, and return how many these are.

        At most 10,000 are begun by one call: call again while it returns that many.
        """
        body = query_of(since=since, type=type)
        path = f"{_PATH}/deliveries/redeliver"
        answer = self._transport.request("POST", path, body=body, idempotency_key=idempotency_key)
        return int(answer["count"])


class Events:
    """What happened, kept for 30 days, whether or not it was delivered."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        *,
        type: str | None = None,
        created_after: datetime | str | None = None,
        created_before: datetime | str | None = None,
        limit: int | None = None,
        starting_after: str | None = None,
        ending_before: str | None = None,
    ) -> Page[Event]:
        """Return the newest events that fit.

        Events are listed in the order in which they were committed: with `ending_before` the newest one seen, nothing
        is missed and nothing comes twice.
        """
        query = query_of(
            type=type,
            created_after=created_after,
            created_before=created_before,
            limit=limit,
            starting_after=starting_after,
            ending_before=ending_before,
        )
        return Page(
            lambda query: self._transport.request("GET", "/api/events", query=query), query, Event.from_answer
        )

    def retrieve(self, id: str) -> Event:
        """Return one event."""
        return Event.from_answer(self._transport.request("GET", f"/api/events/{checked_id(id)}"))
