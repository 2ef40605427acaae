"""JSON-RPC over HTTP: batches, time-outs, kept connections and fail-over between a chain's nodes.

Nodes are not believed to behave: an answer that is late, too large, not JSON, that does not pair with the question or
does not make sense is no answer, and the next node is asked. A node that failed rests for a while, longer each time.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError

from chains.clients.base import ChainError
from config.api.nesting import is_deeper_than

logger = logging.getLogger(__name__)
# It warns of malformed headers with the whole address, in which an access key may stand.
logging.getLogger("urllib3.connection").setLevel(logging.ERROR)

Call = tuple[str, list[Any]]
_Meaning = TypeVar("_Meaning")

CONNECT_SECONDS = 3.05
READ_SECONDS = 10.0
WHOLE_ANSWER_SECONDS = 20.0
MAX_ANSWER_BYTES = 32 * 1024 * 1024
MAX_NESTING = 4096  # a call trace nests two levels for each of at most 1,024 calls
MAX_BATCH = 100
FIRST_REST_SECONDS = 1.0
LONGEST_REST_SECONDS = 60.0
_MOST_DOUBLINGS = 10  # beyond which a power of two would only outgrow a float
RATE_LIMITED = 429


@dataclass(frozen=True)
class RpcFault:
    """The node's own error to one call of a batch (JSON-RPC 2.0, section 5.1)."""

    code: int
    message: str
    data: Any = None


@dataclass
class _Node:
    """One node's address, its kept connections, and when it may be asked again."""

    url: str
    session: requests.Session = field(default_factory=requests.Session)
    failures: int = 0
    rests_until: float = 0.0
    identified: bool = False

    def __post_init__(self) -> None:
        self.session.trust_env = False

    @property
    def name(self) -> str:
        """The host alone: paths and user parts of node addresses often hold an access key."""
        try:
            return urlsplit(self.url).hostname or "node"
        except ValueError:
            return "node"

    def failed(self, now: float, retry_after: float | None) -> None:
        rest = min(FIRST_REST_SECONDS * 2 ** min(self.failures, _MOST_DOUBLINGS), LONGEST_REST_SECONDS)
        self.failures += 1
        self.identified = False
        self.rests_until = now + max(rest, min(retry_after or 0.0, LONGEST_REST_SECONDS))

    def answered(self) -> None:
        self.failures = 0
        self.rests_until = 0.0


@dataclass(frozen=True)
class Identity:
    """The question that tells which chain a node serves, and whether the answer is the right one."""

    question: Call
    is_right: Callable[[Any], bool]


class JsonRpc:
    """Batched JSON-RPC to the nodes of one chain, in the order given; one that failed rests for a while.

    A node is believed only after it has told that it serves the right chain.
    """

    def __init__(
        self, urls: Sequence[str], identity: Identity, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._nodes = [_Node(url) for url in urls]
        self._identity = identity
        self._ids = count(1)
        self._lock = threading.Lock()
        self._clock = clock

    def batch(self, calls: Sequence[Call], read: Callable[[list[Any]], _Meaning]) -> _Meaning:
        """Return what `read` makes of the calls' results, which come in order; a call's own error is an RpcFault.

        All results come from one node. Where `read` raises ChainError the node's answer was no use, and the next one is
        asked. Raises ChainError when no node gives a usable answer.
        """
        if not self._nodes:
            raise ChainError("no node is configured for this chain", permanent=True)
        last: ChainError | None = None
        for node in self._in_order():
            try:
                self._identify(node)
                meaning = read(self._ask(node, calls))
            except ChainError as error:
                node.failed(self._clock(), error.retry_after)
                logger.warning("node %s gave no usable answer: %s", node.name, error)
                last = error
            else:
                node.answered()
                return meaning
        raise last or ChainError("all nodes of this chain are resting after failures")

    def _in_order(self) -> list[_Node]:
        """Return the nodes worth asking now; if all of them rest, the one whose rest ends first."""
        now = self._clock()
        ready = [node for node in self._nodes if node.rests_until <= now]
        return ready or [min(self._nodes, key=lambda node: node.rests_until)]

    def _identify(self, node: _Node) -> None:
        if node.identified:
            return
        if not self._identity.is_right(self._ask(node, [self._identity.question])[0]):
            raise ChainError("the node serves another chain than the catalogue says")
        node.identified = True

    def _ask(self, node: _Node, calls: Sequence[Call]) -> list[Any]:
        results: list[Any] = []
        for start in range(0, len(calls), MAX_BATCH):
            results += self._ask_once(node, calls[start : start + MAX_BATCH])
        return results

    def _ask_once(self, node: _Node, calls: Sequence[Call]) -> list[Any]:
        with self._lock:
            ids = [next(self._ids) for _ in calls]
        questions = [
            {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
            for id_, (method, params) in zip(ids, calls, strict=True)
        ]
        answers = _post(node, questions[0] if len(questions) == 1 else questions)
        if isinstance(answers, dict):
            answers = [answers]
        return _pair(ids, answers)


def _post(node: _Node, body: Any) -> Any:
    """Send one HTTP request and return the JSON in the answer, within the limits of size and time."""
    deadline = time.monotonic() + WHOLE_ANSWER_SECONDS
    try:
        with node.session.post(
            node.url, json=body, timeout=(CONNECT_SECONDS, READ_SECONDS), allow_redirects=False, stream=True
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
        return ChainError("the node is limiting our rate", retry_after=retry_after)
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
