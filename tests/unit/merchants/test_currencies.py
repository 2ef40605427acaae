"""Currencies and the amounts of prices."""

from decimal import Decimal

import pytest

from chains.amounts import AmountError
from chains.currencies import DIGITS, is_currency
from merchants.currencies import read_price


@pytest.mark.parametrize(
    ("text", "currency", "amount"),
    [
        ("25", "EUR", "25.00"),
        ("25.5", "EUR", "25.50"),
        ("0025.50", "EUR", "25.50"),
        ("1500", "JPY", "1500"),
        ("1.234", "KWD", "1.234"),
        ("0.01", "USD", "0.01"),
        ("10", "XCG", "10.00"),
        ("10", "VED", "10.00"),
    ],
)
def test_an_amount_has_exactly_the_currencys_digits(text: str, currency: str, amount: str) -> None:
    assert str(read_price(text, currency)) == amount


@pytest.mark.parametrize(
    ("text", "currency", "code"),
    [
        ("25.001", "EUR", "amount_too_precise"),
        ("1.0", "JPY", "amount_too_precise"),
        ("0", "EUR", "amount_not_positive"),
        ("0.00", "EUR", "amount_not_positive"),
        ("-1", "EUR", "amount_invalid"),
        ("1e3", "EUR", "amount_invalid"),
        ("٣", "EUR", "amount_invalid"),
        ("", "EUR", "amount_invalid"),
        ("1" * 16, "EUR", "amount_too_large"),
        (25, "EUR", "amount_not_a_string"),
        (None, "EUR", "amount_not_a_string"),
    ],
)
def test_what_is_no_amount_of_the_currency_is_refused(text: object, currency: str, code: str) -> None:
    with pytest.raises(AmountError) as refused:
        read_price(text, currency)
    assert refused.value.code == code


@pytest.mark.parametrize("code", ["eur", "EURO", "XXX", "USDC", "", None, 978])
def test_what_is_no_currency_is_not_taken_for_one(code: object) -> None:
    assert not is_currency(code)


def test_every_currency_has_a_code_of_three_letters() -> None:
    assert len(DIGITS) > 140
    assert all(len(code) == 3 and code.isalpha() and code.isupper() for code in DIGITS)
    assert Decimal(DIGITS["USD"]) == 2
