"""Send one JSON-RPC request over HTTP and read the response within limits.

Sources: JSON-RPC 2.0 (https://www.jsonrpc.org/specification).
"""

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import requests
from ijson.backends import yajl2_c
from ijson.common import JSONError
from urllib3.exceptions import HTTPError, ReadTimeoutError

from chains.client import ChainError
from chains.rpc.nodes import Limiting, Node
from config.api.nesting import is_deeper_than
from config.bounded_body import CHUNK_BYTES, BodyTooLarge, BodyTooSlow, BoundedBody
from config.observe.outside_calls import NODE_METHODS, Kind, Outcome, OutsideCall, measured

Call = tuple[str, list[Any]]

MAX_NESTING = 4096  # a call trace has at most 1,024 nested calls, with two levels each
RATE_LIMITED = 429
_LIMIT_CODES = frozenset({-32005, RATE_LIMITED})
# An incomplete response above this size counts as too large, because some nodes truncate responses at their own limit.
_LARGE_BYTES = 1024 * 1024
_IS_TOO_LARGE = re.compile(r"response.*(too (large|big)|size|exceed)", re.IGNORECASE | re.DOTALL)
# Messages about timeouts and quotas also contain the word "response".
_IS_TEMPORARY = re.compile(
    r"deadline|time(d )?-?out|\brate\b|quota|credits|retr(y|ies)|per (second|minute|day|month)", re.IGNORECASE
)
_REASON_BYTES = 4096


class Rejected(ChainError):
    """The node rejected the whole request: by an HTTP status, by an error for the batch, or by returning too few
    results.
    """

    def __init__(self, message: str, *, retry_after: float | None = None, code: int | None = None) -> None:
        super().__init__(message, retry_after=retry_after)
        self.code = code


class TooLarge(ChainError):
    """The response exceeds our limit or the node's limit, or did not arrive completely before the deadline."""


class Truncated(TooLarge):
    """A large response was incomplete or late. A retry may succeed."""


class Unreachable(ChainError):
    """There was no connection, or a small response was late. The call is not the cause."""


class NoResponse(ChainError):
    """The node did not start its response in time, or it stopped sending."""


@dataclass(frozen=True)
class RpcFault:
    """A JSON-RPC error in reply to one call (JSON-RPC 2.0, section 5.1)."""

    code: int
    message: str
    data: Any = None


@dataclass(frozen=True)
class Limits:
    """A request's timeouts in seconds, and the byte limit of its response.

    `read_seconds` is the longest time without a new byte.
    """

    connect_seconds: float
    read_seconds: float
    whole_seconds: float
    max_bytes: int


def post_calls(node: Node, ids: Sequence[int], calls: Sequence[Call], limits: Limits) -> list[Any]:
    """Send the calls in one request; return their results in order. Raises ChainError."""
    batch = [_request(id_, call) for id_, call in zip(ids, calls, strict=True)]
    NODE_METHODS.labels(node.name).inc(len(batch))
    with measured(Kind.NODE, node.name) as measurement:
        responses = _post(node, batch[0] if len(batch) == 1 else batch, limits, _parsed, measurement)
        if isinstance(responses, dict):
            if len(batch) > 1:
                raise _batch_error(responses)
            responses = [responses]
        results = _pair(ids, responses)
        if any(isinstance(result, RpcFault) and _is_rate_limit(result) for result in results):
            measurement.outcome = Outcome.RATE_LIMITED
        return results


def post_streamed(
    node: Node, id_: int, call: Call, limits: Limits, convert: Callable[[dict[str, Any]], Any]
) -> Any:
    """Return the result of one call, parsed as it arrives.

    Raises ChainError, and TooLarge beyond the limits. `convert` works like `object_hook` in `json`: it maps each JSON
    object, innermost first, to the value to store.
    """
    body = _request(id_, call)
    NODE_METHODS.labels(node.name).inc()
    with measured(Kind.NODE, node.name) as measurement:
        response = _post(node, body, limits, lambda response: _streamed(response, convert), measurement)
        return _pair([id_], [response])[0]


def _request(id_: int, call: Call) -> dict[str, Any]:
    method, params = call
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


class _Body(BoundedBody):
    """The body of a node's response. Raises ChainError at its limits."""

    def __init__(self, response: requests.Response, limits: Limits) -> None:
        ends_at = time.monotonic() + limits.whole_seconds
        super().__init__(response, most_bytes=limits.max_bytes, ends_at=ends_at)

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        try:
            return super().read(size)
        except BodyTooLarge:
            raise TooLarge("the node's response is too large") from None
        except BodyTooSlow:
            is_large = self.received > _LARGE_BYTES
            raise (Truncated if is_large else Unreachable)("the node's response took too long") from None


def _post(
    node: Node, request: Any, limits: Limits, read: Callable[[_Body], Any], measurement: OutsideCall
) -> Any:
    """Send one HTTP request and return `read(body)`."""
    body: _Body | None = None
    try:
        with node.session.post(
            node.url,
            json=request,
            timeout=(limits.connect_seconds, limits.read_seconds),
            allow_redirects=False,
            stream=True,
        ) as response:
            if response.status_code != requests.codes.ok:
                measurement.responded(response.status_code)
                raise _http_error(response, limits, is_single=isinstance(request, dict))
            body = _Body(response, limits)
            return read(body)
    except Unreachable:
        measurement.outcome = Outcome.TIMED_OUT
        raise
    except (requests.RequestException, HTTPError) as error:
        if body is not None and body.received > _LARGE_BYTES:
            raise Truncated("the node's response is truncated") from None
        # Only the exception's type is reported, because its text contains the full URL.
        is_late = isinstance(error, (requests.Timeout, ReadTimeoutError))
        measurement.outcome = Outcome.TIMED_OUT if is_late else Outcome.UNREACHABLE
        message = f"the node could not be reached ({type(error).__name__})"
        if isinstance(error, requests.ConnectTimeout):
            raise Unreachable(message) from None
        raise (NoResponse if isinstance(error, requests.ReadTimeout) else ChainError)(message) from None


