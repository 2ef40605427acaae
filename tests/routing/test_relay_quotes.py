"""A quote of Relay's becomes an offer only if its steps, its call, its order and its words agree."""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import requests
import responses
from eth_abi.abi import encode
from eth_utils.address import to_checksum_address
from limits import parse

from chains.clients.base import EvmCall, SolanaInstructions
from chains.models import ChainType
from payments.routing import relay
from payments.routing.acceptance import OfferRefused, accept
from payments.routing.base import NoOffer, NoOfferCode, Offer, Order, ProviderDown, Side, Tool, Wanted
from payments.routing.relay import RelayProvider
from payments.routing.relay_answers import _NO_OFFERS, offer_from
from tests.routing.offers import (
    DAI_HERE,
    DEPOSITORY,
    HERE,
    MERCHANT,
    PAYER,
    RULES,
    SOLANA,
    STRANGER,
    THERE,
    USDC_HERE,
    USDC_THERE,
    WANTED,
)
from tests.routing.relay_world import (
    AMOUNT_IN,
    AMOUNT_OUT,
    API,
    DEPOSITORY_ON_SOLANA,
    FROM_NATIVE,
    FROM_SOLANA,
    KEY,
    NOW,
    REQUEST_ID,
    WAYS,
    approval,
    order_data,
    quote,
    solana_deposit,
)

RECORDED = json.loads((Path(__file__).parent / "recordings" / "relay_quote.json").read_text())
Change = Callable[[Any], None]


@pytest.fixture
def answers() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as mock:
        yield mock


@pytest.fixture
def provider() -> RelayProvider:
    return _relay()


def _relay(key: str = KEY, now: float = NOW) -> RelayProvider:
    return RelayProvider(API, key, clock=lambda: now)


def _asked(
    answers: responses.RequestsMock, body: Any, wanted: Wanted = WANTED, *, now: float = NOW, **how: Any
) -> Offer:
    answers.post(f"{API}/quote/v2", json=body, **how)
    return _relay(now=now).quote(wanted)


def _rules(wanted: Wanted) -> Any:
    types = {SOLANA: ChainType.SOLANA}
    return replace(
        RULES,
        source_type=types.get(wanted.source.chain_id, ChainType.EVM),
        target_type=types.get(wanted.target.chain_id, ChainType.EVM),
        routers=frozenset({DEPOSITORY, DEPOSITORY_ON_SOLANA}),
        allow_opaque=wanted.source.chain_id == SOLANA,
        prices={},
    )


# --- what is asked -----------------------------------------------------------------------------------------------


def test_the_question_asks_for_what_must_arrive_and_names_payer_and_recipient(
    answers: responses.RequestsMock, provider: RelayProvider
) -> None:
    answers.post(f"{API}/quote/v2", json=quote())
    provider.quote(WANTED)
    (call,) = answers.calls
    assert json.loads(call.request.body or b"") == {
        "user": PAYER,
        "recipient": MERCHANT,
        "refundTo": PAYER,
        "originChainId": HERE,
        "destinationChainId": THERE,
        "originCurrency": USDC_HERE,
        "destinationCurrency": USDC_THERE,
        "amount": str(AMOUNT_OUT),
        "tradeType": "EXACT_OUTPUT",
        "enableTrueExactOutput": False,
        "slippageTolerance": "50",
        "includeProtocolData": True,
        "explicitDeposit": True,
        "disableOriginSwaps": True,
        "usePermit": False,
    }
    assert call.request.headers["x-api-key"] == KEY
    assert KEY not in (call.request.url or "") + str(call.request.body)


def test_without_a_key_no_header_is_sent(answers: responses.RequestsMock) -> None:
    answers.post(f"{API}/quote/v2", json=quote())
    _relay(key="").quote(WANTED)
    assert "x-api-key" not in answers.calls[0].request.headers


