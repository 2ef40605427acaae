"""A Relay quote is rejected if its steps, its call, its order and its texts don't agree."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import responses
from eth_abi.abi import encode

from payments.providers.base import NoOffer, NoOfferCode, ProviderDown
from payments.providers.offer_checks import OfferRefused, accept
from tests.support.routing.offers import (
    DAI_HERE,
    DEPOSITORY,
    MERCHANT,
    PAYER,
    STRANGER,
    THERE,
    USDC_HERE,
    WANTED,
)
from tests.support.routing.relay_asking import ask_relay, rules_of
from tests.support.routing.relay_world import (
    AMOUNT_IN,
    AMOUNT_OUT,
    FROM_NATIVE,
    FROM_SOLANA,
    KEY,
    NOW,
    approval,
    order_data,
    quote,
    solana_deposit,
)

Change = Callable[[Any], None]


def _step(index: int, **changes: Any) -> Change:
    return lambda body: body["steps"][index].update(changes)


def _data(index: int, **changes: Any) -> Change:
    return lambda body: body["steps"][index]["items"][0]["data"].update(changes)


def _order(change: Change) -> Change:
    """Change the order together with its id and deposit, like an attacker who writes the whole response."""

    def apply(body: Any) -> None:
        data = order_data(WANTED)
        change(data)
        body.update(quote(order=data))

    return apply


def _deposit(**changes: Any) -> Change:
    """Replace the deposit's call with one that has other arguments."""

    def apply(body: Any) -> None:
        order_id = bytes.fromhex(body["protocol"]["v2"]["orderId"][2:])
        arguments = {"depositor": PAYER, "token": USDC_HERE, "amount": AMOUNT_IN, "id": order_id} | changes
        encoded = encode(["address", "address", "uint256", "bytes32"], list(arguments.values()))
        _data(1, data="0xe8017952" + encoded.hex())(body)

    return apply


def _append(value: Any) -> Change:
    return lambda body: body["steps"].append(value(body))


REFUSED: dict[str, Change] = {
    "a signature instead of a transaction": _step(1, kind="signature"),
    "a step to authorize": _step(0, id="authorize"),
    "a swap on the spot": _step(1, id="swap"),
    "a plain transfer": _step(1, id="send"),
    "an unknown step": _step(1, id="depositt"),
    "a step without a name": _step(1, id=None),
    "no deposit": lambda body: body["steps"].pop(),
    "no step at all": lambda body: body.update(steps=[]),
    "two deposits": _append(lambda body: body["steps"][1]),
    "two items of one deposit": lambda body: body["steps"][1].update(items=body["steps"][1]["items"] * 2),
    "no order": lambda body: body.pop("protocol"),
    "an order that is not shown": lambda body: body["protocol"]["v2"].pop("orderData"),
    "an order with another id than it says": lambda body: body["protocol"]["v2"].update(
        orderId="0x" + "77" * 32
    ),
    "another salt than that of the id": lambda body: body["protocol"]["v2"]["orderData"].update(
        salt="0x" + "55" * 32
    ),
    "an order of an unknown version": lambda body: body["protocol"]["v2"]["orderData"].update(version="v3"),
    "calls at the destination": _order(lambda order: order["output"].update(calls=["0x00"])),
    "an order that another solver may fill": _order(lambda order: order.update(solver=STRANGER)),
    "a refund to a stranger": _order(
        lambda order: order["inputs"][0]["refunds"][0].update(recipient=STRANGER)
    ),
    "a stranger as the sender": lambda body: body["details"].update(sender=STRANGER),
    "an order that has ended": _order(lambda order: order["output"].update(deadline=NOW - 1)),
    "an order that ends at once": _order(lambda order: order["output"].update(deadline=NOW + 60)),
    "a deposit for another order": _deposit(id=b"\x77" * 32),
    "a call of another shape": _data(1, data="0xdeadbeef" + "00" * 64),
    "no call data": _data(1, data="0x"),
    "a plain deposit by the id alone": lambda body: _data(1, data=body["protocol"]["v2"]["orderId"])(body),
    "an approval for a stranger": _data(0, data=approval(STRANGER, AMOUNT_IN)),
    "an approval of another token": _data(0, to=DAI_HERE),
    "an approval that is a transfer": _data(0, data="0xa9059cbb" + "00" * 64),
    "an approval with more behind it": _data(0, data=approval(DEPOSITORY, 1) + "00"),
    "a deposit somewhere else than is approved": _data(1, to=STRANGER),
}


@pytest.mark.parametrize("why", REFUSED)
def test_quote_for_more_than_its_own_deposit_is_rejected(answers: responses.RequestsMock, why: str) -> None:
    body = quote()
    REFUSED[why](body)
    with pytest.raises(NoOffer) as none:
        ask_relay(answers, body)
    assert none.value.code == NoOfferCode.ROUTE_REFUSED


def _money(side: str, **changes: Any) -> Change:
    return lambda body: body["details"][side].update(changes)


def _currency(side: str, **changes: Any) -> Change:
    return lambda body: body["details"][side]["currency"].update(changes)


