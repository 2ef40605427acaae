"""JSON-RPC over HTTP: timeouts, connection pooling and failover between a chain's nodes.

Nodes are not trusted. An answer that is late, too large, not JSON, mismatched or implausible counts as a failure: the
next node is asked, and the failed one gets a cooldown (`chains.rpc.nodes`). `chains.rpc.batches` sizes the batches.
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
from chains.rpc.batches import Batches, Failing, Unread, Why, is_too_large
from chains.rpc.nodes import Lagging, Limiting, LogLimits, Node, TooManyWaiting, WrongChain
from chains.rpc.transport import BrokenOff, Call, Limits, RpcFault, TooLarge, ask, ask_streamed
from config.api.limits import waiting

__all__ = [
    "BrokenOff",
    "Call",
    "Failing",
    "Identity",
    "JsonRpc",
    "RpcFault",
    "TooLarge",
    "Unread",
    "Why",
    "is_execution_failure",
    "is_passing",
    "is_too_large",
    "sound",
]

logger = logging.getLogger(__name__)
# Its warnings about malformed headers contain the full URL, which may hold an access key.
logging.getLogger("urllib3.connection").setLevel(logging.ERROR)

_Meaning = TypeVar("_Meaning")

CONNECT_SECONDS = 3.05
READ_SECONDS = 10.0
HEAD_READ_SECONDS = 3.0
WHOLE_ANSWER_SECONDS = 20.0
MAX_ANSWER_BYTES = 32 * 1024 * 1024
# Senders control the size of their transactions; a larger answer is read on its own and streamed.
MAX_ORDINARY_BYTES = 8 * 1024 * 1024
STREAMED_READ_SECONDS = 30.0
STREAMED_SECONDS = 60.0
MAX_STREAMED_BYTES = 400 * 1024 * 1024
MAX_BATCH = 100
IDENTITY_SECONDS = 300.0
HEAD_SECONDS = 15.0
HEAD_ALLOWANCE = 20
# Error codes for a call that would fail: reverted (3), refused by the transaction pool or the virtual machine. Any
# other code is about the node, not the call.
_EXECUTION_FAILED = frozenset({3, -32000, -32003, -32015})
_REVERTED = 3
_LIMITED = -32005
# Nodes and the gateways in front of them use the same codes for their own faults.
_IS_OWN_FAULT = re.compile(
    r"header not found|unknown block|missing trie|not available|unavailable|temporar|time(d )?-?out|deadline"
    r"|overload|capacity|busy|\brate\b|quota|too many|limit (reached|exceeded)|upstream|connection|retr(y|ies)",
    re.IGNORECASE,
)


def sound(answer: Any) -> Any:
    """Return a call's result. Raises ChainError if it is a node's error or `Unread`."""
    if isinstance(answer, RpcFault):
        raise ChainError(f"the node refused a call: {answer.message}")
    if isinstance(answer, Unread):
        raise answer.error
    return answer


def is_execution_failure(answer: Any) -> bool:
    """Return whether the error says that the call would fail, rather than that the node couldn't run it."""
    if not isinstance(answer, RpcFault) or answer.code not in _EXECUTION_FAILED:
        return False
    # The text after that comes from the contract.
    is_reverted = answer.code == _REVERTED or "revert" in answer.message.lower()
    return is_reverted or not _IS_OWN_FAULT.search(answer.message)


def is_passing(fault: RpcFault) -> bool:
    """Return whether an error is temporary, rather than a missing method."""
    is_limited = fault.code == _LIMITED or bool(_IS_OWN_FAULT.search(fault.message))
    return is_limited and "method" not in fault.message.lower()


@dataclass(frozen=True)
class Identity:
    """The call that identifies a node's chain, and the check of its result.

    `head` is the call for the latest block's height and the parser of its result; without it, heads are not compared.
    """

    question: Call
    is_right: Callable[[Any], bool]
    head: tuple[Call, Callable[[Any], int]] | None = None