def test_the_native_coin_and_solana_are_asked_for_by_relays_own_names(
    answers: responses.RequestsMock, provider: RelayProvider
) -> None:
    answers.post(f"{API}/quote/v2", json=quote(FROM_NATIVE))
    answers.post(f"{API}/quote/v2", json=quote(FROM_SOLANA))
    provider.quote(FROM_NATIVE)
    provider.quote(FROM_SOLANA)
    native, solana = (json.loads(call.request.body or b"") for call in answers.calls)
    assert native["originCurrency"] == "0x" + "0" * 40
    assert (solana["originChainId"], solana["originCurrency"]) == (792703809, FROM_SOLANA.source.token)
    sol = replace(FROM_SOLANA, source=replace(FROM_SOLANA.source, token=""))
    assert relay._question(sol)["originCurrency"] == "1" * 32


@pytest.mark.parametrize(
    "wanted",
    [
        replace(WANTED, target=Side(HERE, DAI_HERE, MERCHANT)),
        replace(WANTED, source=Side(59144, "", PAYER)),
        replace(WANTED, target=Side(31337, "", MERCHANT)),
    ],
    ids=["the same chain", "from a chain that is not in the table", "to one that is not"],
)
def test_what_relay_is_not_for_costs_no_call(wanted: Wanted, provider: RelayProvider) -> None:
    with responses.RequestsMock() as mock:
        with pytest.raises(NoOffer) as none:
            provider.quote(wanted)
        assert len(mock.calls) == 0
    assert none.value.code == NoOfferCode.NO_ROUTE


def test_each_quote_counts_against_the_quota_and_none_is_asked_beyond_it(
    provider: RelayProvider, settings: Any
) -> None:
    settings.ROUTING_QUOTE_LIMITS = {"relay": parse("2/hour")}
    with responses.RequestsMock() as mock:
        mock.post(f"{API}/quote/v2", json=quote())
        offers = [provider.quote(WANTED), provider.quote(WANTED)]
        with pytest.raises(ProviderDown) as down:
            provider.quote(WANTED)
        assert len(mock.calls) == len(offers)
    assert down.value.retry_after is not None


def test_an_order_of_preference_changes_nothing_here(provider: RelayProvider) -> None:
    assert provider.has_orders is False
    assert relay._question(WANTED) == relay._question(replace(WANTED, order=Order.FASTEST))


# --- what an offer holds -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_what_relay_offers_when_all_is_well_is_accepted(answers: responses.RequestsMock, way: str) -> None:
    wanted = WAYS[way]
    offer = _asked(answers, quote(wanted), wanted)
    assert (offer.source, offer.target) == (wanted.source, wanted.target)
    assert (offer.amount_in, offer.amount_out, offer.amount_out_min) == (AMOUNT_IN, AMOUNT_OUT, AMOUNT_OUT)
    accept(offer, wanted, _rules(wanted))


def test_an_offer_holds_the_deposit_its_id_and_what_it_costs(answers: responses.RequestsMock) -> None:
    body = quote()
    offer = _asked(answers, body)
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


def test_native_coin_is_deposited_as_the_calls_value_and_nobody_is_approved(
    answers: responses.RequestsMock,
) -> None:
    offer = _asked(answers, quote(FROM_NATIVE), FROM_NATIVE)
    assert isinstance(offer.action, EvmCall)
    assert (offer.action.value, offer.spender) == (AMOUNT_IN, None)


def test_from_solana_the_instructions_are_passed_on_with_their_accounts(
    answers: responses.RequestsMock,
) -> None:
    offer = _asked(answers, quote(FROM_SOLANA), FROM_SOLANA)
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
    assert _asked(answers, body).tools == (Tool("relay", "Relay"), Tool("kyberswap", "kyberswap"))


def test_the_lower_of_two_guaranteed_amounts_counts(answers: responses.RequestsMock) -> None:
    body = quote()
    body["details"]["currencyOut"]["minimumAmount"] = str(AMOUNT_OUT + 1)
    assert _asked(answers, body).amount_out_min == AMOUNT_OUT
    body["details"]["currencyOut"]["minimumAmount"] = str(AMOUNT_OUT - 1)
    offer = _asked(answers, body)
    assert offer.amount_out_min == AMOUNT_OUT - 1
    with pytest.raises(OfferRefused, match="less than is due"):
        accept(offer, WANTED, _rules(WANTED))


