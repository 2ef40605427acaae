"""Cache rows that rarely change in a process's memory, invalidated by notifications.

The settings tables (chains, tokens, merchants) have triggers that notify `Channel.SETTINGS`. A process that called
`start` keeps rows until such a notification, and only while its listener is current; any other process reads each time.
A change is visible everywhere within a second, usually within milliseconds.
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
    """Start caching in this process. Call it after a fork, because threads don't survive one."""
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
    """Values by key. Threads share them: do not change them.

    `load` reads one value from the database. None is not cached, so that unknown keys take no memory.
    """

    def __init__(self, load: Callable[[Key], Value | None]) -> None:
        self._load = load
        self._values: dict[Key, Value] = {}
        _caches.append(self)  # type: ignore[arg-type]

    def get(self, key: Key) -> Value | None:
        """Return the value, from memory if that is current."""
        # A transaction may read its own change, which it can still roll back.
        if _listener is None or not _listener.is_current or connection.in_atomic_block:
            return self._load(key)
        # A value that was read before a change must not be cached after it: `clear` replaces this dictionary.
        values = self._values
        value = values.get(key)
        if value is None:
            value = self._load(key)
            if value is not None and len(values) < MAX_KEPT:
                values[key] = value
        return value

    def clear(self) -> None:
        self._values = {}
