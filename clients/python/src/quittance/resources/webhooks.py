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
    """This merchant's webhook endpoint. Requires the permission `manage_webhooks`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def retrieve(self) -> WebhookConfiguration:
        """Return the endpoint and its secret. All fields are None if you have no endpoint."""
        return WebhookConfiguration.from_answer(self._transport.request("GET", _PATH))

    def update(
        self,
        *,
        url: str | None,
        is_enabled: bool | None = None,
        enabled_events: Sequence[str] | Literal[Unchanged.UNCHANGED] | None = UNCHANGED,
        rotate_secret: bool = False,
    ) -> WebhookConfiguration:
        """Change the endpoint and return it.

        Settings that you leave out don't change. `url=None` removes the URL. `enabled_events=None` restores the default
        types. `rotate_secret` creates a new secret. For 24 hours, events are also signed with the previous secret. A
        call that rotates the secret is not retried. If its response is lost, call `retrieve()` to see the secret.
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
        """Send a test event to the endpoint immediately, without retries, and return the result."""
        body = {} if type is None else {"type": type}
        answer = self._transport.request("POST", f"{_PATH}/test", body=body, idempotency_key=idempotency_key)
        return WebhookTest.from_answer(answer)


class Deliveries:
    """The deliveries of events to the endpoint, including test events. Requires the permission `manage_webhooks`."""

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
        """Return the newest deliveries that match the filters. `status` is `pending`, `delivered` or `failed`."""
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
        """Return a delivery with all of its attempts."""
        return Delivery.from_answer(self._transport.request("GET", f"{_PATH}/deliveries/{checked_id(id)}"))

    def redeliver(self, id: str, *, idempotency_key: str | None = None) -> Delivery:
        """Send a delivery again, whatever its status."""
        path = f"{_PATH}/deliveries/{checked_id(id)}/redeliver"
        answer = self._transport.request("POST", path, body={}, idempotency_key=idempotency_key)
        return Delivery.from_answer(answer)

    def redeliver_failed(
        self, since: datetime | str, *, type: str | None = None, idempotency_key: str | None = None
    ) -> int:
        """Send all deliveries again that failed at `since` or later. Return how many deliveries are sent again.

        One call sends at most 10,000 deliveries. If it returns 10,000, call it again.
        """
        body = query_of(since=since, type=type)
        path = f"{_PATH}/deliveries/redeliver"
        answer = self._transport.request("POST", path, body=body, idempotency_key=idempotency_key)
        return int(answer["count"])


class Events:
    """Your events of the last 30 days, including those that were not delivered."""

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
        """Return the newest events that match the filters.

        To poll, send the newest event's id as `ending_before`. You then get each later event exactly once, because
        events are listed in the order of their commits.
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
