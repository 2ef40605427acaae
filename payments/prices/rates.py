"""Query all sources for exchange rates, apply the rules, and compare with the last accepted rates.

A request stores the rate that converted its price. This module only stores the last accepted rates.
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from django.conf import settings
from django.utils import timezone

from chains.models import Token
from chains.switches import Feature, require_on
from config.api.errors import ApiError, ErrorCode
from payments.models import AcceptedRate
from payments.prices.currencies import USD, require_listed
from payments.prices.querying import observations
from payments.prices.rules import STEP_PERIOD, Agreed, agree, is_step_too_large, rounded_rate

logger = logging.getLogger(__name__)

_NOTED_EVERY_SECONDS = 60
_NOTED_STEP = Fraction(1, 100)
_STORED_DIGITS = 30
_RETRY_SECONDS = 5


@dataclass(frozen=True)
class Rate:
    """One token is worth `exact` units of `currency`. `token` is the code by which the token is priced.

    Compute amounts from `exact`, not from `value`, which is rounded. `observed_at` is the time of the oldest
    observation. Observations of daily sources don't count for this time.
    """

    exact: Fraction
    currency: str
    token: str
    sources: tuple[str, ...]
    observed_at: datetime

    @property
    def value(self) -> Decimal:
        """The rate to display, rounded down to 12 significant digits."""
        return rounded_rate(self.exact)


def current_rate(token: Token, currency: str) -> Rate:
    """Query the sources for the current rate of a token in a currency. If they don't agree, or prices are switched off,
    raises ApiError `rate_unavailable`. If the token has no price, or fewer than two independent sources list the
    currency, raises ApiError `parameter_invalid`.
    """
    require_on(Feature.PRICES)
    if not token.price_as:
        message = f"{token.symbol} has no price here. Send an amount of it instead."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "price")
    # Check the currency first, since for an unknown currency "can't be priced here" is more useful than "try again".
    values = _in_usd([base for base in dict.fromkeys((currency, token.price_as)) if base != USD])
    now = timezone.now()
    of_token = values.get(token.price_as) or Agreed(Fraction(1), (), now)
    of_currency = values.get(currency) or Agreed(Fraction(1), (), now)
    return Rate(
        of_token.value / of_currency.value,
        currency,
        token.price_as,
        tuple(sorted({*of_token.sources, *of_currency.sources})),
        min(of_token.observed_at, of_currency.observed_at),
    )


def _in_usd(bases: Collection[str]) -> dict[str, Agreed]:
    """Return the value of each base in USD.

    Raises ApiError `rate_unavailable`, or `parameter_invalid` for a currency that too few sources list.
    """
    observed = observations(bases)
    agreed: dict[str, Agreed] = {}
    for base in bases:
        rate = agree(observed.get(base, ()), settings.RATE_MAX_SPREAD)
        if rate is None:
            require_listed(base)
            raise _unavailable(base, "fewer than two sources agree on it")
        if not _accept(base, rate):
            raise _unavailable(base, "it is too far from the last one")
        agreed[base] = rate
    return agreed


def _unavailable(base: str, why: str) -> ApiError:
    logger.warning("no rate of %s: %s", base, why)
    message = f"There is no reliable rate of {base} at the moment. Try again in a few seconds."
    return ApiError(ErrorCode.RATE_UNAVAILABLE, message, retry_after=_RETRY_SECONDS)


def _accept(base: str, agreed: Agreed) -> bool:
    """Accept the value, unless it is too far from the last accepted one."""
    now = timezone.now()
    last = AcceptedRate.objects.filter(pk=base, accepted_at__gt=now - STEP_PERIOD).first()
    if last is not None and is_step_too_large(agreed.value, Fraction(last.value)):
        return False
    if last is None or _is_worth_noting(agreed.value, last, now):
        value = Decimal(round(agreed.value * 10**_STORED_DIGITS)).scaleb(-_STORED_DIGITS)
        AcceptedRate.objects.update_or_create(base=base, defaults={"value": value, "accepted_at": now})
    return True


def _is_worth_noting(value: Fraction, last: AcceptedRate, now: datetime) -> bool:
    """Whether to store the value. A value within 1 % of the last one is stored only once a minute."""
    is_old = (now - last.accepted_at).total_seconds() > _NOTED_EVERY_SECONDS
    return is_old or abs(value - Fraction(last.value)) > _NOTED_STEP * Fraction(last.value)
