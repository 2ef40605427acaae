"""Parse and validate amounts and currencies of prices."""

from decimal import Decimal

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.module_loading import import_string

from chains.amounts import AmountError, read_decimal
from chains.currencies import DIGITS, is_currency
from config.api.errors import ErrorCode

MAX_DIGITS = 15


def validate_currency(code: str) -> None:
    if not is_currency(code):
        raise ValidationError("This is not the code of a currency (ISO 4217), such as USD or EUR.")


def validate_reporting_currency(code: str) -> None:
    """Raise ValidationError unless at least two independent rate sources list the currency."""
    validate_currency(code)
    problem: str | None = import_string(settings.CURRENCY_CHECK)(code)
    if problem is not None:
        raise ValidationError(problem)


def read_price(text: object, currency: str) -> Decimal:
    """Return the amount of a price, with as many fraction digits as the currency has.

    Accepts ASCII `digits[.digits]`. Raises AmountError for any other text, for zero, for too many fraction digits, and
    for more than 15 digits before the point.
    """
    whole, fraction = read_decimal(text)
    digits = DIGITS[currency]
    if len(fraction) > digits:
        message = f"{currency} has {digits} fraction digits; got {len(fraction)}."
        raise AmountError(ErrorCode.AMOUNT_TOO_PRECISE, message)
    whole = whole.lstrip("0") or "0"
    if len(whole) > MAX_DIGITS:
        raise AmountError(
            ErrorCode.AMOUNT_TOO_LARGE, f"A price has at most {MAX_DIGITS} digits before the point."
        )
    amount = Decimal(f"{whole}.{fraction.ljust(digits, '0')}" if digits else whole)
    if not amount:
        raise AmountError(ErrorCode.AMOUNT_NOT_POSITIVE, "The price should be more than zero.")
    return amount