CONTRADICTORY: dict[str, Change] = {
    "another recipient": lambda body: body["details"].update(recipient=STRANGER),
    "a call from another wallet": _data(1, **{"from": STRANGER}),
    "another amount to pay": _money("currencyIn", amount=str(AMOUNT_IN - 1)),
    "another token to pay": _currency("currencyIn", address=DAI_HERE),
    "another chain to pay on": _currency("currencyIn", chainId=10),
    "another token to receive": _currency("currencyOut", address=DAI_HERE),
    "another destination": _currency("currencyOut", chainId=10),
    "a destination that was not requested": _currency("currencyOut", chainId=4663),
    "an order for another recipient": _order(
        lambda order: order["output"]["payments"][0].update(recipient=STRANGER)
    ),
    "an order that pays another token": _order(
        lambda order: order["output"]["payments"][0].update(currency=DAI_HERE)
    ),
    "an order that pays on another chain": _order(lambda order: order["output"].update(chainId="mode")),
    "an order that takes another amount": _order(
        lambda order: order["inputs"][0]["payment"].update(amount="1")
    ),
    "an order that takes another token": _order(
        lambda order: order["inputs"][0]["payment"].update(currency=DAI_HERE)
    ),
    "an order paid on another chain": _order(
        lambda order: order["inputs"][0]["payment"].update(chainId="optimism")
    ),
    "two requests": _step(0, requestId="0x" + "11" * 32),
}


@pytest.mark.parametrize("what", CONTRADICTORY)
def test_quote_that_contradicts_its_order_is_invalid(answers: responses.RequestsMock, what: str) -> None:
    body = quote()
    CONTRADICTORY[what](body)
    with pytest.raises(ProviderDown):
        ask_relay(answers, body)


JUDGED: dict[str, tuple[Change, str]] = {
    "a deposit of more than it says": (_deposit(amount=AMOUNT_IN * 2), "another amount"),
    "a transaction for another chain": (_data(1, chainId=THERE), "for another chain"),
    "native coin on top": (_data(1, value="1"), "value differs from the offer"),
}


@pytest.mark.parametrize("what", JUDGED)
def test_wrong_call_of_a_quote_fails_the_offer_checks(answers: responses.RequestsMock, what: str) -> None:
    body = quote()
    change, reason = JUDGED[what]
    change(body)
    offer = ask_relay(answers, body)
    with pytest.raises(OfferRefused, match=reason):
        accept(offer, WANTED, rules_of(WANTED))


@pytest.mark.parametrize("field", ["source", "target", "amount"])
def test_quote_for_another_query_fails_the_offer_checks(answers: responses.RequestsMock, field: str) -> None:
    asked = {
        "source": replace(WANTED, source=replace(WANTED.source, account=STRANGER)),
        "target": replace(WANTED, target=replace(WANTED.target, account=STRANGER)),
        "amount": replace(WANTED, amount=AMOUNT_OUT + 1),
    }[field]
    offer = ask_relay(answers, quote(), asked)
    with pytest.raises(OfferRefused):
        accept(offer, asked, rules_of(asked))


SOLANA_REFUSED: dict[str, Change] = {
    "no instruction": lambda data: data.update(instructions=[]),
    "no deposit": lambda data: data["instructions"].pop(),
    "two deposits": lambda data: data["instructions"].append(data["instructions"][1]),
    "another amount": lambda data: data.update(
        solana_deposit(AMOUNT_IN + 1, bytes.fromhex(data["instructions"][1]["data"][-64:]))
    ),
    "another order": lambda data: data.update(solana_deposit(AMOUNT_IN, b"\x77" * 32)),
    "more than a deposit's data": lambda data: data["instructions"][1].update(
        data=data["instructions"][1]["data"] + "00"
    ),
}


@pytest.mark.parametrize("why", SOLANA_REFUSED)
def test_solana_instructions_must_be_one_deposit_of_the_order(
    answers: responses.RequestsMock, why: str
) -> None:
    body = quote(FROM_SOLANA)
    SOLANA_REFUSED[why](body["steps"][0]["items"][0]["data"])
    with pytest.raises(NoOffer) as none:
        ask_relay(answers, body, FROM_SOLANA)
    assert none.value.code == NoOfferCode.ROUTE_REFUSED


def test_unneeded_approval_is_rejected(answers: responses.RequestsMock) -> None:
    for wanted in (FROM_NATIVE, FROM_SOLANA):
        body = quote(wanted)
        body["steps"].insert(0, quote()["steps"][0])
        with pytest.raises(NoOffer):
            ask_relay(answers, body, wanted)


def test_log_has_neither_the_wallet_nor_the_key(
    answers: responses.RequestsMock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    for change in (*REFUSED.values(), *CONTRADICTORY.values()):
        body = quote()
        change(body)
        with pytest.raises((NoOffer, ProviderDown)):
            ask_relay(answers, body)
    logged = caplog.text.lower()
    assert "rejected" in logged
    assert not any(secret.lower() in logged for secret in (PAYER, MERCHANT, KEY, STRANGER))
