"""One click costs at most two quotes. The accepted offers are different and tagged."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from payments.providers import quoting
from payments.providers.base import (
    Fee,
    ListedToken,
    NoOffer,
    NoOfferCode,
    Offer,
    Order,
    ProviderDown,
    SwapStatus,
    Tool,
    Wanted,
)
from payments.providers.offer_checks import OfferRefused
from payments.providers.quoting import Choice, request_offers
from tests.support.routing.offers import BRIDGE, HERE, PAYER, WANTED

CHEAP = replace(BRIDGE, amount_in=10_050_000, duration_seconds=60, tools=(Tool("across", "Across"),))
FAST = replace(
    BRIDGE, amount_in=10_200_000, duration_seconds=5, tools=(Tool("mayan", "Mayan"),), usd_in=Decimal("10.2")
)
Answer = Offer | NoOffer | ProviderDown


class Scripted:
    """A scripted provider with one response for each order (cheapest, fastest). It records its calls."""

    def __init__(
        self, key: str, cheapest: Answer, fastest: Answer | None = None, *, has_orders: bool = True
    ) -> None:
        self.key = key
        self.has_orders = has_orders
        self.asked: list[Wanted] = []
        self._answers = {Order.CHEAPEST: cheapest, Order.FASTEST: cheapest if fastest is None else fastest}

    def quote(self, wanted: Wanted) -> Offer:
        self.asked.append(wanted)
        answer = self._answers[wanted.order]
        if isinstance(answer, Exception):
            raise answer
        return replace(answer, provider=self.key)

    def status(self, tracking: object, source_hash: str) -> SwapStatus:
        raise AssertionError("unexpected call for a status")

    def tokens(self, chain_ids: Sequence[int]) -> list[ListedToken]:
        raise AssertionError("unexpected call for tokens")


def _accept_all(offer: Offer, wanted: Wanted) -> None:
    pass


def _refuse_all(offer: Offer, wanted: Wanted) -> None:
    raise OfferRefused("it is not to be shown")


def _nothing(code: NoOfferCode = NoOfferCode.NO_ROUTE) -> NoOffer:
    return NoOffer(code)


def _down(retry_after: float | None = None) -> ProviderDown:
    return ProviderDown("down", retry_after=retry_after)


def _ways(choices: Sequence[Choice]) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(choice.offer.provider, choice.offer.amount_in, choice.tags) for choice in choices]


# --- the queried providers
# ---------------------------------------------------------------------------------------


def test_first_provider_quotes_its_cheapest_and_fastest() -> None:
    first, second = Scripted("first", CHEAP, FAST), Scripted("second", CHEAP)
    wanted = replace(WANTED, slippage=Decimal("0.001"), order=Order.FASTEST)
    choices = request_offers(wanted, providers=[first, second], accept=_accept_all)
    assert first.asked == [replace(wanted, order=Order.CHEAPEST), wanted]
    assert second.asked == []
    assert _ways(choices) == [
        ("first", 10_050_000, ("recommended", "cheapest")),
        ("first", 10_200_000, ("fastest",)),
    ]
    assert [choice.wanted.order for choice in choices] == [Order.CHEAPEST, Order.FASTEST]


@pytest.mark.parametrize("failure", [_nothing(), _down()], ids=["no offer", "down"])
def test_second_provider_quotes_after_the_first_fails(failure: Answer) -> None:
    first, second = Scripted("first", failure, FAST), Scripted("second", CHEAP, FAST)
    choices = request_offers(WANTED, providers=[first, second], accept=_accept_all)
    assert [asked.order for asked in first.asked] == [Order.CHEAPEST]
    assert [asked.order for asked in second.asked] == [Order.CHEAPEST]
    assert _ways(choices) == [("second", 10_050_000, ("recommended", "cheapest", "fastest"))]


def test_slow_first_quote_skips_the_second_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quoting, "_SLOW_SECONDS", -1.0)
    slow = Scripted("slow", CHEAP, FAST)
    choices = request_offers(WANTED, providers=[slow], accept=_accept_all)
    assert [asked.order for asked in slow.asked] == [Order.CHEAPEST]
    assert _ways(choices) == [("slow", 10_050_000, ("recommended", "cheapest", "fastest"))]


class Stumbling(Scripted):
    """A provider whose first response is lost."""

    def quote(self, wanted: Wanted) -> Offer:
        if not self.asked:
            self.asked.append(wanted)
            raise _down()
        return super().quote(wanted)


def test_lone_provider_is_retried_after_an_early_failure() -> None:
    alone = Stumbling("alone", CHEAP, FAST)
    choices = request_offers(WANTED, providers=[alone], accept=_accept_all)
    assert [asked.order for asked in alone.asked] == [Order.CHEAPEST, Order.CHEAPEST]
    assert _ways(choices) == [("alone", 10_050_000, ("recommended", "cheapest", "fastest"))]


@pytest.mark.parametrize("failure", [_nothing(), _down(30)], ids=["no offer", "with a retry time"])
def test_lone_provider_is_not_retried_if_that_cannot_help(failure: Answer) -> None:
    alone = Scripted("alone", failure)
    with pytest.raises((NoOffer, ProviderDown)):
        request_offers(WANTED, providers=[alone], accept=_accept_all)
    assert len(alone.asked) == 1


def test_second_provider_quotes_after_a_rejected_offer() -> None:
    def accept(offer: Offer, wanted: Wanted) -> None:
        if offer.provider == "first":
            raise OfferRefused("it pays a stranger")

    first, second = Scripted("first", CHEAP, FAST), Scripted("second", CHEAP, FAST)
    choices = request_offers(WANTED, providers=[first, second], accept=accept)
    assert (len(first.asked), len(second.asked)) == (1, 1)
    assert [choice.offer.provider for choice in choices] == ["second"]


@pytest.mark.parametrize("failure", [_nothing(), _down()], ids=["no offer", "down"])
def test_failed_fastest_quote_leaves_the_cheapest(failure: Answer) -> None:
    first, second = Scripted("first", CHEAP, failure), Scripted("second", FAST)
    choices = request_offers(WANTED, providers=[first, second], accept=_accept_all)
    assert second.asked == []
    assert _ways(choices) == [("first", 10_050_000, ("recommended", "cheapest", "fastest"))]


def test_rejected_fastest_offer_leaves_the_cheapest() -> None:
    def accept(offer: Offer, wanted: Wanted) -> None:
        if wanted.order == Order.FASTEST:
            raise OfferRefused("it pays a stranger")

    choices = request_offers(WANTED, providers=[Scripted("first", CHEAP, FAST)], accept=accept)
    assert _ways(choices) == [("first", 10_050_000, ("recommended", "cheapest", "fastest"))]


def test_provider_without_orders_quotes_once() -> None:
    first, second = Scripted("first", CHEAP, has_orders=False), Scripted("second", FAST)
    choices = request_offers(WANTED, providers=[first, second], accept=_accept_all)
    assert (len(first.asked), len(second.asked)) == (1, 0)
    assert _ways(choices) == [("first", 10_050_000, ("recommended", "cheapest", "fastest"))]


OUTCOMES: dict[str, Answer | str] = {
    "offers": CHEAP,
    "offers another": FAST,
    "is refused": "refused",
    "has none": _nothing(),
    "is down": _down(3),
}


@pytest.mark.parametrize("has_orders", [True, False])
@pytest.mark.parametrize("many", [0, 1, 2])
def test_one_click_costs_at_most_two_quotes(many: int, has_orders: bool) -> None:
    for outcomes in itertools.product(OUTCOMES, repeat=2 * many):
        refused: set[tuple[str, Order]] = set()
        providers = []
        for number in range(many):
            pair = [OUTCOMES[name] for name in outcomes[2 * number : 2 * number + 2]]
            for order, outcome in zip((Order.CHEAPEST, Order.FASTEST), pair, strict=True):
                if outcome == "refused":
                    refused.add((str(number), order))
            cheapest, fastest = (CHEAP if isinstance(outcome, str) else outcome for outcome in pair)
            providers.append(Scripted(str(number), cheapest, fastest, has_orders=has_orders))

        def accept(offer: Offer, wanted: Wanted, refused: set[tuple[str, Order]] = refused) -> None:
            if (offer.provider, wanted.order) in refused:
                raise OfferRefused("it is not to be shown")

        try:
            choices = request_offers(WANTED, providers=providers, accept=accept)
        except (NoOffer, ProviderDown):
            choices = ()
        calls = [(provider.key, asked.order) for provider in providers for asked in provider.asked]
        assert len(calls) <= 2, outcomes
        assert len(set(calls)) == len(calls), outcomes
        assert all((choice.offer.provider, choice.wanted.order) not in refused for choice in choices)
        assert len({choice.offer.provider for choice in choices}) <= 1


def test_a_third_provider_is_beyond_what_a_click_may_cost() -> None:
    third = Scripted("third", CHEAP)
    providers = [Scripted("first", _nothing()), Scripted("second", _down()), third]
    with pytest.raises((NoOffer, ProviderDown)):
        request_offers(WANTED, providers=providers, accept=_accept_all)
    assert third.asked == []


# --- results without an offer
# ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([NoOfferCode.NO_ROUTE, NoOfferCode.AMOUNT_TOO_LOW], NoOfferCode.AMOUNT_TOO_LOW),
        ([NoOfferCode.AMOUNT_TOO_HIGH, NoOfferCode.NO_ROUTE], NoOfferCode.AMOUNT_TOO_HIGH),
        ([NoOfferCode.ROUTE_REFUSED, NoOfferCode.FEES_TOO_HIGH], NoOfferCode.FEES_TOO_HIGH),
        ([NoOfferCode.NO_LIQUIDITY, NoOfferCode.ROUTE_REFUSED], NoOfferCode.NO_LIQUIDITY),
        ([NoOfferCode.NO_ROUTE, NoOfferCode.ROUTE_REFUSED], NoOfferCode.ROUTE_REFUSED),
        ([NoOfferCode.NO_ROUTE, NoOfferCode.NO_ROUTE], NoOfferCode.NO_ROUTE),
    ],
)
def test_most_specific_reason_is_returned(failures: list[NoOfferCode], expected: NoOfferCode) -> None:
    providers = [Scripted(str(number), NoOffer(code)) for number, code in enumerate(failures)]
    with pytest.raises(NoOffer) as none:
        request_offers(WANTED, providers=providers, accept=_accept_all)
    assert none.value.code == expected


@pytest.mark.parametrize("answers", [(_down(9), _nothing()), (_nothing(), _down(9))])
def test_missing_offer_takes_precedence_over_an_outage(answers: tuple[Answer, Answer]) -> None:
    providers = [Scripted(str(number), answer) for number, answer in enumerate(answers)]
    with pytest.raises(NoOffer):
        request_offers(WANTED, providers=providers, accept=_accept_all)


def test_rejected_offer_has_its_own_code() -> None:
    with pytest.raises(NoOffer) as none:
        request_offers(WANTED, providers=[Scripted("first", CHEAP, FAST)], accept=_refuse_all)
    assert none.value.code == NoOfferCode.ROUTE_REFUSED


@pytest.mark.parametrize(
    ("waits", "expected"), [((9.0, 4.0), 4.0), ((None, 4.0), 4.0), ((9.0, None), 9.0), ((None, None), None)]
)
def test_outage_of_all_has_the_earliest_retry_time(
    waits: tuple[float | None, float | None], expected: float | None
) -> None:
    providers = [Scripted(str(number), _down(wait)) for number, wait in enumerate(waits)]
    with pytest.raises(ProviderDown) as down:
        request_offers(WANTED, providers=providers, accept=_accept_all)
    assert down.value.retry_after == expected


def test_a_deployment_without_providers_has_no_way() -> None:
    with pytest.raises(NoOffer) as none:
        request_offers(WANTED, providers=[], accept=_accept_all)
    assert none.value.code == NoOfferCode.NO_ROUTE


# --- the shown offers
# -----------------------------------------------------------------------------------------------


def _offered(cheapest: Offer, fastest: Offer) -> list[tuple[int, tuple[str, ...]]]:
    choices = request_offers(WANTED, providers=[Scripted("first", cheapest, fastest)], accept=_accept_all)
    return [(choice.offer.amount_in, choice.tags) for choice in choices]


def test_the_same_way_twice_is_offered_once_with_all_tags() -> None:
    again = replace(CHEAP, quote_id="another", bound_by=b"\x01" * 31 + b"\x02", duration_seconds=61)
    assert _offered(CHEAP, again) == [(10_050_000, ("recommended", "cheapest", "fastest"))]


def test_the_same_amounts_by_another_tool_are_another_way() -> None:
    other = replace(CHEAP, tools=(Tool("mayan", "Mayan"),), duration_seconds=5)
    assert _offered(CHEAP, other) == [
        (10_050_000, ("recommended", "cheapest")),
        (10_050_000, ("fastest",)),
    ]


def test_offer_neither_cheaper_nor_faster_is_dropped() -> None:
    assert _offered(CHEAP, replace(FAST, duration_seconds=60)) == [
        (10_050_000, ("recommended", "cheapest", "fastest"))
    ]


def test_tags_follow_the_numbers_not_the_query() -> None:
    assert _offered(FAST, CHEAP) == [
        (10_050_000, ("recommended", "cheapest")),
        (10_200_000, ("fastest",)),
    ]


def test_what_is_paid_on_top_and_the_gas_make_a_way_dearer() -> None:
    on_top = Fee("bridge", "ETH", 18, HERE, "", 10**15, Decimal("1.50"), included=False)
    assert _offered(replace(CHEAP, fees=(on_top,)), FAST) == [
        (10_200_000, ("recommended", "cheapest", "fastest"))
    ]
    assert _offered(replace(CHEAP, gas=(on_top,)), FAST) == [
        (10_200_000, ("recommended", "cheapest", "fastest"))
    ]
    part_of_it = replace(on_top, included=True)
    assert _offered(replace(CHEAP, fees=(part_of_it,)), FAST)[0] == (10_050_000, ("recommended", "cheapest"))


def test_unknown_value_compares_by_the_amount_to_pay() -> None:
    unknown = Fee("gas", "ETH", 18, HERE, "", 10**15, None, included=False)
    assert _offered(replace(CHEAP, gas=(unknown,)), FAST)[0] == (10_050_000, ("recommended", "cheapest"))
    assert _offered(replace(CHEAP, usd_in=None), FAST)[0] == (10_050_000, ("recommended", "cheapest"))


@pytest.mark.parametrize(
    ("slow", "fast", "recommended"),
    [
        (60, 5, 10_050_000),
        (604, 5, 10_050_000),
        (606, 5, 10_200_000),
        (3600, 1000, 10_050_000),
        (3600, 60, 10_200_000),
        (None, 5, 10_050_000),
    ],
)
def test_cheaper_but_far_slower_offer_is_not_recommended(
    slow: int | None, fast: int, recommended: int
) -> None:
    offered = _offered(replace(CHEAP, duration_seconds=slow), replace(FAST, duration_seconds=fast))
    assert [amount for amount, tags in offered if "recommended" in tags] == [recommended]
    assert offered[0][0] == recommended
    assert {tag for _, tags in offered for tag in tags} == {"recommended", "cheapest", "fastest"}


def test_offer_of_unknown_duration_is_not_faster() -> None:
    unknown = replace(FAST, duration_seconds=None)
    assert _offered(replace(CHEAP, duration_seconds=None), unknown) == [
        (10_050_000, ("recommended", "cheapest", "fastest"))
    ]


def test_log_names_failed_providers_but_not_the_wallet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    providers = [Scripted("first", CHEAP), Scripted("second", _down())]
    with pytest.raises(NoOffer):
        request_offers(WANTED, providers=providers, accept=_refuse_all)
    assert "first made an offer that failed our checks: it is not to be shown" in caplog.text
    assert "second gave no usable response" in caplog.text
    assert PAYER.lower() not in caplog.text.lower()
