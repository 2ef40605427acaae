"""Limit how many threads of a web process wait for outside parties: nodes, routing providers, receivers, name servers.

If every thread waited for a node that hangs, there would be no thread for calls that need only the database. So at most
`MAX_WAITING` threads wait, and fewer for one party. If this limit is reached, the next call waits for a short time
until another call ends. If none ends, the call fails as if the party were down. For the next few seconds, further calls
fail at once.

Only the threads of web processes are limited. Workers have separate threads for each chain and receiver.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from django.http import HttpRequest, HttpResponse

# A web process has 16 threads (`config/gunicorn.py`). Four of them stay free for calls that need only the database.
MAX_WAITING = 12
MAX_FOR_ONE_PARTY = 8
RETRY_AFTER_SECONDS = 2
# A caller waits up to _PATIENCE_SECONDS for a place. If the party responds normally, a place is free sooner. Otherwise
# the party is considered down: for _PAUSE_SECONDS, calls that find no place fail at once. After that, one caller at a
# time waits for a place again.
_PATIENCE_SECONDS = 1.0
_PAUSE_SECONDS = 5.0


class Busy(Exception):
    """Too many threads are waiting for outside parties."""


class _Threads:
    """The number of waiting threads, by party."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calling: Counter[str] = Counter()
        self._hangs_until: dict[str, float] = {}

    def enter(self, party: str, at_once: int, *, queues: bool) -> None:
        with self._changed:
            if not self._has_room(party, at_once):
                if not queues:
                    raise Busy(party)
                self._queue(party, at_once)
            self._calling[party] += 1

    def leave(self, party: str) -> None:
        with self._changed:
            self._calling -= Counter((party,))
            self._changed.notify_all()

    def _has_room(self, party: str, at_once: int) -> bool:
        return self._calling[party] < at_once and self._calling.total() < MAX_WAITING

    def _queue(self, party: str, at_once: int) -> None:
        until = self._hangs_until.get(party)
        if until is not None:
            if time.monotonic() < until:
                raise Busy(party)
            self._give_up(party)  # the other threads give up; this one tries again
        if not self._changed.wait_for(lambda: self._has_room(party, at_once), _PATIENCE_SECONDS):
            self._give_up(party)
            raise Busy(party)
        self._hangs_until.pop(party, None)

    def _give_up(self, party: str) -> None:
        self._hangs_until[party] = time.monotonic() + _PAUSE_SECONDS


class _Here(threading.local):
    is_serving = False
    is_counted = False


_threads = _Threads()
_here = _Here()


@contextmanager
def waiting_for(party: str, *, at_once: int = MAX_FOR_ONE_PARTY, queues: bool = True) -> Iterator[None]:
    """Count this thread as waiting for `party` while the block runs. A nested block doesn't count again.

    At most `at_once` threads wait for one party. If `queues` is True, the next thread waits up to a second for a place.
    Otherwise, the next thread fails at once. A thread that doesn't serve a request is not counted.

    Raises Busy if there is no place.
    """
    if not _here.is_serving or _here.is_counted:
        yield
        return
    _threads.enter(party, at_once, queues=queues)
    _here.is_counted = True
    try:
        yield
    finally:
        _here.is_counted = False
        _threads.leave(party)


def hold(party: str, *, at_once: int) -> Callable[[], None]:
    """Count one more thread until the returned function is called. Use it while a thread streams a response.

    Raises Busy if there is no place.
    """
    _threads.enter(party, at_once, queues=False)
    return partial(_threads.leave, party)


class AnsweringMiddleware:
    """Mark the threads that serve requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        _here.is_serving = True
        try:
            return self.get_response(request)
        finally:
            _here.is_serving = False
