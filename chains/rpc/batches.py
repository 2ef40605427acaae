"""Send many calls to one node in the largest batches it accepts.

A batch that the node refuses is split, down to single calls, and the size that worked is remembered. A batch whose
answer is too large, incomplete or malformed is split as well, without remembering the size, because it depends on the
calls. A node that also fails a trivial call is down and is not queried further.
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
from chains.rpc.transport import Call, Refused, RpcFault, Silent, TooLarge, Unreachable, says_too_large

# After this many failed single calls, the remaining calls are skipped.
MAX_FAILED_CALLS = 3
SPLITTING_SECONDS = 30.0
MAX_FAILING = 1000

_TOO_LONG = "the node took too long to answer in small batches"

Send = Callable[[Sequence[Call], int], list[Any]]


class Why(Enum):
    """Why a call has no result."""

    LARGE = "the answer is too large for a batch"
    FAILED = "the node fails on this call"
    UNASKED = "skipped"
    BESIDE_LARGE = "skipped, together with a call whose answer was too large"


@dataclass(frozen=True)
class Unread:
    """Placeholder for the result of a call that failed while the node answers other calls."""

    why: Why
    error: ChainError

    @property
    def may_be_large(self) -> bool:
        """Whether to read the call on its own: its answer is too large, or may be."""
        return self.why in (Why.LARGE, Why.BESIDE_LARGE)


class Failing:
    """The names of items that a node failed on. They are queried last, because a few failures end a round."""

    def __init__(self) -> None:
        self._names: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, names: Iterable[str]) -> None:
        """Add these names."""
        with self._lock:
            self._names |= dict.fromkeys(names)
            while len(self._names) > MAX_FAILING:
                self._names.popitem(last=False)

    def includes(self, name: str) -> bool:
        """Return whether the node failed on this name; usable as a sort key."""
        with self._lock:
            return name in self._names


_Part = tuple[int, int]  # index of the first call, and of the first after the part


class Batches:
    """One round of calls to one node.

    `send` sends some calls in one request and limits the answer's bytes; `is_alive` returns whether the node answers a
    trivial call. With `isolating`, a call that fails on its own returns an `Unread`; otherwise its error is raised.
    """

    def __init__(
        self,
        node: Node,
        send: Send,
        is_alive: Callable[[], bool],
        clock: Callable[[], float],
        *,
        most_bytes: int,
        isolating: bool,
    ) -> None:
        self._node = node
        self._send = send
        self._is_alive = is_alive
        self._clock = clock
        self._most_bytes = most_bytes
        self._isolating = isolating
        self._is_known_alive = False
        self._failed = 0
        # The smallest batch that was refused, and the largest below it that worked since.
        self._refused = self._worked = 0
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
                rest = Unread(Why.BESIDE_LARGE if self._is_large else Why.UNASKED, ChainError(_TOO_LONG))
                for first, end in self._pending:
                    results[first:end] = [rest] * (end - first)
                break
            width = MAX_AT_A_TIME if limit or self._worked else 1
            parts = [self._pending.popleft() for _ in range(min(width, len(self._pending)))]
            for part, outcome in self._ask(calls, parts):
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
        """Store the results of a batch; queue calls refused for the answer's size as single calls."""
        length = part[1] - part[0]
        self._is_any_read = True
        results[part[0] : part[1]] = outcome
        if not self._refused:
            self._node.note_full_batch(length, self._clock())
        if length < self._refused:
            self._worked = max(self._worked, length)
        for place in [part[0] + at for at, result in enumerate(outcome) if is_too_large(result)]:
            if length > 1:
                self._pending.append((place, place + 1))
            elif self._isolating:
                results[place] = Unread(Why.LARGE, ChainError("the node doesn't send an answer of this size"))

    def _halve(self, part: _Part, error: ChainError) -> None:
        """Split a failed batch in two. Raises ChainError if that can't help."""
        length = part[1] - part[0]
        if isinstance(error, Silent) and not self._isolating:
            raise error
        self._require_alive(error)
        if isinstance(error, Refused):
            self._refused = min(self._refused or length, length)
            self._worked = self._worked if self._worked < length else 0
        elif isinstance(error, (TooLarge, Silent)):
            self._is_large = True
        self._pending.extendleft(reversed(_parts(*part, (length + 1) // 2)))

    def _is_over(self, deadline: float) -> bool:
        """Whether to skip the remaining calls. Raises ChainError if they may not be skipped."""
        is_late = self._is_known_alive and time.monotonic() > deadline
        if is_late and not (self._isolating and self._is_any_read):
            raise ChainError(_TOO_LONG)
        return is_late or self._failed >= MAX_FAILED_CALLS

    def _ask(
        self, calls: Sequence[Call], parts: Sequence[_Part]
    ) -> list[tuple[_Part, list[Any] | ChainError]]:
        if len(parts) == 1:
            return [(parts[0], self._one(calls, parts[0], self._room))]
        # The answers are in memory at the same time, so they share the limit of one.
        room = self._room // len(parts)
        with ThreadPoolExecutor(max_workers=len(parts)) as pool:
            outcomes = list(pool.map(lambda part: self._limited(calls, part, room), parts))
        for place, (part, outcome) in enumerate(zip(parts, outcomes, strict=True)):
            if isinstance(outcome, TooLarge) and part[1] - part[0] == 1:
                outcomes[place] = self._one(calls, part, self._room)
        return list(zip(parts, outcomes, strict=True))

    @property
    def _room(self) -> int:
        """The byte limit of one answer; lower once an answer was too large, to isolate the large call sooner."""
        return self._most_bytes // 4 if self._is_large and self._isolating else self._most_bytes

    def _limited(self, calls: Sequence[Call], part: _Part, most_bytes: int) -> list[Any] | ChainError:
        with self._node.slots:
            return self._one(calls, part, most_bytes)

    def _one(self, calls: Sequence[Call], part: _Part, most_bytes: int) -> list[Any] | ChainError:
        try:
            return self._send(calls[part[0] : part[1]], most_bytes)
        except (Refused, TooLarge, Silent) as error:
            return error
        except Limiting:
            raise
        except ChainError as error:
            # One of the calls may cause a cut connection or a malformed answer.
            is_single = part[1] - part[0] == 1
            if self._isolating and (is_single or not isinstance(error, Unreachable)):
                return error
            raise

    def _alone(self, error: ChainError) -> Unread:
        """Return the placeholder for a failed single call. Raises ChainError unless isolating."""
        if not self._isolating:
            raise error
        self._require_alive(error)
        if isinstance(error, TooLarge):
            return Unread(Why.LARGE, error)
        # The call itself fails; the size of its batches was not the cause.
        self._failed += 1
        self._refused = self._worked = 0
        self._pending = deque(_merged(self._pending))
        return Unread(Why.FAILED, error)

    def _require_alive(self, error: ChainError) -> None:
        """Raise `error` unless the node answers a trivial call, which shows that it is up."""
        if not self._is_known_alive and not self._is_alive():
            raise error
        self._is_known_alive = True


def is_too_large(result: Any) -> bool:
    """Return whether a call was refused because the answer became too large for the node (geth: -32003)."""
    return isinstance(result, RpcFault) and says_too_large(result.message)


def _parts(first: int, end: int, size: int) -> list[_Part]:
    return [(start, min(start + size, end)) for start in range(first, end, size)]


def _merged(parts: Iterable[_Part]) -> list[_Part]:
    """Merge adjacent parts."""
    merged: list[_Part] = []
    for first, end in sorted(parts):
        if merged and merged[-1][1] == first:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((first, end))
    return merged
