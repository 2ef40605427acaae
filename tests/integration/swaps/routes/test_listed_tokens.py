"""Tokens that only a provider lists: customers can pay with them, but requests can't be for them."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from chains.client import TokenMetadata
from chains.families.evm.client import EvmClient
from chains.models import LISTED, Chain, Token
from demo.services.anvil import CHAIN_ID
from payments.models import Quote, Route
from tests.conftest import Api
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.paying import Customer, code, quotes_asked
from tests.support.swaps.world import EURC, SwapWorld


@pytest.fixture
def customer(new_customer: NewCustomer, swap_world: SwapWorld) -> Customer:
    """A customer who pays USDC on the second chain."""
    return new_customer(swap_world.token(swap_world.second_row, "USDC"))


def eurc() -> Token:
    return Token.objects.get(contract_address=EURC)


def test_listed_token_gets_its_row_with_the_first_route(customer: Customer, swap_world: SwapWorld) -> None:
    for address in (EURC, EURC.lower()):
        route = customer.routes(address, swap_world.first_row)[0]
        assert route["from"]["token"]["symbol"] == "EURC"
        assert route["from"]["token"]["contract_address"] == EURC
        assert route["from"]["token"]["id"] is None
    assert (eurc().is_active, eurc().tags, eurc().decimals, eurc().name) == (False, [LISTED], 6, "Euro Coin")
    assert Route.objects.filter(token=eurc()).exists()


def test_its_decimals_are_what_its_own_contract_says(
    customer: Customer, swap_world: SwapWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EvmClient, "token_metadata", lambda *_: [TokenMetadata("EURC", 9)])
    customer.routes(EURC, swap_world.first_row)
    assert eurc().decimals == 9


def test_it_is_not_in_public_lists_and_cannot_be_asked_for(
    customer: Customer, swap_world: SwapWorld, public: Api, api: Api
) -> None:
    customer.routes(EURC, swap_world.first_row)
    listed = public.get(f"/api/public/chains/{swap_world.first_row.pk}/tokens").json()
    assert EURC not in {token["contract_address"] for token in listed}
    order = {
        "amount": "1",
        "token_id": eurc().pk,
        "chain_id": eurc().chain_id,
        "recipient_address": customer.wallet,
    }
    assert code(api.post("/api/payment-requests", order), 400) == "token_unknown"
    assert code(customer.ask_routes(eurc()), 400) == "token_unknown", "it has no public id"


def test_no_choice_of_the_portal_shows_it(customer: Customer, swap_world: SwapWorld, client: Client) -> None:
    from django.contrib import admin
    from django.test import RequestFactory

    from chains.admin import TokenAdmin

    customer.routes(EURC, swap_world.first_row)
    request = RequestFactory().get("/")
    request.user = User(is_superuser=True, is_staff=True)
    chosen = TokenAdmin(Token, admin.site).get_queryset(request)
    assert EURC not in set(chosen.values_list("contract_address", flat=True))
    assert swap_world.first.usdc in set(chosen.values_list("contract_address", flat=True))


@pytest.mark.parametrize("is_active", [True, False])
def test_the_catalogue_may_take_it_over(
    customer: Customer, swap_world: SwapWorld, public: Api, tmp_path: Path, is_active: bool
) -> None:
    customer.routes(EURC, swap_world.first_row)
    before = eurc()
    first = Chain.objects.get(pk=CHAIN_ID)
    names = ("id", "name", "chain_type", "rpc_urls", "native_symbol", "block_time_ms", "routers")
    entry = {name: getattr(first, name) for name in names}
    token = {
        "symbol": "EURC",
        "name": "EURC",
        "decimals": 6,
        "contract_address": EURC,
        "is_active": is_active,
    }
    file = tmp_path / "catalogue.json"
    file.write_text(json.dumps({"chains": [{**entry, "confirmations": 1, "tokens": [token]}]}))
    call_command("load_catalogue", str(file))
    after = eurc()
    assert (after.pk, after.is_active, after.tags) == (before.pk, is_active, [])
    listed = public.get(f"/api/public/chains/{CHAIN_ID}/tokens").json()
    assert (EURC in {each["contract_address"] for each in listed}) == is_active
    answer = customer.ask_routes(EURC, swap_world.first_row)
    if is_active:
        assert answer.json()["routes"][0]["from"]["token"]["id"] == after.pk
    else:
        assert code(answer, 400) == "token_unknown", (
            "switched off in the catalogue, it is for nobody to pay with"
        )


def test_token_off_in_the_catalogue_is_not_used_from_a_list(
    customer: Customer, swap_world: SwapWorld, public: Api
) -> None:
    dai = swap_world.token(swap_world.first_row, "DAI")
    Token.objects.filter(pk=dai.pk).update(is_active=False)
    assert code(customer.ask_routes(dai), 400) == "token_unknown"
    assert code(customer.ask_routes(dai.contract_address, swap_world.first_row), 400) == "token_unknown"
    assert quotes_asked(swap_world) == 0
    found = public.post("/api/public/discover-wallet-tokens", {"wallet_address": customer.wallet}).json()
    on_first = {t["token"]["symbol"] for t in found["tokens"] if t["chain_id"] == dai.chain_id}
    assert "DAI" not in on_first
    assert "EURC" in on_first


@pytest.mark.parametrize(
    "address",
    [
        "0x000000000000000000000000000000000000dEaD",
        "0x0000000000000000000000000000000000000000",
        "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM",
        "0x" + "12" * 19,
    ],
)
def test_what_nobody_lists_is_unknown_and_leaves_nothing(
    customer: Customer, swap_world: SwapWorld, address: str
) -> None:
    tokens = Token.objects.count()
    answer = customer.ask_routes(address, swap_world.first_row)
    assert code(answer, 400) == "token_unknown"
    assert answer.json()["error"]["param"] == "token_address"
    assert Token.objects.count() == tokens
    assert quotes_asked(swap_world) == 0


def test_without_a_route_there_is_no_row(customer: Customer, swap_world: SwapWorld) -> None:
    swap_world.aggregator.set(quote="no_quote")
    assert customer.ask_routes(EURC, swap_world.first_row).json()["routes"] == []
    assert not Token.objects.filter(contract_address=EURC).exists()
    assert not Quote.objects.exists()


def test_without_a_node_that_tells_its_decimals_nobody_is_asked(
    customer: Customer, swap_world: SwapWorld
) -> None:
    Chain.objects.filter(pk=swap_world.first_row.pk).update(rpc_urls=["http://127.0.0.1:9"])
    assert code(customer.ask_routes(EURC, swap_world.first_row), 503) == "node_unavailable"
    assert not Token.objects.filter(contract_address=EURC).exists()
    assert quotes_asked(swap_world) == 0
