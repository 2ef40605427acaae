"""Poll routing providers for the status of swaps, each in a thread of its own so that none waits for another."""

import logging
import threading
from collections.abc import Callable

from django.db import connections
from django.utils import timezone

from payments.swaps.following import follow_provider, providers_with_due_swaps

logger = logging.getLogger(__name__)


class SwapPoller:
    """Asks each provider about its due swaps, from one thread per provider.

    `nudge` returns at once: a provider that hangs occupies its own thread and no worker process. If the process dies,
    the leases expire and another worker continues.
    """

    def __init__(self, follow: Callable[[str], int] = follow_provider) -> None:
        self._follow = follow
        self._lock = threading.Lock()
        self._busy: set[str] = set()

    def nudge(self) -> int:
        """Start a thread for each provider with due swaps that has none in this process; return how many."""
        started = 0
        for key in providers_with_due_swaps(timezone.now()):
            with self._lock:
                if key in self._busy:
                    continue
                self._busy.add(key)
            threading.Thread(target=self._work, args=(key,), name=f"follow-{key}", daemon=True).start()
            started += 1
        return started

    @property
    def is_busy(self) -> bool:
        """Whether any provider is being polled."""
        with self._lock:
            return bool(self._busy)

    def _work(self, key: str) -> None:
        try:
            while self._follow(key):
                pass
        except Exception:
            logger.exception("polling the swaps of %s failed", key)
        finally:
            connections.close_all()
            with self._lock:
                self._busy.discard(key)
