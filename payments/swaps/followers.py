"""The threads of a worker process that follow swaps: one for each provider, so that none waits for another."""

import logging
import threading
from collections.abc import Callable

from django.db import connections
from django.utils import timezone

from payments.swaps.following import follow_provider, providers_with_due_swaps

logger = logging.getLogger(__name__)


class Followers:
    """Asks the providers about their due swaps, each from a thread of its own, while it has any due.

    Who nudges it returns at once: a provider that hangs holds its own thread and no worker process. What dies with the
    process is lost to nobody, since the leases run out.
    """

    def __init__(self, follow: Callable[[str], int] = follow_provider) -> None:
        self._follow = follow
        self._lock = threading.Lock()
        self._busy: set[str] = set()

    def nudge(self) -> int:
        """Begin to follow what is due of each provider that is not being asked by this process; return how many."""
        begun = 0
        for key in providers_with_due_swaps(timezone.now()):
            with self._lock:
                if key in self._busy:
                    continue
                self._busy.add(key)
            threading.Thread(target=self._work, args=(key,), name=f"follow-{key}", daemon=True).start()
            begun += 1
        return begun

    @property
    def is_busy(self) -> bool:
        """Whether any provider is being asked."""
        with self._lock:
            return bool(self._busy)

    def _work(self, key: str) -> None:
        try:
            while self._follow(key):
                pass
        except Exception:
            logger.exception("the swaps of %s could not be followed", key)
        finally:
            connections.close_all()
            with self._lock:
                self._busy.discard(key)
