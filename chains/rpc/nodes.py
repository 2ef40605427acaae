"""One node of a chain as this process knows it: its state, its head, its limits and its cooldown.

A node that fails gets a cooldown, which is longer each time and at least the node's `Retry-After`. A node is set aside
if its head runs backwards or lags behind the others, if the node serves another chain, or if two other nodes contradict
it. A node that limits batch sizes or log ranges is healthy, and requests adapt to its limits.
"""

import logging
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

import requests

from chains.client import ChainError, NodeHealth, NodeState
from config.backoff import doubled

logger = logging.getLogger(__name__)

FIRST_COOLDOWN_SECONDS = 1.0
LONGEST_COOLDOWN_SECONDS = 60.0
LONGEST_RETRY_AFTER_SECONDS = 900.0
SET_ASIDE_SECONDS = 30.0
# If the node's head stays below its highest head for this time, the highest head is forgotten: the chain may have been
# rolled back.
HEAD_MEMORY_SECONDS = 120.0
# The number of concurrent requests to a node that accepts only small batches.
MAX_AT_A_TIME = 8
# A limit is tested again after this time, because it may be temporary, or the operator may have bought a larger plan.
# The interval grows each time the limit is confirmed.
FIRST_LIMIT_SECONDS = 60.0
LIMIT_SECONDS = 6 * 3600.0
_LIMIT_GROWTH = 8
MAX_LOG_BLOCKS = 1000
MAX_LOG_RECIPIENTS = 500
_SHORTEST_SECRET = 6


class NodeFault(ChainError):
    """A ChainError that sets the state of its node."""

    state = NodeState.FAILING


class Limiting(NodeFault):
    """The node limits our rate (HTTP 429)."""

    state = NodeState.LIMITING


class Lagging(NodeFault):
    """The node's head ran backwards or lags behind the other nodes."""

    state = NodeState.LAGGING


class WrongChain(NodeFault):
    """The node serves a different chain than the catalogue's entry."""

    state = NodeState.WRONG_CHAIN


class Contradicted(NodeFault):
    """Two other nodes agreed on a different result."""

    state = NodeState.CONTRADICTED


class TooManyWaiting(ChainError):
    """Too many threads of this process already wait for the node. The node was not called, so it isn't at fault."""


_SET_ASIDE = (Lagging, Contradicted)


