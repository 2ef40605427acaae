"""A wallet's balances on each chain, with prices. They are read in parallel, even if a chain or the prices fail."""

import time
from decimal import Decimal
from typing import Any

import pytest
from eth_account import Account
from limits import parse

from chains.models import Chain, Token
from checkout.wallets import chain_balances
from payments.models import PaymentRequest
from tests.conftest import Api
from tests.support.chains.faulty_node import Exchange, serving
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.paying import Customer, code
from tests.support.swaps.world import EURC, SwapWorld

DISCOVER = "/api/public/discover-wallet-tokens"
SOLANA_WALLET = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"


@pytest.fixture
def customer(new_customer: NewCustomer, swap_world: SwapWorld) -> Customer:
    """A customer with large balances and a request of 10.50 USDC on the second chain."""
    Token.objects.filter(symbol__in=("USDC", "USDT", "DAI")).update(tags=["stablecoin"])
    return new_customer(swap_world.token(swap_world.second_row, "USDC"))


def essential(customer: Customer, **different: Any) -> dict[str, Any]:
    question = {"wallet_address": customer.wallet, **different}
    answer = customer.public.post(f"{customer.page}/balances/essential", question)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def discover(public: Api, wallet: str, **different: Any) -> dict[str, Any]:
    answer = public.post(DISCOVER, {"wallet_address": wallet, **different})
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def places(entries: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(entry["chain_id"], entry["token"]["symbol"]) for entry in entries]


def test_requested_token_comes_first_and_the_rest_by_value(customer: Customer, swap_world: SwapWorld) -> None:
    told = essential(customer)
    first, second = swap_world.first_row.pk, swap_world.second_row.pk
    assert told["unavailable"] == []
    assert told["balances"][0]["is_requested"]
    assert places(told["balances"])[0] == (second, "USDC")
    assert set(places(told["balances"])) == {
        (chain, symbol) for chain in (first, second) for symbol in ("USDC", "USDT", "DAI", "ETH")
    }
    values = [Decimal(each["usd"]) for each in told["balances"][1:]]
    assert values == sorted(values, reverse=True)
    assert all(each["sufficient"] for each in told["balances"])
    assert [each["is_requested"] for each in told["balances"]].count(True) == 1
    ether = next(each for each in told["balances"] if places([each]) == [(first, "ETH")])
    held = int(swap_world.first.rpc("eth_getBalance", customer.wallet, "latest"), 16)
    assert ether["balance"]["raw"] == str(held)
    assert ether["usd"] == f"{Decimal(held) * 2500 / 10**18:.2f}"


def test_tokens_that_are_no_stablecoins_need_discovery(customer: Customer, swap_world: SwapWorld) -> None:
    Token.objects.filter(symbol="DAI").update(tags=[])
    assert "DAI" not in {symbol for _, symbol in places(essential(customer)["balances"])}
    assert EURC not in {each["token"]["contract_address"] for each in essential(customer)["balances"]}


def test_what_the_wallet_has_too_little_of_is_not_sufficient(
    new_customer: NewCustomer, swap_world: SwapWorld
) -> None:
    Token.objects.filter(symbol__in=("USDC", "DAI")).update(tags=["stablecoin"])
    wallet = Account.create().address
    swap_world.first.transfer(swap_world.first.usdc, wallet, 10_499_999)
    swap_world.first.transfer(swap_world.first.dai, wallet, 11 * 10**18)
    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"), wallet=wallet)
    first = swap_world.first_row.pk
    told = essential(customer)["balances"]
    sufficient = dict(zip(places(told), (each["sufficient"] for each in told), strict=True))
    assert sufficient[first, "DAI"]
    assert not sufficient[first, "USDC"]
    assert not sufficient[first, "ETH"], "there is none"
    assert not sufficient[swap_world.second_row.pk, "USDC"]
    PaymentRequest.objects.filter(pk=customer.order["id"]).update(amount_paid=1_000_000)
    assert all(
        each["sufficient"] for each in essential(customer)["balances"] if places([each]) == [(first, "USDC")]
    ), "what remains counts"


