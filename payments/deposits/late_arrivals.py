"""Complete requests that were paid at the deposit address after the price expired, if the money was worth the price.

An exchange may send the money hours late, and the customer can't speed it up. The money is valued at the rate at the
time of its arrival. So the customer gains nothing by waiting for a better rate, and the merchant gets at least the
price's worth.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from fractions import Fraction

from django.db import transaction
from django.utils import timezone

from config.api.errors import ApiError
from payments.models import Payment, PaymentRequest
from payments.prices.late_payments import RateOf
from payments.prices.rates import Rate, current_rate
from payments.requests import events
from payments.requests.lifecycle import lock_request
from payments.requests.transitions import move_request

logger = logging.getLogger(__name__)

LONGEST_DELAY = timedelta(minutes=30)
"""The longest time between the arrival and the observation of the rate. Finality alone takes up to 20 minutes."""
PAUSE_WITHOUT_RATE = timedelta(seconds=30)
_DETAIL = "Verified on the chain; it came after the price had expired, but was worth at least the price."


def complete_worthy(
    request: PaymentRequest,
    *,
    rate_of: RateOf = current_rate,
    now: Callable[[], datetime] = timezone.now,
) -> bool:
    """Complete the request if its net amount was worth the price when the late payments arrived.

    Return False if the merchant has to decide. Return True if the request was completed, or if no rate is available
    now and the request is tried again soon.
    """
    at, late = now(), _late_arrivals(request)
    if not late or not request.can_be_accepted or request.price is None:
        return False
    if at - _arrived_at(late[-1]) > LONGEST_DELAY:
        return False
    try:
        rate = rate_of(request.token, request.price["currency"])
    except ApiError as error:
        logger.info("payment request %s waits for a rate: %s", request.pk, error)
        own = PaymentRequest.objects.filter(pk=request.pk, late_price_mail_at=request.late_price_mail_at)
        own.update(late_price_mail_at=at + PAUSE_WITHOUT_RATE)
        return True
    return _complete(request, late, rate, at)


def _late_arrivals(request: PaymentRequest) -> Sequence[Payment]:
    """Return the credited payments that came after the price expired, in the order of their arrival.

    If any of them did not go to the deposit address, return an empty list.
    """
    late = request.payments.filter(
        status=Payment.Status.COMPLETED, after_price=True, accepted_by="", reorged=False
    )
    payments = sorted(late.select_related("lookup", "chain"), key=_arrived_at)
    is_by_address = all(each.bound_by == Payment.BoundBy.ADDRESS for each in payments)
    return payments if is_by_address else ()


def _arrived_at(payment: Payment) -> datetime:
    lookup = payment.lookup
    times = (lookup.first_block_time, lookup.block_time, payment.completed_at)
    return min(time for time in times if time is not None)


def _complete(request: PaymentRequest, late: Sequence[Payment], rate: Rate, now: datetime) -> bool:
    """Complete the request if its net amount is worth the price at this rate. Locks the request."""
    with transaction.atomic():
        locked = lock_request(request.pk)
        is_unchanged = [each.pk for each in _late_arrivals(locked)] == [each.pk for each in late]
        if not (is_unchanged and locked.can_be_accepted and _is_worth_price(locked, late, rate)):
            return False
        payment = late[-1]
        columns = {"completed_at": now, "paid_late": True, "late_price_mail_at": None}
        value = f"{rate.value.normalize():f} {rate.currency}"
        reason = f"{payment.pk} was worth the price when it arrived, at {value} for 1 {locked.token.symbol}"
        if not move_request(
            locked, PaymentRequest.Status.COMPLETED, actor="verification", reason=reason, **columns
        ):
            return False
        Payment.objects.filter(pk=payment.pk).update(status_detail=_DETAIL)
        payment.request, payment.status_detail = locked, _DETAIL
        events.record_succeeded(locked, payment)
    return True


def _is_worth_price(request: PaymentRequest, late: Sequence[Payment], rate: Rate) -> bool:
    """Whether the money is worth the price, without late money that arrived at another time than the rate's.

    Otherwise, a tiny payment could give older money a better rate.
    """
    if request.price is None:
        return False
    of_another_time = [each for each in late if abs(rate.observed_at - _arrived_at(each)) > LONGEST_DELAY]
    counted = request.net - sum(each.amount_received or 0 for each in of_another_time)
    worth = Fraction(counted, 10**request.token.decimals) * rate.exact
    return worth >= Fraction(request.price["amount"])