class Adaptive:
    """A request size that adapts to a node.

    The size is halved on failure and doubled after some successes. Each failed doubling delays the next. So a fixed
    limit causes few failures, and a limit that one unusual block caused is lifted again.
    """

    FIRST_SUCCESSES = 10
    MAX_SUCCESSES = 10_000
    _GROWTH = 4

    def __init__(self, most: int) -> None:
        self.size = self._most = most
        self._successes = 0
        self._needed = self.FIRST_SUCCESSES
        self._is_trial = False
        self._lock = threading.Lock()

    def failed(self, size: int) -> None:
        with self._lock:
            if self._is_trial:
                self._needed = min(self._needed * self._GROWTH, self.MAX_SUCCESSES)
            self.size, self._successes, self._is_trial = max(min(self.size, size // 2), 1), 0, False

    def worked(self, size: int) -> None:
        with self._lock:
            if size < self.size or self.size == self._most:
                return
            self._successes += 1
            if self._is_trial:
                self._needed, self._is_trial = self.FIRST_SUCCESSES, False
            if self._successes >= self._needed:
                self.size, self._successes, self._is_trial = min(self.size * 2, self._most), 0, True


class LogLimits:
    """The largest log query that a node accepts, in blocks and in recipients."""

    def __init__(self) -> None:
        self.blocks = Adaptive(MAX_LOG_BLOCKS)
        self.recipients = Adaptive(MAX_LOG_RECIPIENTS)


@dataclass
class Node:
    """A node's URL, connection pool and state. Thread-safe. Times are monotonic."""

    url: str
    session: requests.Session = field(default_factory=requests.Session)
    failures: int = 0
    cooldown_until: float = 0.0
    retry_not_before: float = 0.0
    identified_at: float | None = None
    head: int | None = None
    state: NodeState = NodeState.UNTRIED
    last_error: str = ""
    since: datetime = field(default_factory=lambda: datetime.now(UTC))
    slots: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(MAX_AT_A_TIME), repr=False
    )
    logs: "LogLimits" = field(default_factory=lambda: LogLimits())
    _batch_limit: int | None = None
    _batch_limit_until: float = 0.0
    _batch_limit_seconds: float = 0.0
    _head_reached_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.session.trust_env = False

    @property
    def name(self) -> str:
        """The host. The rest of a node's URL often contains an access key."""
        try:
            host = urlsplit(self.url).hostname or "node"
        except ValueError:
            return "node"
        # Half of a surrogate pair in a mistyped URL would break the metrics of all nodes.
        return host.encode("ascii", "backslashreplace").decode()

    def is_ready(self, now: float) -> bool:
        return self.cooldown_until <= now

    def succeeded(self) -> None:
        with self._lock:
            self.failures = 0
            self.cooldown_until = self.retry_not_before = 0.0
            self._enter(NodeState.ANSWERING)

    def failed(self, now: float, error: ChainError) -> None:
        """Record a failure and start a cooldown. The cooldown grows exponentially, and is at least the node's
        `Retry-After`.
        """
        named = min(error.retry_after or 0.0, LONGEST_RETRY_AFTER_SECONDS)
        with self._lock:
            rest = doubled(FIRST_COOLDOWN_SECONDS, LONGEST_COOLDOWN_SECONDS, self.failures)
            if isinstance(error, _SET_ASIDE):
                rest = max(rest, SET_ASIDE_SECONDS)
            self.failures += 1
            self.identified_at = None
            self.cooldown_until = now + max(rest, named)
            self.retry_not_before = now + named
            self.last_error = self.without_secrets(str(error))
            self._enter(error.state if isinstance(error, NodeFault) else NodeState.FAILING)

    def batch_limit(self, now: float) -> int | None:
        """Return the largest batch size that the node accepts; None if it has accepted every size."""
        return self._batch_limit if now < self._batch_limit_until else None

    def note_full_batch(self, size: int, now: float) -> None:
        """Record that the node accepted a batch of this size. If a lower limit has expired, remove it."""
        with self._lock:
            if now >= self._batch_limit_until and size > (self._batch_limit or size):
                self._batch_limit, self._batch_limit_seconds = None, 0.0

    def note_batch_limit(self, size: int, now: float) -> None:
        with self._lock:
            longer = max(self._batch_limit_seconds * _LIMIT_GROWTH, FIRST_LIMIT_SECONDS)
            self._batch_limit, self._batch_limit_seconds = size, min(longer, LIMIT_SECONDS)
            self._batch_limit_until = now + self._batch_limit_seconds
        logger.info("node %s accepts batches of up to %s", self.name, size)

    def record_head(self, height: int, now: float, allowance: int) -> None:
        """Record the node's head. Raises Lagging if `height` is more than `allowance` below the last head."""
        with self._lock:
            known = self.known_head(now)
            if known is None or height >= known:
                self.head, self._head_reached_at = height, now
            elif height < known - allowance:
                raise Lagging(f"the node's head ran backwards from {known} to {height}")

    def known_head(self, now: float) -> int | None:
        """Return the highest block that the node reported; None if the report is too old."""
        return self.head if now - self._head_reached_at < HEAD_MEMORY_SECONDS else None

    def health(self) -> NodeHealth:
        with self._lock:
            return NodeHealth(self.name, self.state, self.head, self.last_error, self.since)

    def without_secrets(self, text: str) -> str:
        """Return `text` without the secrets in the node's URL: path segments, query values and credentials."""
        try:
            parts = urlsplit(self.url)
            values = [value for _, value in parse_qsl(parts.query)]
            secrets = [*parts.path.split("/"), *values, parts.username or "", parts.password or ""]
        except ValueError:
            return ""
        for secret in secrets:
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "…")
        return text

    def _enter(self, state: NodeState) -> None:
        if state is not self.state:
            self.state, self.since = state, datetime.now(UTC)
