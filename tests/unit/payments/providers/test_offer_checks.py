"""The offers that a customer may see.

All seven checks are tested with offers that are honest except for one thing.
"""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from chains.client import SolanaTransaction
from chains.families import family_of
from payments.providers.base import Fee, Offer, Side, Wanted
from payments.providers.calldata import NOT_EVM
from payments.providers.offer_checks import OfferRefused, Price, Rules, accept
from tests.support.routing.offers import (
    BRIDGE,
    DAI_HERE,
    DEPOSIT,
    DEPOSITORY,
    HERE,
    ID,
    MERCHANT,
    MERCHANT_ON_SOLANA,
    NATIVE_FEE,
    PAYER,
    PRICES,
    ROUTER,
    RULES,
    RULES_TO_SOLANA,
    SOLANA,
    STRANGER,
    SWAP,
    THERE,
    TO_SOLANA,
    USDC_HERE,
    USDC_THERE,
    WANTED,
    WANTED_HERE,
    WANTED_ON_SOLANA,
    ZERO,
    bridge_data,
    calling,
    deposit_data,
    packed_data,
    swap_data,
)

OPAQUE = replace(RULES, allow_opaque=True)
OTHER_ID = bytes(reversed(ID))


@pytest.mark.parametrize(
    ("offer", "wanted"),
    [(BRIDGE, WANTED), (SWAP, WANTED_HERE), (DEPOSIT, WANTED)],
    ids=["bridge", "swap", "deposit"],
)
def test_an_honest_offer_is_accepted(offer: Offer, wanted: Wanted) -> None:
    accept(offer, wanted, RULES)


def test_native_coin_value_must_equal_amount_plus_fee() -> None:
    wanted = replace(WANTED, source=Side(HERE, "", PAYER))
    amount = 5 * 10**15
    offer = replace(BRIDGE, source=wanted.source, amount_in=amount, spender=None, fees=(NATIVE_FEE,))
    data = bridge_data(asset=ZERO, min_amount=amount)
    accept(calling(offer, data, value=amount + NATIVE_FEE.amount), wanted, RULES)
    for value in (amount - 1, amount + NATIVE_FEE.amount + 1):
        with pytest.raises(OfferRefused, match="value differs from the offer"):
            accept(calling(offer, data, value=value), wanted, RULES)


def test_a_swap_before_the_bridge_changes_which_token_is_bridged() -> None:
    swapped = bridge_data(asset=DAI_HERE, has_source_swaps=True, min_amount=10**30)
    accept(calling(BRIDGE, swapped), WANTED, RULES)


PROMISES: dict[str, tuple[Callable[[Offer], Offer], str]] = {
    "another chain": (lambda o: replace(o, target=replace(o.target, chain_id=10)), "on another chain"),
    "another token": (lambda o: replace(o, target=replace(o.target, token="")), "delivers another token"),
    "another recipient": (
        lambda o: replace(o, target=replace(o.target, account=STRANGER)),
        "another recipient",
    ),
    "the payer as recipient": (
        lambda o: replace(o, target=replace(o.target, account=PAYER)),
        "another recipient",
    ),
    "another payer": (lambda o: replace(o, source=replace(o.source, account=STRANGER)), "another wallet"),
    "another token to pay with": (
        lambda o: replace(o, source=replace(o.source, token=STRANGER)),
        "another wallet",
    ),
    "another chain to pay on": (
        lambda o: replace(o, source=replace(o.source, chain_id=10)),
        "another wallet",
    ),
    "less than is due": (lambda o: replace(o, amount_out_min=9_999_999), "guarantees less"),
    "less than it guarantees": (lambda o: replace(o, amount_out=9_999_999), "expects less"),
    "nothing taken": (lambda o: replace(o, amount_in=0), "debits nothing"),
    "a negative amount": (lambda o: replace(o, amount_in=-1), "debits nothing"),
    "a transaction for another chain": (lambda o: replace(o, action_chain_id=1), "for another chain"),
    "no id": (lambda o: replace(o, bound_by=b""), "no id of its own"),
    "a short id": (lambda o: replace(o, bound_by=ID[:8]), "no id of its own"),
    "an id of zeros": (lambda o: replace(o, bound_by=bytes(32)), "no id of its own"),
    "an id that its call does not carry": (lambda o: replace(o, bound_by=OTHER_ID), "does not carry its id"),
    "an unknown contract": (lambda o: calling(o, to=STRANGER), "does not pin"),
    "the token as contract": (lambda o: calling(o, to=o.source.token), "does not pin"),
    "an unknown spender": (lambda o: replace(o, spender=STRANGER), "not pinned either"),
    "native coin that was not offered": (lambda o: calling(o, value=1), "value differs"),
    "a fee in a token on top": (
        lambda o: replace(o, fees=(replace(NATIVE_FEE, token=USDC_HERE),)),
        "a fee that its transaction can't pay",
    ),
    "a fee on another chain": (
        lambda o: replace(o, fees=(replace(NATIVE_FEE, chain_id=THERE),)),
        "a fee that its transaction can't pay",
    ),
    "a negative fee": (
        lambda o: replace(o, fees=(replace(NATIVE_FEE, amount=-1),)),
        "a fee that its transaction can't pay",
    ),
}


