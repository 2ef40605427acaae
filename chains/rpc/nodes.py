"""One node of a chain as this process knows it: whether it is worth asking, its head, its limits, why it rests.

Nodes are not believed to behave. One that failed rests, longer each time; one that named a time is not asked before;
one whose head runs backwards, lags behind the others, serves another chain or was contradicted is set aside. A node
that limits the size of batches or the range of log queries is a healthy node: its limits are kept to.
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

FIRST_REST_SECONDS = 1.0
LONGEST_REST_SECONDS = 60.0
LONGEST_NAMED_REST_SECONDS = 900.0
SET_ASIDE_SECONDS = 30.0
# A head that nobody has seen again for so long is forgotten: a chain that truly went back can then be followed.
HEAD_MEMORY_SECONDS = 120.0
# Requests to one node at the same time, where it takes small batches alone.
MOST_AT_A_TIME = 8
# A limit is tried again after so long: a refusal may have been a passing fault, and plans are upgraded. Each time that
# it is confirmed the pause grows.
FIRST_LIMIT_SECONDS = 60.0
LIMIT_SECONDS = 6 * 3600.0
_LIMIT_GROWTH = 8
MOST_LOG_BLOCKS = 1000
MOST_LOG_RECIPIENTS = 500
_SHORTEST_SECRET = 6


class NodeFault(ChainError):
    """A ChainError that also says what state its node is in."""

    state = NodeState.FAILING


class Limiting(NodeFault):
    """It limits our rate (HTTP 429)."""

    state = NodeState.LIMITING


class Lagging(NodeFault):
    """Its head ran backwards, or lags behind the other nodes'."""

    state = NodeState.LAGGING


class WrongChain(NodeFault):
    """It serves another chain than the catalogue says."""

    state = NodeState.WRONG_CHAIN


class Contradicted(NodeFault):
    """Two other nodes agreed on something else."""

    state = NodeState.CONTRADICTED


_SET_ASIDE = (Lagging, Contradicted)


class Adaptive:
    """A size that a node takes: halved when it fails, doubled again after some successes.

    Each doubling that fails makes the next one wait longer, so that a node's fixed limit costs next to nothing, and
    what one odd block made small grows again.
    """

    FIRST_SUCCESSES = 10
    MOST_SUCCESSES = 10_000
    _GROWTH = 4

    def __init__(self, most: int) -> None:
        self.size = self._most = most
        self._successes = 0
        self._needed = self.FIRST_SUCCESSES
        self._is_trial = False
        self._lock = threading.Lock()

    def failed(self, size: int) -> None:
        """Note that this size failed."""
        with self._lock:
            if self._is_trial:
                self._needed = min(self._needed * self._GROWTH, self.MOST_SUCCESSES)
            self.size, self._successes, self._is_trial = max(min(self.size, size // 2), 1), 0, False

    def worked(self, size: int) -> None:
        """Note that this size worked."""
        with self._lock:
            if size < self.size or self.size == self._most:
                return
            self._successes += 1
            if self._is_trial:
                self._needed, self._is_trial = self.FIRST_SUCCESSES, False
            if self._successes >= self._needed:
                self.size, self._successes, self._is_trial = min(self.size * 2, self._most), 0, True


class LogLimits:
    """How large a query for logs may be that a node answers, in blocks and in recipients."""

    def __init__(self) -> None:
        self.blocks = Adaptive(MOST_LOG_BLOCKS)
        self.recipients = Adaptive(MOST_LOG_RECIPIENTS)


@dataclass
class Node:
    """One node's address, its kept connections and its record. Safe to share between threads; times are monotonic."""

    url: str
    session: requests.Session = field(default_factory=requests.Session)
    failures: int = 0
    rests_until: float = 0.0
    left_alone_until: float = 0.0
    identified_at: float | None = None
    head: int | None = None
    state: NodeState = NodeState.UNASKED
    last_error: str = ""
    since: datetime = field(default_factory=lambda: datetime.now(UTC))
    slots: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(MOST_AT_A_TIME), repr=False
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
        """The host alone: paths and user parts of node addresses often hold an access key."""
        try:
            return urlsplit(self.url).hostname or "node"
        except ValueError:
            return "node"

    def is_ready(self, now: float) -> bool:
        """Whether nothing speaks against asking it."""
        return self.rests_until <= now

    def answered(self) -> None:
        """Note a usable answer; its failures are forgiven."""
        with self._lock:
            self.failures = 0
            self.rests_until = self.left_alone_until = 0.0
            self._enter(NodeState.ANSWERING)

    def failed(self, now: float, error: ChainError) -> None:
        """Note that it gave no usable answer, and let it rest: doubling, or for as long as it asked for."""
        named = min(error.retry_after or 0.0, LONGEST_NAMED_REST_SECONDS)
        with self._lock:
            rest = doubled(FIRST_REST_SECONDS, LONGEST_REST_SECONDS, self.failures)
            if isinstance(error, _SET_ASIDE):
                rest = max(rest, SET_ASIDE_SECONDS)
            self.failures += 1
            self.identified_at = None
            self.rests_until = now + max(rest, named)
            self.left_alone_until = now + named
            self.last_error = self.without_secrets(str(error))
            self._enter(error.state if isinstance(error, NodeFault) else NodeState.FAILING)

    def batch_limit(self, now: float) -> int | None:
        """Return the size of the largest batch that it is known to take, where it refused larger ones."""
        return self._batch_limit if now < self._batch_limit_until else None

    def note_full_batch(self, size: int, now: float) -> None:
        """Note that it takes batches of this size: a limit below it, if there was one, has gone."""
        with self._lock:
            if now >= self._batch_limit_until and size > (self._batch_limit or size):
                self._batch_limit, self._batch_limit_seconds = None, 0.0

    def note_batch_limit(self, size: int, now: float) -> None:
        """Note the size of the largest batch that it takes."""
        with self._lock:
            longer = max(self._batch_limit_seconds * _LIMIT_GROWTH, FIRST_LIMIT_SECONDS)
            self._batch_limit, self._batch_limit_seconds = size, min(longer, LIMIT_SECONDS)
            self._batch_limit_until = now + self._batch_limit_seconds
        logger.info("node %s takes batches of up to %s", self.name, size)

    def told_head(self, height: int, now: float, allowance: int) -> None:
        """Note its newest block; raises Lagging if that is more than `allowance` below what it told of before."""
        with self._lock:
            known = self.known_head(now)
            if known is None or height >= known:
                self.head, self._head_reached_at = height, now
            elif height < known - allowance:
                raise Lagging(f"the node's head ran backwards from {known} to {height}")

    def known_head(self, now: float) -> int | None:
        """Return the highest block that it told of, unless that is too long ago."""
        return self.head if now - self._head_reached_at < HEAD_MEMORY_SECONDS else None

    def health(self) -> NodeHealth:
        """Return its record."""
        with self._lock:
            return NodeHealth(self.name, self.state, self.head, self.last_error, self.since)

    def without_secrets(self, text: str) -> str:
        """Return a node's words without what its own address holds beyond the host, where access keys stand."""
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
