"""The pure rules of exchange rates: which observations agree, which are absurd, and what a price is in tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal, localcontext

FEWEST_SOURCES = 2
MOST_TOKEN_DIGITS = 8
LARGEST_STEP = Decimal("0.2")
STEP_PERIOD = timedelta(hours=1)
_SHOWN_DIGITS = 12
# Enough for 78 digits of an amount beside 40 of a rate.
_EXACT = Context(prec=140)


@dataclass(frozen=True)
class Observation:
    """What one source says: `value` units of the quote currency for one of the base, at `observed_at`."""

    source: str
    value: Decimal
    observed_at: datetime


@dataclass(frozen=True)
class Agreed:
    """The value on which independent sources agree; `observed_at` is the time of the oldest observation."""

    value: Decimal
    sources: tuple[str, ...]
    observed_at: datetime


def is_sound(observation: Observation) -> bool:
    """Whether the value is a positive number of a sane size."""
    value = observation.value
    return value.is_finite() and Decimal("1e-18") < value < Decimal("1e18")


def agree(observations: Sequence[Observation], largest_spread: Decimal) -> Agreed | None:
    """Return the median of the sources that agree within `largest_spread` (0.01 is 1 %), or None.

    At least two have to agree, and more than half of all: among others that contradict each other, two are no proof.
    """
    ordered = sorted(
        {each.source: each for each in observations if is_sound(each)}.values(), key=lambda each: each.value
    )
    together: list[Observation] = []
    for place, lowest in enumerate(ordered):
        limit = lowest.value * (1 + largest_spread)
        group = [each for each in ordered[place:] if each.value <= limit]
        if len(group) > len(together):
            together = group
    if len(together) < FEWEST_SOURCES or 2 * len(together) <= len(ordered):
        return None
    return Agreed(
        _median([each.value for each in together]),
        tuple(sorted(each.source for each in together)),
        min(each.observed_at for each in together),
    )


def is_step_too_large(value: Decimal, last: Decimal) -> bool:
    """Whether `value` is more than 20 % away from the last accepted one."""
    return abs(value - last) > LARGEST_STEP * last


def crossed(token_in_usd: Decimal, currency_in_usd: Decimal) -> Decimal:
    """Return the currency's units for one token, with 12 significant digits.

    Rounded down, so that the amount asked for never falls short of the price at the exact rate.
    """
    with localcontext(_EXACT):
        return _plain((token_in_usd / currency_in_usd), _SHOWN_DIGITS)


def token_amount(price: Decimal, rate: Decimal, decimals: int) -> int:
    """Return the base units of a token that a price comes to, at `rate` units of its currency for one token.

    Rounded up to the token's last decimal, or to 8 decimals where it has more.
    """
    digits = min(decimals, MOST_TOKEN_DIGITS)
    with localcontext(_EXACT):
        units = (price / rate * 10**digits).to_integral_value(ROUND_CEILING)
        # The division was rounded, by less than one unit: make up for it exactly.
        while units * rate < price * 10**digits:
            units += 1
        while units > 1 and (units - 1) * rate >= price * 10**digits:
            units -= 1
    return int(units) * int(10 ** (decimals - digits))


def value_of(units: int, decimals: int, rate: Decimal, digits: int) -> Decimal:
    """Return what this many base units are worth in a currency of so many digits, rounded to its smallest unit."""
    with localcontext(_EXACT):
        exact = Decimal(units).scaleb(-decimals) * rate
        return exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)


def _median(values: Sequence[Decimal]) -> Decimal:
    middle = len(values) // 2
    ordered = sorted(values)
    if len(values) % 2:
        return ordered[middle]
    with localcontext(_EXACT):
        return (ordered[middle - 1] + ordered[middle]) / 2


def _plain(value: Decimal, digits: int) -> Decimal:
    """Return the value with so many significant digits, rounded down."""
    exponent = value.adjusted() - digits + 1
    return value.quantize(Decimal(1).scaleb(exponent), "ROUND_DOWN")