def test_an_approval_of_nothing_first_says_that_it_has_to_be_reset(answers: responses.RequestsMock) -> None:
    body = quote()
    (item,) = body["steps"][0]["items"]
    reset = copy.deepcopy(item)
    reset["data"]["data"] = approval(DEPOSITORY, 0)
    body["steps"][0]["items"] = [reset, item]
    assert _asked(answers, body).must_reset_approval is True


def test_more_approved_than_is_paid_is_not_passed_on(answers: responses.RequestsMock) -> None:
    body = quote()
    body["steps"][0]["items"][0]["data"]["data"] = approval(DEPOSITORY, 2**256 - 1)
    offer = _asked(answers, body)
    assert (offer.spender, offer.amount_in) == (DEPOSITORY, AMOUNT_IN)


def test_without_an_approval_step_the_spender_is_where_the_deposit_goes(
    answers: responses.RequestsMock,
) -> None:
    body = quote()
    body["steps"].pop(0)
    assert _asked(answers, body).spender == DEPOSITORY


def test_steps_without_items_are_skipped(answers: responses.RequestsMock) -> None:
    body = quote()
    body["steps"].insert(0, {"id": "authorize", "kind": "signature", "items": []})
    assert _asked(answers, body).spender == DEPOSITORY


@pytest.mark.parametrize("fees", [None, [], {}, {"gas": None, "app": {"amount": "x"}}, {"relayerService": 7}])
def test_fees_that_make_no_sense_are_not_shown_and_harm_nothing(
    answers: responses.RequestsMock, fees: Any
) -> None:
    offer = _asked(answers, quote() | {"fees": fees})
    assert (offer.fees, offer.gas) == ((), ())
    accept(offer, WANTED, _rules(WANTED))


# --- what is refused ---------------------------------------------------------------------------------------------


def _step(index: int, **changes: Any) -> Change:
    return lambda body: body["steps"][index].update(changes)


def _data(index: int, **changes: Any) -> Change:
    return lambda body: body["steps"][index]["items"][0]["data"].update(changes)


def _order(change: Change) -> Change:
    """Change the order, the id and the deposit with it, as somebody would who can write all of the answer."""

    def apply(body: Any) -> None:
        data = order_data(WANTED)
        change(data)
        body.update(quote(order=data))

    return apply


def _deposit(**changes: Any) -> Change:
    """Replace the deposit's call by one with other arguments."""

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
    "a step that nobody knows": _step(1, id="depositt"),
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
    "an order that somebody else may fill": _order(lambda order: order.update(solver=STRANGER)),
    "a refund to somebody else": _order(
        lambda order: order["inputs"][0]["refunds"][0].update(recipient=STRANGER)
    ),
    "somebody else as the sender": lambda body: body["details"].update(sender=STRANGER),
    "an order that has ended": _order(lambda order: order["output"].update(deadline=NOW - 1)),
    "an order that ends at once": _order(lambda order: order["output"].update(deadline=NOW + 60)),
    "a deposit for another order": _deposit(id=b"\x77" * 32),
    "a call of another shape": _data(1, data="0xdeadbeef" + "00" * 64),
    "no call data": _data(1, data="0x"),
    "a plain deposit by the id alone": lambda body: _data(1, data=body["protocol"]["v2"]["orderId"])(body),
    "an approval for somebody else": _data(0, data=approval(STRANGER, AMOUNT_IN)),
    "an approval of another token": _data(0, to=DAI_HERE),
    "an approval that is a transfer": _data(0, data="0xa9059cbb" + "00" * 64),
    "an approval with more behind it": _data(0, data=approval(DEPOSITORY, 1) + "00"),
    "a deposit somewhere else than is approved": _data(1, to=STRANGER),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_asks_for_more_than_a_deposit_for_its_own_order_is_refused(
    answers: responses.RequestsMock, why: str
) -> None:
    body = quote()
    REFUSED[why](body)
    with pytest.raises(NoOffer) as none:
        _asked(answers, body)
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
    "a destination that nobody asked about": _currency("currencyOut", chainId=4663),
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
def test_an_answer_that_tells_two_stories_is_no_answer(answers: responses.RequestsMock, what: str) -> None:
    body = quote()
    CONTRADICTORY[what](body)
    with pytest.raises(ProviderDown):
        _asked(answers, body)


