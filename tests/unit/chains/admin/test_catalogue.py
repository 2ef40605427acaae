"""The portal switches chains and tokens on and off.

It can't change columns that would alter existing requests' amounts.
"""

from collections.abc import Callable

import pytest
from django.test import Client

from chains.models import Chain, Token

NODE = "https://node.example/v2/provider-key"


@pytest.fixture
def listed(db: None) -> Token:
    chain = Chain.objects.create(
        id=8453, name="Base", chain_type="evm", native_symbol="ETH", rpc_urls=[NODE], confirmations="5"
    )
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x" + "1" * 40
    )


def test_switching_off_a_token_keeps_its_decimals_and_contract(admin_client: Client, listed: Token) -> None:
    change = {
        "name": "USD Coin",
        "trailing_data": "on",
        "decimals": "18",
        "contract_address": "",
        "chain": "1",
    }
    assert admin_client.post(f"/admin/chains/token/{listed.pk}/change/", change).status_code == 302
    changed = Token.objects.get()
    assert not changed.is_active
    assert (changed.decimals, changed.contract_address, changed.chain_id) == (
        6,
        listed.contract_address,
        8453,
    )


def test_a_chain_is_switched_off_and_keeps_its_type(admin_client: Client, listed: Token) -> None:
    change = {
        "name": "Base",
        "block_time_ms": "2000",
        "chain_type": "solana",
        "id": "1",
        "confirmations": "0",
    }
    assert admin_client.post("/admin/chains/chain/8453/change/", change).status_code == 302
    changed = Chain.objects.get()
    assert not changed.is_active
    assert (changed.id, changed.chain_type, changed.confirmations) == (8453, "evm", "5")
    assert changed.rpc_urls == [NODE]


def test_node_urls_are_for_those_who_may_change_them(
    admin_client: Client, staff: Callable[..., Client], listed: Token
) -> None:
    page = "/admin/chains/chain/8453/change/"
    assert NODE in admin_client.get(page).content.decode()
    looking = staff("chains.view_chain").get(page)
    assert looking.status_code == 200
    assert "provider-key" not in looking.content.decode()


def test_price_feeds_and_what_prices_a_token_are_shown(
    admin_client: Client, listed: Token, staff: Callable[..., Client]
) -> None:
    chain = listed.chain
    page, token_page = f"/admin/chains/chain/{chain.pk}/change/", f"/admin/chains/token/{listed.pk}/change/"
    assert "no price: requests need an amount" in admin_client.get(token_page).content.decode()
    chain.feeds = [{"pair": "ETH/USD", "address": "0x" + "5" * 40, "heartbeat": 3600}]
    chain.explorer_url = "https://basescan.example"
    chain.save()
    Token.objects.update(price_as="USDC")
    for client in (admin_client, staff("chains.view_chain", "chains.view_token")):
        shown = client.get(page).content.decode()
        assert "ETH/USD" in shown
        assert "https://basescan.example/address/0x" + "5" * 40 in shown
        assert "at least every 3,600 s" in shown
        token_shown = client.get(token_page).content.decode()
        assert "Priced as" in token_shown
        assert "USDC" in token_shown.partition("Priced as")[2][:400]
        assert "no price" not in token_shown
