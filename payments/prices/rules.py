"""The rules of exchange rates: which observations agree, which are implausible, and how prices convert. Pure
functions.

Rates are exact fractions, so only the final amount is rounded.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_DOWN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Protocol

MIN_SOURCES = 2
MAX_TOKEN_DIGITS = 8
LARGEST_STEP = Fraction(1, 5)
STEP_PERIOD = timedelta(hours=1)
_SMALLEST, _LARGEST = Fraction(1, 10**18), Fraction(10**18)
_SHOWN_DIGITS = 12
_ROUNDED_DOWN = Context(prec=140, rounding=ROUND_DOWN)


class Witness(Protocol):
    """The facts that decide whether a source is independent of others."""

    @property
    def source(self) -> str: ...

    @property
    def operator(self) -> str:
        """The company that runs the source, or "" if it runs no other source."""
        ...

    @property
    def is_daily(self) -> bool: ...


@dataclass(frozen=True)
class Observation:
    """One source's report: one unit of the base is worth `value` US dollars at `observed_at`.

    Sources with the same `operator` have one vote together. A source with an empty operator has its own vote. A
    daily source can confirm other sources, but two daily sources alone make no rate.
    """

    source: str
    value: Fraction
    observed_at: datetime
    operator: str = ""
    is_daily: bool = False


@dataclass(frozen=True)
class Agreed:
    """The value on which independent sources agree.

    `observed_at` is the time of the oldest observation that is not from a daily source.
    """

    value: Fraction
    sources: tuple[str, ...]
    observed_at: datetime


def is_sound(observation: Observation) -> bool:
    return _SMALLEST < observation.value < _LARGEST


def agree(observations: Sequence[Observation], largest_spread: Decimal) -> Agreed | None:
    """Return the median of the sources that agree within `largest_spread` (0.01 is 1 %), or None.

    At least two sources must agree, and at least one of them must not be daily. They must be more than half of the
    sources that responded: two of five prove nothing. Only the first source of each operator has a vote.
    """
    votes: dict[str, Observation] = {}
    for each in observations:
        if is_sound(each):
            votes.setdefault(each.operator or each.source, each)
    ordered = sorted(votes.values(), key=lambda each: each.value)
    together: list[Observation] = []
    for place, lowest in enumerate(ordered):
        limit = lowest.value * (1 + Fraction(largest_spread))
        group = [each for each in ordered[place:] if each.value <= limit]
        if len(group) > len(together):
            together = group
    if not is_proof(together) or 2 * len(together) <= len(ordered):
        return None
    return Agreed(
        _median([each.value for each in together]),
        tuple(sorted(each.source for each in together)),
        min(each.observed_at for each in together if not each.is_daily),
    )


def is_proof(witnesses: Collection[Witness]) -> bool:
    """True for at least two independent sources, of which at least one is not daily."""
    operators = {each.operator or each.source for each in witnesses}
    return len(operators) >= MIN_SOURCES and not all(each.is_daily for each in witnesses)


def is_step_too_large(value: Fraction, last: Fraction) -> bool:
    """True if `value` is more than 20 % away from the last accepted value."""
    return abs(value - last) > LARGEST_STEP * last


def rounded_rate(rate: Fraction) -> Decimal:
    """Round a rate down to 12 significant digits. For display only."""
    with localcontext(_ROUNDED_DOWN):
        value = Decimal(rate.numerator) / rate.denominator
        return value.quantize(Decimal(1).scaleb(value.adjusted() - _SHOWN_DIGITS + 1))


def token_amount(price: Decimal, rate: Fraction, decimals: int) -> int:
    """Convert a price to base units of a token. One token is worth `rate` units of the price's currency.

    The amount is rounded up to the token's last decimal, or to 8 decimals if the token has more.
    """
    digits = min(decimals, MAX_TOKEN_DIGITS)
    return int(math.ceil(Fraction(price) / rate * 10**digits) * 10 ** (decimals - digits))


def value_of(units: int, decimals: int, rate: Fraction, digits: int) -> Decimal:
    """Return the value of an amount of base units, rounded half to even to `digits` fraction digits."""
    smallest_units = round(units * rate * 10**digits / 10**decimals)
    with localcontext(_ROUNDED_DOWN):
        return Decimal(smallest_units).scaleb(-digits)


def _median(values: Sequence[Fraction]) -> Fraction:
    middle = len(values) // 2
    ordered = sorted(values)
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
