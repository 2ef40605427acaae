"""Decimal text converts to base units and back exactly: raw == amount × 10^decimals, with integers only."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chains.amounts import display_amount, format_amount, parse_amount, price_text, short_text
from chains.api.objects import AmountObject
from chains.models import Chain, Token

UINT256 = 2**256 - 1

decimals_of_tokens = st.integers(0, 24)


def token(decimals: int) -> Token:
    return Token(chain=Chain(id=1, name="Ethereum", chain_type="evm"), symbol="USDC", decimals=decimals)


@st.composite
def amounts(draw: st.DrawFn) -> tuple[int, str]:
    """Return (decimals, text). The amount is positive, fits a uint256, and has at most `decimals` decimal places."""
    decimals = draw(decimals_of_tokens)
    whole = str(draw(st.integers(0, UINT256 // 10**decimals - 1)))
    fraction = draw(st.text("0123456789", max_size=decimals))
    if int(whole + fraction) == 0:
        whole = "1"
    zeros = "0" * draw(st.integers(0, 5))
    return decimals, zeros + whole + ("." + fraction if fraction else "")


@given(amounts())
def test_raw_is_the_amount_times_ten_to_the_decimals(amount: tuple[int, str]) -> None:
    decimals, text = amount
    raw = parse_amount(text, token(decimals))
    assert type(raw) is int
    assert raw == Fraction(text) * 10**decimals


@given(st.integers(1, UINT256), decimals_of_tokens)
def test_what_is_formatted_reads_back_as_the_same_base_units(raw: int, decimals: int) -> None:
    text = format_amount(raw, decimals)
    assert parse_amount(text, token(decimals)) == raw
    assert len(text.partition(".")[2]) == decimals


@given(st.integers(1, UINT256), decimals_of_tokens)
def test_what_people_are_shown_has_lost_nothing(raw: int, decimals: int) -> None:
    shown = display_amount(raw, decimals)
    assert parse_amount(shown, token(decimals)) == raw
    assert not shown.endswith(".")


@given(st.integers(0, UINT256), decimals_of_tokens)
def test_the_amount_object_holds_strings_that_agree(raw: int, decimals: int) -> None:
    shown = AmountObject.of(raw, decimals)
    assert int(shown.raw) == raw == Fraction(shown.formatted) * 10**decimals
    assert shown.decimals == decimals


def test_all_fraction_digits_are_written() -> None:
    assert AmountObject.of(10_500_000, 6) == AmountObject(raw="10500000", formatted="10.500000", decimals=6)
    assert [format_amount(0, 6), format_amount(1, 18), format_amount(7, 0)] == [
        "0.000000",
        "0.000000000000000001",
        "7",
    ]
    assert [display_amount(10_500_000, 6), display_amount(7_000_000, 6), display_amount(1, 6)] == [
        "10.50",
        "7",
        "0.000001",
    ]


def test_prices_have_two_decimals_if_the_token_has_them() -> None:
    assert [price_text(raw, 6) for raw in (3_000_000, 10_500_000, 1, 0)] == [
        "3.00",
        "10.50",
        "0.000001",
        "0.00",
    ]
    assert [price_text(7, 0), price_text(70, 1)] == ["7", "7.0"]


@pytest.mark.parametrize(
    ("raw", "decimals", "text"),
    [
        (10_618_586_493_958_751_510, 18, "10.618586"),
        (92_000_000_000_147, 18, "0.000092"),
        (123_456_789_123, 6, "123456.79"),
        (1_234_567_890_123_456, 6, "1234567890.12"),
        (999_999_995, 8, "10.00"),
        (10_500_000, 6, "10.50"),
        (7, 0, "7"),
    ],
)
def test_short_text_keeps_eight_significant_digits(raw: int, decimals: int, text: str) -> None:
    assert short_text(raw, decimals) == text
