"""Convert decimal strings to base units and back, with integers and without rounding."""

import re

from chains.models import Token
from config.api.errors import ErrorCode

_DECIMAL = re.compile(r"([0-9]+)(?:\.([0-9]+))?")
_UINT256_DIGITS = 78
SHORT_DIGITS = 8


class AmountError(ValueError):
    """An invalid amount; `code` is the API error code."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def parse_amount(value: object, token: Token) -> int:
    """Return the decimal string `value` in base units of `token`.

    Accepts ASCII `digits[.digits]` only. Raises AmountError for other text, too many decimal places, zero, and amounts
    above the chain family's maximum.
    """
    whole, fraction = read_decimal(value)
    if len(fraction) > token.decimals:
        message = f"{token.symbol} has {token.decimals} decimals; got {len(fraction)} fraction digits."
        raise AmountError(ErrorCode.AMOUNT_TOO_PRECISE, message)
    digits = (whole + fraction.ljust(token.decimals, "0")).lstrip("0")
    if not digits:
        raise AmountError(ErrorCode.AMOUNT_NOT_POSITIVE, "The amount should be more than zero.")
    if len(digits) > _UINT256_DIGITS or int(digits) > largest_amount(token):
        raise AmountError(
            ErrorCode.AMOUNT_TOO_LARGE, f"The amount exceeds the largest that {token.chain.name} supports."
        )
    return int(digits)


def read_decimal(value: object) -> tuple[str, str]:
    """Split a decimal string into the digits before and after the point. Raises AmountError for any other value."""
    if not isinstance(value, str):
        raise AmountError(ErrorCode.AMOUNT_NOT_A_STRING, 'The amount should be a string such as "10.50".')
    match = _DECIMAL.fullmatch(value)
    if match is None:
        message = 'The amount should be digits with an optional fraction, such as "10.50".'
        if "," in value:
            message = 'The amount has a comma. Put a point before decimals, and no other separator: "10.50".'
        raise AmountError(ErrorCode.AMOUNT_INVALID, message)
    return match[1], match[2] or ""


def largest_amount(token: Token) -> int:
    return token.chain.family.largest_amount


def format_amount(raw: int, decimals: int) -> str:
    """Return `raw` base units as a decimal string with exactly `decimals` decimal places."""
    if decimals == 0:
        return str(raw)
    digits = str(raw).rjust(decimals + 1, "0")
    return f"{digits[:-decimals]}.{digits[-decimals:]}"


def display_amount(raw: int, decimals: int) -> str:
    """Return `raw` for display: exact, without trailing zeros after the second decimal place."""
    whole, _, fraction = format_amount(raw, decimals).partition(".")
    fraction = fraction.rstrip("0")
    if not fraction:
        return whole
    return f"{whole}.{fraction.ljust(min(2, decimals), '0')}"


def short_text(raw: int, decimals: int) -> str:
    """Return `raw` in the format of `price_text`, rounded half up to SHORT_DIGITS significant digits. The whole part
    and two decimal places always stay exact.
    """
    places = max(SHORT_DIGITS - len(str(raw)) + decimals, min(2, decimals))
    if places < decimals:
        unit = 10 ** (decimals - places)
        raw = (raw + unit // 2) // unit * unit
    return price_text(raw, decimals)


def price_text(raw: int, decimals: int) -> str:
    """Return `raw` as a price: exact, with at least two decimal places if the token has that many."""
    whole, _, fraction = format_amount(raw, decimals).partition(".")
    fraction = fraction.rstrip("0").ljust(min(2, decimals), "0")
    return f"{whole}.{fraction}" if fraction else whole
