"""Runners: the threads of a worker process that process a queue's due rows."""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import connections

logger = logging.getLogger(__name__)

L = TypeVar("L", bound=Hashable)


class _Running(NamedTuple):
    thread: threading.Thread
    woken: threading.Event


class Runner(Generic[L]):
    """Processes a queue with one thread for each lane that has due rows.

    `work` processes one batch of a lane, and returns whether to continue with another batch. A hanging lane blocks only
    its own thread, and delays no other lane. If the process dies, the leases expire and another worker continues.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[L], object],
        lanes: Callable[[], Iterable[L]],
        *,
        linger_seconds: float = 0.0,
    ) -> None:
        """Before a thread ends, it waits `linger_seconds` for the next wake.

        Meanwhile its database connection stays open.
        """
        self._name = name
        self._work = work
        self._lanes = lanes
        self._linger_seconds = linger_seconds
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._running: dict[L, _Running] = {}
        self.nudged_at = time.monotonic()

    def nudge(self) -> int:
        """Wake each lane that has due rows. Return how many threads were started."""
        self.nudged_at = time.monotonic()
        return sum(self.wake(lane) for lane in self._lanes())

    def wake(self, lane: L) -> bool:
        """Make the lane's thread process due rows, but don't wait for it. Return whether a thread was started."""
        with self._lock:
            running = self._running.get(lane)
            if running is not None and running.thread.is_alive():
                running.woken.set()
                return False
            if self._stopping.is_set():
                return False
            woken = threading.Event()
            woken.set()
            name = self._name if lane is None else f"{self._name}-{lane}"
            thread = threading.Thread(target=self._run, args=(lane, woken), name=name, daemon=True)
            thread.start()
            self._running[lane] = _Running(thread, woken)
            return True

    @property
    def busy(self) -> set[L]:
        """The lanes that have a thread."""
        with self._lock:
            return {lane for lane, running in self._running.items() if running.thread.is_alive()}

    def stop(self) -> list[threading.Thread]:
        """End each thread after its current batch, and start no new thread. Return the running threads."""
        self._stopping.set()
        with self._lock:
            running = list(self._running.values())
        for each in running:
            each.woken.set()
        return [each.thread for each in running]

    def _run(self, lane: L, woken: threading.Event) -> None:
        try:
            while not self._has_ended(lane, woken):
                woken.clear()
                try:
                    while not self._stopping.is_set() and self._work(lane):
                        pass
                except Exception:
                    logger.exception(
                        "%s failed; the next wake runs it again", threading.current_thread().name
                    )
                    connections.close_all()
                woken.wait(self._linger_seconds)
        finally:
            connections.close_all()

    def _has_ended(self, lane: L, woken: threading.Event) -> bool:
        """Return whether the thread ends now.

        If so, remove the lane under the same lock, so that the next wake starts a new thread.
        """
        with self._lock:
            is_over = self._stopping.is_set() or not woken.is_set()
            if is_over:
                del self._running[lane]
            return is_over


class Ticker:
    """Wakes each runner that was not woken for a while. So due rows are processed even if Celery's broker is down."""

    def __init__(self, runners: Iterable[Runner[Any]], *, after_seconds: float = 10.0) -> None:
        self._runners = tuple(runners)
        self._after_seconds = after_seconds
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread. Call it after the fork."""
        self._thread = threading.Thread(target=self._run, name="ticker", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def tick(self) -> None:
        silent = [each for each in self._runners if time.monotonic() - each.nudged_at >= self._after_seconds]
        for runner in silent:
            runner.nudge()

    def _run(self) -> None:
        while not self._stopping.wait(self._after_seconds / 2):
            try:
                self.tick()
            except Exception:
                logger.warning("due rows could not be looked up", exc_info=True)
            finally:
                connections.close_all()


def stop_all(runners: Iterable[Runner[object]], seconds: float) -> None:
    """Stop the runners, and wait at most `seconds` for their current batches.

    Another worker processes unfinished rows when their leases expire.
    """
    until = time.monotonic() + seconds
    for thread in [thread for runner in runners for thread in runner.stop()]:
        thread.join(max(until - time.monotonic(), 0))
