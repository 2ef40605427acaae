"""A direct route shows the approximate network fee. If the fee is unknown, the route is still offered."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache

from chains.models import Chain, Token
from checkout.api.network_fees import account_deposit, usual_fee
from tests.chain import LocalChain
from tests.conftest import Api
from tests.integration.checkout.test_paying_by_script import route_for
from tests.support.solana.ledger import LocalLedger, new_address
from tests.support.solana.scene import Mints

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


def test_deposit_of_a_new_token_account_is_a_fee_of_the_route(
    public: Api, api: Api, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    wallet, recipient = local_ledger.new_wallet(lamports=10**9, usdc=10**6), new_address()
    order = created(api, solana_usdc, recipient)
    route = route_for(public, order, str(wallet.pubkey()))
    [deposit] = route["fees"]
    assert (deposit["name"], deposit["included"], deposit["token"]["symbol"]) == (
        "Account deposit",
        False,
        "SOL",
    )
    assert deposit["amount"] == {"raw": "2039280", "formatted": "0.002039280", "decimals": 9}

    built = public.post("/api/public/build-transaction", {"route_id": route["id"]}).json()
    local_ledger.sign_and_send(built["transaction"], wallet)
    spent = 10**9 - local_ledger.balance(str(wallet.pubkey()))
    expected = int(deposit["amount"]["raw"]) + int(route["gas"]["amount"]["raw"])
    assert expected <= spent < expected + 1_000  # the estimate may be a little too low for compute units

    cache.clear()
    assert route_for(public, created(api, solana_usdc, recipient), local_ledger.payer)["fees"] == []


def test_account_deposit_of_newer_token_depends_on_program(
    solana: Chain, local_ledger: LocalLedger, mints: Mints
) -> None:
    newer = Token(chain=solana, contract_address=str(mints.newer), symbol="NEW", decimals=6)
    assert account_deposit(newer, new_address()) == 2_157_600  # this token's accounts have 182 bytes
    coin = Token(chain=solana, contract_address="", symbol="SOL", decimals=9)
    assert account_deposit(coin, new_address()) == 0


def created(api: Api, token: Token, recipient: str) -> dict[str, Any]:
    order = {"amount": "1", "token_id": token.id, "chain_id": token.chain_id, "recipient_address": recipient}
    return api.post("/api/payment-requests", order).json()


def test_solana_fee_is_that_of_one_signature(solana_usdc: Token) -> None:
    assert usual_fee(solana_usdc) == 5_000
