"""Our nodes read price feeds on a real chain as rate sources. Feeds can change, freeze, be incomplete or fail."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from eth_abi import encode
from eth_utils.abi import function_signature_to_4byte_selector

from chains.models import Chain, Token
from demo.contracts.deploy import deploy_contract, send
from payments.models import PaymentRequest
from payments.prices import querying
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.rates.exchanges import Exchanges

# Threads query the sources. They see only committed data.
pytestmark = pytest.mark.django_db(transaction=True)

HEARTBEAT = 3600
_DIGITS = 8


@dataclass
class Feed:
    """A feed's contract, and a function that changes its price."""

    chain: LocalChain
    address: str

    def call(self, signature: str, types: list[str], arguments: list[Any]) -> None:
        data = function_signature_to_4byte_selector(signature) + encode(types, arguments)
        send(self.chain.url, self.chain.payer_key, to=self.address, data=data)

    def set(self, value: str, *, age: float = 0) -> None:
        response = int(Decimal(value).scaleb(_DIGITS))
        self.call("set(int256,uint256)", ["int256", "uint256"], [response, int(time.time() - age)])


@pytest.fixture
def feed(local_chain: LocalChain, chain: Chain, usdc: Token, exchanges: Exchanges, settings: Any) -> Feed:
    """A feed of USDC/USD at 1.0001 in the catalogue. The only other source is Kraken."""
    arguments = encode(["uint8", "int256", "uint256"], [_DIGITS, 100010000, int(time.time())])
    address = deploy_contract(local_chain.url, "PriceFeed", arguments, key=local_chain.payer_key)
    feeds = [{"pair": "USDC/USD", "address": address, "heartbeat": HEARTBEAT}]
    Chain.objects.filter(pk=chain.pk).update(feeds=feeds)
    settings.RATE_SOURCES = ["feeds", "kraken"]
    return Feed(local_chain, address)


@pytest.fixture
def create(api: Api, order: Callable[..., dict[str, Any]], feed: Feed) -> Callable[[], Any]:
    """Return a function that creates a request with a price of 10 dollars."""

    def call() -> Any:
        querying.forget()
        body = {**order(), "price": {"currency": "USD", "amount": "10.00"}}
        del body["amount"]
        return api.post("/api/payment-requests", body)

    return call


def test_feed_and_exchange_agree_on_a_rate(create: Callable[[], Any], chain: Chain) -> None:
    request = create().json()
    assert request["rate"]["value"] == "1"
    assert request["rate"]["sources"] == [f"feeds:{chain.pk}", "kraken"]
    assert request["amount"]["formatted"] == "10.000000"


def test_feed_that_moves_changes_the_rate(create: Callable[[], Any], feed: Feed) -> None:
    feed.set("1.0049")
    assert create().json()["rate"]["value"] == "1.0024"


FAULTS: dict[str, Callable[[Feed], None]] = {
    "frozen for longer than its heartbeat": lambda feed: feed.set("1", age=HEARTBEAT * 1.1 + 30),
    "a result of an earlier round": lambda feed: feed.call("skip()", [], []),
    "broken": lambda feed: feed.call("breakDown(bool)", ["bool"], [True]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_feed_is_not_used_as_a_source(create: Callable[[], Any], feed: Feed, fault: str) -> None:
    FAULTS[fault](feed)
    response = create()
    assert (response.status_code, response.json()["error"]["code"]) == (503, "rate_unavailable")
    assert PaymentRequest.objects.count() == 0


def test_same_pair_on_two_chains_is_two_sources(
    create: Callable[[], Any], feed: Feed, chain: Chain, anvil_b: LocalChain, settings: Any
) -> None:
    settings.RATE_SOURCES = ["feeds"]
    assert create().status_code == 503
    arguments = encode(["uint8", "int256", "uint256"], [18, 10**18, int(time.time())])
    address = deploy_contract(anvil_b.url, "PriceFeed", arguments, key=anvil_b.payer_key)
    Chain.objects.create(
        id=anvil_b.chain_id,
        name="Other Chain",
        chain_type="evm",
        rpc_urls=[anvil_b.url],
        native_symbol="ETH",
        feeds=[{"pair": "USDC/USD", "address": address, "heartbeat": HEARTBEAT}],
    )
    request = create().json()
    assert request["rate"]["sources"] == [f"feeds:{chain.pk}", f"feeds:{anvil_b.chain_id}"]
    assert request["rate"]["value"] == "1.00005"
