"""Notify the `events` process, which updates open checkouts."""

import uuid

from config.due_work.listening import Channel, notify


def tell_watchers(*request_ids: uuid.UUID) -> None:
    """Announce changed requests once the current transaction commits; outside a transaction, at once."""
    if request_ids:
        notify(Channel.REQUESTS, *sorted(map(str, request_ids)))
