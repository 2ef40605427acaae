"""A node's failure never counts as a result. It raises an error, and the next node is used."""

import threading
from collections.abc import Callable

import pytest

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from chains.rpc import json_rpc
from chains.rpc.json_rpc import Identity, JsonRpc, RpcFault
from demo.services.process import free_port
from tests.loopback import Scripted
from tests.support.chains.faulty_node import Behaviour, Exchange, payment_questions, serving

UNKNOWN = "0x" + "ab" * 32


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_rpc, "CONNECT_SECONDS", 0.5)
    monkeypatch.setattr(json_rpc, "READ_SECONDS", 0.3)
    monkeypatch.setattr(json_rpc, "RESPONSE_SECONDS", 0.5)
    monkeypatch.setattr(json_rpc, "MAX_RESPONSE_BYTES", 256 * 1024)


def with_responses(change: Callable[[list[dict[str, object]]], object]) -> Behaviour:
    """Apply `change` to valid responses with null results."""

    def behave(exchange: Exchange) -> None:
        sound = [{"jsonrpc": "2.0", "id": question["id"], "result": None} for question in exchange.questions]
        exchange.reply(change(sound))

    return behave


def body(text: bytes, **headers: str) -> Behaviour:
    return lambda exchange: exchange.send(200, text, **headers)


def status(code: int, **headers: str) -> Behaviour:
    return lambda exchange: exchange.send(code, b'{"error": "no"}', **headers)


def drip(exchange: Exchange) -> None:
    """Send one byte at a time forever. Each byte comes before the read would time out."""
    exchange.send(200, b"", length=10_000)
    pause = threading.Event()
    for _ in range(100):
        exchange.write(b" ")
        pause.wait(0.05)


def stall(exchange: Exchange) -> None:
    """Send the beginning of a response, then nothing until the client disconnects."""
    exchange.send(200, b"[", length=100)
    threading.Event().wait(2)


def hang_up(exchange: Exchange) -> None:
    raise ConnectionResetError


def sound(exchange: Exchange) -> None:
    """Return a number for every call."""
    exchange.results(*["0x7a69" for _ in exchange.questions])


FAULTS: dict[str, Behaviour] = {
    "null": body(b"null"),
    "true": body(b"true"),
    "a number": body(b"7"),
    "text": body(b'"ok"'),
    "nothing": body(b""),
    "an empty list": body(b"[]"),
    "an empty object": body(b"{}"),
    "HTML": body(b"<html><body>Bad gateway</body></html>", Content_Type="text/html"),
    "truncated JSON": body(b'[{"jsonrpc": "2.0", "id": 1, "resu'),
    "a body shorter than its length": lambda exchange: exchange.send(200, b"[]", length=500),
    "invalid UTF-8": body(b'["\xff\xfe"]'),
    "a byte order mark": body(b"\xef\xbb\xbf[]"),
    "nested too deep": body(b"[" * 200_000),
    "a huge integer": body(b"[" + b"9" * 5000 + b"]"),
    "gzip that is none": body(b"not gzip", Content_Encoding="gzip"),
    "too large": body(b"[" + b" " * 300_000 + b"]"),
    "a drip": drip,
    "a stall": stall,
    "a hang-up": hang_up,
    "429": status(429, Retry_After="7"),
    "429 with a date": status(429, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"),
    "429 with nonsense": status(429, Retry_After="9" * 400),
    "401": status(401),
    "403": status(403),
    "404": status(404),
    "500": status(500),
    "502": status(502),
    "503": status(503, Retry_After="3"),
    "a redirect": status(302, Location="http://127.0.0.1:1/elsewhere"),
    "a permanent redirect": status(308, Location="http://127.0.0.1:1/elsewhere"),
    "no content": status(204),
    "another question's id": with_responses(lambda sound: [{**answer, "id": 10**9} for answer in sound]),
    "ids as text": with_responses(lambda sound: [{**answer, "id": str(answer["id"])} for answer in sound]),
    "no ids": with_responses(lambda sound: [{"jsonrpc": "2.0", "result": None} for _ in sound]),
    "null ids": with_responses(lambda sound: [{**answer, "id": None} for answer in sound]),
    "one answer missing": with_responses(lambda sound: sound[:-1]),
    "one answer twice": with_responses(lambda sound: [*sound[:-1], sound[0]]),
    "one answer too many": with_responses(lambda sound: [*sound, sound[0]]),
    "one answer for all": with_responses(lambda sound: sound[0]),
    "neither result nor error": with_responses(
        lambda sound: [{"jsonrpc": "2.0", "id": answer["id"]} for answer in sound]
    ),
    "answers that are no objects": with_responses(lambda sound: [None for _ in sound]),
    "an error that is text": with_responses(
        lambda sound: [{"id": answer["id"], "error": "down"} for answer in sound]
    ),
    "an error without a code": with_responses(
        lambda sound: [{"id": answer["id"], "error": {}} for answer in sound]
    ),
    "one error for the batch": with_responses(
        lambda _: {"jsonrpc": "2.0", "id": None, "error": {"code": -32600}}
    ),
    "a call that was refused": with_responses(
        lambda sound: [
            {"id": answer["id"], "error": {"code": -32005, "message": "limit"}} for answer in sound
        ]
    ),
    "blocks that are none": lambda exchange: exchange.results(*[{} for _ in exchange.questions]),
    "results that are text": lambda exchange: exchange.results(*["0x" for _ in exchange.questions]),
}


def test_unreachable_node_is_skipped() -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    with serving(sound) as node:
        assert EvmClient([dead, node.url], 31337).chain_id() == 31337
    with pytest.raises(ChainError, match="could not be reached"):
        EvmClient([dead], 31337).chain_id()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "http://",
        "http://[",
        "http://[::1",
        "ftp://127.0.0.1",
        "http://exa mple",
        "http://\ud800",
    ],
)
def test_malformed_node_url_raises_chain_error(url: str) -> None:
    with pytest.raises(ChainError):
        EvmClient([url], 31337).chain_id()


