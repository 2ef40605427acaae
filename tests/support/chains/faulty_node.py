"""A node on the loopback interface. It misbehaves as a test says, or forwards a real node's responses."""

import json
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from typing import Any

import requests

from tests import loopback
from tests.loopback import Behaviour, Scripted, scripted

CHAIN_ID = 31337


class Exchange(loopback.Exchange):
    """One HTTP request to the node, and the ways to respond to it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        super().__init__(handler, body)
        self.asked = json.loads(body)

    @property
    def questions(self) -> list[dict[str, Any]]:
        return self.asked if isinstance(self.asked, list) else [self.asked]

    @property
    def is_identity(self) -> bool:
        return [question["method"] for question in self.questions] == ["eth_chainId"]

    def results(self, *results: Any) -> None:
        """Respond to each call with a result, in order."""
        answers = [
            {"jsonrpc": "2.0", "id": question["id"], "result": result}
            for question, result in zip(self.questions, results, strict=True)
        ]
        self.reply(answers if isinstance(self.asked, list) else answers[0])

    def forward(self, url: str) -> None:
        """Respond with a real node's response."""
        answer = requests.post(url, data=self.body, headers={"Content-Type": "application/json"}, timeout=30)
        self.send(answer.status_code, answer.content, Content_Type="application/json")


def payment_questions(node: Scripted) -> list[Exchange]:
    """Return the requests other than those for the chain's identity."""
    return [exchange for exchange in node.heard if not exchange.is_identity]


def serving(
    behave: Behaviour, *, chain_id: int = CHAIN_ID, path: str = ""
) -> AbstractContextManager[Scripted]:
    """Run a node that returns its true chain id. `behave` responds to everything else."""

    def answer(exchange: Exchange) -> None:
        if exchange.is_identity:
            exchange.results(hex(chain_id))
        else:
            behave(exchange)

    return scripted(answer, path=path, exchange=Exchange)
