"""The contents of a Relay offer, and the part that a customer may see."""

import copy
import json
from decimal import Decimal
from typing import Any

import pytest
import responses
from eth_utils.address import to_checksum_address

from chains.client import EvmCall, SolanaInstructions
from payments.providers.base import NoOffer, NoOfferCode, Side, Tool, Wanted
from payments.providers.offer_checks import OfferRefused, accept
from tests.support.routing.offers import (
    DEPOSITORY,
    HERE,
    SOLANA,
    THERE,
    USDC_HERE,
    USDC_THERE,
    WANTED,
)
from tests.support.routing.recorded import recorded
from tests.support.routing.relay_asking import ask_relay, rules_of
from tests.support.routing.relay_ids import VECTORS
from tests.support.routing.relay_world import (
    AMOUNT_IN,
    AMOUNT_OUT,
    DEPOSITORY_ON_SOLANA,
    FROM_NATIVE,
    FROM_SOLANA,
    REQUEST_ID,
    WAYS,
    approval,
    quote,
)

RECORDED = recorded("relay_quote")


@pytest.mark.parametrize("way", WAYS)
def test_what_relay_offers_when_all_is_well_is_accepted(answers: responses.RequestsMock, way: str) -> None:
    wanted = WAYS[way]
    offer = ask_relay(answers, quote(wanted), wanted)
    assert (offer.source, offer.target) == (wanted.source, wanted.target)
    assert (offer.amount_in, offer.amount_out, offer.amount_out_min) == (AMOUNT_IN, AMOUNT_OUT, AMOUNT_OUT)
    accept(offer, wanted, rules_of(wanted))


def test_an_offer_holds_the_deposit_its_id_and_what_it_costs(answers: responses.RequestsMock) -> None:
    body = quote()
    offer = ask_relay(answers, body)
    assert isinstance(offer.action, EvmCall)
    assert (offer.action.to, offer.action.value, offer.action.gas) == (DEPOSITORY, 0, 90_000)
    assert offer.action.data[-32:] == offer.bound_by
    assert "0x" + offer.bound_by.hex() == body["protocol"]["v2"]["orderId"]
    assert (offer.action_chain_id, offer.spender, offer.must_reset_approval) == (HERE, DEPOSITORY, False)
    assert (offer.provider, offer.quote_id, offer.duration_seconds) == ("relay", REQUEST_ID, 3)
    assert [(fee.name, fee.amount, fee.usd, fee.included) for fee in offer.fees] == [
        ("Network fee at the destination", 20_000, Decimal("0.02"), True),
        ("Relay's fee", 30_000, Decimal("0.03"), True),
    ]
    assert [(fee.token, fee.amount, fee.included) for fee in offer.gas] == [("", 4_000_000_000_000, False)]
    assert (offer.usd_in, offer.usd_out) == (Decimal("10.05"), Decimal("10.00"))
    assert offer.tools == (Tool("relay", "Relay"),)
    assert json.loads(json.dumps(offer.tracking)) == {
        "request_id": REQUEST_ID,
        "from_chain": HERE,
        "to_chain": THERE,
        "to_token": USDC_THERE,
    }


def test_native_coin_is_sent_as_call_value_without_approval(
    answers: responses.RequestsMock,
) -> None:
    offer = ask_relay(answers, quote(FROM_NATIVE), FROM_NATIVE)
    assert isinstance(offer.action, EvmCall)
    assert (offer.action.value, offer.spender) == (AMOUNT_IN, None)


def test_solana_instructions_are_returned_with_their_accounts(
    answers: responses.RequestsMock,
) -> None:
    offer = ask_relay(answers, quote(FROM_SOLANA), FROM_SOLANA)
    assert isinstance(offer.action, SolanaInstructions)
    budget_, deposit = offer.action.instructions
    assert (budget_.data, budget_.accounts) == (bytes.fromhex("02400d0300"), ())
    assert (deposit.program, deposit.data[-32:]) == (DEPOSITORY_ON_SOLANA, offer.bound_by)
    assert deposit.accounts[0] == (FROM_SOLANA.source.account, True, True)
    assert deposit.accounts[2] == ("1" * 32, False, True)
    assert len(offer.action.lookup_tables) == 1
    assert (offer.action_chain_id, offer.spender) == (SOLANA, None)


def test_the_exchange_at_the_destination_is_named(answers: responses.RequestsMock) -> None:
    body = quote()
    body["details"]["route"]["destination"]["router"] = "kyberswap"
    assert ask_relay(answers, body).tools == (Tool("relay", "Relay"), Tool("kyberswap", "kyberswap"))


