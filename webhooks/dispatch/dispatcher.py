"""The dispatcher: the threads of a worker process that send due webhook deliveries."""

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

from django.db import DatabaseError, connections
from django.utils import timezone

from config.database.outages import is_outage
from config.due_work import leases
from webhooks.dispatch.attempts import Outcome, store_results
from webhooks.dispatch.delivery import attempt
from webhooks.dispatch.leasing import Claim, claim_due, release

logger = logging.getLogger(__name__)

CONCURRENCY = 32
SLOW_SHARE = 0.5
SLOW_MS = 2000
_SLOW_FOR_SECONDS = 60.0
_BATCH = 256
_BATCH_WAIT_SECONDS = 0.01
_POLL_SECONDS = 0.2
_KEEP_POLLING_SECONDS = 30.0
_MAX_DATABASE_WAIT_SECONDS = 30.0

Attempt = Callable[[Claim], Outcome]


class Dispatcher:
    """Sends due deliveries in several threads. One more thread leases deliveries and stores results, both in batches.

    The dispatcher leases only as many deliveries as it has idle threads. Half of the threads are reserved for receivers
    that respond quickly, so slow receivers can't block the worker. When there are no more due deliveries, the
    dispatcher polls the database for another 30 seconds.

    Leases are renewed during the attempts. If the process dies, they expire within seconds, and another worker takes
    over.
    """

    def __init__(self, concurrency: int = CONCURRENCY, *, attempt: Attempt = attempt) -> None:
        self._concurrency = concurrency
        self._slow_limit = max(int(concurrency * SLOW_SHARE), 1)
        self._attempt = attempt
        self._waiting: SimpleQueue[Claim | None] = SimpleQueue()
        self._ended: SimpleQueue[Outcome | Claim | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._out = 0
        self._slow_out = 0
        self._stopping = False
        self._polls_until = 0.0
        self._slow_endpoints: dict[uuid.UUID, float] = {}
        self._slow_own_urls: dict[uuid.UUID, float] = {}
        self._threads: list[threading.Thread] = []

    def nudge(self) -> int:
        """Lease due deliveries for the idle threads. Return their number at once, before they are sent."""
        return self._take()

    def finish(self) -> None:
        """Stop leasing, release unused leases, and wait for attempts in progress."""
        with self._lock:
            self._stopping = True
            threads = list(self._threads)
        unsent = []
        while (claim := _next(self._waiting)) is not None:
            unsent.append(claim)
        release(unsent)
        for _ in threads[1:]:
            self._waiting.put(None)
        for thread in threads[1:]:
            thread.join()
        self._ended.put(None)
        for thread in threads[:1]:
            thread.join()

    def _take(self) -> int:
        with self._lock:
            if self._stopping or self._out >= self._concurrency:
                return 0
            claims = claim_due(
                limit=self._concurrency - self._out,
                slow_limit=self._slow_limit - self._slow_out,
                now=timezone.now(),
                slow_endpoints=_current(self._slow_endpoints),
                slow_own_urls=_current(self._slow_own_urls),
            )
            if claims:
                self._out += len(claims)
                self._slow_out += sum(claim.is_slow for claim in claims)
                self._polls_until = time.monotonic() + _KEEP_POLLING_SECONDS
                leases.keep(claims[0].lease)
                if not self._threads:
                    self._start()
            for claim in claims:
                self._waiting.put(claim)
        return len(claims)

    def _start(self) -> None:
        jobs = [self._store_and_lease, *[self._send] * self._concurrency]
        self._threads = [
            threading.Thread(target=job, name=f"dispatcher-{place}", daemon=True)
            for place, job in enumerate(jobs)
        ]
        for thread in self._threads:
            thread.start()

    def _send(self) -> None:
        while (claim := self._waiting.get()) is not None:
            # If the lease is lost, don't send: another worker may be sending this delivery.
            self._ended.put(self._attempt(claim) if claim.is_held else claim)

    def _store_and_lease(self) -> None:
        while True:
            ended, is_last = self._next_ended()
            try:
                self._store(ended)
                if not is_last and (ended or time.monotonic() < self._polls_until):
                    self._take()
                elif not is_last:
                    # Close the connection while it is idle, because the database may fail over before its next use.
                    connections.close_all()
            except Exception:
                # The leases of these deliveries expire. Then the deliveries are leased again.
                logger.exception("webhook deliveries could not be leased or stored")
                connections.close_all()
            if is_last:
                connections.close_all()
                return

    def _next_ended(self) -> tuple[list[Outcome | Claim], bool]:
        """Wait for ended attempts and unused leases. Return them, and whether the dispatcher is stopping."""
        try:
            first = self._ended.get(timeout=_POLL_SECONDS)
        except Empty:
            return [], False
        ended: list[Outcome | Claim] = []
        if first is None:
            return ended, True
        ended.append(first)
        if self._out > self._concurrency // 2:
            time.sleep(_BATCH_WAIT_SECONDS)  # Wait for more results: one transaction for all is cheaper.
        while len(ended) < _BATCH:
            try:
                one = self._ended.get_nowait()
            except Empty:
                break
            if one is None:
                return ended, True
            ended.append(one)
        return ended, False

    def _store(self, ended: Sequence[Outcome | Claim]) -> None:
        if not ended:
            return
        outcomes = [each for each in ended if isinstance(each, Outcome)]
        unsent = [each for each in ended if isinstance(each, Claim)]
        claims = [*unsent, *(outcome.claim for outcome in outcomes)]
        try:
            stored = self._store_results(outcomes)
            if stored < len(outcomes):
                logger.warning("%s webhook attempts ended after their leases", len(outcomes) - stored)
            release(unsent)
        finally:
            with self._lock:
                self._out -= len(claims)
                self._slow_out -= sum(claim.is_slow for claim in claims)
                self._note_speed(outcomes)
            for claim in claims:
                claim.lease.end(claim.delivery_id)

    def _note_speed(self, outcomes: Sequence[Outcome]) -> None:
        """Remember for a while which receivers are slow: they block threads, even if they accept the event.

        A merchant's payment requests can have any number of own URLs, so one slow URL counts for all of them.
        """
        until = time.monotonic() + _SLOW_FOR_SECONDS
        for outcome in outcomes:
            claim = outcome.claim
            slow = self._slow_own_urls if claim.is_to_own_url else self._slow_endpoints
            if outcome.answer.duration_ms > SLOW_MS:
                slow[claim.merchant_id] = until
            elif not claim.is_to_own_url:  # One fast own URL says nothing about the merchant's other URLs.
                slow.pop(claim.merchant_id, None)

    def _store_results(self, outcomes: Sequence[Outcome]) -> int:
        """Store results. If the database is down, retry: an event whose result is lost would be sent again."""
        until = time.monotonic() + _MAX_DATABASE_WAIT_SECONDS
        while outcomes:
            try:
                return store_results(outcomes)
            except DatabaseError as error:
                if not is_outage(error) or self._stopping or time.monotonic() > until:
                    raise
                connections.close_all()
                time.sleep(_POLL_SECONDS)
        return 0


def _current(slow: dict[uuid.UUID, float]) -> list[uuid.UUID]:
    """Forget the merchants whose time is over. Return the others."""
    now = time.monotonic()
    for merchant in [merchant for merchant, until in slow.items() if until <= now]:
        del slow[merchant]
    return list(slow)


def _next(queue: "SimpleQueue[Claim | None]") -> Claim | None:
    try:
        return queue.get_nowait()
    except Empty:
        return None
