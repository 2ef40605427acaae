"""A node on the loopback interface that misbehaves as a test asks it to, or passes on what a real one says."""

import json
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler
from typing import Any

import requests

from tests import loopback
from tests.loopback import Behaviour, Scripted, scripted

CHAIN_ID = 31337


class Exchange(loopback.Exchange):
    """One HTTP request to the node, and the ways to answer it."""

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
        """Answer each question with a result, in order."""
        answers = [
            {"jsonrpc": "2.0", "id": question["id"], "result": result}
            for question, result in zip(self.questions, results, strict=True)
        ]
        self.reply(answers if isinstance(self.asked, list) else answers[0])

    def forward(self, url: str) -> None:
        """Answer what a real node answers."""
        answer = requests.post(url, data=self.body, headers={"Content-Type": "application/json"}, timeout=30)
        self.send(answer.status_code, answer.content, Content_Type="application/json")


def payment_questions(node: Scripted) -> list[Exchange]:
    """Return the requests beyond the identity of the chain."""
    return [exchange for exchange in node.heard if not exchange.is_identity]


def serving(
    behave: Behaviour, *, chain_id: int = CHAIN_ID, path: str = ""
) -> AbstractContextManager[Scripted]:
    """Run a node that tells its chain id truthfully and answers everything else as `behave` does."""

    def answer(exchange: Exchange) -> None:
        if exchange.is_identity:
            exchange.results(hex(chain_id))
        else:
            behave(exchange)

    return scripted(answer, path=path, exchange=Exchange)
