"""The currencies that a price can be in, with the digits of their smallest unit (ISO 4217)."""

from decimal import Decimal

from django.core.exceptions import ValidationError

from chains.amounts import AmountError, read_decimal
from config.api.errors import ErrorCode

_TWO = """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC
    CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES
    KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR
    NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT
    TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD YER ZAR ZMW ZWG
"""
_NONE = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"
_THREE = "BHD IQD JOD KWD LYD OMR TND"
DIGITS: dict[str, int] = {
    **dict.fromkeys(_TWO.split(), 2),
    **dict.fromkeys(_NONE.split(), 0),
    **dict.fromkeys(_THREE.split(), 3),
}
"""The fraction digits of each currency's smallest unit, by its code."""

MOST_DIGITS = 15


def is_currency(code: object) -> bool:
    """Whether this is the code of a currency that a price can be in."""
    return isinstance(code, str) and code in DIGITS


def validate_currency(code: str) -> None:
    """Raise ValidationError for what is not the code of a currency."""
    if not is_currency(code):
        raise ValidationError("This is not the code of a currency (ISO 4217), such as USD or EUR.")


def read_price(text: object, currency: str) -> Decimal:
    """Return the amount of a price, with exactly the currency's digits.

    Accepts ASCII `digits[.digits]`. Raises AmountError for any other text, for more digits than the currency has, for
    zero and for more than 15 digits before the point.
    """
    whole, fraction = read_decimal(text)
    digits = DIGITS[currency]
    if len(fraction) > digits:
        message = f"{currency} has {digits} fraction digits; got {len(fraction)}."
        raise AmountError(ErrorCode.AMOUNT_TOO_PRECISE, message)
    whole = whole.lstrip("0") or "0"
    if len(whole) > MOST_DIGITS:
        raise AmountError(
            ErrorCode.AMOUNT_TOO_LARGE, f"A price has at most {MOST_DIGITS} digits before the point."
        )
    amount = Decimal(f"{whole}.{fraction.ljust(digits, '0')}" if digits else whole)
    if not amount:
        raise AmountError(ErrorCode.AMOUNT_NOT_POSITIVE, "The price should be more than zero.")
    return amount