JUDGED: dict[str, tuple[Change, str]] = {
    "an order for less than is due": (
        _order(lambda order: order["output"]["payments"][0].update(minimumAmount=str(AMOUNT_OUT - 1))),
        "less than is due",
    ),
    "a deposit of more than it says": (_deposit(amount=AMOUNT_IN * 2), "another amount"),
    "a deposit of another token": (_deposit(token=DAI_HERE), "another token"),
    "a deposit in another's name": (_deposit(depositor=STRANGER), "for somebody else"),
    "a transaction for another chain": (_data(1, chainId=THERE), "for another chain"),
    "native coin on top": (_data(1, value="1"), "value is not what it says"),
    "a price that nobody would pay": (_money("currencyIn", amountUsd="25.00"), "too much of the value"),
}


@pytest.mark.parametrize("what", JUDGED)
def test_what_the_answer_says_plainly_and_is_wrong_is_refused_by_acceptance(
    answers: responses.RequestsMock, what: str
) -> None:
    body = quote()
    change, reason = JUDGED[what]
    change(body)
    offer = _asked(answers, body)
    with pytest.raises(OfferRefused, match=reason):
        accept(offer, WANTED, _rules(WANTED))


def test_a_contract_that_is_not_pinned_is_refused_by_acceptance(answers: responses.RequestsMock) -> None:
    body = quote()
    _data(1, to=STRANGER)(body)
    _data(0, data=approval(STRANGER, AMOUNT_IN))(body)
    offer = _asked(answers, body)
    with pytest.raises(OfferRefused, match="does not pin"):
        accept(offer, WANTED, _rules(WANTED))


@pytest.mark.parametrize("field", ["source", "target", "amount"])
def test_an_answer_to_another_question_is_refused_by_acceptance(
    answers: responses.RequestsMock, field: str
) -> None:
    asked = {
        "source": replace(WANTED, source=replace(WANTED.source, account=STRANGER)),
        "target": replace(WANTED, target=replace(WANTED.target, account=STRANGER)),
        "amount": replace(WANTED, amount=AMOUNT_OUT + 1),
    }[field]
    offer = _asked(answers, quote(), asked)
    with pytest.raises(OfferRefused):
        accept(offer, asked, _rules(asked))


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
def test_solana_instructions_that_are_not_one_deposit_for_the_order_are_refused(
    answers: responses.RequestsMock, why: str
) -> None:
    body = quote(FROM_SOLANA)
    SOLANA_REFUSED[why](body["steps"][0]["items"][0]["data"])
    with pytest.raises(NoOffer) as none:
        _asked(answers, body, FROM_SOLANA)
    assert none.value.code == NoOfferCode.ROUTE_REFUSED


def test_an_approval_is_refused_where_none_is_needed(answers: responses.RequestsMock) -> None:
    for wanted in (FROM_NATIVE, FROM_SOLANA):
        body = quote(wanted)
        body["steps"].insert(0, quote()["steps"][0])
        with pytest.raises(NoOffer):
            _asked(answers, body, wanted)


def test_a_recorded_quote_whose_order_gives_another_id_is_refused(answers: responses.RequestsMock) -> None:
    with pytest.raises(NoOffer) as none:
        _asked(answers, RECORDED["answered"])
    assert none.value.code == NoOfferCode.ROUTE_REFUSED


