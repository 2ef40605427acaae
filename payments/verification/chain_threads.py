"""Verify each chain in a thread of its own, so that a chain whose nodes hang delays no other chain."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from django.db import connections
from django.utils import timezone

from chains.families import get_client
from config.api.log_context import log_context
from config.database import leases
from config.tracing.recording import traced
from payments.models import Payment
from payments.requests.due_in_turns import chains_with_open_payments, due_in_turns
from payments.verification.attempts import SwapHandler
from payments.verification.engine import Client, verify_claimed
from payments.verification.leasing import claim_due

logger = logging.getLogger(__name__)

# How long a thread waits for the next nudge, with its database connection open, before it ends.
LINGER_SECONDS = 2.0


class ChainThreads:
    """Verifies due payments, with one thread for each chain that has any.

    `nudge` returns at once: a chain that hangs occupies its own thread and no worker process. If the process dies, the
    leases expire and another worker continues.
    """

    def __init__(
        self,
        swaps: SwapHandler,
        *,
        client: Client = get_client,
        now: Callable[[], datetime] = timezone.now,
    ) -> None:
        self._swaps = swaps
        self._client = client
        self._now = now
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._running: dict[int, tuple[threading.Thread, threading.Event]] = {}

    def nudge(self) -> int:
        """Nudge each chain with open payments; return how many threads were started."""
        return sum(self.nudge_chain(chain_id) for chain_id in chains_with_open_payments())

    def nudge_chain(self, chain_id: int) -> bool:
        """Let the chain's thread look for due payments; start one if there is none and something is due."""
        if self._wake(chain_id) or not due_in_turns(self._now(), 1, chain_id):
            return False
        with self._lock:
            if chain_id in self._running:
                return False
            wake = threading.Event()
            wake.set()
            thread = threading.Thread(
                target=self._work, args=(chain_id, wake), name=f"verify-{chain_id}", daemon=True
            )
            self._running[chain_id] = thread, wake
            thread.start()
        return True

    def finish(self, seconds: float) -> None:
        """End all threads after what they do now; wait for that for at most `seconds`."""
        until = time.monotonic() + seconds
        self._stopping.set()
        with self._lock:
            running = list(self._running.values())
        for thread, wake in running:
            wake.set()
            thread.join(max(until - time.monotonic(), 0))

    def _wake(self, chain_id: int) -> bool:
        with self._lock:
            running = self._running.get(chain_id)
            if running is not None:
                running[1].set()
            return running is not None

    def _work(self, chain_id: int, wake: threading.Event) -> None:
        try:
            while not self._has_ended(chain_id, wake):
                wake.clear()
                self._verify_due(chain_id)
                wake.wait(LINGER_SECONDS)
        except Exception:
            logger.exception("verification on chain %s stopped", chain_id)
            with self._lock:
                del self._running[chain_id]
        finally:
            connections.close_all()

    def _has_ended(self, chain_id: int, wake: threading.Event) -> bool:
        """Whether the thread ends now: it is forgotten under the lock, so that no nudge is lost."""
        with self._lock:
            is_over = self._stopping.is_set() or not wake.is_set()
            if is_over:
                del self._running[chain_id]
            return is_over

    def _verify_due(self, chain_id: int) -> None:
        while not self._stopping.is_set():
            lease, payments = claim_due(self._now(), chain_id)
            if not payments:
                return
            with (
                log_context(chain_id=chain_id),
                traced("verify payments", about=partial(_subjects, payments)),
                leases.kept(lease),
            ):
                verify_claimed(payments, lease, swaps=self._swaps, client=self._client, now=self._now)


def _subjects(payments: Sequence[Payment]) -> list[dict[str, str]]:
    """Return the ids of the payments, for their traces."""
    return [{"payment_id": each.pk, "payment_request_id": str(each.request_id)} for each in payments]