def test_without_prices_usd_is_null_and_any_balance_suffices(customer: Customer, settings: Any) -> None:
    settings.ROUTING_PROVIDERS = []
    told = essential(customer)
    assert {each["usd"] for each in told["balances"]} == {None}
    assert all(each["sufficient"] for each in told["balances"])
    found = discover(customer.public, customer.wallet)
    assert {(each["usd"], each["price_usd"]) for each in found["tokens"]} == {(None, None)}


def test_discovery_lists_all_tokens_by_descending_value(customer: Customer, swap_world: SwapWorld) -> None:
    found = discover(customer.public, customer.wallet)
    assert found["unavailable"] == []
    on_first = [each for each in found["tokens"] if each["chain_id"] == swap_world.first_row.pk]
    assert {each["token"]["symbol"] for each in on_first} == {"ETH", "USDC", "DAI", "USDT", "EURC"}
    values = [Decimal(each["usd"]) for each in found["tokens"]]
    assert values == sorted(values, reverse=True)
    euro = next(each for each in on_first if each["token"]["symbol"] == "EURC")
    assert (euro["token"]["id"], euro["price_usd"], euro["logo_url"]) == (None, "1.08", None)
    assert euro["chain"]["name"] == "Local Chain"
    assert not Token.objects.filter(contract_address=EURC).exists(), "looking makes no rows"


def test_discovery_leaves_out_what_the_wallet_has_none_of(swap_world: SwapWorld, public: Api) -> None:
    wallet = Account.create().address
    assert discover(public, wallet)["tokens"] == []
    swap_world.first.transfer(EURC, wallet, 7)
    (only,) = discover(public, wallet)["tokens"]
    assert (only["token"]["symbol"], only["balance"]["raw"]) == ("EURC", "7")


def test_an_evm_wallet_is_looked_up_on_evm_chains_alone(customer: Customer, swap_world: SwapWorld) -> None:
    evm = {swap_world.first_row.pk, swap_world.second_row.pk}
    for entries in (essential(customer)["balances"], discover(customer.public, customer.wallet)["tokens"]):
        assert {each["chain_id"] for each in entries} == evm


def test_a_solana_wallet_is_looked_up_on_solana_alone(
    new_customer: NewCustomer, swap_world: SwapWorld, public: Api
) -> None:
    if swap_world.solana is None or swap_world.solana_row is None:
        pytest.skip("Surfnet has no build for this machine.")
    wallet = swap_world.solana.payer
    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"), wallet=wallet)
    told = essential(customer)
    assert set(places(told["balances"])) == {
        (swap_world.solana_row.pk, "SOL"),
        (swap_world.solana_row.pk, "USDC"),
    }
    assert not any(each["is_requested"] for each in told["balances"])
    found = discover(public, wallet)["tokens"]
    assert {each["chain_id"] for each in found} == {swap_world.solana_row.pk}
    assert all(Decimal(each["usd"]) > 0 for each in found)


def test_chain_ids_choose_the_chains(customer: Customer, swap_world: SwapWorld) -> None:
    first = swap_world.first_row.pk
    assert {chain for chain, _ in places(essential(customer, chain_ids=[first, first])["balances"])} == {
        first
    }
    assert {
        chain for chain, _ in places(discover(customer.public, customer.wallet, chain_ids=[first])["tokens"])
    } == {first}


