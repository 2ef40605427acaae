"""Bound how many threads of a web process wait for the outside: nodes, routing providers, receivers, name servers.

If every thread waited for a node that hangs, calls that need the database alone would wait too. So at most
`MOST_WAITING` threads do, and fewer for one party; the next call fails at once, as if the party were down. Only threads
that answer a request count: workers have threads of their own for each chain and receiver.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from django.http import HttpRequest, HttpResponse

# Of the 16 threads in `config/gunicorn.py`. The others are left for calls that need no one outside.
MOST_WAITING = 12
MOST_FOR_ONE_PARTY = 8
# How many threads may wait until another call of the same party has ended, and for how long, in seconds.
_MOST_QUEUED = 2
_PATIENCE = 1.0
RETRY_AFTER_SECONDS = 2


class Busy(Exception):
    """Too many threads wait for the outside already."""


class _Threads:
    """The threads that wait now, by party."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._calling: Counter[str] = Counter()
        self._queued: Counter[str] = Counter()
        self._count = 0

    def enter(self, party: str, at_once: int, queue: int) -> None:
        """Count the calling thread, or raise Busy."""
        with self._changed:
            if self._count >= MOST_WAITING:
                raise Busy(party)
            self._count += 1
            try:
                self._wait_for_room(party, at_once, queue)
            except BaseException:
                self._count -= 1
                raise
            self._calling[party] += 1

    def leave(self, party: str) -> None:
        """Stop counting the calling thread."""
        with self._changed:
            self._count -= 1
            self._calling -= Counter((party,))
            self._changed.notify_all()

    def _wait_for_room(self, party: str, at_once: int, queue: int) -> None:
        if self._calling[party] < at_once:
            return
        if self._queued[party] >= queue:
            raise Busy(party)
        self._queued[party] += 1
        try:
            if not self._changed.wait_for(lambda: self._calling[party] < at_once, _PATIENCE):
                raise Busy(party)
        finally:
            self._queued -= Counter((party,))


class _Here(threading.local):
    is_answering = False
    is_counted = False


_threads = _Threads()
_here = _Here()


@contextmanager
def waiting_for(
    party: str, *, at_once: int = MOST_FOR_ONE_PARTY, queue: int = _MOST_QUEUED
) -> Iterator[None]:
    """Count this thread as waiting for `party` while the block runs; within another such block it is counted already.

    At most `at_once` threads wait for one party, and `queue` more for one of these to end, a second at most. Raises
    Busy. Does nothing in a thread that answers no request.
    """
    if not _here.is_answering or _here.is_counted:
        yield
        return
    _threads.enter(party, at_once, queue)
    _here.is_counted = True
    try:
        yield
    finally:
        _here.is_counted = False
        _threads.leave(party)


def hold(party: str, *, at_once: int) -> Callable[[], None]:
    """Count one more thread, which sends a long answer, until the returned function is called, once. Raises Busy."""
    _threads.enter(party, at_once, 0)
    return partial(_threads.leave, party)


class AnsweringMiddleware:
    """Mark the threads that answer requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        _here.is_answering = True
        try:
            return self.get_response(request)
        finally:
            _here.is_answering = False
