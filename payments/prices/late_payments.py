"""Payments that arrived after the price had expired: today's rate, and the e-mail to the merchant.

`PaymentRequest.late_price_mail_at` is when the e-mail is due. It is moved before the e-mail is sent and cleared
afterwards: if a worker dies in between, the e-mail is sent twice rather than never.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils import timezone

from chains.amounts import display_amount
from chains.models import Token
from config.api.errors import ApiError
from config.due_work.queue import Queue
from config.mail import send as send_mail
from payments.models import PaymentRequest
from payments.prices.rates import Rate, current_rate

logger = logging.getLogger(__name__)

PAUSE = timedelta(minutes=10)
_BATCH = 100
LATE_MAILS = Queue(model=PaymentRequest, due="late_price_mail_at", owner="merchant_id", has_lease=False)

Mail = Callable[[str, str, str], object]
RateOf = Callable[[Token, str], Rate]


def rate_now(request: PaymentRequest, *, rate_of: RateOf = current_rate) -> str | None:
    """Return units of the price's currency for one token as a decimal string; None if the rate is unknown."""
    if request.price is None:
        return None
    try:
        rate = rate_of(request.token, request.price["currency"])
    except ApiError as error:
        logger.info("no rate to compare with the price of a late payment: %s", error)
        return None
    return f"{rate.value.normalize():f}"


def mail_merchants(
    *, now: Callable[[], datetime] = timezone.now, mail: Mail = send_mail, rate_of: RateOf = current_rate
) -> int:
    """E-mail the merchants of requests that wait for acceptance; return how many e-mails were sent."""
    due = PaymentRequest.objects.filter(pk__in=LATE_MAILS.pick(now(), _BATCH)).select_related(
        "merchant", "token"
    )
    return sum(_mailed_alone(request, now(), mail, rate_of) for request in due.order_by("pk"))


def _mailed_alone(request: PaymentRequest, now: datetime, mail: Mail, rate_of: RateOf) -> bool:
    """E-mail one merchant; if that fails, log it and retry later, so that the other e-mails are sent."""
    try:
        return _mail_one(request, now, mail, rate_of)
    except Exception:
        logger.exception("the e-mail about payment request %s was not sent", request.pk)
        return False


def _mail_one(request: PaymentRequest, now: datetime, mail: Mail, rate_of: RateOf) -> bool:
    own = PaymentRequest.objects.filter(pk=request.pk)
    if not _move(own, request.late_price_mail_at, now + PAUSE):
        return False
    if not request.can_be_accepted or not request.merchant.email:
        if not request.merchant.email:
            logger.warning(
                "payment request %s was paid after its price expired, and merchant %s has no e-mail address",
                request.pk,
                request.merchant_id,
            )
        _move(own, now + PAUSE, None)
        return False
    # A line break would end the header.
    name = " ".join(request.merchant.name.split())
    subject = f"{name}: a payment came after its price expired"
    mail(request.merchant.email, subject, _letter(request, rate_of))
    _move(own, now + PAUSE, None)
    return True


def _move(own: QuerySet[PaymentRequest], since: datetime | None, to: datetime | None) -> bool:
    return own.filter(late_price_mail_at=since).update(late_price_mail_at=to) == 1


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
