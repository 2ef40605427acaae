"""The browser's end of a stream of server-sent events."""

import threading
from contextlib import suppress
from dataclasses import dataclass
from queue import Queue
from typing import Any

import requests


@dataclass(frozen=True)
class Event:
    """One event, or a comment. A comment's `name` is empty."""

    name: str
    id: str
    data: str
    retry: int | None = None


class EventStream:
    """An open stream. A thread collects its events."""

    def __init__(self, url: str, **headers: str) -> None:
        self.events: Queue[Event] = Queue()
        self.response = requests.get(url, headers=headers, stream=True, timeout=60)
        if self.response.ok:
            self._thread = threading.Thread(target=self._collect, daemon=True)
            self._thread.start()

    def next(self) -> Event:
        return self.events.get(timeout=30)

    def close(self) -> None:
        self.response.raw.shutdown()
        self.wait_for_end()

    def wait_for_end(self) -> None:
        """Wait until the connection is closed."""
        self._thread.join(timeout=30)
        assert not self._thread.is_alive(), "the stream did not end"
        self.response.close()

    def _collect(self) -> None:
        with suppress(requests.RequestException):  # the server hung up
            self._read()

    def _read(self) -> None:
        fields: dict[str, str] = {}
        lines: Any = self.response.iter_lines(chunk_size=1, decode_unicode=True)
        for line in lines:
            name, _, value = line.partition(": ")
            if line:
                fields[name] = value
            elif fields:
                retry = int(fields["retry"]) if "retry" in fields else None
                self.events.put(
                    Event(fields.get("event", ""), fields.get("id", ""), fields.get("data", ""), retry)
                )
                fields = {}
