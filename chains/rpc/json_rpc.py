"""JSON-RPC over HTTP: timeouts, connection pooling and failover between a chain's nodes.

Nodes are not trusted. A response that is late, too large, not JSON, mismatched or implausible counts as a failure. The
next node is queried, and the node that failed gets a cooldown (`chains.rpc.nodes`). `chains.rpc.batches` sizes the
batches.
"""

import copy
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from chains.client import ChainError, NodeHealth
from chains.rpc.batches import Batches, Failing, Unread, UnreadReason, is_too_large
from chains.rpc.nodes import Lagging, Limiting, LogLimits, Node, TooManyWaiting, WrongChain
from chains.rpc.transport import Call, Limits, RpcFault, TooLarge, Truncated, post_calls, post_streamed
from config.api.limits import waiting

__all__ = [
    "Call",
    "Failing",
    "Identity",
    "JsonRpc",
    "RpcFault",
    "TooLarge",
    "Truncated",
    "Unread",
    "UnreadReason",
    "is_execution_failure",
    "is_temporary",
    "is_too_large",
    "json_object",
    "result_of",
]

logger = logging.getLogger(__name__)
# urllib3's warnings about malformed headers contain the full URL, which may hold an access key.
logging.getLogger("urllib3.connection").setLevel(logging.ERROR)

_Meaning = TypeVar("_Meaning")

CONNECT_SECONDS = 3.05
READ_SECONDS = 10.0
HEAD_READ_SECONDS = 3.0
RESPONSE_SECONDS = 20.0
MAX_RESPONSE_BYTES = 32 * 1024 * 1024
# A response above this size is read alone and streamed, because senders control the size of their transactions.
MAX_ORDINARY_BYTES = 8 * 1024 * 1024
STREAMED_READ_SECONDS = 30.0
STREAMED_SECONDS = 60.0
MAX_STREAMED_BYTES = 400 * 1024 * 1024
MAX_BATCH = 100
IDENTITY_SECONDS = 300.0
HEAD_SECONDS = 15.0
HEAD_ALLOWANCE = 20
# Error codes for a call that would fail: reverted (3), or rejected by the transaction pool or the virtual machine. All
# other codes are about the node.
_EXECUTION_FAILED = frozenset({3, -32000, -32003, -32015})
_REVERTED = 3
_LIMITED = -32005
# Nodes and gateways also use the codes above for their own faults, which have one of these messages.
_IS_OWN_FAULT = re.compile(
    r"header not found|unknown block|missing trie|not available|unavailable|temporar|time(d )?-?out|deadline"
    r"|overload|capacity|busy|\brate\b|quota|too many|limit (reached|exceeded)|upstream|connection|retr(y|ies)",
    re.IGNORECASE,
)


def result_of(result: Any) -> Any:
    """Return a call's result. Raises ChainError if the result is a node's error or `Unread`."""
    if isinstance(result, RpcFault):
        raise ChainError(f"the node rejected a call: {result.message}")
    if isinstance(result, Unread):
        raise result.error
    return result


def json_object(result: Any) -> dict[str, Any]:
    if not isinstance(result, dict):
        raise ChainError("the node's response is not an object")
    return result


def is_execution_failure(result: Any) -> bool:
    """Whether the call itself would fail. False if the node could not run the call."""
    if not isinstance(result, RpcFault) or result.code not in _EXECUTION_FAILED:
        return False
    # After "revert", the message is the contract's own text.
    is_reverted = result.code == _REVERTED or "revert" in result.message.lower()
    return is_reverted or not _IS_OWN_FAULT.search(result.message)


def is_temporary(fault: RpcFault) -> bool:
    """Whether an error is temporary. A missing method is a permanent error."""
    is_limited = fault.code == _LIMITED or bool(_IS_OWN_FAULT.search(fault.message))
    return is_limited and "method" not in fault.message.lower()


@dataclass(frozen=True)
class Identity:
    """The call that identifies a node's chain, and the check of its result.

    `head` is the call for the latest height and the parser of its result. Without `head`, the nodes' heads are not
    compared.
    """

    call: Call
    is_right: Callable[[Any], bool]
    head: tuple[Call, Callable[[Any], int]] | None = None


