"""Send many calls to one node in the largest batches it accepts.

If the node rejects a batch, it is split, down to single calls. The accepted size is remembered. If a response is too
large, incomplete or malformed, the batch is split too. In this case the size is not remembered, because a response's
size depends on the calls. A node that fails a trivial call is down and gets no more calls.
"""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any

from chains.client import ChainError
from chains.rpc.nodes import MAX_AT_A_TIME, Limiting, Node
from chains.rpc.transport import (
    Call,
    NoResponse,
    Rejected,
    RpcFault,
    TooLarge,
    Unreachable,
    describes_large_response,
)

# After this many failed single calls, the remaining calls are skipped.
MAX_FAILED_CALLS = 3
SPLITTING_SECONDS = 30.0
MAX_FAILING = 1000

_TOO_LONG = "the node is too slow in small batches"

Send = Callable[[Sequence[Call], int], list[Any]]


class UnreadReason(Enum):
    """Why a call has no result."""

    LARGE = "the response is too large for a batch"
    FAILED = "the node fails on this call"
    SKIPPED = "skipped"
    BESIDE_LARGE = "skipped, together with a call whose response was too large"


@dataclass(frozen=True)
class Unread:
    """Placeholder for the result of a call that failed on a node that is up."""

    reason: UnreadReason
    error: ChainError

    @property
    def may_be_large(self) -> bool:
        """Whether the call's response is, or may be, too large for a batch."""
        return self.reason in (UnreadReason.LARGE, UnreadReason.BESIDE_LARGE)


class Failing:
    """The names of items on which a node failed. Those items are queried last, because a few failures end a round."""

    def __init__(self) -> None:
        self._names: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, names: Iterable[str]) -> None:
        with self._lock:
            self._names |= dict.fromkeys(names)
            while len(self._names) > MAX_FAILING:
                self._names.popitem(last=False)

    def includes(self, name: str) -> bool:
        with self._lock:
            return name in self._names


_Part = tuple[int, int]  # the index of the first call, and the index after the last


