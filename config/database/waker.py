"""Run a job in a thread of its own each time it is woken."""

import logging
import threading
from collections.abc import Callable

from django.db import connections

logger = logging.getLogger(__name__)


class Waker:
    """Runs `job` once for all wakes that arrive while it runs. A failure is logged; the next wake runs it again."""

    def __init__(self, name: str, job: Callable[[], object]) -> None:
        self._job = job
        self._woken = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to wait for wakes."""
        self._thread.start()

    def wake(self) -> None:
        """Run the job soon; returns at once."""
        self._woken.set()

    def stop(self) -> None:
        """End the thread after what it does now."""
        self._stopping = True
        self._woken.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._woken.wait()
            self._woken.clear()
            if self._stopping:
                connections.close_all()
                return
            try:
                self._job()
            except Exception:
                logger.exception("%s failed", self._thread.name)
                connections.close_all()