class JsonRpc:
    """Batched JSON-RPC to the nodes of one chain, in the given order. A failed node gets a cooldown.

    A node's chain is verified before its first call, after each failure and every IDENTITY_SECONDS. If there are
    several nodes, their heads are compared every HEAD_SECONDS. A node that is more than `head_allowance` blocks behind
    is set aside. Each process has its own state. Thread-safe.
    """

    def __init__(
        self,
        urls: Sequence[str],
        identity: Identity,
        *,
        head_allowance: int = HEAD_ALLOWANCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nodes = [Node(url) for url in urls]
        self._identity = identity
        self._head_allowance = head_allowance
        self._ids = count(1)
        self._lock = threading.Lock()
        self._comparing = threading.Lock()
        self._compare_at = 0.0
        self._clock = clock
        self._is_quiet = False

    @property
    def size(self) -> int:
        return len(self._nodes)

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(node.url for node in self._nodes)

    def batch(
        self,
        calls: Sequence[Call],
        read: Callable[[list[Any]], _Meaning],
        *,
        at_once: int = MAX_BATCH,
        isolating: bool = False,
    ) -> _Meaning:
        """Return `read(results)`, with the results in call order. Raises ChainError if no node sends a usable response.

        A failed call's result is an RpcFault or, with `isolating`, an `Unread`. All results come from one node. A
        request has up to `at_once` calls, or fewer if the node limits them. If `read` raises ChainError, the next node
        is queried.
        """
        last: ChainError | None = None
        for node in self._in_order():
            try:
                self._identify(node)
                meaning = read(self._call(node, calls, at_once=at_once, isolating=isolating))
            except ChainError as error:
                self._note_failure(node, error)
                last = error
            else:
                node.succeeded()
                return meaning
        raise last or ChainError("no node sent a usable response")

    def stream(
        self, call: Call, convert: Callable[[dict[str, Any]], Any], *, seconds: float = STREAMED_SECONDS
    ) -> Any:
        """Send one call to this client's only node, and parse the result as it arrives (see `post_streamed`).

        Raises TooLarge beyond MAX_STREAMED_BYTES, Truncated after `seconds`, and ChainError. None of the three errors
        counts as a failure of the node.
        """
        (node,) = self._nodes
        self._identify(node)
        waits = (min(CONNECT_SECONDS, seconds), min(STREAMED_READ_SECONDS, seconds))
        limits = Limits(*waits, seconds, MAX_STREAMED_BYTES)
        (id_,) = self._new_ids(1)
        with _waiting_for(node):
            return post_streamed(node, id_, call, limits, convert)

    @property
    def log_limits(self) -> LogLimits:
        """The log query limits of this client's only node."""
        (node,) = self._nodes
        return node.logs

    @property
    def batch_limit(self) -> int | None:
        """The largest batch that this client's only node accepts; None if it has accepted every size."""
        (node,) = self._nodes
        return node.batch_limit(self._clock())

    def disconnect(self) -> None:
        """Close pooled connections. Behind a load balancer, new connections may reach a different node."""
        for node in self._nodes:
            node.session.close()

    def quietly(self) -> "JsonRpc":
        """Return a client of the same nodes that doesn't record failures."""
        quiet = copy.copy(self)
        quiet._is_quiet = True
        return quiet

    def each(self) -> list["JsonRpc"]:
        """Return a client for each available node, in order."""
        return [self._alone(node) for node in self._in_order()]

    def alone(self) -> list["JsonRpc"]:
        """Return a client for each node, available or not, in order."""
        return [self._alone(node) for node in self._nodes]

    def set_aside(self, error: ChainError) -> None:
        """Start a cooldown for the nodes, because other evidence proved their results wrong."""
        for node in self._nodes:
            self._note_failure(node, error)

    def note_head(self, height: int) -> None:
        """Record the head of this client's only node. Raises ChainError if the head ran backwards."""
        (node,) = self._nodes
        try:
            node.record_head(height, self._clock(), self._head_allowance)
        except ChainError as error:
            self._note_failure(node, error)
            raise

    def seconds_until_ready(self) -> float:
        """Return the seconds until the first cooldown ends."""
        now = self._clock()
        return min((node.cooldown_until - now for node in self._nodes if not node.is_ready(now)), default=0.0)

    def health(self) -> list[NodeHealth]:
        """Return the health of each node, in the configured order."""
        return [node.health() for node in self._nodes]

    def _alone(self, node: Node) -> "JsonRpc":
        alone = copy.copy(self)
        alone._nodes = [node]
        return alone

    def _in_order(self) -> list[Node]:
        """Return the available nodes.

        If all are in a cooldown, return the node whose cooldown ends first. Raises ChainError if there are no nodes, or
        if every node sent a `Retry-After` that hasn't passed.
        """
        if not self._nodes:
            raise ChainError("no node is configured for this chain", permanent=True)
        self._compare_heads()
        now = self._clock()
        ready = [node for node in self._nodes if node.is_ready(now)]
        if ready:
            return ready
        retryable = [node for node in self._nodes if node.retry_not_before <= now]
        if not retryable:
            raise Limiting(
                "every node of this chain is limiting our rate", retry_after=self.seconds_until_ready()
            )
        return [min(retryable, key=lambda node: node.cooldown_until)]

    def _compare_heads(self) -> None:
        """Query the nodes' heads, if this wasn't done recently, and set lagging nodes aside."""
        if self.size < 2 or self._identity.head is None or not self._comparing.acquire(blocking=False):
            return
        try:
            now = self._clock()
            if now < self._compare_at:
                return
            self._compare_at = now + HEAD_SECONDS
            ready = [node for node in self._nodes if node.is_ready(now)]
            updated = [node for node in ready if self._update_head(node, *self._identity.head)]
            agreed = self._agreed_head()
            for node in updated:
                behind = agreed - (node.head or 0)
                if behind > self._head_allowance:
                    self._note_failure(node, Lagging(f"the node is {behind} blocks behind the others"))
                else:
                    node.succeeded()
        finally:
            self._comparing.release()

    def _update_head(self, node: Node, call: Call, read: Callable[[Any], int]) -> bool:
        try:
            self._identify(node, HEAD_READ_SECONDS)
            height = read(self._call(node, [call], HEAD_READ_SECONDS)[0])
            node.record_head(height, self._clock(), self._head_allowance)
        except ChainError as error:
            self._note_failure(node, error)
            return False
        return True

    def _agreed_head(self) -> int:
        """Return the height to compare with. With three or more nodes, two must have reached it."""
        now = self._clock()
        heads = sorted(
            (head for node in self._nodes if (head := node.known_head(now)) is not None), reverse=True
        )
        rank = 1 if self.size > 2 else 0
        return heads[rank] if len(heads) > rank else 0

    def _identify(self, node: Node, read_seconds: float | None = None) -> None:
        now = self._clock()
        if node.identified_at is not None and now - node.identified_at < IDENTITY_SECONDS:
            return
        if not self._identity.is_right(self._call(node, [self._identity.call], read_seconds)[0]):
            raise WrongChain("the node serves a different chain from the catalogue's")
        node.identified_at = now

    def _note_failure(self, node: Node, error: ChainError) -> None:
        if self._is_quiet or isinstance(error, TooManyWaiting):
            return
        node.failed(self._clock(), error)
        logger.warning("node %s sent no usable response: %s", node.name, node.last_error)

    def _call(
        self,
        node: Node,
        calls: Sequence[Call],
        read_seconds: float | None = None,
        at_once: int = MAX_BATCH,
        *,
        isolating: bool = False,
    ) -> list[Any]:
        seconds = read_seconds or READ_SECONDS

        def send(part: Sequence[Call], max_bytes: int) -> list[Any]:
            limits = Limits(CONNECT_SECONDS, seconds, RESPONSE_SECONDS, max_bytes)
            return post_calls(node, self._new_ids(len(part)), part, limits)

        max_bytes = min(MAX_ORDINARY_BYTES, MAX_RESPONSE_BYTES) if isolating else MAX_RESPONSE_BYTES
        batches = Batches(
            node,
            send,
            lambda: self._is_alive(node),
            self._clock,
            max_bytes=max_bytes,
            isolating=isolating,
        )
        with _waiting_for(node):
            return batches.results(calls, at_once)

    def _is_alive(self, node: Node) -> bool:
        limits = Limits(CONNECT_SECONDS, HEAD_READ_SECONDS, RESPONSE_SECONDS, MAX_RESPONSE_BYTES)
        try:
            return self._identity.is_right(
                post_calls(node, self._new_ids(1), [self._identity.call], limits)[0]
            )
        except ChainError:
            return False

    def _new_ids(self, number: int) -> list[int]:
        with self._lock:
            return [next(self._ids) for _ in range(number)]


@contextmanager
def _waiting_for(node: Node) -> Iterator[None]:
    try:
        with waiting.waiting_for(f"node {node.url}"):
            yield
    except waiting.Busy as error:
        message = "too many calls wait for the node"
        raise TooManyWaiting(message, retry_after=waiting.RETRY_AFTER_SECONDS) from error
