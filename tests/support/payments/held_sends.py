"""Kill workers while they send a transaction of the gas account."""

import json
import threading
from dataclasses import dataclass, field

from payments.models import Relay
from tests.fault_proxy import Exchange, truth
from tests.leases import end_leases
from tests.processes import Process

# Seconds. On an idle machine, the test takes a few.
PATIENCE = 180


@dataclass
class HeldSends:
    """Fault: holds the node's response to one send, before or after the node gets the transaction.

    A transaction that is sent a second time is not held.
    """

    held: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    _until: int = 0
    _is_taken: bool = False
    _sent: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self, after: int, *, is_taken: bool) -> None:
        """Let `after` sends pass and hold the next one. `is_taken`: the node gets that transaction."""
        self.held, self.released = threading.Event(), threading.Event()
        with self._lock:
            self._until, self._is_taken = after + 1, is_taken

    def __call__(self, exchange: Exchange) -> None:
        sent = json.dumps([each["params"] for each in exchange.questions])
        with self._lock:
            is_new = sent not in self._sent
            self._sent.add(sent)
            self._until -= is_new
            is_held, held, released = is_new and self._until == 0, self.held, self.released
        if not is_held:
            truth(exchange)
            return
        if self._is_taken:
            exchange.truth()
        held.set()
        released.wait(PATIENCE)
        exchange.handler.close_connection = True  # the worker that sent it is dead


def kill_while_sending(workers: list[Process]) -> None:
    """Kill all workers while one of them sends a transaction for the first time."""
    for each in workers:
        each.kill()
    stored = Relay.objects.filter(sent_at=None, ended_at=None)
    assert stored.exists(), "the kill came between storing and sending"
    end_leases()