@pytest.mark.parametrize("path", ["essential", "discover"])
@pytest.mark.parametrize(
    ("different", "expected", "param"),
    [
        ({"chain_ids": [5]}, "chain_unknown", "chain_ids"),
        ({"chain_ids": [-1]}, "chain_unknown", "chain_ids"),
        ({"chain_ids": [2**80]}, "chain_unknown", "chain_ids"),
        ({"chain_ids": []}, "parameter_invalid", "chain_ids"),
        ({"chain_ids": [31337] * 101}, "parameter_invalid", "chain_ids"),
        ({"chain_ids": 31337}, "parameter_invalid", "chain_ids"),
        ({"chain_ids": ["31337"]}, "parameter_invalid", "chain_ids.0"),
        ({"chain_ids": {"31337": True}}, "parameter_invalid", "chain_ids"),
        ({"wallet_address": SOLANA_WALLET, "chain_ids": [31337]}, "address_invalid", "wallet_address"),
        ({"wallet_address": "0x12"}, "address_invalid", "wallet_address"),
        ({"wallet_address": "somebody"}, "address_invalid", "wallet_address"),
        ({"wallet_address": None}, "parameter_missing", "wallet_address"),
        ({"wallet_address": ""}, "address_invalid", "wallet_address"),
        ({"wallet": "0x12"}, "parameter_unknown", "wallet"),
    ],
)
def test_bad_questions(
    customer: Customer, path: str, different: dict[str, Any], expected: str, param: str
) -> None:
    at = f"{customer.page}/balances/essential" if path == "essential" else DISCOVER
    answer = customer.public.post(at, {"wallet_address": customer.wallet, **different})
    assert code(answer, 400) == expected
    assert answer.json()["error"]["param"] == param


def test_an_inactive_chain_is_not_looked_at(customer: Customer, swap_world: SwapWorld) -> None:
    first = swap_world.first_row.pk
    Chain.objects.filter(pk=first).update(is_active=False)
    assert first not in {chain for chain, _ in places(essential(customer)["balances"])}
    answer = customer.public.post(DISCOVER, {"wallet_address": customer.wallet, "chain_ids": [first]})
    assert code(answer, 400) == "chain_unknown"


def test_a_dead_chain_is_named_and_the_others_are_told(customer: Customer, swap_world: SwapWorld) -> None:
    first, second = swap_world.first_row.pk, swap_world.second_row.pk
    Chain.objects.filter(pk=first).update(rpc_urls=["http://127.0.0.1:9"])
    dead = [{"chain_id": first, "code": "node_unavailable"}]
    told = essential(customer)
    assert told["unavailable"] == dead
    assert {chain for chain, _ in places(told["balances"])} == {second}
    found = discover(customer.public, customer.wallet)
    assert found["unavailable"] == dead
    assert {chain for chain, _ in places(found["tokens"])} == {second}


def test_a_chain_without_any_node_is_dead_too(customer: Customer, swap_world: SwapWorld) -> None:
    Chain.objects.filter(pk=swap_world.first_row.pk).update(rpc_urls=[])
    assert [each["chain_id"] for each in essential(customer)["unavailable"]] == [swap_world.first_row.pk]


def test_a_slow_chain_holds_nobody_up_however_many_ask(
    customer: Customer, swap_world: SwapWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_balances, "DEADLINE_SECONDS", 0.5)
    slow = swap_world.first_row

    def hang(exchange: Exchange) -> None:
        node.released.wait(10)
        exchange.send(503, b"")

    with serving(hang) as node:
        Chain.objects.filter(pk=slow.pk).update(rpc_urls=[node.url])
        for _ in range(3):
            begun = time.monotonic()
            told = essential(customer)
            assert time.monotonic() - begun < 10
            assert told["unavailable"] == [{"chain_id": slow.pk, "code": "node_unavailable"}]
            assert {chain for chain, _ in places(told["balances"])} == {swap_world.second_row.pk}
        node.released.set()


def test_balances_count_as_expensive_calls(customer: Customer, settings: Any) -> None:
    settings.RATE_LIMIT_EXPENSIVE = parse("2/minute")
    question = {"wallet_address": customer.wallet}
    for _ in range(2):
        essential(customer)
    answer = customer.public.post(f"{customer.page}/balances/essential", question)
    assert code(answer, 429) == "rate_limited"
    found = [customer.public.post(DISCOVER, question).status_code for _ in range(3)]
    assert found == [200, 200, 429], "it is about no request, and counted apart"
    assert code(customer.public.post("/api/public/check-approval", {"route_id": "rt_x"}), 404)
