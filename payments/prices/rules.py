"""The pure rules of exchange rates: which observations agree, which are implausible, and how prices convert.

Rates are fractions, so that only the amount is rounded.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_DOWN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Protocol

FEWEST_SOURCES = 2
MAX_TOKEN_DIGITS = 8
LARGEST_STEP = Fraction(1, 5)
STEP_PERIOD = timedelta(hours=1)
_SMALLEST, _LARGEST = Fraction(1, 10**18), Fraction(10**18)
_SHOWN_DIGITS = 12
_ROUNDED_DOWN = Context(prec=140, rounding=ROUND_DOWN)


class Witness(Protocol):
    """The facts about a source that decide whether it is independent."""

    @property
    def source(self) -> str: ...

    @property
    def operator(self) -> str:
        """The company that runs the source; empty if no other source has the same operator."""
        ...

    @property
    def is_daily(self) -> bool:
        """Whether it publishes one rate a day."""
        ...


@dataclass(frozen=True)
class Observation:
    """One source's observation: one unit of the base is worth `value` US dollars, at `observed_at`.

    Sources with the same `operator` share one vote; an empty operator is unique. A daily source confirms other
    sources, but never makes a rate by itself.
    """

    source: str
    value: Fraction
    observed_at: datetime
    operator: str = ""
    is_daily: bool = False


@dataclass(frozen=True)
class Agreed:
    """The value on which independent sources agree.

    `observed_at` is the time of the oldest observation; daily sources don't count for it.
    """

    value: Fraction
    sources: tuple[str, ...]
    observed_at: datetime


def is_sound(observation: Observation) -> bool:
    """Whether the value is a positive number of a sane size."""
    return _SMALLEST < observation.value < _LARGEST


def agree(observations: Sequence[Observation], largest_spread: Decimal) -> Agreed | None:
    """Return the median of the sources that agree within `largest_spread` (0.01 is 1 %), or None.

    At least two sources must agree, and at least one of them must not be daily. They must be more than half of all
    sources, because two sources prove nothing while the others contradict each other. The first source of an operator
    votes for it.
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
    """Whether these are at least two independent sources, at least one of them not daily."""
    operators = {each.operator or each.source for each in witnesses}
    return len(operators) >= FEWEST_SOURCES and not all(each.is_daily for each in witnesses)


def is_step_too_large(value: Fraction, last: Fraction) -> bool:
    """Whether `value` is more than 20 % away from the last accepted one."""
    return abs(value - last) > LARGEST_STEP * last


def rounded_rate(rate: Fraction) -> Decimal:
    """Round the rate down to 12 significant digits, for display only."""
    with localcontext(_ROUNDED_DOWN):
        value = Decimal(rate.numerator) / rate.denominator
        return value.quantize(Decimal(1).scaleb(value.adjusted() - _SHOWN_DIGITS + 1))


def token_amount(price: Decimal, rate: Fraction, decimals: int) -> int:
    """Convert a price to base units of a token, at `rate` units of its currency for one token.

    The result is rounded up once: to the token's last decimal, or to 8 decimals if it has more.
    """
    digits = min(decimals, MAX_TOKEN_DIGITS)
    return int(math.ceil(Fraction(price) / rate * 10**digits) * 10 ** (decimals - digits))


def value_of(units: int, decimals: int, rate: Fraction, digits: int) -> Decimal:
    """Return the value of base units in a currency with `digits` fraction digits, rounded half to even."""
    smallest_units = round(units * rate * 10**digits / 10**decimals)
    with localcontext(_ROUNDED_DOWN):
        return Decimal(smallest_units).scaleb(-digits)


def _median(values: Sequence[Fraction]) -> Fraction:
    middle = len(values) // 2
    ordered = sorted(values)
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
