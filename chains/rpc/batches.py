"""Asking one node many calls in batches as large as it takes them.

A batch that the node refuses is repeated in smaller ones, down to single calls, and the size that worked is remembered.
A batch whose answer is too large, breaks off or is garbled is halved too, and nothing is remembered of that: it depends
on what was asked. A node that fails a single, trivial call as well is down, and is not asked any further.
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
from chains.rpc.nodes import MOST_AT_A_TIME, Limiting, Node
from chains.rpc.transport import Call, Refused, RpcFault, Silent, TooLarge, Unreachable, says_too_large

# After so many calls that fail by themselves the rest is left for another time.
MOST_FAILED_CALLS = 3
SPLITTING_SECONDS = 30.0
MOST_FAILING = 1000

_TOO_LONG = "the node took too long to answer in small batches"

Send = Callable[[Sequence[Call], int], list[Any]]


class Why(Enum):
    """Why a call has no result."""

    LARGE = "its answer is too large to be read among others"
    FAILED = "the node fails at this call alone"
    UNASKED = "it was left for another time"
    BESIDE_LARGE = "it was left for another time, among answers of which one was too large"


@dataclass(frozen=True)
class Unread:
    """Stands in the place of a call's result; the node answers other calls."""

    why: Why
    error: ChainError

    @property
    def may_be_large(self) -> bool:
        """Whether it is to be read alone: its own answer is too large, or there was no time to find whose is."""
        return self.why in (Why.LARGE, Why.BESIDE_LARGE)


class Failing:
    """What a node failed at by itself. It is asked for after the rest, since a few failures end a round."""

    def __init__(self) -> None:
        self._names: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, names: Iterable[str]) -> None:
        """Remember these."""
        with self._lock:
            self._names |= dict.fromkeys(names)
            while len(self._names) > MOST_FAILING:
                self._names.popitem(last=False)

    def includes(self, name: str) -> bool:
        """Return whether the node failed at it before; a key to sort by."""
        with self._lock:
            return name in self._names


_Part = tuple[int, int]  # the first call, and the first after it


class Batches:
    """One round of calls to one node.

    `send` asks some calls in one request, within so many bytes; `is_alive` tells whether the node answers a trivial
    call. Where `isolating`, a call that fails by itself has an `Unread` in its place; otherwise its error is raised.
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
            width = MOST_AT_A_TIME if limit or self._worked else 1
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
        """Take the results of a batch; what was refused in it for the size of the whole answer is asked alone."""
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
                results[place] = Unread(Why.LARGE, ChainError("the node's answer is too large for itself"))

    def _halve(self, part: _Part, error: ChainError) -> None:
        """Ask the halves of a batch instead. Raises ChainError where that is of no use."""
        length = part[1] - part[0]
        if isinstance(error, Silent) and not self._isolating:
            raise error
        self._demand_alive(error)
        if isinstance(error, Refused):
            self._refused = min(self._refused or length, length)
            self._worked = self._worked if self._worked < length else 0
        elif isinstance(error, (TooLarge, Silent)):
            self._is_large = True
        self._pending.extendleft(reversed(_parts(*part, (length + 1) // 2)))

    def _is_over(self, deadline: float) -> bool:
        """Whether the rest is left for another time. Raises ChainError where it can't be."""
        is_late = self._is_known_alive and time.monotonic() > deadline
        if is_late and not (self._isolating and self._is_any_read):
            raise ChainError(_TOO_LONG)
        return is_late or self._failed >= MOST_FAILED_CALLS

    def _ask(
        self, calls: Sequence[Call], parts: Sequence[_Part]
    ) -> list[tuple[_Part, list[Any] | ChainError]]:
        if len(parts) == 1:
            return [(parts[0], self._one(calls, parts[0], self._room))]
        # The answers are in memory at the same time, so they share the room for one.
        room = self._room // len(parts)
        with ThreadPoolExecutor(max_workers=len(parts)) as pool:
            outcomes = list(pool.map(lambda part: self._limited(calls, part, room), parts))
        for place, (part, outcome) in enumerate(zip(parts, outcomes, strict=True)):
            if isinstance(outcome, TooLarge) and part[1] - part[0] == 1:
                outcomes[place] = self._one(calls, part, self._room)
        return list(zip(parts, outcomes, strict=True))

    @property
    def _room(self) -> int:
        """The bytes of one answer: less once one was too large, so that what made it so is found sooner."""
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
            # Also a cut connection or a garbled answer may be due to one of the calls.
            is_single = part[1] - part[0] == 1
            if self._isolating and (is_single or not isinstance(error, Unreachable)):
                return error
            raise

    def _alone(self, error: ChainError) -> Unread:
        """Return what stands for a single call that failed. Raises ChainError where that is the caller's matter."""
        if not self._isolating:
            raise error
        self._demand_alive(error)
        if isinstance(error, TooLarge):
            return Unread(Why.LARGE, error)
        # It was this call, and not the size of the batches with it.
        self._failed += 1
        self._refused = self._worked = 0
        self._pending = deque(_merged(self._pending))
        return Unread(Why.FAILED, error)

    def _demand_alive(self, error: ChainError) -> None:
        """Raise the error unless the node answers a trivial call: then it is not the node that is down."""
        if not self._is_known_alive and not self._is_alive():
            raise error
        self._is_known_alive = True


def is_too_large(result: Any) -> bool:
    """Return whether a call was refused because the answer became too large for the node (geth: -32003)."""
    return isinstance(result, RpcFault) and says_too_large(result.message)


def _parts(first: int, end: int, size: int) -> list[_Part]:
    return [(start, min(start + size, end)) for start in range(first, end, size)]


def _merged(parts: Iterable[_Part]) -> list[_Part]:
    """Return the same calls in as few parts as can be."""
    merged: list[_Part] = []
    for first, end in sorted(parts):
        if merged and merged[-1][1] == first:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((first, end))
    return merged
