"""WebSocket messages are only hints. Whatever they contain, they can only make the next query earlier."""

import json
import threading
from collections.abc import Callable, Iterator
from queue import Queue

import pytest
from websockets.sync.server import ServerConnection, serve

from chains.heads import subscription
from chains.heads.subscription import Subscription
from chains.models import Chain
from tests.processes import eventually

Handler = Callable[[ServerConnection], None]


class Node:
    """A scripted WebSocket server that records the messages it receives."""

    def __init__(self, handler: Handler) -> None:
        self.received: Queue[str] = Queue()
        self.connections = 0

        def accept(socket: ServerConnection) -> None:
            self.connections += 1
            self.received.put(str(socket.recv()))
            handler(socket)

        self._server = serve(accept, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()


@pytest.fixture(autouse=True)
def _no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "_FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(subscription, "_LONGEST_PAUSE_SECONDS", 0.01)


@pytest.fixture
def subscribed() -> Iterator[Callable[..., tuple[Node, Queue[None]]]]:
    made: list[Node | Subscription] = []

    def subscribe(handler: Handler, chain_type: str = "evm") -> tuple[Node, Queue[None]]:
        node, hints = Node(handler), Queue[None]()
        chain = Chain(id=1, name="Local", chain_type=chain_type, ws_urls=[node.url], block_time_ms=1000)
        following = Subscription(chain, lambda: hints.put(None))
        following.start()
        made.extend((node, following))
        return node, hints

    yield subscribe
    for each in reversed(made):
        each.stop()


def say(*messages: str | bytes) -> Handler:
    def talk(socket: ServerConnection) -> None:
        for message in messages:
            socket.send(message)
        socket.recv()  # wait until the client disconnects

    return talk


@pytest.mark.parametrize(
    ("chain_type", "method", "parameters"),
    [("evm", "eth_subscribe", ["newHeads"]), ("solana", "slotSubscribe", [])],
)
def test_it_subscribes_as_the_family_does(
    subscribed: Callable[..., tuple[Node, Queue[None]]], chain_type: str, method: str, parameters: list[str]
) -> None:
    node, _ = subscribed(say(), chain_type)
    sent = json.loads(node.received.get(timeout=20))
    assert (sent["method"], sent["params"]) == (method, parameters)


@pytest.mark.parametrize(
    "message", ["{}", "garbage", b"\xff\x00", '{"params": {"result": {"number": "0xffffffff"}}}']
)
def test_any_message_is_a_hint_and_nothing_more(
    subscribed: Callable[..., tuple[Node, Queue[None]]], message: str | bytes
) -> None:
    _, hints = subscribed(say(message))
    hints.get(timeout=20)


def test_huge_message_closes_connection_and_it_reconnects(
    subscribed: Callable[..., tuple[Node, Queue[None]]],
) -> None:
    node, hints = subscribed(say("x" * 1_000_000))
    eventually(lambda: node.connections >= 2, "it connects again")
    assert hints.empty()


def test_a_connection_that_is_lost_is_made_again(
    subscribed: Callable[..., tuple[Node, Queue[None]]],
) -> None:
    node, hints = subscribed(lambda socket: socket.send("{}"))
    eventually(lambda: node.connections >= 3, "it connects again and again")
    hints.get(timeout=20)


def test_a_silent_socket_is_given_up(
    subscribed: Callable[..., tuple[Node, Queue[None]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "_SHORTEST_SILENCE_SECONDS", 0.05)
    monkeypatch.setattr(subscription, "_SILENT_BLOCKS", 0)
    node, _ = subscribed(say())
    eventually(lambda: node.connections >= 2, "it tries another connection")


def test_without_a_url_nothing_is_connected() -> None:
    following = Subscription(Chain(id=1, name="Local", chain_type="evm", block_time_ms=1000), lambda: None)
    following.start()
    following.stop()
    assert not following._thread.is_alive()
