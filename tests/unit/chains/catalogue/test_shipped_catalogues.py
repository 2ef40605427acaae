"""The catalogues that ship with the product load, and every address in them is right by its own checksum."""

import json
from pathlib import Path
from typing import Any

import pytest
from eth_utils.address import is_checksum_address
from solders.pubkey import Pubkey

from chains.models import Chain, Token
from tests.conftest import Api
from tests.support.chains.catalogue_files import everything, load

CATALOGUES = Path(__file__).parents[4] / "chains" / "catalogues"
FILES = sorted(CATALOGUES.glob("*.json"))
MAINNET = json.loads((CATALOGUES / "mainnet.json").read_text(encoding="utf-8"))["chains"]
SOLANA = 1151111081099710
USDC = {
    1: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    10: "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85",
    56: "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",
    137: "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
    8453: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    42161: "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
    43114: "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E",
    SOLANA: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
}


def chains_of(path: Path) -> list[dict[str, Any]]:
    chains: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["chains"]
    return chains


@pytest.mark.django_db
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_loads_twice_with_the_same_result(path: Path) -> None:
    load(path)
    before = everything()
    load(path)
    assert everything() == before
    assert Chain.objects.count() == len(chains_of(path))


@pytest.mark.django_db
def test_both_load_side_by_side() -> None:
    for path in FILES:
        load(path)
    assert Chain.objects.count() == 12


@pytest.mark.parametrize(
    ("chain_type", "address"),
    [
        (chain["chain_type"], address)
        for path in FILES
        for chain in chains_of(path)
        for address in [
            *(token["contract_address"] for token in chain["tokens"] if token["contract_address"]),
            *(address for addresses in chain["routers"].values() for address in addresses),
        ]
    ],
)
def test_each_address_is_right_as_it_is_written(chain_type: str, address: str) -> None:
    if chain_type == "evm":
        assert is_checksum_address(address)
    else:
        assert len(bytes(Pubkey.from_string(address))) == 32


@pytest.mark.django_db
def test_only_what_is_active_is_on_offer(public: Api) -> None:
    load(CATALOGUES / "mainnet.json")
    offered = public.get("/api/public/chains").json()
    assert [chain["id"] for chain in offered] == [1, 10, 56, 137, 8453, 42161, 43114, SOLANA]
    for chain in offered:
        tokens = public.get(f"/api/public/chains/{chain['id']}/tokens").json()
        symbols = [token["symbol"] for token in tokens]
        assert len(symbols) == len(set(symbols))
        assert USDC[chain["id"]] in [token["contract_address"] for token in tokens]
        assert len([token for token in tokens if token["contract_address"] == ""]) == 1
        hidden = Token.objects.filter(chain_id=chain["id"], is_active=False).values_list(
            "contract_address", flat=True
        )
        assert not set(hidden) & {token["contract_address"] for token in tokens}


def test_nothing_bridged_can_be_chosen_by_mistake() -> None:
    bridged = [token for chain in MAINNET for token in chain["tokens"] if "bridged" in token["tags"]]
    assert len(bridged) == 10
    assert not any(token["is_active"] for token in bridged)


def test_the_stablecoins_of_bnb_smart_chain_have_eighteen_decimals() -> None:
    [bnb] = [chain for chain in MAINNET if chain["id"] == 56]
    decimals = {token["symbol"]: token["decimals"] for token in bnb["tokens"]}
    assert (decimals["USDC"], decimals["USDT"]) == (18, 18)
    others = [
        t["decimals"]
        for c in MAINNET
        if c["id"] != 56
        for t in c["tokens"]
        if t["symbol"] in ("USDC", "USDT")
    ]
    assert set(others) == {6}


def test_no_key_of_a_node_can_end_up_in_the_database() -> None:
    urls = [url for path in FILES for chain in chains_of(path) for url in chain["rpc_urls"]]
    assert all(url.startswith("env:") for url in urls)
    assert len(urls) == len(set(urls)) == 36
