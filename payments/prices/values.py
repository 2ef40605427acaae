"""The values of completed payments in the merchants' reporting currencies.

A payment is valued after its completion, in another transaction, so that a missing rate can't delay the payment.
`value_due_at` is the time of the next attempt.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from django.db import transaction
from django.utils import timezone

from chains.currencies import DIGITS
from chains.models import Token
from chains.switches import Feature, is_on
from config.api.errors import ApiError
from config.api.serializers import required_timestamp
from config.due_work.queue import Queue
from payments.models import Payment
from payments.prices.rates import Rate, current_rate
from payments.prices.rules import value_of
from payments.requests.bulk_updates import update_each
from payments.stats.values import note_late_values

logger = logging.getLogger(__name__)

AT_ONCE = 500
PAUSE = timedelta(seconds=30)
LONGEST_PAUSE = timedelta(hours=1)
# Value the newest payments first, so that old payments without a rate don't delay them. No lease is needed: a
# payment's next attempt is scheduled before the payment is valued.
VALUES = Queue(
    model=Payment,
    due="value_due_at",
    owner="(SELECT merchant_id FROM payments_lookup WHERE of_payment_id = payments_payment.id)",
    order="value_due_at DESC",
    has_lease=False,
)
# If the rate was observed more than this time after the payment's completion, the value is an estimate.
PROMPT = timedelta(minutes=2)

RateOf = Callable[[Token, str], Rate]


def value_due(now: datetime | None = None, *, rate_of: RateOf = current_rate) -> int:
    """Value up to 500 due payments. Return how many got a value.

    While prices are switched off, all payments remain due.
    """
    if not is_on(Feature.PRICES):
        return 0
    due = _claim(now or timezone.now())
    together: dict[tuple[str, str], list[Payment]] = defaultdict(list)
    for payment in due:
        token, currency = payment.request.token, payment.request.merchant.reporting_currency
        together[token.price_as, currency].append(payment)
    return sum(_value(payments, currency, rate_of) for (_, currency), payments in together.items())


def _claim(now: datetime) -> Sequence[Payment]:
    """Return due payments. Schedules their next attempt first, so that no other worker values them at the same time."""
    keys = VALUES.pick(now, AT_ONCE)
    with transaction.atomic():
        free = Payment.objects.select_for_update(skip_locked=True, of=("self",), no_key=True)
        still_due = free.filter(pk__in=keys, value_due_at__lte=now)
        due = list(still_due.select_related("request__token__chain", "request__merchant"))
        turns = {payment.pk: {"value_due_at": now + _pause(payment, now)} for payment in due}
        update_each(Payment, turns, guard={})
    return due


def _pause(payment: Payment, now: datetime) -> timedelta:
    """Return the pause before the next attempt: a quarter of the time that the payment has waited."""
    waited = now - (payment.completed_at or now)
    return min(max(waited / 4, PAUSE), LONGEST_PAUSE)


def _value(payments: Sequence[Payment], currency: str, rate_of: RateOf) -> int:
    try:
        rate = rate_of(payments[0].request.token, currency)
    except ApiError as error:
        logger.info("%d payments wait for a rate: %s", len(payments), error)
        return 0
    rows = {payment.pk: {"value": valued(payment, rate), "value_due_at": None} for payment in payments}
    with transaction.atomic():
        written = update_each(Payment, rows, guard={"status": Payment.Status.COMPLETED})
        note_late_values(payment for payment in payments if payment.pk in written)
    return len(written)


def revalued(payment: Payment, received: int) -> dict[str, Any] | None:
    """Return the payment's value for another amount, at the rate that it has. None if it has no value yet.

    A newer rate would change the worth of the money that had arrived.
    """
    if not payment.value:
        return None
    digits, rate = DIGITS[payment.value["currency"]], Fraction(payment.value["rate"])
    amount = value_of(received, payment.request.token.decimals, rate, digits)
    return {**payment.value, "amount": f"{amount:f}"}


def valued(payment: Payment, rate: Rate) -> dict[str, Any]:
    amount = value_of(
        payment.amount_received or 0, payment.request.token.decimals, rate.exact, DIGITS[rate.currency]
    )
    completed_at = payment.completed_at or rate.observed_at
    return {
        "currency": rate.currency,
        "amount": f"{amount:f}",
        "rate": f"{rate.value.normalize():f}",
        "observed_at": required_timestamp(rate.observed_at),
        "estimated": rate.observed_at - completed_at > PROMPT,
    }
