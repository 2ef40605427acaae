"""JSON-RPC over HTTP: time-outs, kept connections and fail-over between a chain's nodes.

Nodes are not believed to behave: an answer that is late, too large, not JSON, that does not pair with the question or
does not make sense is no answer, and the next node is asked; the one that failed rests (see `chains.rpc.nodes`).
How calls are put into batches that a node takes is decided in `chains.rpc.batches`.
"""

import copy
import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from chains.client import ChainError, NodeHealth
from chains.rpc.batches import Batches, Failing, Unread, Why, is_too_large
from chains.rpc.nodes import Lagging, Limiting, LogLimits, Node, WrongChain
from chains.rpc.transport import BrokenOff, Call, Limits, RpcFault, TooLarge, ask, ask_streamed

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
# It warns of malformed headers with the whole address, which may hold an access key.
logging.getLogger("urllib3.connection").setLevel(logging.ERROR)

_Meaning = TypeVar("_Meaning")

CONNECT_SECONDS = 3.05
READ_SECONDS = 10.0
HEAD_READ_SECONDS = 3.0
WHOLE_ANSWER_SECONDS = 20.0
MAX_ANSWER_BYTES = 32 * 1024 * 1024
# What is asked about transactions is decided by those who made them; an answer beyond this is read alone and streamed.
MAX_ORDINARY_BYTES = 8 * 1024 * 1024
STREAMED_READ_SECONDS = 30.0
STREAMED_SECONDS = 60.0
MAX_STREAMED_BYTES = 400 * 1024 * 1024
MAX_BATCH = 100
IDENTITY_SECONDS = 300.0
HEAD_SECONDS = 15.0
HEAD_ALLOWANCE = 20
# The codes with which nodes say that what was called would fail: reverted (3), refused by the transaction pool or the
# virtual machine. Any other code is about the node, not the call.
_EXECUTION_FAILED = frozenset({3, -32000, -32003, -32015})
_REVERTED = 3
_LIMITED = -32005
# The same codes serve nodes, and what stands before them, for faults of their own.
_IS_OWN_FAULT = re.compile(
    r"header not found|unknown block|missing trie|not available|unavailable|temporar|time(d )?-?out|deadline"
    r"|overload|capacity|busy|\brate\b|quota|too many|limit (reached|exceeded)|upstream|connection|retr(y|ies)",
    re.IGNORECASE,
)


def sound(answer: Any) -> Any:
    """Return a call's result; raises ChainError where the node gave an error of its own, or no answer, instead."""
    if isinstance(answer, RpcFault):
        raise ChainError(f"the node refused a call: {answer.message}")
    if isinstance(answer, Unread):
        raise answer.error
    return answer


def is_execution_failure(answer: Any) -> bool:
    """Return whether the node says that what was called would fail, and not that it could not try."""
    if not isinstance(answer, RpcFault) or answer.code not in _EXECUTION_FAILED:
        return False
    # The words after that are the contract's own.
    is_reverted = answer.code == _REVERTED or "revert" in answer.message.lower()
    return is_reverted or not _IS_OWN_FAULT.search(answer.message)


def is_passing(fault: RpcFault) -> bool:
    """Return whether a node's error is of the moment, and does not say that it lacks the method."""
    is_limited = fault.code == _LIMITED or bool(_IS_OWN_FAULT.search(fault.message))
    return is_limited and "method" not in fault.message.lower()


@dataclass(frozen=True)
class Identity:
    """The question that tells which chain a node serves, and whether the answer is the right one.

    `head` is the question for the newest block's height with the reading of its answer; without it nodes' heads are
    not compared.
    """

    question: Call
    is_right: Callable[[Any], bool]
    head: tuple[Call, Callable[[Any], int]] | None = None