def test_the_lower_of_two_guaranteed_amounts_counts(answers: responses.RequestsMock) -> None:
    body = quote()
    body["details"]["currencyOut"]["minimumAmount"] = str(AMOUNT_OUT + 1)
    assert ask_relay(answers, body).amount_out_min == AMOUNT_OUT
    body["details"]["currencyOut"]["minimumAmount"] = str(AMOUNT_OUT - 1)
    offer = ask_relay(answers, body)
    assert offer.amount_out_min == AMOUNT_OUT - 1
    with pytest.raises(OfferRefused, match="less than is due"):
        accept(offer, WANTED, rules_of(WANTED))


def test_leading_zero_approval_marks_allowance_for_reset(answers: responses.RequestsMock) -> None:
    body = quote()
    (item,) = body["steps"][0]["items"]
    reset = copy.deepcopy(item)
    reset["data"]["data"] = approval(DEPOSITORY, 0)
    body["steps"][0]["items"] = [reset, item]
    assert ask_relay(answers, body).must_reset_approval is True


def test_more_approved_than_is_paid_is_not_passed_on(answers: responses.RequestsMock) -> None:
    body = quote()
    body["steps"][0]["items"][0]["data"]["data"] = approval(DEPOSITORY, 2**256 - 1)
    offer = ask_relay(answers, body)
    assert (offer.spender, offer.amount_in) == (DEPOSITORY, AMOUNT_IN)


def test_spender_without_approval_step_is_deposit_contract(
    answers: responses.RequestsMock,
) -> None:
    body = quote()
    body["steps"].pop(0)
    assert ask_relay(answers, body).spender == DEPOSITORY


def test_steps_without_items_are_skipped(answers: responses.RequestsMock) -> None:
    body = quote()
    body["steps"].insert(0, {"id": "authorize", "kind": "signature", "items": []})
    assert ask_relay(answers, body).spender == DEPOSITORY


@pytest.mark.parametrize("fees", [None, [], {}, {"gas": None, "app": {"amount": "x"}}, {"relayerService": 7}])
def test_fees_that_make_no_sense_are_not_shown_and_harm_nothing(
    answers: responses.RequestsMock, fees: Any
) -> None:
    offer = ask_relay(answers, quote() | {"fees": fees})
    assert (offer.fees, offer.gas) == ((), ())
    accept(offer, WANTED, rules_of(WANTED))


def test_quote_with_recorded_order_is_accepted_by_relays_id(
    answers: responses.RequestsMock,
) -> None:
    recorded = VECTORS[2]
    burn = "0x000000000000000000000000000000000000dEaD"
    wanted = Wanted(Side(THERE, USDC_THERE, burn), Side(HERE, USDC_HERE, burn), 24_401_618)
    body = quote(wanted, amount_in=25_000_000, order=recorded["order"])
    body["protocol"]["v2"]["orderId"] = recorded["id"]
    offer = ask_relay(answers, body, wanted, now=1_789_407_783 - 86_400)
    accept(offer, wanted, rules_of(wanted))
    assert "0x" + offer.bound_by.hex() == recorded["id"]
    assert (offer.amount_in, offer.amount_out_min) == (25_000_000, 24_401_618)


def test_recorded_quote_with_mismatched_order_id_is_rejected(answers: responses.RequestsMock) -> None:
    with pytest.raises(NoOffer) as none:
        ask_relay(answers, RECORDED["answered"])
    assert none.value.code == NoOfferCode.ROUTE_REFUSED


def test_recorded_quote_with_its_own_order_id_is_accepted(
    answers: responses.RequestsMock,
) -> None:
    body = copy.deepcopy(RECORDED["answered"])
    second = body["protocol"]["v2"]
    right = "0x653212aaff5819b7f71ec3ea7f106b7150b295c733603659c1e39ec9722ec7e3"
    deposit = body["steps"][0]["items"][0]["data"]
    deposit["data"] = deposit["data"].replace(second["orderId"][2:], right[2:])
    second["orderId"] = right
    asked = RECORDED["asked"]
    wanted = Wanted(
        Side(1, "", to_checksum_address(asked["user"])),
        Side(137, "", to_checksum_address(asked["recipient"])),
        int(asked["amount"]),
    )
    offer = ask_relay(answers, body, wanted, now=1_771_855_971)
    accept(offer, wanted, rules_of(wanted))
    assert (offer.amount_in, offer.amount_out_min) == (2983821136002421, 50 * 10**18)
    assert (offer.duration_seconds, offer.tools[1].name) == (5, "0x")