def test_node_of_another_chain_is_rejected() -> None:
    with serving(sound, chain_id=31338) as other, serving(sound) as node:
        with pytest.raises(ChainError, match="a different chain"):
            EvmClient([other.url], 31337).look_up([UNKNOWN], with_finality=False)
        assert EvmClient([other.url, node.url], 31337).chain_id() == 31337


@pytest.mark.parametrize("said", ["0x1", 31337, "31337", None, "0x", {}, [], "0x" + "f" * 65])
def test_node_without_a_chain_id_gets_no_payment_queries(said: object) -> None:
    node = JsonRpcOf(said)
    with serving(node.behave) as served, pytest.raises(ChainError, match="a different chain"):
        JsonRpc([served.url], Identity(("net_version", []), lambda answer: answer == "0x7a69")).batch(
            [("eth_blockNumber", [])], list
        )
    assert node.asked == ["net_version"]


class JsonRpcOf:
    """A node that returns the same result for every call."""

    def __init__(self, result: object) -> None:
        self.result = result
        self.asked: list[str] = []

    def behave(self, exchange: Exchange) -> None:
        self.asked += [question["method"] for question in exchange.questions]
        exchange.results(*[self.result for _ in exchange.questions])


def test_chain_without_nodes_is_a_permanent_error() -> None:
    with pytest.raises(ChainError, match="no node is configured") as failed:
        EvmClient([], 31337).chain_id()
    assert failed.value.permanent


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("0", 0.0), ("-1", None), ("1.5", None), ("soon", None), ("٣", None)]
)
def test_retry_after_of_a_node_reaches_the_caller(header: str, seconds: float | None) -> None:
    def limit(exchange: Exchange) -> None:
        exchange.send(429, b"", Retry_After=header.encode().decode("latin-1"))

    with serving(limit) as node, pytest.raises(ChainError, match="limiting our rate") as failed:
        EvmClient([node.url], 31337).look_up([UNKNOWN], with_finality=False)
    assert failed.value.retry_after == seconds


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def call_once(nodes: JsonRpc) -> object:
    return nodes.batch([("eth_blockNumber", [])], lambda answers: answers[0])


def resting_nodes(clock: Clock, *nodes: Scripted) -> JsonRpc:
    is_right = Identity(("eth_chainId", []), lambda answer: answer == hex(31337))
    return JsonRpc([node.url for node in nodes], is_right, clock=clock)


def test_failed_node_cools_down_longer_each_time() -> None:
    clock = Clock()
    with serving(status(500)) as first, serving(lambda exchange: exchange.results("0x5")) as second:
        nodes = resting_nodes(clock, first, second)
        tried = []
        for _ in range(16):
            assert call_once(nodes) == "0x5"
            tried.append(len(payment_questions(first)))
            clock.now += 1
    assert tried == [1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5]


def test_recovered_node_is_used_first_again() -> None:
    clock = Clock()
    answers = iter([500, 200])

    def recovering(exchange: Exchange) -> None:
        exchange.send(500, b"") if next(answers, 200) == 500 else exchange.results("0x1")

    with serving(recovering) as first, serving(lambda exchange: exchange.results("0x2")) as second:
        nodes = resting_nodes(clock, first, second)
        assert call_once(nodes) == "0x2"
        clock.now += 2
        assert [call_once(nodes), call_once(nodes)] == ["0x1", "0x1"]


def test_cooldown_of_a_dead_node_is_capped_at_a_minute() -> None:
    clock = Clock()
    with serving(status(500)) as node:
        nodes = resting_nodes(clock, node)
        nodes._nodes[0].failures = 5000
        with pytest.raises(ChainError):
            call_once(nodes)
        assert nodes._nodes[0].cooldown_until == clock.now + 60


def test_error_of_a_single_call_is_no_failure_of_the_node() -> None:
    def reject(exchange: Exchange) -> None:
        error = {"code": 3, "message": "execution reverted", "data": "0x08c379a0"}
        exchange.reply({"jsonrpc": "2.0", "id": exchange.asked["id"], "error": error})

    with serving(reject) as node:
        assert call_once(resting_nodes(Clock(), node)) == RpcFault(3, "execution reverted", "0x08c379a0")


def test_results_out_of_order_match_their_calls() -> None:
    def reversed_results(exchange: Exchange) -> None:
        exchange.reply(
            [
                {"id": question["id"], "result": question["params"][0]}
                for question in reversed(exchange.questions)
            ]
        )

    with serving(reversed_results) as node:
        nodes = resting_nodes(Clock(), node)
        assert nodes.batch([("echo", [number]) for number in range(250)], list) == list(range(250))
        assert [len(exchange.questions) for exchange in payment_questions(node)] == [100, 100, 50]
