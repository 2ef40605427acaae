"""Work that may wait long for a chain's nodes, in a thread of its own instead of a worker process."""

import logging
import threading
from collections.abc import Callable

from django.db import connections

logger = logging.getLogger(__name__)


class Background:
    """Runs `work` in a thread, one at a time in this process.

    If the process dies, the leases of the work expire and another worker continues.
    """

    def __init__(self, name: str, work: Callable[[], object]) -> None:
        self._name = name
        self._work = work
        self._running = threading.Lock()

    def nudge(self) -> bool:
        """Start the work and return at once; False if it is still running."""
        if not self._running.acquire(blocking=False):
            return False
        threading.Thread(target=self._run, name=self._name, daemon=True).start()
        return True

    def wait(self, seconds: float) -> bool:
        """Wait for the running work to end, for at most `seconds`; False if it still runs."""
        has_ended = self._running.acquire(timeout=seconds)
        if has_ended:
            self._running.release()
        return has_ended

    def _run(self) -> None:
        try:
            self._work()
        except Exception:
            logger.exception("%s failed", self._name)
        finally:
            connections.close_all()
            self._running.release()