class Batches:
    """One round of calls to one node.

    `send` sends some calls in one request and limits the response's bytes. `is_alive` makes a trivial call. With
    `isolating`, the result of a call that fails alone is an `Unread`. Without `isolating`, the error is raised.
    """

    def __init__(
        self,
        node: Node,
        send: Send,
        is_alive: Callable[[], bool],
        clock: Callable[[], float],
        *,
        max_bytes: int,
        isolating: bool,
    ) -> None:
        self._node = node
        self._send = send
        self._is_alive = is_alive
        self._clock = clock
        self._max_bytes = max_bytes
        self._isolating = isolating
        self._is_known_alive = False
        self._failed = 0
        # The size of the smallest rejected batch, and the size of the largest smaller batch that worked.
        self._rejected = self._worked = 0
        self._is_any_read = False
        self._is_large = False
        self._pending: deque[_Part] = deque()

    def results(self, calls: Sequence[Call], at_once: int) -> list[Any]:
        """Return the calls' results in order. Raises ChainError."""
        results: list[Any] = [None] * len(calls)
        limit = self._node.batch_limit(self._clock())
        full = min(at_once, limit or at_once)
        self._pending = deque(_parts(0, len(calls), full))
        deadline = time.monotonic() + SPLITTING_SECONDS
        while self._pending:
            if self._is_over(deadline):
                rest = Unread(
                    UnreadReason.BESIDE_LARGE if self._is_large else UnreadReason.SKIPPED,
                    ChainError(_TOO_LONG),
                )
                for first, end in self._pending:
                    results[first:end] = [rest] * (end - first)
                break
            width = MAX_AT_A_TIME if limit or self._worked else 1
            parts = [self._pending.popleft() for _ in range(min(width, len(self._pending)))]
            for part, outcome in self._call(calls, parts):
                if not isinstance(outcome, ChainError):
                    self._take(results, part, outcome)
                elif part[1] - part[0] == 1:
                    results[part[0]] = self._alone(outcome)
                else:
                    self._halve(part, outcome)
            size = self._worked or full
            self._pending = deque(small for part in self._pending for small in _parts(*part, size))
        if self._worked and not self._failed:
            self._node.note_batch_limit(self._worked, self._clock())
        return results

    def _take(self, results: list[Any], part: _Part, outcome: list[Any]) -> None:
        """Store the results of a batch. If a call's response is too large, queue the call alone."""
        length = part[1] - part[0]
        self._is_any_read = True
        results[part[0] : part[1]] = outcome
        if not self._rejected:
            self._node.note_full_batch(length, self._clock())
        if length < self._rejected:
            self._worked = max(self._worked, length)
        for place in [part[0] + at for at, result in enumerate(outcome) if is_too_large(result)]:
            if length > 1:
                self._pending.append((place, place + 1))
            elif self._isolating:
                results[place] = Unread(
                    UnreadReason.LARGE, ChainError("the node doesn't send a response of this size")
                )

    def _halve(self, part: _Part, error: ChainError) -> None:
        """Split a failed batch in two. Raises ChainError if smaller batches would fail too."""
        length = part[1] - part[0]
        if isinstance(error, NoResponse) and not self._isolating:
            raise error
        self._require_alive(error)
        if isinstance(error, Rejected):
            self._rejected = min(self._rejected or length, length)
            self._worked = self._worked if self._worked < length else 0
        elif isinstance(error, (TooLarge, NoResponse)):
            self._is_large = True
        self._pending.extendleft(reversed(_parts(*part, (length + 1) // 2)))

    def _is_over(self, deadline: float) -> bool:
        """Whether to skip the remaining calls. Raises ChainError if the caller needs them."""
        is_late = self._is_known_alive and time.monotonic() > deadline
        if is_late and not (self._isolating and self._is_any_read):
            raise ChainError(_TOO_LONG)
        return is_late or self._failed >= MAX_FAILED_CALLS

    def _call(
        self, calls: Sequence[Call], parts: Sequence[_Part]
    ) -> list[tuple[_Part, list[Any] | ChainError]]:
        if len(parts) == 1:
            return [(parts[0], self._one(calls, parts[0], self._room))]
        # All these responses are in memory at the same time. So together they may have as many bytes as one response.
        room = self._room // len(parts)
        with ThreadPoolExecutor(max_workers=len(parts)) as pool:
            outcomes = list(pool.map(lambda part: self._limited(calls, part, room), parts))
        for place, (part, outcome) in enumerate(zip(parts, outcomes, strict=True)):
            if isinstance(outcome, TooLarge) and part[1] - part[0] == 1:
                outcomes[place] = self._one(calls, part, self._room)
        return list(zip(parts, outcomes, strict=True))

    @property
    def _room(self) -> int:
        """The byte limit of one response.

        After a response that was too large, the limit is lower, so that the large call is found sooner.
        """
        return self._max_bytes // 4 if self._is_large and self._isolating else self._max_bytes

    def _limited(self, calls: Sequence[Call], part: _Part, max_bytes: int) -> list[Any] | ChainError:
        with self._node.slots:
            return self._one(calls, part, max_bytes)

    def _one(self, calls: Sequence[Call], part: _Part, max_bytes: int) -> list[Any] | ChainError:
        try:
            return self._send(calls[part[0] : part[1]], max_bytes)
        except (Rejected, TooLarge, NoResponse) as error:
            return error
        except Limiting:
            raise
        except ChainError as error:
            # One of the calls may have cut the connection or broken the response.
            is_single = part[1] - part[0] == 1
            if self._isolating and (is_single or not isinstance(error, Unreachable)):
                return error
            raise

    def _alone(self, error: ChainError) -> Unread:
        """Return the placeholder for a failed single call. Raises ChainError if the calls are not isolated."""
        if not self._isolating:
            raise error
        self._require_alive(error)
        if isinstance(error, TooLarge):
            return Unread(UnreadReason.LARGE, error)
        # The call fails in batches of every size.
        self._failed += 1
        self._rejected = self._worked = 0
        self._pending = deque(_merged(self._pending))
        return Unread(UnreadReason.FAILED, error)

    def _require_alive(self, error: ChainError) -> None:
        """Raise `error` if a trivial call shows that the node is down."""
        if not self._is_known_alive and not self._is_alive():
            raise error
        self._is_known_alive = True


def is_too_large(result: Any) -> bool:
    """Whether the node rejected a call because its response is too large (geth: -32003)."""
    return isinstance(result, RpcFault) and describes_large_response(result.message)


def _parts(first: int, end: int, size: int) -> list[_Part]:
    return [(start, min(start + size, end)) for start in range(first, end, size)]


def _merged(parts: Iterable[_Part]) -> list[_Part]:
    merged: list[_Part] = []
    for first, end in sorted(parts):
        if merged and merged[-1][1] == first:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((first, end))
    return merged