@pytest.mark.parametrize("wrong", PROMISES)
def test_offer_that_differs_from_the_query_is_rejected(wrong: str) -> None:
    spoil, reason = PROMISES[wrong]
    with pytest.raises(OfferRefused, match=reason):
        accept(spoil(BRIDGE), WANTED, OPAQUE)


CALLS: dict[str, tuple[Offer, Wanted, bytes, str]] = {
    "bridging to another receiver": (BRIDGE, WANTED, bridge_data(receiver=STRANGER), "another receiver"),
    "bridging to the payer": (BRIDGE, WANTED, bridge_data(receiver=PAYER), "another receiver"),
    "bridging to another kind of chain": (BRIDGE, WANTED, bridge_data(receiver=NOT_EVM), "another receiver"),
    "bridging to another chain": (BRIDGE, WANTED, bridge_data(chain_id=10), "bridges to another chain"),
    "bridging another token": (BRIDGE, WANTED, bridge_data(asset=DAI_HERE), "bridges another token"),
    "bridging more": (BRIDGE, WANTED, bridge_data(min_amount=10_050_001), "bridges more than the offer"),
    "bridging instead of swapping": (SWAP, WANTED_HERE, bridge_data(), "both tokens are on one chain"),
    "swapping for another receiver": (SWAP, WANTED_HERE, swap_data(receiver=PAYER), "another receiver"),
    "swapping for less": (SWAP, WANTED_HERE, swap_data(min_amount_out=9_999_999), "less than is due"),
    "swapping for another token": (SWAP, WANTED_HERE, swap_data(token_out=DAI_HERE), "gives another token"),
    "swapping for native coin": (SWAP, WANTED_HERE, swap_data(token_out=ZERO), "gives another token"),
    "swapping another token": (SWAP, WANTED_HERE, swap_data(token_in=USDC_HERE), "debits another token"),
    "swapping more": (SWAP, WANTED_HERE, swap_data(amount_in=10**20), "debits more than the offer"),
    "swapping instead of bridging": (BRIDGE, WANTED, swap_data(), "swaps on the source chain"),
    "a swap of another quote": (SWAP, WANTED_HERE, swap_data(id=OTHER_ID) + ID, "another quote"),
    "depositing for another order": (DEPOSIT, WANTED, deposit_data(id=OTHER_ID) + ID, "another order"),
    "depositing for a stranger": (DEPOSIT, WANTED, deposit_data(depositor=STRANGER), "another account"),
    "depositing another token": (DEPOSIT, WANTED, deposit_data(token=DAI_HERE), "deposits another token"),
    "depositing more": (DEPOSIT, WANTED, deposit_data(amount=10_050_001), "another amount"),
    "half a bridge's call": (BRIDGE, WANTED, bridge_data()[:200], "malformed"),
    "half a swap's call": (SWAP, WANTED_HERE, swap_data()[:-64], "malformed"),
    "half a deposit": (DEPOSIT, WANTED, deposit_data()[:40] + ID, "malformed"),
}


@pytest.mark.parametrize("wrong", CALLS)
def test_known_call_that_does_something_else_is_rejected(wrong: str) -> None:
    offer, wanted, data, reason = CALLS[wrong]
    with pytest.raises(OfferRefused, match=reason):
        accept(calling(offer, data), wanted, OPAQUE)


@pytest.mark.parametrize(
    "data", [packed_data(), bytes.fromhex("deadbeef") + bytes(32) + ID], ids=["packed", "unknown"]
)
def test_unknown_call_is_offered_only_if_opaque_is_allowed(data: bytes) -> None:
    offer = calling(BRIDGE, data)
    accept(offer, WANTED, OPAQUE)
    with pytest.raises(OfferRefused, match="ALLOW_OPAQUE_ROUTES is off"):
        accept(offer, WANTED, RULES)


