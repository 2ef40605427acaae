"""What a worker process runs beside its tasks: the watch over heads, and verification as soon as it is wanted."""

from queue import Empty, SimpleQueue

from config.database.notifications import Channel, Listener
from config.database.waker import Waker
from payments.verification.chain_threads import ChainThreads
from payments.waking.watcher import HeadWatcher


class PaymentWaking:
    """Nudges the process's `ChainThreads` for each notification about due payments."""

    def __init__(self, threads: ChainThreads) -> None:
        self._threads = threads
        self._chain_ids: SimpleQueue[int] = SimpleQueue()
        self._waker = Waker("wake-verification", self._nudge)
        self._watcher = HeadWatcher()
        self._listener = Listener({Channel.PAYMENTS: self._hear}, on_gap=self._watcher.wake)

    def start(self) -> None:
        """Begin; call it in the process, after the fork."""
        self._waker.start()
        self._watcher.start()
        self._listener.start()

    def stop(self) -> None:
        """End all threads."""
        self._listener.stop()
        self._watcher.stop()
        self._waker.stop()

    def _hear(self, payload: str) -> None:
        self._chain_ids.put(int(payload))
        self._waker.wake()
        self._watcher.wake()

    def _nudge(self) -> None:
        for chain_id in self._heard():
            self._threads.nudge_chain(chain_id)

    def _heard(self) -> set[int]:
        chain_ids = set()
        while True:
            try:
                chain_ids.add(self._chain_ids.get_nowait())
            except Empty:
                return chain_ids
