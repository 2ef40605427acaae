"""Read transactions that are too large for a batch one at a time, in a background thread.

Senders control the size of receipts and traces, so lookups of other transactions must not wait for an oversized one. A
later lookup returns the result. A client has one reader for each node.
"""

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from chains.client import ChainError, TransactionFacts

logger = logging.getLogger(__name__)

MAX_KNOWN = 1000
MAX_QUEUED = 200
MAX_KEPT = 500
MAX_KEPT_PARTS = 200_000  # one part for each transfer, each mention, and each 256 bytes of the mentions' data
_PART_BYTES = 256
LONGEST_PAUSE_SECONDS = 300.0
WAIT_SECONDS = 5.0

# One transaction at a time, so that memory use stays bounded.
_one_at_a_time = threading.Semaphore(1)

# A transaction's hash, and the contracts whose calls and logs to include in its facts.
Wanted = tuple[str, frozenset[str]]
# A function that reads a transaction, by its hash and the number of failed reads so far.
Read = Callable[[str, int], TransactionFacts | None]


@dataclass(frozen=True)
class _Failure:
    count: int
    not_before: float


class OversizedReader:
    """Read one node's oversized transactions. Thread-safe."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._queue: deque[tuple[Wanted, Read]] = deque()
        self._waiting: set[Wanted] = set()
        self._read: OrderedDict[Wanted, TransactionFacts] = OrderedDict()
        self._failures: OrderedDict[Wanted, _Failure] = OrderedDict()
        self._thread: threading.Thread | None = None

    def known(self, hashes: Iterable[str]) -> set[str]:
        """Return the transactions that must be read on their own."""
        with self._changed:
            return {hash_ for hash_ in hashes if hash_ in self._known}

    def remember(self, hashes: Iterable[str]) -> None:
        with self._changed:
            for hash_ in hashes:
                self._known[hash_] = None
                self._known.move_to_end(hash_)
            while len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)

    def failing(self, hashes: Iterable[str], mentioning: Collection[str]) -> frozenset[str]:
        """Return the transactions whose last read from this node failed."""
        with self._changed:
            return frozenset(hash_ for hash_ in hashes if (hash_, frozenset(mentioning)) in self._failures)

    def facts(
        self, blocks: Mapping[str, str], mentioning: Collection[str], read: Read, *, is_waiting: bool
    ) -> dict[str, TransactionFacts]:
        """Return the facts that were read so far. The background thread calls `read` for the missing facts.

        `blocks` maps each transaction's hash to the hash of its current block. With `is_waiting`, wait a few seconds
        for the missing facts.
        """
        wanted = {hash_: (hash_, frozenset(mentioning)) for hash_ in blocks}
        with self._changed:
            for hash_, key in wanted.items():
                if hash_ not in self._current(blocks, wanted):
                    self._read.pop(key, None)
                    self._enqueue(key, read)
            if is_waiting:
                self._changed.wait_for(lambda: self._waiting.isdisjoint(wanted.values()), WAIT_SECONDS)
            return self._current(blocks, wanted)

    def _current(
        self, blocks: Mapping[str, str], wanted: Mapping[str, Wanted]
    ) -> dict[str, TransactionFacts]:
        """Return the facts of transactions that are still in the same block."""
        current = {}
        for hash_, key in wanted.items():
            facts = self._read.get(key)
            if facts is not None and facts.block is not None and facts.block.hash == blocks[hash_]:
                self._read.move_to_end(key)
                current[hash_] = facts
        return current

    def _enqueue(self, key: Wanted, read: Read) -> None:
        failure = self._failures.get(key)
        is_early = failure is not None and failure.not_before > self._clock()
        if key in self._waiting or is_early or len(self._queue) >= MAX_QUEUED:
            return
        self._waiting.add(key)
        self._queue.append((key, read))
        # If the process was forked, the thread is not alive.
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, name="oversized-transactions", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._queue:
                    self._thread = None
                    return
                key, read = self._queue.popleft()
                failures = self._failures[key].count if key in self._failures else 0
            facts = None
            try:
                with _one_at_a_time:
                    facts = read(key[0], failures)
            except ChainError as error:
                logger.warning("large transaction %s could not be read: %s", key[0], error)
            except Exception:
                logger.exception("large transaction %s could not be read", key[0])
            with self._changed:
                self._note(key, facts)
                self._waiting.discard(key)
                self._changed.notify_all()

    def _note(self, key: Wanted, facts: TransactionFacts | None) -> None:
        if facts is None or facts.block is None:
            count = self._failures[key].count + 1 if key in self._failures else 1
            pause = min(2.0 ** min(count - 1, 10), LONGEST_PAUSE_SECONDS)
            self._failures[key] = _Failure(count, self._clock() + pause)
            while len(self._failures) > MAX_KNOWN:
                self._failures.popitem(last=False)
            return
        self._failures.pop(key, None)
        self._read[key] = facts
        while len(self._read) > 1 and (
            len(self._read) > MAX_KEPT or sum(map(_weight, self._read.values())) > MAX_KEPT_PARTS
        ):
            self._read.popitem(last=False)


def _weight(facts: TransactionFacts) -> int:
    mentioned_bytes = sum(len(mention.data) for mention in facts.mentions)
    return len(facts.transfers) + len(facts.mentions) + mentioned_bytes // _PART_BYTES
