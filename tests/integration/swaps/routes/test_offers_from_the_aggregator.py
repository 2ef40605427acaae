"""LI.FI's adapter reads the local aggregator's offers, and our checks accept or reject them."""

from decimal import Decimal

import pytest

from payments.providers.base import NoOffer, Offer, Order, ProviderDown, Side, Wanted
from payments.providers.lifi.client import LifiProvider
from payments.providers.offer_checks import OfferRefused, Rules, accept
from tests.support.swaps.world import EVM_ROUTERS, SOLANA_ROUTERS, SwapWorld

ASKED = 12_500_000
CROOKED = [
    "other_recipient",
    "other_token",
    "other_chain",
    "other_sender",
    "minimum_too_low",
    "unknown_router",
    "unknown_spender",
    "no_id",
    "other_receiver_in_call",
    "too_much_value",
    "absurd_price",
    "malformed",
    "empty",
    "wrong_types",
    "several_transactions",
]


def asked(world: SwapWorld, token: str = "DAI", *, on_one_chain: bool = False) -> Wanted:
    """Return a request for a quote: USDC for a token of the first chain."""
    target = world.first_row if on_one_chain else world.second_row
    return Wanted(
        Side(world.first_row.pk, world.token(world.first_row, token).contract_address, world.first.payer),
        Side(target.pk, world.first.usdc, world.first.recipient),
        ASKED,
    )


def offered(world: SwapWorld, wanted: Wanted) -> Offer:
    """Return the offer that LI.FI's adapter reads from the aggregator. Raises NoOffer and ProviderDown."""
    return LifiProvider(world.aggregator.url, "", "quittance").quote(wanted)


def evaluate(offer: Offer, wanted: Wanted, *, from_solana: bool = False, to_solana: bool = False) -> None:
    routers = SOLANA_ROUTERS if from_solana else EVM_ROUTERS
    kinds = ["solana" if flag else "evm" for flag in (from_solana, to_solana)]
    accept(offer, wanted, Rules(*kinds, frozenset(routers["lifi"]), Decimal("0.1"), True, {}))


@pytest.mark.parametrize("packed", [False, True], ids=["bridge-data", "packed"])
@pytest.mark.parametrize("token", ["ETH", "DAI", "USDT"])
def test_an_honest_bridge_is_accepted(swap_world: SwapWorld, token: str, packed: bool) -> None:
    swap_world.aggregator.set(packed=packed)
    wanted = asked(swap_world, token)
    offer = offered(swap_world, wanted)
    evaluate(offer, wanted)
    assert offer.must_reset_approval == (token == "USDT")
    assert (offer.spender is None) == (token == "ETH")


@pytest.mark.parametrize("token", ["ETH", "DAI"])
def test_an_honest_swap_on_one_chain_is_accepted(swap_world: SwapWorld, token: str) -> None:
    wanted = asked(swap_world, token, on_one_chain=True)
    evaluate(offered(swap_world, wanted), wanted)


def test_the_fast_way_is_another_than_the_cheap_one(swap_world: SwapWorld) -> None:
    wanted = asked(swap_world)
    cheap = offered(swap_world, wanted)
    fast = offered(swap_world, Wanted(wanted.source, wanted.target, wanted.amount, Order.FASTEST))
    assert fast.amount_in > cheap.amount_in
    assert (fast.duration_seconds or 0) < (cheap.duration_seconds or 0)


def test_honest_ways_to_and_from_solana_are_accepted(swap_world: SwapWorld) -> None:
    if swap_world.solana is None or swap_world.solana_row is None:
        pytest.skip("Surfnet has no build for this machine.")
    here = asked(swap_world).source
    there = Side(swap_world.solana_row.pk, swap_world.solana.usdc, swap_world.solana.payer)
    outward = Wanted(here, there, ASKED)
    evaluate(offered(swap_world, outward), outward, to_solana=True)
    for paid in (there, Side(there.chain_id, "", there.account)):
        inward = Wanted(paid, asked(swap_world).target, ASKED)
        evaluate(offered(swap_world, inward), inward, from_solana=True)


@pytest.mark.parametrize("fault", CROOKED)
def test_no_crooked_quote_is_accepted(swap_world: SwapWorld, fault: str) -> None:
    swap_world.aggregator.set(quote=fault)
    wanted = asked(swap_world)
    with pytest.raises((OfferRefused, ProviderDown)):
        evaluate(offered(swap_world, wanted), wanted)


@pytest.mark.parametrize("fault", ["other_receiver_in_call", "other_minimum_in_call"])
def test_no_crooked_call_of_a_swap_on_one_chain_is_accepted(swap_world: SwapWorld, fault: str) -> None:
    swap_world.aggregator.set(quote=fault)
    wanted = asked(swap_world, on_one_chain=True)
    with pytest.raises(OfferRefused):
        evaluate(offered(swap_world, wanted), wanted)


@pytest.mark.parametrize("fault", ["no_quote", "filtered_out"])
def test_a_refusal_to_quote_is_an_answer(swap_world: SwapWorld, fault: str) -> None:
    swap_world.aggregator.set(quote=fault, tool_error="AMOUNT_TOO_LOW")
    with pytest.raises(NoOffer, match="amount_too_low"):
        offered(swap_world, asked(swap_world))


@pytest.mark.parametrize("fault", ["rate_limited", "server_error", "third_party", "unauthorized"])
def test_a_broken_aggregator_is_down(swap_world: SwapWorld, fault: str) -> None:
    swap_world.aggregator.set(quote=fault)
    with pytest.raises(ProviderDown):
        offered(swap_world, asked(swap_world))


def test_its_tokens_have_prices_on_every_chain(swap_world: SwapWorld) -> None:
    rows = (swap_world.first_row, swap_world.second_row, swap_world.solana_row)
    ids = [row.pk for row in rows if row is not None]
    listed = LifiProvider(swap_world.aggregator.url, "", "quittance").tokens(ids)
    assert {token.chain_id for token in listed} == set(ids)
    assert all(token.usd and token.usd > 0 for token in listed)
