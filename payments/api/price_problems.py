"""Check a new request's amount, price and lifetime together."""

from collections.abc import Collection, Mapping
from typing import Any

from rest_framework.serializers import ErrorDetail

from config.api.errors import ErrorCode, Problem

MAX_PRICED_SECONDS = 900


def error_detail(code: ErrorCode, message: str) -> ErrorDetail:
    return ErrorDetail(message, code.value)


def names_sent(data: Any, names: Collection[str]) -> set[str]:
    """Return which of these parameters the body has, null ones aside."""
    return {name for name in names if isinstance(data, Mapping) and data.get(name) is not None}


def with_both_first(problems: dict[str, Any]) -> dict[str, Any]:
    """Put the problem of sending both an amount and a price first; the price may be malformed too."""
    rest = dict(problems)
    own = rest.pop("price", [])
    both = ErrorDetail("Send either amount or price, not both.", ErrorCode.PARAMETER_INVALID.value)
    if isinstance(own, dict):
        return {"price": [both], **{f"price.{name}": inner for name, inner in own.items()}, **rest}
    return {"price": [both, *own], **rest}


def price_problems(names: Collection[str], lifetime: int | None) -> list[Problem]:
    """Check that amount or price is given, and the lifetime in seconds of a request with a price."""
    if not names:
        message = "Either amount or price is required."
        return [Problem(ErrorCode.PARAMETER_MISSING, message, "amount")]
    if "price" in names and lifetime is not None and lifetime > MAX_PRICED_SECONDS:
        message = (
            f"A request with a price can be paid for at most {MAX_PRICED_SECONDS} seconds; got {lifetime}."
        )
        return [Problem(ErrorCode.PARAMETER_INVALID, message, "expires_in")]
    return []
