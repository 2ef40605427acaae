"""Query traces, from the nodes that support them.

- If no node supports traces, the transaction is evaluated from other evidence.
- If a node fails, the transaction is looked up again later.
- If a trace exists but can't be read, the result is UNREADABLE. The sender controls a trace's size, but must not be
  able to choose the evidence by making the trace too large. A trace that can't be read is later queried alone, so that
  it doesn't delay others.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from chains.client import ChainError
from chains.families.evm.transactions.trace import Trace
from chains.families.evm.transactions.trace_results import (
    UNREADABLE,
    Compact,
    Mined,
    Unable,
    is_able,
    is_too_much,
    is_unsupported,
    trace_of,
    transactions,
)
from chains.rpc.json_rpc import Call, JsonRpc, TooLarge, Truncated, Unread

__all__ = ["Alone", "Mined", "Tracer", "Traces", "traces_of"]

MAX_KEPT = 1000
MAX_KEPT_CALLS = 200_000  # a log counts as a call, and so do every 256 bytes of input or log data
_PART_BYTES = 256
MAX_SUSPECTS = 1000
SUSPECTS_PER_LOOK = 2
LONGEST_PAUSE_SECONDS = 300.0
UNABLE_SECONDS = 3600.0
PRESUMED_UNABLE_AFTER_SECONDS = 600.0
PRESUMED_UNABLE_AFTER_FAILURES = 5
# One rejection is not enough: a URL may serve many nodes, of which only some support traces.
CONFIRMATIONS = 3
PROBED_SECONDS = 600.0
UNKNOWN_SECONDS = 30.0
_NO_HASH = "0x" + "0" * 64
_TOP_OPTIONS = {"tracer": "callTracer", "tracerConfig": {"onlyTopCall": True}, "timeout": "5s"}
_OPTIONS = {"tracer": "callTracer", "tracerConfig": {"withLog": True}, "timeout": "5s"}
_OPTIONS_ALONE = {**_OPTIONS, "timeout": "30s"}


@dataclass(frozen=True)
class _Kept:
    """A trace, and the contracts whose full input it contains."""

    trace: Trace
    whole_input_of: frozenset[str]


@dataclass
class _Suspect:
    failures: int
    not_before: float


@dataclass(frozen=True)
class Alone:
    """How to read an oversized transaction. On the last try, an incomplete trace counts as unreadable."""

    is_last_try: bool


@dataclass(frozen=True)
class Traces:
    """Traces of transactions.

    Each transaction is in exactly one of the first four fields. `missing`: no node has a trace. `failed`: there is no
    usable response now. `unreadable`: a trace exists but is too large, incomplete or has unknown kinds of calls, so it
    proves no inner calls. `oversized`: the transactions in `failed` that are so large that they must be read alone.
    """

    by_hash: Mapping[str, Trace]
    missing: frozenset[str]
    failed: frozenset[str]
    unreadable: frozenset[str] = frozenset()
    oversized: frozenset[str] = frozenset()


class Tracer:
    """Query one node's traces, if it supports them.

    Results are cached up to a size limit. The tracer has its own connections, so that a failed trace doesn't affect the
    node's health.
    """

    def __init__(self, node: JsonRpc, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._node = node
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._weight = 0
        self._suspects: OrderedDict[str, _Suspect] = OrderedDict()
        self._oversized: OrderedDict[str, None] = OrderedDict()
        self._has_traced = False
        self._failures = 0
        self._failing_since: float | None = None
        self._unsupported_since: float | None = None
        self._unable_until = 0.0
        self._is_presumed_able = False
        self._next_probe_at = 0.0

    def traces(
        self, wanted: Mapping[str, Mined], whole_input_of: frozenset[str] = frozenset()
    ) -> dict[str, Trace | None]:
        """Return the traces by transaction hash: None if the node has no trace, UNREADABLE if a trace can't be read.

        Transactions without a usable response are omitted. The query sends one batch, and one request for each
        transaction that is queried alone.
        """
        found: dict[str, Trace | None] = {**self.remembered(wanted, whole_input_of)}
        for part in self._parts([hash_ for hash_ in wanted if hash_ not in found]):
            if self._is_unable:
                break
            by_hash = self._query({hash_: wanted[hash_] for hash_ in part}, whole_input_of)
            self._keep({hash_: wanted[hash_] for hash_ in part}, by_hash, whole_input_of)
            found |= by_hash
        if self._is_unable:
            found = dict.fromkeys(wanted) | found
        return found

    def trace_alone(
        self, hash_: str, mined: Mined, whole_input_of: frozenset[str], *, is_last_try: bool
    ) -> dict[str, Trace | None]:
        """Return the trace of one transaction, of any size, in the form of `traces`.

        On the last try, an incomplete trace counts as unreadable.
        """
        if self._is_unable:
            return {hash_: None}
        convert = Compact(whole_input_of)
        try:
            result = self._node.stream(("debug_traceTransaction", [hash_, _OPTIONS_ALONE]), convert)
            trace: Trace | None = UNREADABLE
            if not is_too_much(result):
                trace = trace_of(result, mined, whole_input_of, self._has_traced)
        except TooLarge as error:
            if isinstance(error, Truncated) and not is_last_try:
                return {}
            trace = UNREADABLE
        except Unable:
            return {hash_: None} if self._confirms_unsupported() else {}
        except ChainError:
            return {}
        self._keep({hash_: mined}, {hash_: trace}, whole_input_of)
        return {hash_: trace}

    def is_offered(self) -> bool:
        """Whether the node supports traces. The result comes from earlier traces or, if there are none, from one query.

        An inconclusive query counts as False for a short time.
        """
        now = self._clock()
        if self._is_unable:
            return False
        if not self._has_traced and now >= self._next_probe_at:
            self._is_presumed_able, seconds = self._probe()
            self._next_probe_at = now + seconds
        return self._has_traced or self._is_presumed_able

    def _probe(self) -> tuple[bool, float]:
        """Return whether the node traces a recent transaction, and the number of seconds to cache the result."""
        try:
            (result,) = self._node.batch([self._call()], list)
        except ChainError:
            return False, UNKNOWN_SECONDS
        return is_able(result), PROBED_SECONDS

    def _call(self) -> Call:
        """Return the call for the trace of a recent transaction. Raises ChainError."""
        hashes = self._node.batch([("eth_getBlockByNumber", ["latest", False])], transactions)
        return "debug_traceTransaction", [hashes[0] if hashes else _NO_HASH, _TOP_OPTIONS]

    @property
    def _is_unable(self) -> bool:
        return self._unable_until > self._clock()

    def _parts(self, hashes: Sequence[str]) -> Iterator[list[str]]:
        """Yield one batch with all transactions that had no failures, and then a few of the other transactions, each
        alone.
        """
        with self._lock:
            suspects = {hash_: self._suspects[hash_] for hash_ in hashes if hash_ in self._suspects}
        if above_suspicion := [hash_ for hash_ in hashes if hash_ not in suspects]:
            yield above_suspicion
        now = self._clock()
        due = sorted((s.failures, hash_) for hash_, s in suspects.items() if s.not_before <= now)
        yield from ([hash_] for _, hash_ in due[:SUSPECTS_PER_LOOK])

    def oversized(self, hashes: Iterable[str]) -> frozenset[str]:
        """Return the transactions whose traces are too large for a batch."""
        with self._lock:
            return frozenset(hash_ for hash_ in hashes if hash_ in self._oversized)

    def _query(self, wanted: Mapping[str, Mined], whole_input_of: frozenset[str]) -> dict[str, Trace | None]:
        calls: list[Call] = [("debug_traceTransaction", [hash_, _OPTIONS]) for hash_ in wanted]
        by_hash: dict[str, Trace | None] = {}
        is_any_unsupported = False
        try:
            results = self._node.batch(calls, list, isolating=True)
        except ChainError:
            return self._failed(wanted)
        unread = {h: result for h, result in zip(wanted, results, strict=True) if isinstance(result, Unread)}
        self._note_oversized({hash_ for hash_, result in unread.items() if result.may_be_large})
        for (hash_, mined), result in zip(wanted.items(), results, strict=True):
            try:
                by_hash[hash_] = trace_of(result, mined, whole_input_of, self._has_traced)
            except Unable:
                is_any_unsupported = True
            except ChainError:
                pass  # omitted from the result
        if is_any_unsupported and not any(by_hash.values()) and self._confirms_unsupported():
            return dict.fromkeys(wanted)
        if len(unread) == len(wanted) and not any(result.may_be_large for result in unread.values()):
            return self._failed(wanted)
        self._failures, self._failing_since = 0, None
        if any(by_hash.values()):
            self._has_traced, self._unsupported_since = True, None
        return by_hash

    def _confirms_unsupported(self) -> bool:
        """Record that the node rejected a trace as unsupported.

        Return whether the rejection is conclusive. The rejection is conclusive if the node also rejects another
        transaction's trace over new connections. If the node has returned traces before, the rejections must also last
        for minutes.
        """
        now = self._clock()
        try:
            call = self._call()
            for _ in range(CONFIRMATIONS):
                self._node.disconnect()
                (result,) = self._node.batch([call], list)
                if not is_unsupported(result):
                    self._unsupported_since = None
                    return False
        except ChainError:
            return False
        self._unsupported_since = now if self._unsupported_since is None else self._unsupported_since
        if self._has_traced and now - self._unsupported_since < PRESUMED_UNABLE_AFTER_SECONDS:
            return False
        self._unable_until = now + UNABLE_SECONDS
        self._has_traced, self._unsupported_since = False, None
        return True

    def _note_oversized(self, hashes: Iterable[str]) -> None:
        with self._lock:
            self._oversized |= dict.fromkeys(hashes)
            while len(self._oversized) > MAX_SUSPECTS:
                self._oversized.popitem(last=False)

    def _failed(self, wanted: Mapping[str, Mined]) -> dict[str, Trace | None]:
        """Record a failure. If the node never returned a trace and keeps failing, it counts as unable to trace."""
        now = self._clock()
        self._failures += 1
        self._failing_since = now if self._failing_since is None else self._failing_since
        is_for_long = now - self._failing_since >= PRESUMED_UNABLE_AFTER_SECONDS
        if self._has_traced or not is_for_long or self._failures < PRESUMED_UNABLE_AFTER_FAILURES:
            return {}
        self._failures, self._failing_since = 0, None
        if self._probe()[0]:  # the node traces other transactions
            return {}
        self._unable_until = now + UNABLE_SECONDS
        return dict.fromkeys(wanted)

    def remembered(self, wanted: Mapping[str, Mined], whole_input_of: frozenset[str]) -> dict[str, Trace]:
        found: dict[str, Trace] = {}
        with self._lock:
            for hash_, mined in wanted.items():
                kept = self._kept.get((hash_, mined.block_hash))
                if kept and whole_input_of <= kept.whole_input_of:
                    self._kept.move_to_end((hash_, mined.block_hash))
                    found[hash_] = kept.trace
        return found

    def _keep(
        self, wanted: Mapping[str, Mined], by_hash: Mapping[str, Trace | None], whole_input_of: frozenset[str]
    ) -> None:
        """Cache the received traces. Mark transactions without a response as suspects, which are queried alone."""
        now = self._clock()
        with self._lock:
            for hash_, mined in wanted.items():
                trace = by_hash.get(hash_)
                if trace is not None:
                    former = self._kept.pop((hash_, mined.block_hash), None)
                    self._weight += _weight(trace) - (_weight(former.trace) if former else 0)
                    self._kept[hash_, mined.block_hash] = _Kept(trace, whole_input_of)
                if hash_ in by_hash:
                    self._suspects.pop(hash_, None)
                else:
                    self._suspect(hash_, now)
            while len(self._kept) > MAX_KEPT or self._weight > MAX_KEPT_CALLS:
                _, forgotten = self._kept.popitem(last=False)
                self._weight -= _weight(forgotten.trace)
            while len(self._suspects) > MAX_SUSPECTS:
                self._suspects.popitem(last=False)

    def _suspect(self, hash_: str, now: float) -> None:
        failures = self._suspects[hash_].failures + 1 if hash_ in self._suspects else 1
        pause = min(2.0 ** min(failures - 1, 10) - 1, LONGEST_PAUSE_SECONDS)
        self._suspects[hash_] = _Suspect(failures, now + pause)


def traces_of(
    tracers: Sequence[Tracer],
    wanted: Mapping[str, Mined],
    whole_input_of: frozenset[str],
    *,
    alone: Alone | None,
) -> Traces:
    """Return the trace of each transaction from the first of these nodes that returns a readable one.

    The traces contain the whole input of calls to the addresses `whole_input_of` (checksummed). With `alone`, each
    trace is read alone and may have any size.
    """
    by_hash: dict[str, Trace] = {}
    failed: set[str] = set()
    unreadable: set[str] = set()
    oversized: set[str] = set()
    for tracer in tracers:
        open_ = {hash_: mined for hash_, mined in wanted.items() if hash_ not in by_hash}
        if not open_:
            break
        if alone:
            results: dict[str, Trace | None] = {**tracer.remembered(open_, whole_input_of)}
            for hash_ in open_.keys() - results.keys():
                results |= tracer.trace_alone(
                    hash_, open_[hash_], whole_input_of, is_last_try=alone.is_last_try
                )
        else:
            results = tracer.traces(open_, whole_input_of)
            oversized |= tracer.oversized(open_.keys() - results.keys())
        failed |= open_.keys() - results.keys()
        unreadable |= {hash_ for hash_, trace in results.items() if trace is UNREADABLE}
        by_hash |= {h: trace for h, trace in results.items() if trace is not None and trace is not UNREADABLE}
    unreadable -= by_hash.keys()
    failed -= by_hash.keys() | unreadable
    missing = wanted.keys() - by_hash.keys() - failed - unreadable
    return Traces(
        by_hash,
        frozenset(missing),
        frozenset(failed),
        frozenset(unreadable),
        frozenset(oversized & failed),
    )


def _weight(trace: Trace) -> int:
    logs = trace.logs or ()
    data_bytes = sum(len(call.data) for call in trace.calls) + sum(len(log.data) for log in logs)
    return 1 + len(trace.calls) + len(logs) + data_bytes // _PART_BYTES
