"""An amount is a string `digits[.digits]`. Anything else is rejected with the code of the broken rule."""

from typing import Any

import pytest

from chains.amounts import AmountError, parse_amount
from chains.models import Chain, Token

UINT256 = 2**256 - 1


def token(decimals: int = 6, chain_type: str = "evm") -> Token:
    return Token(chain=Chain(id=1, name="Ethereum", chain_type=chain_type), symbol="USDC", decimals=decimals)


NOT_STRINGS: list[Any] = [
    0, 1, -1, 10, 10.5, 0.1, 1e30, 10**100, float("inf"), float("-inf"), float("nan"), True, False, None,
    [], ["1"], {}, {"raw": "1"}, b"1", object(),
]  # fmt: skip

# The complete table for the API is in tests/support/api/corpora/amounts.txt.
MALFORMED = [
    "", ".", "1.", ".5", "1.2.3", "1,5", "1,000.50", "1_000", "1 000", "½", "²", "+1", "-1.5", "−1",
    " 1", "1\n", "1\x00", "1\u200b", "\ufeff1", "1e3", "1E-1", "NaN", "Infinity", "null", "0x10", "$1", "1%", "1k",
    "٣", "1.٣", "１", "1\U0001d7d8",
]  # fmt: skip
TOO_PRECISE = [
    ("1.0000001", 6), ("0.0000001", 6), ("1.0000000", 6), ("1.1", 0), ("1.0", 0), ("0.0", 0),
    ("0." + "0" * 18 + "1", 18),
    ("0." + "1" * 78, 18), ("0." + "1" * 79, 18), ("0." + "1" * 5000, 18),
    ("1" * 200 + "." + "1" * 200, 18), ("1.00", 1),
]  # fmt: skip
NOT_POSITIVE = [
    ("0", 6),
    ("0.0", 6),
    ("0.000000", 6),
    ("000", 6),
    ("00.00", 6),
    ("0" * 500, 6),
    ("0", 0),
    ("0." + "0" * 18, 18),
]
TOO_LARGE = [
    (str(UINT256 + 1), 0), (str(UINT256), 1), (str(UINT256) + "0", 0), ("9" * 78, 0), ("9" * 79, 6),
    ("1" + "0" * 78, 0),
    ("1" + "0" * 78 + ".5", 6), ("9" * 4301, 0), ("9" * 60_000, 6), (str(2**256 // 10**18 + 1), 18),
    ("0" * 100 + "9" * 79, 6),
    ("1" + "0" * 60, 18),
]  # fmt: skip
TOO_LARGE_FOR_SOLANA = [
    (str(2**64), 0),
    (str(2**64 // 10**9 + 1), 9),
    ("18446744073709.551616", 6),
    (str(UINT256), 0),
]


def code_of(value: object, of: Token) -> str:
    with pytest.raises(AmountError) as refused:
        parse_amount(value, of)
    return str(refused.value.code.value)


@pytest.mark.parametrize("value", NOT_STRINGS, ids=lambda value: type(value).__name__)
def test_amount_that_is_no_string_is_rejected(value: object) -> None:
    assert code_of(value, token()) == "amount_not_a_string"


@pytest.mark.parametrize("text", ["12,50", "1,000.00"])
def test_error_of_an_amount_names_its_comma(text: str) -> None:
    with pytest.raises(AmountError, match="has a comma. Put a point before decimals"):
        parse_amount(text, token())


@pytest.mark.parametrize("text", MALFORMED, ids=ascii)
def test_amount_with_other_than_plain_digits_is_rejected(text: str) -> None:
    assert code_of(text, token()) == "amount_invalid"


@pytest.mark.parametrize(("text", "decimals"), TOO_PRECISE)
def test_too_many_decimals_are_rejected_not_rounded(text: str, decimals: int) -> None:
    assert code_of(text, token(decimals)) == "amount_too_precise"


@pytest.mark.parametrize(("text", "decimals"), NOT_POSITIVE)
def test_amount_of_zero_is_rejected(text: str, decimals: int) -> None:
    assert code_of(text, token(decimals)) == "amount_not_positive"


@pytest.mark.parametrize(("text", "decimals"), TOO_LARGE)
def test_amount_above_uint256_is_rejected_on_evm(text: str, decimals: int) -> None:
    assert code_of(text, token(decimals)) == "amount_too_large"


@pytest.mark.parametrize(("text", "decimals"), TOO_LARGE_FOR_SOLANA)
def test_amount_above_u64_is_rejected_on_solana(text: str, decimals: int) -> None:
    assert code_of(text, token(decimals, "solana")) == "amount_too_large"


@pytest.mark.parametrize(
    ("text", "decimals", "chain_type", "raw"),
    [
        (str(UINT256), 0, "evm", UINT256),
        (
            "115792089237316195423570985008687907853269984665640564039457.584007913129639935",
            18,
            "evm",
            UINT256,
        ),
        ("18446744073709.551615", 6, "solana", 2**64 - 1),
        ("10.50", 6, "evm", 10_500_000),
        ("0.000001", 6, "evm", 1),
        ("1", 0, "evm", 1),
        ("007", 6, "evm", 7_000_000),
        ("0" * 500 + "1", 6, "evm", 1_000_000),
        ("0.1", 24, "evm", 10**23),
    ],
)
def test_the_limits_themselves_are_taken(text: str, decimals: int, chain_type: str, raw: int) -> None:
    assert parse_amount(text, token(decimals, chain_type)) == raw
