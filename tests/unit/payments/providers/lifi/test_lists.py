"""LI.FI's lists are filtered: valid entries on our chains are used, and tokens that it flags as harmful are not."""

from decimal import Decimal
from typing import Any

import pytest

from payments.providers.base import ListedToken, ProviderDown
from payments.providers.lifi.client import LifiProvider
from tests.loopback import Exchange, Scripted, scripted
from tests.support.routing.lifi_world import ARBITRUM, BASE, KEY, NATIVE, SOLANA, USDC, USDT, token

CHAINS = {"chains": [{"id": ARBITRUM, "chainType": "EVM"}, {"id": BASE}, {"id": SOLANA, "chainType": "SVM"}]}
WRAPPED_SOL = "So11111111111111111111111111111111111111112"


def listing(tokens: Any, chains: Any = CHAINS) -> Any:
    def behave(exchange: Exchange) -> None:
        answer = chains if exchange.path == "/v1/chains" else tokens
        http_status, body = answer if isinstance(answer, tuple) else (200, answer)
        exchange.reply(body, http_status)

    return scripted(behave, path="/v1")


def listed(server: Scripted, *chain_ids: int) -> list[ListedToken]:
    return LifiProvider(server.url, KEY, "quittance").tokens(chain_ids or (ARBITRUM,))


def test_tokens_come_with_their_prices() -> None:
    tokens = {
        "tokens": {
            str(ARBITRUM): [token(ARBITRUM, USDT.lower(), "USDT"), token(ARBITRUM, NATIVE, "ETH", 18)],
            str(SOLANA): [token(SOLANA, "1" * 32, "SOL", 9), token(SOLANA, WRAPPED_SOL, "wSOL", 9)],
        }
    }
    with listing(tokens) as server:
        found = listed(server, ARBITRUM, SOLANA)
        asked = server.heard[-1]
    assert asked.query == {"chains": f"{ARBITRUM},{SOLANA}", "chainTypes": "EVM,SVM"}
    assert found[0] == ListedToken(
        ARBITRUM, USDT, "USDT", "USDT", 6, Decimal("1.0004"), "https://icons.example/usdt.svg"
    )
    assert [(each.chain_id, each.token, each.symbol) for each in found] == [
        (ARBITRUM, USDT, "USDT"),
        (ARBITRUM, "", "ETH"),
        (SOLANA, "", "SOL"),
        (SOLANA, WRAPPED_SOL, "wSOL"),
    ]


def test_only_served_chains_are_queried_and_looked_up_once() -> None:
    with listing({"tokens": {}}) as server:
        provider = LifiProvider(server.url, KEY, "quittance")
        assert provider.tokens([ARBITRUM, 31337]) == []
        assert provider.tokens([31337]) == []
        assert provider.tokens([BASE, ARBITRUM]) == []
        assert server.paths() == ["/v1/chains", "/v1/tokens", "/v1/tokens"]
        assert [asked.query.get("chains") for asked in server.heard] == [None, "42161", "8453,42161"]
        assert server.heard[0].query == {"chainTypes": "EVM,SVM"}


@pytest.mark.parametrize(
    "chains", [(500, {}), (404, {}), [], {"chains": "all"}, {"chains": None}, {"chains": []}]
)
def test_unknown_chain_list_queries_all_our_chains(chains: Any) -> None:
    with listing({"tokens": {str(ARBITRUM): [token(ARBITRUM, USDT)]}}, chains) as server:
        assert [each.token for each in listed(server)] == [USDT]


def test_invalid_tokens_are_left_out_of_the_list() -> None:
    tokens: list[Any] = [
        None,
        5,
        {},
        token(BASE, USDT),
        token(ARBITRUM, "0x1234"),
        token(ARBITRUM, USDT[:-1] + "0"),
        token(ARBITRUM, "0x0000000000000000000000000000000000000001"),
        token(ARBITRUM, USDC, decimals=-1),
        token(ARBITRUM, USDC, decimals=37),
        token(ARBITRUM, USDC, decimals="6"),  # type: ignore[arg-type]
        token(ARBITRUM, USDC, symbol="\u202e\x00"),
        token(ARBITRUM, USDC, verificationStatus="flagged"),
        token(ARBITRUM, USDT, verificationStatus="unverified"),
    ]
    with listing({"tokens": {str(ARBITRUM): tokens, "8453": "none"}}) as server:
        assert [each.token for each in listed(server, ARBITRUM, BASE)] == [USDT]


def test_names_are_fit_for_a_page() -> None:
    odd = token(ARBITRUM, USDT, symbol="US\u202eD\u200bT\n" + "x" * 99)
    odd["name"] = "<b>Tether\x07</b>  \u2066" + "y" * 999
    odd["logoURI"] = "javascript:alert(1)"
    with listing({"tokens": {str(ARBITRUM): [odd]}}) as server:
        (found,) = listed(server)
    assert found.symbol == ("USDT " + "x" * 99)[:32]
    assert found.name == ("<b>Tether</b> " + "y" * 999)[:100]
    assert found.logo_url is None


@pytest.mark.parametrize(
    ("said", "price"),
    [
        ("0.99981", Decimal("0.99981")),
        ("1.2e-7", Decimal("1.2e-7")),
        (0.5, Decimal("0.5")),
        ("0", None),
        ("NaN", None),
        ("1e999999", None),
        (1e300, None),
        (None, None),
    ],
)
def test_a_price_that_makes_no_sense_is_not_known(said: Any, price: Decimal | None) -> None:
    with listing({"tokens": {str(ARBITRUM): [token(ARBITRUM, USDT, priceUSD=said)]}}) as server:
        (found,) = listed(server)
    assert found.usd == price


@pytest.mark.parametrize("tokens", [(500, {}), (404, {}), [], "none", {"tokens": []}, None])
def test_response_that_is_no_list_is_invalid(tokens: Any) -> None:
    with listing(tokens) as server, pytest.raises(ProviderDown):
        listed(server)
