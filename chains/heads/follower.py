"""Follow the head of one chain in a thread. The thread polls the head. If the catalogue lists WebSockets, the thread
also uses their hints.
"""

import logging
import threading
import time
from collections.abc import Callable

from django.db import connections

from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.heads.pacing import Pacing
from chains.heads.subscription import Subscription
from chains.models import Chain
from config.backoff import doubled

logger = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 30.0
# The shortest pause between polls, even if a socket announces blocks faster.
_SHORTEST_PAUSE_SECONDS = 0.05

Client = Callable[[Chain], ChainClient]


class HeadFollower:
    """Call `on_head` for each new head that the required number of nodes has reached.

    A WebSocket's message only makes the next poll earlier; its content is not read.
    """

    def __init__(self, chain: Chain, on_head: Callable[[int], None], *, client: Client = get_client) -> None:
        self._chain = chain
        self._on_head = on_head
        self._client = client
        self._hint = threading.Event()
        self._stopping = threading.Event()
        self._subscription = Subscription(chain, self._hint.set)
        self._thread = threading.Thread(target=self._run, name=f"heads-{chain.pk}", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._subscription.start()

    def stop(self) -> None:
        """Stop soon, without waiting for a node that hangs."""
        self._stopping.set()
        self._hint.set()
        self._subscription.stop()

    def _run(self) -> None:
        try:
            self._follow()
        finally:
            # Without this, the connections that `on_head` opened in this thread stay open until garbage collection.
            connections.close_all()

    def _follow(self) -> None:
        pacing = Pacing(self._chain.block_time_ms / 1000)
        latest: int | None = None
        failures = 0
        while not self._stopping.is_set():
            try:
                head = self._head()
                failures = 0
            except ChainError:
                failures += 1
                self._wait(doubled(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, failures - 1))
                continue
            if head is not None and head != latest:
                latest = head
                pacing.saw_block(time.monotonic())
                self._tell(head)
            self._wait(pacing.pause(time.monotonic()))

    def _head(self) -> int | None:
        """Return the head on which the nodes agree, because verification uses this head too."""
        return self._client(self._chain).look_up([], with_finality=False).head.latest

    def _tell(self, head: int) -> None:
        if self._stopping.is_set():
            return
        try:
            self._on_head(head)
        except Exception:
            logger.exception("a new head of chain %s could not be acted on", self._chain.pk)

    def _wait(self, seconds: float) -> None:
        self._stopping.wait(_SHORTEST_PAUSE_SECONDS)
        self._hint.wait(max(seconds - _SHORTEST_PAUSE_SECONDS, 0))
        if not self._stopping.is_set():
            self._hint.clear()
