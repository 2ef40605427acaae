"""The product's own catalogues load, and every address in them has a correct checksum."""

import json
from pathlib import Path
from typing import Any

import pytest
from eth_utils.address import is_checksum_address
from solders.pubkey import Pubkey

from chains.families.evm.authorizations.typed_data import domain_separator
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


# The results of `DOMAIN_SEPARATOR()` of these contracts, as others read them from the chains and published
# them.
SEPARATORS = {
    "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48": "06c37168a7db5138defc7866392bb87a741f9b3d104deb5094588ce041cae335",
    "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913": "02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f",
    "0xaf88d065e77c8cC2239327C5EDb3A432268e5831": "08d11903f8419e68b1b8721bcbe2e9fc68569122a77ef18c216f10b3b5112c78",
    "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85": "26d9c34bb1a1c312f69c53b2d93b8be20faafba63af2438c6811713c9b1f933f",
    "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359": "caa2ce1a5703ccbe253a34eb3166df60a705c561b44b192061e28f2a985be2ca",
    "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E": "bbea200329a938bc3438984a49cb0732e66d66d7bd59c127abacc1710e77f7b3",
    "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c": "99f188f447f0c6eaf68589359cd2ead8c2faaaaee984ab926fdb734d0040073b",
    "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42": "ec4dcbded0afd42599589b79220899bbe000bb5ea66d6f1bc176e78d094203bb",
    "0xC891EB4cbdEFf6e073e859e987815Ed1505c2ACD": "094e957ad84a5711a2d13ea2ddcfe3947fe1704472f07bf8a49718f55a65f4b1",
    "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238": "b90e5057db141a932946e64d09ccb7ffc9b00bd79fec26f698d29af0c83320a6",
    "0x036CbD53842c5426634e7929541eC2318f3dCF7e": "71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818",
    "0x5425890298aed601595a70AB815c96711a31Bc65": "fe9fa105a0e9629446730e544caa6b8d05d8d4fc93451750dc50e2ddd6d374b3",
}


@pytest.mark.django_db
def test_authorizations_have_the_domain_of_their_contracts() -> None:
    for path in FILES:
        load(path)
    separators = {
        each.contract_address: domain_separator(each.authorization_domain).hex()
        for each in Token.objects.all()
        if each.authorization_domain
    }
    assert separators == SEPARATORS


def test_sponsored_tokens_on_solana_are_those_of_circle() -> None:
    files = [json.loads(path.read_text(encoding="utf-8")) for path in FILES]
    tokens = [token for file in files for chain in file["chains"] for token in chain["tokens"]]
    rules = {"type": "solana"}
    assert {token["contract_address"] for token in tokens if token.get("authorization") == rules} == {
        "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
        "HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr",
        "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
    }


def test_nothing_bridged_can_be_chosen_by_mistake() -> None:
    bridged = [token for chain in MAINNET for token in chain["tokens"] if "bridged" in token["tags"]]
    assert len(bridged) == 10
    assert not any(token["is_active"] for token in bridged)


def test_only_bnb_smart_chain_stablecoins_have_18_decimals() -> None:
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
