"""E-mail a merchant about a payment that came after its price had expired. The e-mail has the current rate.

`PaymentRequest.late_price_mail_at` is the time when the e-mail is due. The rate is queried first, outside a database
transaction. Then one transaction clears the time and stores the e-mail. `merchants.mail.sending` sends it.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone

from chains.amounts import display_amount
from chains.models import Token
from config.api.errors import ApiError
from config.due_work.queue import Queue
from merchants.mail.notices import notify
from merchants.models import NoticeKind
from payments.models import PaymentRequest
from payments.prices.rates import Rate, current_rate

logger = logging.getLogger(__name__)

_BATCH = 100
LATE_MAILS = Queue(model=PaymentRequest, due="late_price_mail_at", owner="merchant_id", has_lease=False)

RateOf = Callable[[Token, str], Rate]
Settle = Callable[[PaymentRequest], bool]
"""Completes a due request if the merchant need not decide. Returns True if no e-mail is due now."""


def rate_now(request: PaymentRequest, *, rate_of: RateOf = current_rate) -> str | None:
    """Return the current value of one token in the price's currency, as a decimal string. None if it is unknown."""
    if request.price is None:
        return None
    try:
        rate = rate_of(request.token, request.price["currency"])
    except ApiError as error:
        logger.info("no rate to compare with the price of a late payment: %s", error)
        return None
    return f"{rate.value.normalize():f}"


def mail_merchants(
    *,
    now: Callable[[], datetime] = timezone.now,
    rate_of: RateOf = current_rate,
    settle: Settle = lambda _: False,
) -> int:
    """Store an e-mail about each due request that still waits for acceptance. Return how many were stored.

    If `settle` returns True, it has completed the request or postponed the e-mail, and no e-mail is stored.
    """
    due = PaymentRequest.objects.filter(pk__in=LATE_MAILS.pick(now(), _BATCH)).select_related(
        "merchant", "token"
    )
    return sum(_mailed_alone(request, rate_of, settle) for request in due.order_by("pk"))


def _mailed_alone(request: PaymentRequest, rate_of: RateOf, settle: Settle) -> bool:
    """Store one request's e-mail. A failure is logged and retried later, so that the other e-mails are sent."""
    try:
        return not settle(request) and _mail_one(request, rate_of)
    except Exception:
        logger.exception("the e-mail about payment request %s was not stored", request.pk)
        return False


def _mail_one(request: PaymentRequest, rate_of: RateOf) -> bool:
    own = PaymentRequest.objects.filter(pk=request.pk, late_price_mail_at=request.late_price_mail_at)
    letter = _letter(request, rate_of) if request.can_be_accepted else ""
    with transaction.atomic():
        if not own.update(late_price_mail_at=None) or not letter:
            return False
        subject = f"{request.merchant.name}: a payment came after its price expired"
        return notify(request.merchant, NoticeKind.ATTENTION, subject, letter, to_merchant=True) > 0


def _letter(request: PaymentRequest, rate_of: RateOf) -> str:
    context: dict[str, Any] = {
        "order": request,
        "merchant": request.merchant,
        "price": request.price,
        "rate": request.rate,
        "rate_now": rate_now(request, rate_of=rate_of),
        "paid": f"{display_amount(request.net, request.token.decimals)} {request.token.symbol}",
        "base_url": settings.BASE_URL,
    }
    return render_to_string("payments/late_price.txt", context)
