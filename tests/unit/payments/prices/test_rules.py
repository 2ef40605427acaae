"""The rules for exchange rates and for the token amounts calculated from them, as pure functions."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments.prices.rules import (
    Observation,
    agree,
    is_step_too_large,
    rounded_rate,
    token_amount,
    value_of,
)

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
ONE_PERCENT = Decimal("0.01")


def seen(**values: str) -> list[Observation]:
    return [Observation(source, Fraction(value), NOW) for source, value in values.items()]


@pytest.mark.parametrize(
    ("observations", "value", "sources"),
    [
        (seen(a="1", b="1.004"), "1.002", ("a", "b")),
        (seen(a="1", b="1.004", c="1.001"), "1.001", ("a", "b", "c")),
        (seen(a="1", b="1.01"), "1.005", ("a", "b")),
        (seen(a="1", b="1.001", c="2"), "1.0005", ("a", "b")),
        (seen(a="0.00000001", b="0.00000001"), "0.00000001", ("a", "b")),
    ],
)
def test_the_median_of_those_that_agree_counts(
    observations: list[Observation], value: str, sources: tuple[str, ...]
) -> None:
    agreed = agree(observations, ONE_PERCENT)
    assert agreed is not None
    assert (agreed.value, agreed.sources) == (Decimal(value), sources)


@pytest.mark.parametrize(
    "observations",
    [
        [],
        seen(a="1"),
        seen(a="1", b="1.0101"),
        seen(a="1", b="1.001", c="2", d="2.001"),
        seen(a="1", b="1.02", c="1.04"),
        seen(a="1", b="0"),
        seen(a="1", b="-1"),
        seen(a="1", b="1e18"),
        [*seen(a="1"), *seen(a="1")],
    ],
)
def test_without_two_that_agree_and_a_majority_there_is_no_rate(observations: list[Observation]) -> None:
    assert agree(observations, ONE_PERCENT) is None


def test_a_rate_is_as_old_as_its_oldest_observation() -> None:
    older = NOW - timedelta(seconds=50)
    agreed = agree([*seen(a="1"), Observation("b", Fraction(1), older)], ONE_PERCENT)
    assert agreed is not None
    assert agreed.observed_at == older


@pytest.mark.parametrize(
    ("value", "is_absurd"),
    [("120", False), ("120.01", True), ("80", False), ("79.99", True), ("100", False)],
)
def test_more_than_a_fifth_from_the_last_value_is_absurd(value: str, is_absurd: bool) -> None:
    assert is_step_too_large(Fraction(value), Fraction(100)) is is_absurd


@pytest.mark.parametrize(
    ("price", "rate", "decimals", "units"),
    [
        ("25.00", "1", 6, 25_000_000),
        ("25.00", "0.911402551973", 6, 27_430_251),
        ("0.01", "3000", 18, 334 * 10**10),
        ("1", "3", 0, 1),
        ("0.01", "1000000", 0, 1),
        ("10", "2", 18, 5 * 10**18),
        ("1", "3", 8, 33_333_334),
    ],
)
def test_amount_is_rounded_up_at_token_precision_or_8_decimals(
    price: str, rate: str, decimals: int, units: int
) -> None:
    assert token_amount(Decimal(price), Fraction(rate), decimals) == units


@given(
    price=st.integers(1, 10**17).map(lambda cents: Decimal(cents).scaleb(-2)),
    rate=st.decimals("1e-12", "1e9", allow_nan=False, places=12).filter(bool),
    decimals=st.integers(0, 24),
)
def test_token_amount_covers_price_by_less_than_one_unit(
    price: Decimal, rate: Decimal, decimals: int
) -> None:
    units = token_amount(price, Fraction(rate), decimals)
    unit = 10 ** max(decimals - 8, 0)
    scale = 10**24  # exact, in integers
    worth = units * int(rate.scaleb(12))
    asked = int(price.scaleb(2)) * 10**10 * 10**decimals
    assert units % unit == 0
    assert worth * scale >= asked * scale
    assert (units - unit) * int(rate.scaleb(12)) < asked


def test_amount_follows_from_the_exact_cross_rate() -> None:
    rate = Fraction(1) / Fraction("1.10")
    assert token_amount(Decimal("25.00"), rate, 6) == 27_500_000
    assert (
        token_amount(Decimal("25.00"), Fraction(rounded_rate(rate)), 6) == 27_500_001
    )  # not calculated from the shown rate
    assert token_amount(Decimal(1500), 1 / Fraction(1, 150), 6) == 10_000_000


@given(
    token=st.fractions("1e-6", "1e6", max_denominator=10**40).filter(bool),
    currency=st.fractions("1e-4", "10", max_denominator=10**40).filter(bool),
)
def test_shown_rate_has_12_digits_and_is_not_above_the_exact_one(token: Fraction, currency: Fraction) -> None:
    exact = token / currency
    shown = rounded_rate(exact)
    unit = Fraction(Decimal(1).scaleb(shown.adjusted() - 11))
    assert len(shown.as_tuple().digits) == 12
    assert 0 <= exact - Fraction(shown) < unit


def test_value_is_rounded_to_the_currencys_smallest_unit() -> None:
    assert value_of(27_430_251, 6, Fraction("0.911402551973"), 2) == Decimal("25.00")
    assert value_of(1, 6, Fraction("150.5"), 0) == Decimal(0)
    assert str(value_of(27_500_000, 6, 1 / Fraction("1.1"), 2)) == "25.00"


def test_value_is_rounded_from_the_exact_rate() -> None:
    # With the shown rate, 0.333333333333, the value would be 3333333333330.00.
    assert value_of(10**19, 6, Fraction(1, 3), 2) == Decimal("3333333333333.33")


def observed(source: str, value: str, operator: str = "", *, daily: bool = False) -> Observation:
    at = NOW - timedelta(days=3) if daily else NOW
    return Observation(source, Fraction(value), at, operator, is_daily=daily)


def test_two_sources_of_one_operator_have_one_vote() -> None:
    first, second = observed("coinbase", "1", "coinbase"), observed("coinbase_rates", "1.002", "coinbase")
    assert agree([first, second], ONE_PERCENT) is None
    agreed = agree([first, second, observed("kraken", "1.004")], ONE_PERCENT)
    assert agreed is not None
    assert (agreed.value, agreed.sources) == (Fraction("1.002"), ("coinbase", "kraken"))


def test_operators_second_source_votes_if_the_first_is_unsound() -> None:
    broken, sound = observed("coinbase", "0", "coinbase"), observed("coinbase_rates", "1", "coinbase")
    agreed = agree([broken, sound, observed("kraken", "1")], ONE_PERCENT)
    assert agreed is not None
    assert agreed.sources == ("coinbase_rates", "kraken")


def test_feeds_of_two_chains_are_two_sources() -> None:
    agreed = agree([observed("feeds:1", "1"), observed("feeds:8453", "1")], ONE_PERCENT)
    assert agreed is not None
    assert agreed.sources == ("feeds:1", "feeds:8453")


def test_daily_sources_alone_make_no_rate() -> None:
    both = [observed("ecb", "1", daily=True), observed("another bank", "1", daily=True)]
    assert agree(both, ONE_PERCENT) is None


def test_daily_source_confirms_another_and_does_not_age_the_rate() -> None:
    agreed = agree([observed("ecb", "1.01", daily=True), observed("kraken", "1")], ONE_PERCENT)
    assert agreed is not None
    assert (agreed.value, agreed.sources) == (Fraction("1.005"), ("ecb", "kraken"))
    assert agreed.observed_at == NOW


def test_daily_source_that_is_away_confirms_nothing() -> None:
    assert agree([observed("ecb", "1.02", daily=True), observed("kraken", "1")], ONE_PERCENT) is None
