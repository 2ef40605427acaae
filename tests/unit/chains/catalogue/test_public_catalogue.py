"""The public lists of chains and tokens need no key. They don't include what is switched off."""

import pytest

from chains.models import Chain, Token
from tests.conftest import Api

CHAINS = "/api/public/chains"


@pytest.fixture
def inactive(db: None) -> Chain:
    chain = Chain.objects.create(
        id=10, name="OP Mainnet", chain_type="evm", is_active=False, native_symbol="ETH"
    )
    Token.objects.create(chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="")
    return chain


@pytest.fixture
def solana(db: None) -> Chain:
    return Chain.objects.create(id=1151111081099710, name="Solana", chain_type="solana", native_symbol="SOL")


def test_active_chains_are_a_plain_array_of_exactly_four_fields(
    public: Api, chain: Chain, inactive: Chain, solana: Chain
) -> None:
    response = public.get(CHAINS)
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json() == [
        {"id": 31337, "name": "Local Chain", "chain_type": "evm", "is_active": True},
        {"id": 1151111081099710, "name": "Solana", "chain_type": "solana", "is_active": True},
    ]


def test_active_tokens_are_a_plain_array_of_exactly_five_fields(
    public: Api, chain: Chain, usdc: Token, dai: Token, ether: Token
) -> None:
    Token.objects.filter(pk=dai.pk).update(is_active=False)
    assert public.get(f"{CHAINS}/{chain.id}/tokens").json() == [
        {
            "id": usdc.id,
            "symbol": "USDC",
            "name": "USD Coin",
            "decimals": 6,
            "contract_address": usdc.contract_address,
        },
        {"id": ether.id, "symbol": "ETH", "name": "Ether", "decimals": 18, "contract_address": ""},
    ]


def test_empty_catalogue_and_chain_without_tokens_return_arrays(public: Api, solana: Chain) -> None:
    assert public.get(f"{CHAINS}/{solana.id}/tokens").json() == []
    Chain.objects.all().delete()
    assert public.get(CHAINS).json() == []


@pytest.mark.parametrize(
    "chain_id",
    ["1", "10", "9223372036854775808", "9" * 5000, "-1", "1.0", "ethereum", "1%00", "１", "%ff"],
)
def test_tokens_of_any_other_chain_are_a_json_404(
    public: Api, chain: Chain, inactive: Chain, chain_id: str
) -> None:
    response = public.get(f"{CHAINS}/{chain_id}/tokens")
    assert (response.status_code, response["Content-Type"]) == (404, "application/json")
    assert response.json()["error"]["code"] == "resource_missing"


def test_catalogue_responses_are_cacheable(public: Api, chain: Chain) -> None:
    for path in (CHAINS, f"{CHAINS}/{chain.id}/tokens"):
        response = public.get(path)
        assert response["Cache-Control"] == "public, max-age=60"
        assert "Set-Cookie" not in response
        assert "Cookie" not in response.get("Vary", "")
