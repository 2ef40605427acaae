"""Limit how many threads of a web process wait for outside parties: nodes, routing providers, receivers, name servers.

If every thread waited for a node that hangs, calls that need only the database would wait too. So at most `MAX_WAITING`
threads wait, and fewer for one party. Another thread queues for a short time; if no place gets free, this call and the
next ones fail as if the party were down. Only threads that serve a request count: workers have separate threads for
each chain and receiver.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from django.http import HttpRequest, HttpResponse

# The maximum among the 16 threads in `config/gunicorn.py`. The rest serve calls that need only the database.
MAX_WAITING = 12
MAX_FOR_ONE_PARTY = 8
RETRY_AFTER_SECONDS = 2
# If the party responds, a burst of calls gets its turn within this time. If a caller waits longer, the party counts as
# hanging. Then no caller queues for it during the pause, and one caller at a time does after the pause.
_PATIENCE_SECONDS = 1.0
_PAUSE_SECONDS = 5.0


class Busy(Exception):
    """Too many threads wait for outside parties already."""


class _Threads:
    """The threads that wait now, by party."""

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
            self._give_up(party)  # for all threads but this one, which tries again
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
    """Count this thread as waiting for `party` while the block runs; nested blocks count once. Raises Busy.

    At most `at_once` threads wait for one party. With `queues`, another thread waits up to a second for a place. Has no
    effect outside threads that serve requests.
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
    """Count one more thread, which streams a response, until the returned function is called. Raises Busy."""
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
