"""Fixtures for the tests of EVM threats: the world, requests, and nodes with and without traces."""

from collections.abc import Callable, Iterator

import pytest
import requests

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.chain import LocalChain
from tests.support.chains.faulty_node import Exchange, serving
from tests.support.payments.world import make_request
from tests.support.threats.evm_world import World

_worlds: dict[str, World] = {}


@pytest.fixture
def world(local_chain: LocalChain) -> World:
    """The contracts and accounts that tests have put on the shared chain."""
    return _worlds.setdefault(local_chain.url, World(local_chain))


@pytest.fixture
def ask(merchant: Merchant, usdc: Token, local_chain: LocalChain) -> Callable[..., PaymentRequest]:
    """Return a function that makes requests, by default of 10 USDC."""

    def make(amount: str = "10", token: Token | None = None) -> PaymentRequest:
        return make_request(merchant, token or usdc, amount, local_chain.recipient)

    return make


@pytest.fixture(scope="session")
def untraced_url(local_chain: LocalChain) -> Iterator[str]:
    """The URL of the same chain's node without traces."""

    def answer(exchange: Exchange) -> None:
        asked = [q for q in exchange.questions if not q["method"].startswith("debug_")]
        answers = requests.post(local_chain.url, json=asked, timeout=30).json() if asked else []
        fault = {
            "code": -32601,
            "message": "the method debug_traceTransaction does not exist/is not available",
        }
        refused = [q for q in exchange.questions if q["method"].startswith("debug_")]
        answers += [{"jsonrpc": "2.0", "id": question["id"], "error": fault} for question in refused]
        exchange.reply(answers if isinstance(exchange.asked, list) else answers[0])

    with serving(answer) as node:
        yield node.url


@pytest.fixture
def without_traces(chain: Chain, untraced_url: str) -> Chain:
    """The chain in the catalogue, with a node that has no traces."""
    chain.rpc_urls = [untraced_url]
    chain.save()
    return chain


@pytest.fixture(params=["with traces", "without traces"])
def either_node(request: pytest.FixtureRequest, chain: Chain, untraced_url: str) -> bool:
    """Run the test with both kinds of node; the value says whether the node has traces."""
    if request.param == "without traces":
        chain.rpc_urls = [untraced_url]
        chain.save()
    return bool(request.param == "with traces")
