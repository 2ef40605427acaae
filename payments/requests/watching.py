"""Tell the `events` process that what open checkouts show of a request changed."""

import uuid

from config.due_work.listening import Channel, notify


def tell_watchers(*request_ids: uuid.UUID) -> None:
    """Announce these requests once the current transaction commits, or at once outside one."""
    if request_ids:
        notify(Channel.REQUESTS, *sorted(map(str, request_ids)))
