"""If the chain's nodes can't trace a wallet's payments, the page warns before it pays. It can still pay."""

from collections.abc import Callable
from typing import Any

import pytest

from chains.families import get_client
from chains.families.evm.client import EvmClient
from chains.models import Chain
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.solana.ledger import LocalLedger

Checkout = Callable[..., dict[str, Any]]
ACCOUNT = "0x00000000000000000000000000000000000A11cE"
CONTRACT = "0x6001600155"


@pytest.fixture
def without_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all nodes of the chain unable to trace."""
    monkeypatch.setattr(EvmClient, "can_prove_internal_transfers", lambda _: False)


@pytest.fixture
def set_code(local_chain: LocalChain) -> Callable[[str], None]:
    """Return a function that gives the account this code."""
    return lambda code: local_chain.rpc("anvil_setCode", ACCOUNT, code)


def routes(public: Api, order: dict[str, Any], wallet: str = ACCOUNT) -> list[dict[str, Any]]:
    body = {"wallet_address": wallet, "chain_id": order["chain_id"], "token_id": order["token"]["id"]}
    answer = public.post(f"/api/public/payment-requests/{order['id']}/routes", body)
    assert answer.status_code == 200, answer.content
    offered: list[dict[str, Any]] = answer.json()["routes"]
    return offered


@pytest.mark.usefixtures("without_traces")
@pytest.mark.parametrize("code", [CONTRACT, "0xef0100" + "5a" * 20], ids=["contract", "delegated"])
def test_account_with_code_is_warned_if_untraced(
    public: Api, checkout: Checkout, set_code: Callable[[str], None], code: str
) -> None:
    set_code(code)
    [route] = routes(public, checkout())
    [warning] = route["warnings"]
    assert warning["code"] == "may_need_acceptance"
    assert "on Local Chain can't be verified automatically" in warning["message"]


@pytest.mark.usefixtures("without_traces")
def test_account_without_code_is_not_warned(
    public: Api, checkout: Checkout, set_code: Callable[[str], None]
) -> None:
    set_code("0x")
    assert [route["warnings"] for route in routes(public, checkout())] == [[]]


def test_account_with_code_is_not_warned_if_traced(
    public: Api, checkout: Checkout, set_code: Callable[[str], None], local_chain: LocalChain
) -> None:
    local_chain.transfer("", local_chain.recipient, 1)
    set_code(CONTRACT)
    assert [route["warnings"] for route in routes(public, checkout())] == [[]]


def test_direct_route_is_offered_without_a_node(public: Api, checkout: Checkout, chain: Chain) -> None:
    order = checkout()
    Chain.objects.filter(pk=chain.pk).update(rpc_urls=["http://127.0.0.1:1"])
    assert [(route["type"], route["warnings"]) for route in routes(public, order)] == [("direct", [])]


def test_solana_accounts_are_never_unverifiable(solana: Chain, local_ledger: LocalLedger) -> None:
    assert not get_client(solana).may_be_unverifiable(local_ledger.payer)
