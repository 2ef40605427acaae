"""Count calls to nodes, routing providers and rate sources, with their outcomes and durations.

The label `name` is a node's host or a provider's name, never a URL. So labels contain no secrets and have few values.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from prometheus_client import Counter, Histogram

CALLS = Counter(
    "quittance_outside_calls",
    "Calls to nodes, routing providers and rate sources.",
    ("kind", "name", "outcome"),
)
SECONDS = Histogram("quittance_outside_call_seconds", "Time until a call to them ends.", ("kind", "name"))
NODE_METHODS = Counter(
    "quittance_node_methods", "JSON-RPC methods called; a call may contain a batch of them.", ("name",)
)


class Kind(StrEnum):
    NODE = "node"
    PROVIDER = "provider"
    RATE_SOURCE = "rate_source"


class Outcome(StrEnum):
    """How a call ended. `rejected` is a 4xx status, `failed` a 5xx, and `unusable` a response that can't be read."""

    OK = "ok"
    REJECTED = "rejected"
    RATE_LIMITED = "rate_limited"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    UNUSABLE = "unusable"


class OutsideCall:
    """A measured call. Set `outcome` as soon as it is known. If an exception comes first, the outcome is unusable."""

    __slots__ = ("outcome",)

    def __init__(self) -> None:
        self.outcome: Outcome | None = None

    def responded(self, status: int) -> None:
        self.outcome = outcome_of(status)


def outcome_of(status: int) -> Outcome:
    if status == 429:
        return Outcome.RATE_LIMITED
    if status >= 500 or status == 424:  # 424: the provider's own dependency failed
        return Outcome.FAILED
    if status >= 400:
        return Outcome.REJECTED
    return Outcome.OK if 200 <= status < 300 else Outcome.UNUSABLE


@contextmanager
def measured(
    kind: Kind, name: str, *, clock: Callable[[], float] = time.perf_counter
) -> Iterator[OutsideCall]:
    """Count the call that the block makes, and its duration."""
    call, began = OutsideCall(), clock()
    default = Outcome.UNUSABLE
    try:
        yield call
        default = Outcome.OK
    finally:
        CALLS.labels(kind, name, call.outcome or default).inc()
        SECONDS.labels(kind, name).observe(clock() - began)