def test_a_recorded_quote_is_read_once_its_id_is_that_of_its_order(
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
    offer = _asked(answers, body, wanted, now=1_771_855_971)
    accept(offer, wanted, _rules(wanted))
    assert (offer.amount_in, offer.amount_out_min) == (2983821136002421, 50 * 10**18)
    assert (offer.duration_seconds, offer.tools[1].name) == (5, "0x")


# --- malformed, and no answer at all -----------------------------------------------------------------------------


def _each_place(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _each_place(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _each_place(item, (*path, index))


PLACES = [path for path in _each_place(quote()) if path]
JUNK: list[Any] = [
    None,
    "",
    "x",
    "0x",
    -1,
    2**70,
    1.5,
    True,
    [],
    {},
    [{}],
    {"a": []},
    "9" * 90,
    "\u202eUSD",
    [],
]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_junk_in_any_place_never_becomes_another_deposit(junk: Any) -> None:
    honest = quote()
    with responses.RequestsMock() as answers:
        expected = _asked(answers, honest)
    for path in PLACES:
        body = copy.deepcopy(honest)
        inner: Any = body
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = junk
        try:
            offer = offer_from(body, now=NOW)
            accept(offer, WANTED, _rules(WANTED))
        except (NoOffer, ProviderDown, OfferRefused):
            continue
        assert isinstance(offer.action, EvmCall)
        assert isinstance(expected.action, EvmCall)
        assert (offer.action.to, offer.action.data, offer.action.value, offer.spender, offer.bound_by) == (
            expected.action.to,
            expected.action.data,
            expected.action.value,
            expected.spender,
            expected.bound_by,
        )


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_an_answer_that_is_no_quote_is_no_answer(answers: responses.RequestsMock, junk: Any) -> None:
    with pytest.raises((ProviderDown, NoOffer)):
        _asked(answers, junk)


@pytest.mark.parametrize("code", _NO_OFFERS)
def test_what_relay_documents_as_its_answer_is_a_reason(answers: responses.RequestsMock, code: str) -> None:
    with pytest.raises(NoOffer) as none:
        _asked(answers, {"message": "No.", "errorCode": code}, status=400)
    assert none.value.code == _NO_OFFERS[code]


def test_the_reasons_that_a_customer_can_use_are_told_apart(answers: responses.RequestsMock) -> None:
    told = {
        "AMOUNT_TOO_LOW": NoOfferCode.AMOUNT_TOO_LOW,
        "INSUFFICIENT_LIQUIDITY": NoOfferCode.NO_LIQUIDITY,
        "SWAP_IMPACT_TOO_HIGH": NoOfferCode.FEES_TOO_HIGH,
        "NO_SWAP_ROUTES_FOUND": NoOfferCode.NO_ROUTE,
        "UNSUPPORTED_ROUTE": NoOfferCode.NO_ROUTE,
    }
    for code, expected in told.items():
        with pytest.raises(NoOffer) as none:
            _asked(answers, {"message": "No.", "errorCode": code}, status=400)
        assert none.value.code == expected


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"message": "Please provide an api key", "errorCode": "UNAUTHORIZED_QUOTE"}),
        (403, {"errorCode": "FORBIDDEN"}),
        (400, {"errorCode": "UNKNOWN_ERROR"}),
        (400, {"errorCode": "SWAP_QUOTE_FAILED"}),
        (400, {"errorCode": ["AMOUNT_TOO_LOW"]}),
        (400, {}),
        (400, []),
        (404, None),
        (424, {"errorCode": "AMOUNT_TOO_LOW"}),
        (429, {"errorCode": "AMOUNT_TOO_LOW"}),
        (500, {"errorCode": "AMOUNT_TOO_LOW"}),
        (503, {}),
        (302, {}),
    ],
    ids=str,
)
def test_what_is_not_relays_answer_is_none(answers: responses.RequestsMock, status: int, body: Any) -> None:
    with pytest.raises(ProviderDown):
        _asked(answers, body, status=status)


def test_a_limit_says_when_to_come_back(answers: responses.RequestsMock) -> None:
    with pytest.raises(ProviderDown) as down:
        _asked(answers, {}, status=429, headers={"Retry-After": "9"})
    assert down.value.retry_after == 9


@pytest.mark.parametrize(
    "trouble", [requests.ConnectionError("no"), requests.ReadTimeout("late"), b"<html>", b'{"a": NaN}', b""]
)
def test_no_answer_is_no_answer(answers: responses.RequestsMock, trouble: Any) -> None:
    answers.post(f"{API}/quote/v2", body=trouble)
    with pytest.raises(ProviderDown):
        _relay().quote(WANTED)


def test_nothing_of_the_wallet_nor_the_key_is_logged(
    answers: responses.RequestsMock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    for change in (*REFUSED.values(), *CONTRADICTORY.values()):
        body = quote()
        change(body)
        with pytest.raises((NoOffer, ProviderDown)):
            _asked(answers, body)
    told = caplog.text.lower()
    assert "refused" in told
    assert not any(secret.lower() in told for secret in (PAYER, MERCHANT, KEY, STRANGER))