class JsonRpc:
    """Batched JSON-RPC to the nodes of one chain, in the order given; one that failed rests for a while.

    A node is believed only after it has told that it serves the right chain: at first, after each failure and every
    IDENTITY_SECONDS. Where there are several, their heads are compared every HEAD_SECONDS, and one that is more than
    `head_allowance` blocks behind is set aside. All of this is this process's own knowledge; threads may share it.
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
        """Return what `read` makes of the calls' results, which come in order; a call's own error is an RpcFault.

        All results come from one node, in requests of up to `at_once` calls each, or as many as the node takes. Where
        `read` raises ChainError the node's answer was unusable, and the next one is asked. With `isolating`, a call
        that fails by itself at a node that answers others has an `Unread` for its result. Raises ChainError when no
        node gives a usable answer.
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

        `convert` makes of each JSON object, innermost first, what is kept of it. Raises TooLarge beyond
        MAX_STREAMED_BYTES, BrokenOff where that much did not arrive in STREAMED_SECONDS, and ChainError; none is held
        against the node.
        """
        (node,) = self._nodes
        self._identify(node)
        limits = Limits(CONNECT_SECONDS, STREAMED_READ_SECONDS, STREAMED_SECONDS, MAX_STREAMED_BYTES)
        (id_,) = self._new_ids(1)
        return ask_streamed(node, id_, call, limits, convert)

    @property
    def log_limits(self) -> LogLimits:
        """How large a query for logs the one node of this client answers, as far as is known."""
        (node,) = self._nodes
        return node.logs

    def disconnect(self) -> None:
        """Close the kept connections: behind a balancer the next ones may lead to other nodes."""
        for node in self._nodes:
            node.session.close()

    def quietly(self) -> "JsonRpc":
        """Return the same nodes, asked without holding a failure against them."""
        quiet = copy.copy(self)
        quiet._is_quiet = True
        return quiet

    def each(self) -> list["JsonRpc"]:
        """Return the nodes worth asking now one by one, in order, so that their answers can be told apart."""
        return [self._alone(node) for node in self._in_order()]

    def set_aside(self, error: ChainError) -> None:
        """Let the nodes rest, whatever they answered: something else proved them wrong."""
        for node in self._nodes:
            self._note_failure(node, error)

    def note_head(self, height: int) -> None:
        """Note the newest block that the one node of this client told of; raises ChainError if it ran backwards."""
        (node,) = self._nodes
        try:
            node.told_head(height, self._clock(), self._head_allowance)
        except ChainError as error:
            self._note_failure(node, error)
            raise

    def soonest(self) -> float:
        """Return the seconds until the next resting node may be asked again."""
        now = self._clock()
        return min((node.rests_until - now for node in self._nodes if not node.is_ready(now)), default=0.0)

    def health(self) -> list[NodeHealth]:
        """Return how each node does, in the order in which they are configured."""
        return [node.health() for node in self._nodes]

    def _alone(self, node: Node) -> "JsonRpc":
        alone = copy.copy(self)
        alone._nodes = [node]
        return alone

    def _in_order(self) -> list[Node]:
        """Return the nodes worth asking now; if all of them rest, the one whose rest ends first.

        Raises ChainError where there is none, or where each has named a time before which it is to be left alone.
        """
        if not self._nodes:
            raise ChainError("no node is configured for this chain", permanent=True)
        self._compare_heads()
        now = self._clock()
        ready = [node for node in self._nodes if node.is_ready(now)]
        if ready:
            return ready
        not_left_alone = [node for node in self._nodes if node.left_alone_until <= now]
        if not not_left_alone:
            raise Limiting("every node of this chain is limiting our rate", retry_after=self.soonest())
        return [min(not_left_alone, key=lambda node: node.rests_until)]

    def _compare_heads(self) -> None:
        """Ask the nodes how far they are, where that is not known of late, and set aside those that lag."""
        if self.size < 2 or self._identity.head is None or not self._comparing.acquire(blocking=False):
            return
        try:
            now = self._clock()
            if now < self._compare_at:
                return
            self._compare_at = now + HEAD_SECONDS
            asked = [node for node in self._nodes if node.is_ready(now)]
            answering = [node for node in asked if self._tells_head(node, *self._identity.head)]
            agreed = self._agreed_head()
            for node in answering:
                behind = agreed - (node.head or 0)
                if behind > self._head_allowance:
                    self._note_failure(node, Lagging(f"the node is {behind} blocks behind the others"))
                else:
                    node.answered()
        finally:
            self._comparing.release()

    def _tells_head(self, node: Node, question: Call, read: Callable[[Any], int]) -> bool:
        try:
            self._identify(node, HEAD_READ_SECONDS)
            height = read(self._ask(node, [question], HEAD_READ_SECONDS)[0])
            node.told_head(height, self._clock(), self._head_allowance)
        except ChainError as error:
            self._note_failure(node, error)
            return False
        return True

    def _agreed_head(self) -> int:
        """Return the height to keep up with: of three nodes and more one that two have reached, lest one lie alone."""
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
            raise WrongChain("the node serves another chain than the catalogue says")
        node.identified_at = now

    def _note_failure(self, node: Node, error: ChainError) -> None:
        if self._is_quiet:
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
        return batches.results(calls, at_once)

    def _is_alive(self, node: Node) -> bool:
        """Return whether the node answers a single call as trivial as can be."""
        limits = Limits(CONNECT_SECONDS, HEAD_READ_SECONDS, WHOLE_ANSWER_SECONDS, MAX_ANSWER_BYTES)
        try:
            return self._identity.is_right(ask(node, self._new_ids(1), [self._identity.question], limits)[0])
        except ChainError:
            return False

    def _new_ids(self, number: int) -> list[int]:
        with self._lock:
            return [next(self._ids) for _ in range(number)]
