"""Cache rarely changed rows in the memory of a process. Notifications of PostgreSQL invalidate them.

Triggers on the tables of chains, tokens and merchants notify `Channel.SETTINGS`. A process that called `start` uses
cached rows until such a notification arrives. It doesn't use them while its connection for notifications is down. A
process that didn't call `start` reads the row each time. All processes see a change within a second, usually within
milliseconds.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from django.db import connection

from config.due_work.listening import Channel, Listener

Key = TypeVar("Key")
Value = TypeVar("Value")

MAX_KEPT = 10_000

_listener: Listener | None = None
_caches: "list[ProcessCache[object, object]]" = []


def start() -> None:
    """Start caching in this process. Call it after the fork, because it starts a thread."""
    global _listener
    _listener = Listener({Channel.SETTINGS: lambda _: forget()}, on_gap=forget)
    _listener.start()


def stop() -> None:
    global _listener
    listener, _listener = _listener, None
    if listener is not None:
        listener.stop()
    forget()


def forget() -> None:
    for cache in _caches:
        cache.clear()


class ProcessCache(Generic[Key, Value]):
    """A cache of values by key. Never modify a returned value, because other threads use the same object.

    `load` reads one value from the database. None is not cached. So unknown keys take no memory.
    """

    def __init__(self, load: Callable[[Key], Value | None]) -> None:
        self._load = load
        self._values: dict[Key, Value] = {}
        _caches.append(self)  # type: ignore[arg-type]

    def get(self, key: Key) -> Value | None:
        """Return the value from memory, or from the database if the value in memory may be outdated."""
        # A transaction may read its own uncommitted change. Other threads must not see it.
        if _listener is None or not _listener.is_current or connection.in_atomic_block:
            return self._load(key)
        # `clear` may run while `load` reads the old value. `clear` replaces the dictionary, so the old value goes to
        # the old dictionary.
        values = self._values
        value = values.get(key)
        if value is None:
            value = self._load(key)
            if value is not None and len(values) < MAX_KEPT:
                values[key] = value
        return value

    def clear(self) -> None:
        self._values = {}
