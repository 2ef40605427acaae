"""The pure rules of exchange rates and of the token amounts that follow from them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from payments.prices.rules import Observation, agree, crossed, is_step_too_large, token_amount, value_of

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
ONE_PERCENT = Decimal("0.01")


def seen(**values: str) -> list[Observation]:
    return [Observation(source, Decimal(value), NOW) for source, value in values.items()]


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
        seen(a="1", b="NaN"),
        seen(a="1", b="Infinity"),
        [*seen(a="1"), *seen(a="1")],
    ],
)
def test_without_two_that_agree_and_a_majority_there_is_no_rate(observations: list[Observation]) -> None:
    assert agree(observations, ONE_PERCENT) is None


def test_a_rate_is_as_old_as_its_oldest_observation() -> None:
    older = NOW - timedelta(seconds=50)
    agreed = agree([*seen(a="1"), Observation("b", Decimal(1), older)], ONE_PERCENT)
    assert agreed is not None
    assert agreed.observed_at == older


@pytest.mark.parametrize(
    ("value", "is_absurd"),
    [("120", False), ("120.01", True), ("80", False), ("79.99", True), ("100", False)],
)
def test_more_than_a_fifth_from_the_last_value_is_absurd(value: str, is_absurd: bool) -> None:
    assert is_step_too_large(Decimal(value), Decimal(100)) is is_absurd


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
def test_an_amount_is_rounded_up_to_the_last_decimal_or_the_eighth(
    price: str, rate: str, decimals: int, units: int
) -> None:
    assert token_amount(Decimal(price), Decimal(rate), decimals) == units


@given(
    price=st.integers(1, 10**17).map(lambda cents: Decimal(cents).scaleb(-2)),
    rate=st.decimals("1e-12", "1e9", allow_nan=False, places=12).filter(bool),
    decimals=st.integers(0, 24),
)
def test_the_merchant_never_gets_less_than_the_price_nor_a_unit_too_much(
    price: Decimal, rate: Decimal, decimals: int
) -> None:
    units = token_amount(price, rate, decimals)
    unit = 10 ** max(decimals - 8, 0)
    scale = 10**24  # exact, in integers
    worth = units * int(rate.scaleb(12))
    asked = int(price.scaleb(2)) * 10**10 * 10**decimals
    assert units % unit == 0
    assert worth * scale >= asked * scale
    assert (units - unit) * int(rate.scaleb(12)) < asked


@given(
    token=st.decimals("1e-6", "1e6", allow_nan=False, places=8).filter(bool),
    currency=st.decimals("1e-4", "10", allow_nan=False, places=8).filter(bool),
)
def test_a_cross_rate_is_never_above_the_exact_one(token: Decimal, currency: Decimal) -> None:
    rate = crossed(token, currency)
    exact_numerator, exact_denominator = int(token.scaleb(8)), int(currency.scaleb(8))
    sign, digits, exponent = rate.as_tuple()
    value = int("".join(map(str, digits)))
    assert sign == 0
    assert len(digits) <= 12
    assert value * exact_denominator <= exact_numerator * 10 ** -int(exponent)
    assert (value + 1) * exact_denominator > exact_numerator * 10 ** -int(exponent)


def test_a_value_is_rounded_to_the_currencys_smallest_unit() -> None:
    assert value_of(27_430_251, 6, Decimal("0.911402551973"), 2) == Decimal("25.00")
    assert value_of(1, 6, Decimal("150.5"), 0) == Decimal(0)