def _parsed(body: _Body) -> Any:
    content = body.read_all()
    try:
        text = content.decode("utf-8")
        if is_deeper_than(MAX_NESTING, text):
            raise ChainError("the node's response is nested too deep")
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if len(content) > _LARGE_BYTES:
            raise Truncated("the node's response is truncated") from error
        raise ChainError("the node's response is not JSON") from error


def _streamed(body: _Body, convert: Callable[[dict[str, Any]], Any]) -> Any:
    try:
        return _built(yajl2_c.basic_parse(body, buf_size=CHUNK_BYTES), convert)
    except (JSONError, ValueError, OverflowError) as error:
        if body.received > _LARGE_BYTES:
            raise Truncated("the node's response is truncated") from error
        raise ChainError("the node's response is not JSON") from error


def _built(events: Any, convert: Callable[[dict[str, Any]], Any]) -> Any:
    """Build a value from parser events. Apply `convert` to each object."""
    root: list[Any] = []
    stack: list[Any] = []
    keys: list[Any] = []
    container: Any = root
    key: Any = None
    for event, value in events:
        if event == "map_key":
            key = value
            continue
        if event in ("start_map", "start_array"):
            if len(stack) > MAX_NESTING:
                raise ChainError("the node's response is nested too deep")
            stack.append(container)
            keys.append(key)
            container = {} if event == "start_map" else []
            continue
        if event in ("end_map", "end_array"):
            value = convert(container) if event == "end_map" else container
            container, key = stack.pop(), keys.pop()
        if type(container) is dict:
            container[key] = value
        else:
            container.append(value)
    if len(root) != 1:
        raise ChainError("the node's response is not JSON")
    return root[0]


def describes_large_response(reason: str) -> bool:
    """Whether a node's error says that the response is too large to send (geth: -32003)."""
    return bool(_IS_TOO_LARGE.search(reason)) and not _IS_TEMPORARY.search(reason)


def _is_rate_limit(fault: RpcFault) -> bool:
    """Whether a call's error is about our quota. Nodes also use these codes for searches that find too much."""
    return fault.code in _LIMIT_CODES and bool(_IS_TEMPORARY.search(fault.message))


def _http_error(response: requests.Response, limits: Limits, *, is_single: bool) -> ChainError:
    seconds = response.headers.get("Retry-After", "")
    retry_after = float(seconds) if seconds.isascii() and seconds.isdigit() and len(seconds) < 6 else None
    if response.status_code == RATE_LIMITED:
        return Limiting("the node is limiting our rate", retry_after=retry_after)
    # If the request is a batch, this status may mean that it has too many calls.
    is_too_large = is_single and response.status_code == requests.codes.request_entity_too_large
    if is_too_large or describes_large_response(_reason(response, limits)):
        return TooLarge("the node does not send a response of this size")
    message = f"the node returned HTTP {response.status_code}"
    if 400 <= response.status_code < 600:
        return Rejected(message, retry_after=retry_after)
    return ChainError(message, retry_after=retry_after)


def _reason(response: requests.Response, limits: Limits) -> str:
    """Return the message in a JSON error body; "" for other text, which may come from a gateway."""
    try:
        content = json.loads(_Body(response, limits).read(_REASON_BYTES))
    except (ChainError, requests.RequestException, HTTPError, ValueError, RecursionError):
        return ""
    error = content.get("error", content) if isinstance(content, dict) else None
    return str(error.get("message", "") if isinstance(error, dict) else error)


def _batch_error(response: dict[str, Any]) -> ChainError:
    error = response.get("error")
    if isinstance(error, dict) and describes_large_response(str(error.get("message", ""))):
        return TooLarge("the node does not send a response of this size")
    code = error.get("code") if isinstance(error, dict) else None
    return Rejected(
        "the node did not response every call of the batch", code=code if isinstance(code, int) else None
    )


def _pair(ids: Sequence[int], responses: Any) -> list[Any]:
    """Return the results in the order of `ids`. Every call must have exactly one response."""
    if not isinstance(responses, list):
        raise ChainError("the node's response is not JSON-RPC")
    if len(responses) != len(ids):
        raise Rejected("the node did not response every call of the batch")
    by_id: dict[int, Any] = {}
    for response in responses:
        if not isinstance(response, dict) or not isinstance(response.get("id"), int):
            raise ChainError("the node's response is not JSON-RPC")
        by_id[response["id"]] = _result(response)
    if set(by_id) != set(ids):
        raise ChainError("the node returned results for calls that were not sent")
    return [by_id[id_] for id_ in ids]


def _result(response: dict[str, Any]) -> Any:
    error = response.get("error")
    if error is None:
        if "result" not in response:
            raise ChainError("the node's response holds neither a result nor an error")
        return response["result"]
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        raise ChainError("the node's error is not JSON-RPC")
    return RpcFault(error["code"], str(error.get("message", ""))[:300], error.get("data"))
