"""A direct route says what the network will roughly take, and is offered just the same where that is unknown."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache

from chains.models import Chain, Token
from checkout.api.network_fees import usual_fee
from tests.chain import LocalChain
from tests.conftest import Api
from tests.integration.checkout.test_paying_by_script import route_for

Checkout = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _nothing_cached() -> None:
    cache.clear()


@pytest.mark.parametrize("coin", ["usdc", "ether"])
def test_estimated_fee_is_close_to_the_real_one(
    public: Api, checkout: Checkout, local_chain: LocalChain, request: pytest.FixtureRequest, coin: str
) -> None:
    token: Token = request.getfixturevalue(coin)
    route = route_for(public, checkout(token_id=token.id, amount="0.25"), local_chain.payer)
    assert route["gas"]["token"] == {"symbol": "ETH"}
    built = public.post("/api/public/build-transaction", {"route_id": route["id"]}).json()
    receipt = local_chain.rpc("eth_getTransactionReceipt", local_chain.send(built["transaction"]))
    paid = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    assert paid / 2 < int(route["gas"]["amount"]["raw"]) < paid * 2


def test_route_without_a_node_has_no_estimated_fee(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    order = checkout()
    Chain.objects.update(rpc_urls=["http://127.0.0.1:9"])
    route = route_for(public, order, local_chain.payer)
    assert (route["type"], route["gas"]["amount"], route["gas"]["usd"]) == ("direct", None, None)


def test_fee_is_read_once_for_many_routes(usdc: Token) -> None:
    queried = []

    class Node:
        def usual_fee(self, token: str) -> int:
            queried.append(token)
            return 7

    assert [usual_fee(usdc, client=lambda _: Node()) for _ in range(3)] == [7, 7, 7]  # type: ignore[arg-type, return-value]
    assert queried == [usdc.contract_address]


def test_solana_fee_is_that_of_one_signature(solana_usdc: Token) -> None:
    assert usual_fee(solana_usdc) == 5_000
