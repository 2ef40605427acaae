"""`load_catalogue --verify` rejects a file that differs from the chain, and changes nothing."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from chains.models import Chain, Token
from demo.services.process import free_port
from tests.chain import LocalChain
from tests.support.chains.catalogue_files import chain, load, token, write
from tests.support.chains.faulty_node import serving

pytestmark = pytest.mark.django_db


def entry(local: LocalChain, tokens: list[dict[str, Any]] | None = None, **different: Any) -> dict[str, Any]:
    usdc = token(contract_address=local.usdc)
    dai = token(symbol="DAI", decimals=18, contract_address=local.dai)
    native = token(symbol="ETH", decimals=18, contract_address="")
    return chain(
        **{
            "id": local.chain_id,
            "name": "Local Chain",
            "rpc_urls": [local.url],
            "routers": {},
            "tokens": tokens if tokens is not None else [native, usdc, dai],
            **different,
        }
    )


def test_catalogue_confirmed_by_the_chain_is_loaded(tmp_path: Path, local_chain: LocalChain) -> None:
    assert load(write(tmp_path, [entry(local_chain)]), "--verify") == "1 chains and 3 tokens loaded.\n"
    assert Token.objects.count() == 3


def test_chain_with_only_a_native_coin_is_verified(tmp_path: Path, local_chain: LocalChain) -> None:
    load(
        write(tmp_path, [entry(local_chain, [token(symbol="ETH", decimals=18, contract_address="")])]),
        "--verify",
    )
    assert Token.objects.count() == 1


def rejection(directory: Path, *chains: dict[str, Any]) -> str:
    with pytest.raises(CommandError) as said:
        load(write(directory, list(chains)), "--verify")
    assert not Chain.objects.exists()
    return str(said.value)


@pytest.mark.parametrize(
    ("different", "says"),
    [
        ({"decimals": 18}, "has decimals 6, but the file has 18"),
        ({"symbol": "USDT"}, "has symbol USDC, but the file has USDT"),
        ({"symbol": "usdc"}, "has symbol USDC, but the file has usdc"),
        (
            {"contract_address": "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"},
            "check the token's address",
        ),
        ({"is_active": False, "decimals": 8}, "has decimals 6, but the file has 8"),
    ],
)
def test_token_that_differs_on_chain_is_rejected(
    tmp_path: Path, local_chain: LocalChain, different: dict[str, Any], says: str
) -> None:
    tokens = [token(**{"contract_address": local_chain.usdc, **different})]
    assert says in rejection(tmp_path, entry(local_chain, tokens))


def test_authorization_must_name_the_domain_of_the_contract(tmp_path: Path, local_chain: LocalChain) -> None:
    usdc = local_chain.usdc
    rules = {"type": "eip3009", "name": "USD Coin", "version": "2"}
    for different in ({"name": "USDC"}, {"version": "1"}):
        wrong = token(contract_address=usdc, authorization={**rules, **different})
        assert "does not verify signatures for" in rejection(tmp_path, entry(local_chain, [wrong]))
    without = token(symbol="DAI", decimals=18, contract_address=local_chain.dai, authorization=rules)
    assert "does not verify signatures for" in rejection(tmp_path, entry(local_chain, [without]))
    load(
        write(tmp_path, [entry(local_chain, [token(contract_address=usdc, authorization=rules)])]), "--verify"
    )
    assert Token.objects.get().authorization == rules


def test_node_of_another_chain_is_rejected(
    tmp_path: Path, local_chain: LocalChain, own_chain: LocalChain
) -> None:
    assert "a different chain" in rejection(tmp_path, entry(local_chain, rpc_urls=[own_chain.url]))


def test_every_node_of_a_chain_is_verified(
    tmp_path: Path, local_chain: LocalChain, own_chain: LocalChain
) -> None:
    assert "a different chain" in rejection(
        tmp_path, entry(local_chain, rpc_urls=[local_chain.url, own_chain.url])
    )
    dead = f"http://127.0.0.1:{free_port()}/"
    assert "could not be reached" in rejection(tmp_path, entry(local_chain, rpc_urls=[local_chain.url, dead]))


def test_dead_node_is_rejected_without_showing_its_key(tmp_path: Path, local_chain: LocalChain) -> None:
    said = rejection(tmp_path, entry(local_chain, rpc_urls=[f"http://127.0.0.1:{free_port()}/v2/s3cretkey"]))
    assert "could not be reached" in said
    assert "s3cretkey" not in said


def test_chain_without_a_node_is_not_verified(
    tmp_path: Path, local_chain: LocalChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_RPC_URL", raising=False)
    assert "no node is configured" in rejection(
        tmp_path, entry(local_chain, rpc_urls=["env:NO_SUCH_RPC_URL"])
    )


def test_one_bad_chain_keeps_the_others_out(
    tmp_path: Path, local_chain: LocalChain, own_chain: LocalChain
) -> None:
    wrong = entry(own_chain, [token(contract_address=own_chain.usdc, decimals=7)])
    rejection(tmp_path, entry(local_chain), wrong)


def test_node_with_malformed_results_is_rejected(tmp_path: Path, local_chain: LocalChain) -> None:
    with serving(lambda exchange: exchange.results(*["0x" for _ in exchange.questions])) as node:
        rejection(tmp_path, entry(local_chain, rpc_urls=[node.url]))


def test_inactive_chain_is_skipped_with_a_note(tmp_path: Path, local_chain: LocalChain) -> None:
    solana = chain(
        id=1151111081099710, name="Solana", chain_type="solana", is_active=False,
        confirmations="finalized", routers={},
        tokens=[],
    )  # fmt: skip
    said = load(write(tmp_path, [entry(local_chain), solana]), "--verify")
    assert said.startswith("Not verified because inactive: Solana.\n")
    assert Chain.objects.count() == 2
