"""JSON-RPC over HTTP: batches, time-outs, kept connections and fail-over between a chain's nodes.

Nodes are not believed to behave: an answer that is late, too large, not JSON, that does not pair with the question or
does not make sense is no answer, and the next node is asked; the one that failed rests (see `chains.clients.nodes`).
"""

import copy
import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import requests
from urllib3.exceptions import HTTPError

from chains.clients.base import ChainError, NodeHealth
from chains.clients.nodes import Lagging, Limiting, Node, WrongChain
from config.api.nesting import is_deeper_than

logger = logging.getLogger(__name__)
# It warns of malformed headers with the whole address, in which an access key may stand.
logging.getLogger("urllib3.connection").setLevel(logging.ERROR)

Call = tuple[str, list[Any]]
_Meaning = TypeVar("_Meaning")

CONNECT_SECONDS = 3.05
READ_SECONDS = 10.0
HEAD_READ_SECONDS = 3.0
WHOLE_ANSWER_SECONDS = 20.0
MAX_ANSWER_BYTES = 32 * 1024 * 1024
MAX_NESTING = 4096  # a call trace nests two levels for each of at most 1,024 calls
MAX_BATCH = 100
IDENTITY_SECONDS = 300.0
HEAD_SECONDS = 15.0
HEAD_ALLOWANCE = 20
RATE_LIMITED = 429
# The codes with which nodes say that what was called would fail: reverted (3), refused by the transaction pool or the
# virtual machine. Any other code tells of the node, not of the call.
EXECUTION_FAILED = frozenset({3, -32000, -32003, -32015})


@dataclass(frozen=True)
class RpcFault:
    """The node's own error to one call of a batch (JSON-RPC 2.0, section 5.1)."""

    code: int
    message: str
    data: Any = None


def sound(answer: Any) -> Any:
    """Return a call's result; raises ChainError where the node gave an error of its own instead."""
    if isinstance(answer, RpcFault):
        raise ChainError(f"the node refused a call: {answer.message}")
    return answer


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

    @property
    def size(self) -> int:
        """How many nodes are configured."""
        return len(self._nodes)

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses of the nodes, in order."""
        return tuple(node.url for node in self._nodes)

    def batch(
        self, calls: Sequence[Call], read: Callable[[list[Any]], _Meaning], *, at_once: int = MAX_BATCH
    ) -> _Meaning:
        """Return what `read` makes of the calls' results, which come in order; a call's own error is an RpcFault.

        All results come from one node, in requests of `at_once` calls each. Where `read` raises ChainError the node's
        answer was no use, and the next one is asked. Raises ChainError when no node gives a usable answer.
        """
        last: ChainError | None = None
        for node in self._in_order():
            try:
                self._identify(node)
                meaning = read(self._ask(node, calls, at_once=at_once))
            except ChainError as error:
                self._note_failure(node, error)
                last = error
            else:
                node.answered()
                return meaning
        raise last or ChainError("no node gave an answer")

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
        node.failed(self._clock(), error)
        logger.warning("node %s gave no usable answer: %s", node.name, node.last_error)

    def _ask(
        self,
        node: Node,
        calls: Sequence[Call],
        read_seconds: float | None = None,
        at_once: int = MAX_BATCH,
    ) -> list[Any]:
        results: list[Any] = []
        for start in range(0, len(calls), at_once):
            results += self._ask_once(node, calls[start : start + at_once], read_seconds or READ_SECONDS)
        return results

    def _ask_once(self, node: Node, calls: Sequence[Call], read_seconds: float) -> list[Any]:
        with self._lock:
            ids = [next(self._ids) for _ in calls]
        questions = [
            {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
            for id_, (method, params) in zip(ids, calls, strict=True)
        ]
        answers = _post(node, questions[0] if len(questions) == 1 else questions, read_seconds)
        if isinstance(answers, dict):
            answers = [answers]
        return _pair(ids, answers)


def _post(node: Node, body: Any, read_seconds: float) -> Any:
    """Send one HTTP request and return the JSON in the answer, within the limits of size and time."""
    deadline = time.monotonic() + WHOLE_ANSWER_SECONDS
    try:
        with node.session.post(
            node.url, json=body, timeout=(CONNECT_SECONDS, read_seconds), allow_redirects=False, stream=True
        ) as response:
            if response.status_code != requests.codes.ok:
                raise _http_error(response)
            return _parsed(_read(response, deadline))
    except (requests.RequestException, HTTPError) as error:
        # The exception's text holds the whole address, so only its kind is told.
        raise ChainError(f"the node could not be reached ({type(error).__name__})") from None


def _parsed(body: bytes) -> Any:
    try:
        text = body.decode("utf-8")
        if is_deeper_than(MAX_NESTING, text):
            raise ChainError("the node's answer is nested too deep")
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ChainError("the node's answer is not JSON") from error


def _read(response: requests.Response, deadline: float) -> bytes:
    """Return the body as it comes in: each read waits for one packet at most, so that the deadline is looked at."""
    body = bytearray()
    while chunk := response.raw.read1(64 * 1024, decode_content=True):
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise ChainError("the node's answer is too large")
        if time.monotonic() > deadline:
            raise ChainError("the node's answer took too long")
    return bytes(body)


def _http_error(response: requests.Response) -> ChainError:
    seconds = response.headers.get("Retry-After", "")
    retry_after = float(seconds) if seconds.isascii() and seconds.isdigit() and len(seconds) < 6 else None
    if response.status_code == RATE_LIMITED:
        return Limiting("the node is limiting our rate", retry_after=retry_after)
    return ChainError(f"the node answered HTTP {response.status_code}", retry_after=retry_after)


def _pair(ids: list[int], answers: Any) -> list[Any]:
    """Return the results in the order of `ids`; every question has to have exactly one answer."""
    if not isinstance(answers, list) or len(answers) != len(ids):
        raise ChainError("the node did not answer every call of the batch")
    by_id: dict[int, Any] = {}
    for answer in answers:
        if not isinstance(answer, dict) or not isinstance(answer.get("id"), int):
            raise ChainError("the node's answer is not JSON-RPC")
        by_id[answer["id"]] = _result(answer)
    if set(by_id) != set(ids):
        raise ChainError("the node answered other questions than were asked")
    return [by_id[id_] for id_ in ids]


def _result(answer: dict[str, Any]) -> Any:
    error = answer.get("error")
    if error is None:
        if "result" not in answer:
            raise ChainError("the node's answer holds neither a result nor an error")
        return answer["result"]
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        raise ChainError("the node's error is not JSON-RPC")
    return RpcFault(error["code"], str(error.get("message", ""))[:300], error.get("data"))
