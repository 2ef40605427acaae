"""The checkout's responses about swaps have exactly the fields that the API documents."""

import pytest

from chains.models import Token
from tests.conftest import Api
from tests.integration.api.test_openapi_answers import Described
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.world import EURC, SwapWorld


def test_swaps_are_answered_exactly_as_described(
    new_customer: NewCustomer, swap_world: SwapWorld, public: Api
) -> None:
    answer = Described()
    Token.objects.filter(symbol="USDC").update(tags=["stablecoin"])
    usdt = swap_world.token(swap_world.first_row, "USDT")
    swap_world.approve(swap_world.first, usdt.contract_address, 0)
    swap_world.approve(swap_world.first, usdt.contract_address, 3)
    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"))
    question = {"wallet_address": customer.wallet}

    answer("checkout.retrieve", public.get(customer.page))
    found = answer(
        "checkout.essential_balances", public.post(f"{customer.page}/balances/essential", question)
    )
    assert len(found["balances"]) == 4
    swap_world.first_row.rpc_urls = ["http://127.0.0.1:9"]
    swap_world.first_row.save(update_fields=["rpc_urls"])
    found = answer(
        "checkout.discover_wallet_tokens", public.post("/api/public/discover-wallet-tokens", question)
    )
    assert found["tokens"]
    assert found["unavailable"]
    swap_world.first_row.rpc_urls = [swap_world.first.url]
    swap_world.first_row.save(update_fields=["rpc_urls"])
    found = answer(
        "checkout.discover_wallet_tokens", public.post("/api/public/discover-wallet-tokens", question)
    )
    assert None in {each["token"]["id"] for each in found["tokens"]}

    for token in (usdt, EURC, swap_world.token(swap_world.first_row, "ETH")):
        answer("checkout.list_routes", customer.ask_routes(token, swap_world.first_row))
    swap_world.aggregator.set(quote="no_quote", tool_error="AMOUNT_TOO_LOW")
    assert answer("checkout.list_routes", customer.ask_routes(usdt))["reason"]
    swap_world.aggregator.set(quote="server_error")
    answer("checkout.list_routes", customer.ask_routes(usdt))
    swap_world.aggregator.set(quote="honest")

    route = answer("checkout.list_routes", customer.ask_routes(usdt))["routes"][0]
    approval = answer(
        "checkout.check_approval", public.post("/api/public/check-approval", {"route_id": route["id"]})
    )
    assert len(approval["transactions"]) == 2
    answer("checkout.build_transaction", customer.build(route))
    for unsigned in approval["transactions"]:
        swap_world.first.send(unsigned)
    built = answer("checkout.build_transaction", customer.build(route))
    assert built["binding"] == "provider"
    assert {("checkout.build_transaction", "409"), ("checkout.list_routes", "503")} <= answer.seen


def test_a_swap_from_solana_is_answered_as_described(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    if swap_world.solana is None or swap_world.solana_row is None:
        pytest.skip("Surfnet has no build for this machine.")
    answer = Described()
    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"), wallet=swap_world.solana.payer)
    token = swap_world.token(swap_world.solana_row, "SOL")
    route = answer("checkout.list_routes", customer.ask_routes(token))["routes"][0]
    assert route["gas"]["token"] == {"symbol": "SOL"}
    built = answer("checkout.build_transaction", customer.build(route))
    assert isinstance(built["transaction"], str)
