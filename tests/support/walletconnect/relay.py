"""A local relay for WalletConnect.

It forwards encrypted messages, and stores them for clients that are not connected.
"""

import base64
import itertools
import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve


@dataclass
class _Message:
    sender: str
    data: dict[str, Any]
    sent_on: set[ServerConnection] = field(default_factory=set)
    delivered_to: set[str] = field(default_factory=set)


class Relay:
    """The relay's data and what it learns about its clients. `url` is its URL."""

    def __init__(self) -> None:
        self.url = ""
        self.connections: list[dict[str, str]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.is_silent = False
        self._lock = threading.RLock()
        self._ids = itertools.count(1)
        self._kept: dict[str, list[_Message]] = defaultdict(list)
        self._listening: dict[str, dict[ServerConnection, str]] = defaultdict(dict)
        self._unanswered: dict[int, _Message] = {}

    def methods(self) -> list[str]:
        """Return the methods of all calls, in order."""
        return [method for method, _ in self.calls]

    def drop(self, origin: str) -> None:
        """Cut the connections of an origin's pages, as phones do with pages in the background."""
        with self._lock:
            lost = [
                one for listeners in self._listening.values() for one in listeners if _origin(one) == origin
            ]
        for connection in set(lost):
            connection.close()

    def serve(self, connection: ServerConnection) -> None:
        """Serve one client until it disconnects."""
        assert connection.request is not None
        query = {
            name: values[0] for name, values in parse_qs(urlsplit(connection.request.path).query).items()
        }
        self.connections.append({**query, "origin": _origin(connection)})
        client = _client_of(query["auth"])
        try:
            for text in connection:
                said = json.loads(text)
                if "method" not in said:
                    self._received(client, said["id"])
                elif not self.is_silent:
                    with self._lock:
                        self._answer(connection, client, said)
        except ConnectionClosed:
            pass
        finally:
            with self._lock:
                for listeners in self._listening.values():
                    listeners.pop(connection, None)

    def _received(self, client: str, call: int) -> None:
        """Record that a client received a message. Unconfirmed messages are sent again over its next connection."""
        with self._lock:
            if call in self._unanswered:
                self._unanswered.pop(call).delivered_to.add(client)

    def _answer(self, connection: ServerConnection, client: str, said: dict[str, Any]) -> None:
        method, params = said["method"], said["params"]
        self.calls.append((method, params))
        topics, result = [], True
        match method:
            case "irn_subscribe":
                topics, result = [params["topic"]], params["topic"]
            case "irn_batchSubscribe":
                topics = result = params["topics"]
            case "irn_unsubscribe":
                self._listening[params["topic"]].pop(connection, None)
            case "irn_fetchMessages" | "irn_batchFetchMessages":
                result = {"messages": [], "hasMore": False}
            case "wc_proposeSession":
                topics = [params["pairingTopic"]]
        connection.send(json.dumps({"id": said["id"], "jsonrpc": "2.0", "result": result}))
        for topic in topics:
            self._listening[topic][connection] = client
            self._deliver(topic)
        match method:
            case "irn_publish":
                self._keep(client, params["topic"], params["message"], params["tag"])
            case "wc_proposeSession":
                self._keep(client, params["pairingTopic"], params["sessionProposal"], 1100)
            case "wc_approveSession":
                self._listening[params["sessionTopic"]][connection] = client
                self._keep(client, params["pairingTopic"], params["sessionProposalResponse"], 1101)
                self._keep(client, params["sessionTopic"], params["sessionSettlementRequest"], 1102)

    def _keep(self, sender: str, topic: str, message: str, tag: int) -> None:
        data = {"topic": topic, "message": message, "publishedAt": next(self._ids), "tag": tag}
        self._kept[topic].append(_Message(sender, data))
        self._deliver(topic)

    def _deliver(self, topic: str) -> None:
        for message in self._kept[topic]:
            for connection, client in list(self._listening[topic].items()):
                if client in {message.sender, *message.delivered_to} or connection in message.sent_on:
                    continue
                message.sent_on.add(connection)
                params = {"id": topic, "data": message.data}
                number = next(self._ids)
                call = {"id": number, "jsonrpc": "2.0", "method": "irn_subscription", "params": params}
                self._unanswered[number] = message
                with suppress(ConnectionClosed):
                    connection.send(json.dumps(call))


def _origin(connection: ServerConnection) -> str:
    assert connection.request is not None
    return str(connection.request.headers.get("Origin", ""))


def _client_of(token: str) -> str:
    body = token.split(".")[1]
    issuer: str = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))["iss"]
    return issuer


@contextmanager
def running() -> Iterator[Relay]:
    """Run a relay on a free port of the loopback interface."""
    relay = Relay()
    server: Server
    with serve(relay.serve, "127.0.0.1", 0) as server:
        relay.url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield relay
        finally:
            server.shutdown()
            thread.join()
