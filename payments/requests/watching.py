"""Notify the `events` process. That process updates the checkout pages that are open."""

import uuid

from config.due_work.listening import Channel, notify


def tell_watchers(*request_ids: uuid.UUID) -> None:
    """Announce changed requests when the current transaction commits. Without a transaction, announce them at once."""
    if request_ids:
        notify(Channel.REQUESTS, *sorted(map(str, request_ids)))