def test_packed_call_has_its_id_at_one_place() -> None:
    moved = packed_data()[:4] + b"\x00" + packed_data()[4:]
    with pytest.raises(OfferRefused, match="does not carry its id"):
        accept(calling(BRIDGE, moved), WANTED, OPAQUE)


def test_a_bridge_to_solana_names_the_receiver_in_its_own_data() -> None:
    named = bridge_data(
        receiver=NOT_EVM, chain_id=SOLANA, own=family_of("solana").address_bytes(MERCHANT_ON_SOLANA)
    )
    accept(calling(TO_SOLANA, named), WANTED_ON_SOLANA, RULES_TO_SOLANA)
    with pytest.raises(OfferRefused, match="does not name the receiver"):
        accept(TO_SOLANA, WANTED_ON_SOLANA, RULES_TO_SOLANA)
    accept(TO_SOLANA, WANTED_ON_SOLANA, replace(RULES_TO_SOLANA, allow_opaque=True))
    evm = bridge_data(
        receiver=MERCHANT, chain_id=SOLANA, own=family_of("solana").address_bytes(MERCHANT_ON_SOLANA)
    )
    with pytest.raises(OfferRefused, match="another kind of chain"):
        accept(calling(TO_SOLANA, evm), WANTED_ON_SOLANA, RULES_TO_SOLANA)


def test_action_for_another_chain_family_is_rejected() -> None:
    with pytest.raises(OfferRefused, match="another kind"):
        accept(replace(BRIDGE, action=SolanaTransaction(ID)), WANTED, OPAQUE)


@pytest.mark.parametrize("amount_in", [11_050_000, 10**12])
def test_loss_above_the_cap_by_our_prices_is_rejected(amount_in: int) -> None:
    offer = replace(BRIDGE, amount_in=amount_in)
    with pytest.raises(OfferRefused, match="loses too much"):
        accept(offer, WANTED, RULES)


def test_loss_above_the_cap_by_provider_prices_is_rejected() -> None:
    with pytest.raises(OfferRefused, match="loses too much"):
        accept(replace(BRIDGE, usd_in=Decimal("11.02")), WANTED, replace(RULES, prices={}))


def test_fee_on_top_is_valued_at_the_higher_of_two_prices() -> None:
    dear = replace(NATIVE_FEE, amount=10**15, usd=Decimal("0.01"))
    with pytest.raises(OfferRefused, match="loses too much"):
        accept(calling(replace(BRIDGE, fees=(dear,)), bridge_data(), value=10**15), WANTED, RULES)
    unlisted = replace(RULES, prices={})
    dear_by_its_word = replace(dear, usd=Decimal("2"))
    with pytest.raises(OfferRefused, match="loses too much"):
        accept(
            calling(replace(BRIDGE, fees=(dear_by_its_word,)), bridge_data(), value=10**15), WANTED, unlisted
        )


def test_the_cap_is_the_deployments_own() -> None:
    offer = replace(BRIDGE, amount_in=10_900_000, usd_in=Decimal("10.9"))
    accept(offer, WANTED, RULES)
    with pytest.raises(OfferRefused, match="loses too much"):
        accept(offer, WANTED, replace(RULES, max_lost=Decimal("0.05")))


def test_included_fee_is_not_counted_twice_as_loss() -> None:
    fee = Fee("LI.FI", "USDC", 6, HERE, USDC_HERE, 25_000, Decimal("0.025"), included=True)
    accept(replace(BRIDGE, fees=(fee,)), WANTED, RULES)


def test_prices_are_taken_for_the_very_token_and_chain() -> None:
    elsewhere: Rules = replace(
        RULES,
        prices={
            **PRICES,
            (THERE, USDC_HERE): Price(Decimal("100"), 6),
            (HERE, USDC_THERE): Price(Decimal(9), 6),
        },
    )
    accept(BRIDGE, WANTED, elsewhere)


def test_what_is_pinned_for_another_provider_is_not_pinned() -> None:
    with pytest.raises(OfferRefused, match="does not pin"):
        accept(DEPOSIT, WANTED, replace(RULES, routers=frozenset({ROUTER})))
    with pytest.raises(OfferRefused, match="does not pin"):
        accept(BRIDGE, WANTED, replace(RULES, routers=frozenset({DEPOSITORY})))