class JsonRpc:
    """Batched JSON-RPC to the nodes of one chain, in the order given; a failed node gets a cooldown.

    A node's chain is verified at first, after each failure and every IDENTITY_SECONDS. With several nodes, heads are
    compared every HEAD_SECONDS, and a node more than `head_allowance` blocks behind is set aside. The state is per
    process and thread-safe.
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
        """How many nodes are configured."""
        return len(self._nodes)

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of the nodes, in order."""
        return tuple(node.url for node in self._nodes)

    def batch(
        self,
        calls: Sequence[Call],
        read: Callable[[list[Any]], _Meaning],
        *,
        at_once: int = MAX_BATCH,
        isolating: bool = False,
    ) -> _Meaning:
        """Return `read(results)`; the results are in call order, and a failed call's result is an RpcFault.

        All results come from one node, in requests of up to `at_once` calls each, or as many as the node
        accepts. If `read` raises ChainError, the next node is asked. With `isolating`, a call that fails on a node that
        answers others has an `Unread` as its result. Raises ChainError if no node gives a usable answer.
        """
        last: ChainError | None = None
        for node in self._in_order():
            try:
                self._identify(node)
                meaning = read(self._ask(node, calls, at_once=at_once, isolating=isolating))
            except ChainError as error:
                self._note_failure(node, error)
                last = error
            else:
                node.answered()
                return meaning
        raise last or ChainError("no node gave an answer")

    def stream(self, call: Call, convert: Callable[[dict[str, Any]], Any]) -> Any:
        """Return the result of one call to the one node of this client, read as it arrives, however large.

        `convert` maps each JSON object, innermost first, to the value to keep. Raises TooLarge beyond
        MAX_STREAMED_BYTES, BrokenOff if the answer took longer than STREAMED_SECONDS, and ChainError. None of them
        counts as a failure of the node.
        """
        (node,) = self._nodes
        self._identify(node)
        limits = Limits(CONNECT_SECONDS, STREAMED_READ_SECONDS, STREAMED_SECONDS, MAX_STREAMED_BYTES)
        (id_,) = self._new_ids(1)
        with _waiting_for(node):
            return ask_streamed(node, id_, call, limits, convert)

    @property
    def log_limits(self) -> LogLimits:
        """The log query limits of this client's only node."""
        (node,) = self._nodes
        return node.logs

    @property
    def batch_limit(self) -> int | None:
        """The largest batch that this client's only node accepts, or None if it has refused none."""
        (node,) = self._nodes
        return node.batch_limit(self._clock())

    def disconnect(self) -> None:
        """Close pooled connections: behind a load balancer, new ones may reach a different node."""
        for node in self._nodes:
            node.session.close()

    def quietly(self) -> "JsonRpc":
        """Return a client of the same nodes that doesn't record failures."""
        quiet = copy.copy(self)
        quiet._is_quiet = True
        return quiet

    def each(self) -> list["JsonRpc"]:
        """Return one client per available node, in order."""
        return [self._alone(node) for node in self._in_order()]

    def set_aside(self, error: ChainError) -> None:
        """Start a cooldown for the nodes, because other evidence proved their answers wrong."""
        for node in self._nodes:
            self._note_failure(node, error)

    def note_head(self, height: int) -> None:
        """Record the head of this client's only node; raises ChainError if it ran backwards."""
        (node,) = self._nodes
        try:
            node.record_head(height, self._clock(), self._head_allowance)
        except ChainError as error:
            self._note_failure(node, error)
            raise

    def soonest(self) -> float:
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
        """Return the available nodes; if all are in a cooldown, the one whose cooldown ends first.

        Raises ChainError without nodes, or if every node sent a `Retry-After` that hasn't passed.
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
            raise Limiting("every node of this chain is limiting our rate", retry_after=self.soonest())
        return [min(retryable, key=lambda node: node.cooldown_until)]

    def _compare_heads(self) -> None:
        """Query the heads of the nodes, unless done recently, and set lagging nodes aside."""
        if self.size < 2 or self._identity.head is None or not self._comparing.acquire(blocking=False):
            return
        try:
            now = self._clock()
            if now < self._compare_at:
                return
            self._compare_at = now + HEAD_SECONDS
            asked = [node for node in self._nodes if node.is_ready(now)]
            answering = [node for node in asked if self._update_head(node, *self._identity.head)]
            agreed = self._agreed_head()
            for node in answering:
                behind = agreed - (node.head or 0)
                if behind > self._head_allowance:
                    self._note_failure(node, Lagging(f"the node is {behind} blocks behind the others"))
                else:
                    node.answered()
        finally:
            self._comparing.release()

    def _update_head(self, node: Node, question: Call, read: Callable[[Any], int]) -> bool:
        try:
            self._identify(node, HEAD_READ_SECONDS)
            height = read(self._ask(node, [question], HEAD_READ_SECONDS)[0])
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
        if not self._identity.is_right(self._ask(node, [self._identity.question], read_seconds)[0]):
            raise WrongChain("the node serves a different chain from the catalogue's")
        node.identified_at = now

    def _note_failure(self, node: Node, error: ChainError) -> None:
        if self._is_quiet or isinstance(error, TooManyWaiting):
            return
        node.failed(self._clock(), error)
        logger.warning("node %s gave no usable answer: %s", node.name, node.last_error)

    def _ask(
        self,
        node: Node,
        calls: Sequence[Call],
        read_seconds: float | None = None,
        at_once: int = MAX_BATCH,
        *,
        isolating: bool = False,
    ) -> list[Any]:
        seconds = read_seconds or READ_SECONDS

        def send(part: Sequence[Call], most_bytes: int) -> list[Any]:
            limits = Limits(CONNECT_SECONDS, seconds, WHOLE_ANSWER_SECONDS, most_bytes)
            return ask(node, self._new_ids(len(part)), part, limits)

        most_bytes = min(MAX_ORDINARY_BYTES, MAX_ANSWER_BYTES) if isolating else MAX_ANSWER_BYTES
        batches = Batches(
            node,
            send,
            lambda: self._is_alive(node),
            self._clock,
            most_bytes=most_bytes,
            isolating=isolating,
        )
        with _waiting_for(node):
            return batches.results(calls, at_once)

    def _is_alive(self, node: Node) -> bool:
        """Return whether the node answers a trivial call."""
        limits = Limits(CONNECT_SECONDS, HEAD_READ_SECONDS, WHOLE_ANSWER_SECONDS, MAX_ANSWER_BYTES)
        try:
            return self._identity.is_right(ask(node, self._new_ids(1), [self._identity.question], limits)[0])
        except ChainError:
            return False

    def _new_ids(self, number: int) -> list[int]:
        with self._lock:
            return [next(self._ids) for _ in range(number)]


@contextmanager
def _waiting_for(node: Node) -> Iterator[None]:
    """Count this thread as waiting for the node. Raises TooManyWaiting."""
    try:
        with waiting.waiting_for(f"node {node.url}"):
            yield
    except waiting.Busy as error:
        message = "too many calls wait for the node"
        raise TooManyWaiting(message, retry_after=waiting.RETRY_AFTER_SECONDS) from error
