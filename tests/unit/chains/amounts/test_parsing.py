"""An amount is `digits[.digits]` in a string, exactly; all else is refused, with the code of the rule it breaks."""

import string
from collections.abc import Callable
from typing import Any

import pytest

from chains.amounts import AmountError, parse_amount
from chains.models import Chain, Token
from payments.models import PaymentRequest
from tests.conftest import Api

UINT256 = 2**256 - 1


def token(decimals: int = 6, chain_type: str = "evm") -> Token:
    return Token(chain=Chain(id=1, name="Ethereum", chain_type=chain_type), symbol="USDC", decimals=decimals)


NOT_STRINGS: list[Any] = [
    0, 1, -1, 10, 10.5, 0.1, 1e30, 10**100, float("inf"), float("-inf"), float("nan"), True, False, None,
    [], ["1"], {}, {"raw": "1"}, b"1", object(),
]  # fmt: skip

SIGNS = [
    f"{sign}{number}" for sign in ("+", "-", "−", "±", "--", "+-") for number in ("1", "1.5", "0", "0.000001")
]
POINTS = [
    "", ".", "..", "1.", ".5", "1..5", "1.5.", ".1.5", "1.2.3", "1,5", "1,000", "1,000.50", "1'000",
    "1_000", "1.000_1",
    "1 000", "1.000,50", "1;5", "1:5", "1/2", "1·5", "1٫5", "1٬000", "1\u066b5", "1。5", "1．5", "1٪", "½",
    "1½", "²", "1²",
]  # fmt: skip
BLANKS = [
    template.format(blank)
    for blank in (" ", "\t", "\n", "\r", "\r\n", "\v", "\f", "\x00", "\x1c", "\x85", "\u00a0", "\u2003", "\u200b",
                  "\u2028", "\u2060", "\u3000", "\ufeff", "\u202e")
    for template in ("{}1", "1{}", "1{}.5", "1.{}5")
]  # fmt: skip
EXPONENTS = [
    f"1{mark}{power}"
    for mark in ("e", "E", "d", "p", "^", "**", "e+", "E-")
    for power in ("0", "1", "18", "400")
]
WORDS = [
    "nan", "NaN", "NAN", "-nan", "sNaN", "inf", "Inf", "INF", "-inf", "Infinity", "-Infinity", "infinity",
    "null", "None",
    "true", "false", "undefined", "ten", "0x10", "0X10", "0b1", "0o7", "10h", "1f", "1L", "1n", "$1", "1$",
    "€5", "5€", "USDC",
    "1 USDC", "1USDC", "(1)", "[1]", "{1}", '"1"', "'1'", "1%", "1k", "1M", "#1", "1!", "1?", "~1", "<1>",
    "1=1", "1\\",
    "%31", "&#49;", "\\u0031", "1;DROP TABLE", "' OR 1=1 --", "${1}", "{{1}}", "../1",
]  # fmt: skip
# The digit one, and one with a fraction, in every other script that Unicode calls decimal.
ZEROS = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6,
    0x0E50, 0x0ED0,
    0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50,
    0xA620, 0xA8D0,
    0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10, 0x104A0, 0x11066, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC,
    0x1D7F6,
)  # fmt: skip
OTHER_DIGITS = [text for zero in ZEROS for text in (chr(zero + 1), f"1{chr(zero)}", f"1.{chr(zero + 5)}")]
LETTERS = [f"1{letter}" for letter in string.ascii_letters if letter not in "eEdpLnfhkM"]
MALFORMED = list(dict.fromkeys([*SIGNS, *POINTS, *BLANKS, *EXPONENTS, *WORDS, *OTHER_DIGITS, *LETTERS]))

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


def test_the_tables_hold_more_than_three_hundred_different_amounts() -> None:
    rest = (NOT_STRINGS, TOO_PRECISE, NOT_POSITIVE, TOO_LARGE, TOO_LARGE_FOR_SOLANA)
    assert len(MALFORMED) + sum(map(len, rest)) >= 300


def code_of(value: object, of: Token) -> str:
    with pytest.raises(AmountError) as refused:
        parse_amount(value, of)
    return str(refused.value.code.value)


@pytest.mark.parametrize("value", NOT_STRINGS, ids=lambda value: type(value).__name__)
def test_what_is_no_string_is_refused(value: object) -> None:
    assert code_of(value, token()) == "amount_not_a_string"


@pytest.mark.parametrize("text", MALFORMED, ids=ascii)
def test_what_is_not_plain_digits_is_refused(text: str) -> None:
    assert code_of(text, token()) == "amount_invalid"


@pytest.mark.parametrize(("text", "decimals"), TOO_PRECISE)
def test_more_fraction_digits_than_the_token_has_are_refused_and_not_rounded(
    text: str, decimals: int
) -> None:
    assert code_of(text, token(decimals)) == "amount_too_precise"


@pytest.mark.parametrize(("text", "decimals"), NOT_POSITIVE)
def test_nothing_is_refused(text: str, decimals: int) -> None:
    assert code_of(text, token(decimals)) == "amount_not_positive"


@pytest.mark.parametrize(("text", "decimals"), TOO_LARGE)
def test_more_than_a_uint256_is_refused_on_evm(text: str, decimals: int) -> None:
    assert code_of(text, token(decimals)) == "amount_too_large"


@pytest.mark.parametrize(("text", "decimals"), TOO_LARGE_FOR_SOLANA)
def test_more_than_a_u64_is_refused_on_solana(text: str, decimals: int) -> None:
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


SENT = [
    *((value, "amount_not_a_string") for value in (10, 10.5, True, [], ["1"], {}, {"raw": "1"}, 10**100)),
    *(
        (text, "amount_invalid")
        for text in ("", " 1", "1 ", "1\n", "-1", "+1", "1e3", "NaN", "Infinity", "1,000", "１", "٣", "0x10")
    ),
    ("1.0000001", "amount_too_precise"),
    ("0.000000", "amount_not_positive"),
    ("9" * 79, "amount_too_large"),
    ("9" * 60_000, "amount_too_large"),
    (str(2**256), "amount_too_large"),
]


@pytest.mark.parametrize(("value", "code"), SENT, ids=lambda value: ascii(value)[:30])
def test_the_api_refuses_it_by_name_and_stores_nothing(
    api: Api, order: Callable[..., dict[str, Any]], value: object, code: str
) -> None:
    response = api.post("/api/payment-requests", order(amount=value))
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (400, code, "amount")
    assert not PaymentRequest.objects.exists()


def test_a_missing_amount_is_missing(api: Api, order: Callable[..., dict[str, Any]]) -> None:
    body = order()
    del body["amount"]
    for sent in (body, order(amount=None)):
        assert api.post("/api/payment-requests", sent).json()["error"]["code"] == "parameter_missing"
    assert not PaymentRequest.objects.exists()
