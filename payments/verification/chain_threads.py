"""Verify each chain in a thread of its own, so that a chain whose nodes hang delays no other chain."""

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime

from django.db import connections
from django.utils import timezone

from chains.families import get_client
from config import leases
from config.leases import Lease
from payments.models import Payment
from payments.requests.due_in_turns import chains_with_open_payments
from payments.verification.attempts import SwapHandler
from payments.verification.engine import Client, verify_claimed
from payments.verification.leasing import claim_due

logger = logging.getLogger(__name__)

Claimed = tuple[Lease, list[Payment]]
# A thread ends after this time; the next nudge starts another one for what is left.
TURN_SECONDS = 30.0


class ChainThreads:
    """Verifies due payments, with at most one thread per chain in this process.

    `nudge` returns once the due payments are leased: a chain that hangs occupies its own thread and no worker process.
    If the process dies, the leases expire and another worker continues.
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
        self._busy: set[int] = set()
        self._threads: set[threading.Thread] = set()

    def nudge(self) -> int:
        """Lease due payments on each chain that has no thread, and start one for them; return how many payments."""
        return sum(self.nudge_chain(chain_id) for chain_id in chains_with_open_payments())

    def nudge_chain(self, chain_id: int) -> int:
        """Lease due payments on this chain and start a thread for them; 0 if none are due or it has a thread."""
        with self._lock:
            if chain_id in self._busy:
                return 0
            self._busy.add(chain_id)
        try:
            claimed = claim_due(self._now(), chain_id)
            if claimed[1]:
                self._start(chain_id, claimed)
        except BaseException:
            self._forget(chain_id)
            raise
        if not claimed[1]:
            self._forget(chain_id)
        return len(claimed[1])

    @property
    def is_busy(self) -> bool:
        """Whether any chain is being verified."""
        with self._lock:
            return bool(self._busy)

    def finish(self, seconds: float) -> None:
        """Wait for running threads for at most `seconds`, when the process is about to end."""
        until = time.monotonic() + seconds
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0))

    def _start(self, chain_id: int, claimed: Claimed) -> None:
        thread = threading.Thread(
            target=self._work, args=(chain_id, claimed), name=f"verify-{chain_id}", daemon=True
        )
        with self._lock:
            self._threads.add(thread)
        thread.start()

    def _work(self, chain_id: int, claimed: Claimed) -> None:
        until = time.monotonic() + TURN_SECONDS
        try:
            while claimed[1]:
                lease, payments = claimed
                with leases.kept(lease):
                    verify_claimed(payments, lease, swaps=self._swaps, client=self._client, now=self._now)
                if time.monotonic() > until:
                    break
                claimed = claim_due(self._now(), chain_id)
        except Exception:
            logger.exception("verification on chain %s stopped", chain_id)
        finally:
            connections.close_all()
            self._forget(chain_id)

    def _forget(self, chain_id: int) -> None:
        with self._lock:
            self._busy.discard(chain_id)
            self._threads.discard(threading.current_thread())
