"""Store notices about a merchant's first payment, and about new payments that need attention.

Every five minutes, a task checks the merchants whose members want notices. The task compares the open cases with
those of the last check (`NoticeWatch`). One e-mail reports all new cases. The e-mail is sent at most once an hour,
because anyone can cause many cases with small transfers. Verification itself writes no notices.
"""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta

from django.conf import settings
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone

from chains.amounts import display_amount
from config.due_work.queue import Queue
from merchants.mail.notices import are_wanted, notify
from merchants.models import Merchant, NoticeKind, NoticeWatch
from merchants.models.mail import WATCHED
from payments.attention import LABELS, Matter, open_cases
from payments.models import Payment
from payments.models.statistics import DailyVolume

EVERY = timedelta(minutes=5)
PAUSE = timedelta(hours=1)
_BATCH = 100
NOTICES = Queue(model=NoticeWatch, due="check_at", owner="merchant_id", has_lease=False)


def check_notices(*, now: Callable[[], datetime] = timezone.now) -> int:
    """Check the due merchants. Return their number."""
    watches = NoticeWatch.objects.filter(pk__in=NOTICES.pick(now(), _BATCH))
    return sum(_check(watch, now()) for watch in watches.select_related("merchant").order_by("pk"))


def _check(watch: NoticeWatch, now: datetime) -> bool:
    """Store notices about new cases. Mark these cases as known in the same database transaction."""
    merchant = watch.merchant
    own = NoticeWatch.objects.filter(pk=watch.pk, check_at=watch.check_at)
    with transaction.atomic():
        if not are_wanted(merchant, WATCHED):
            # If members want notices later, the next check treats the cases that are open then as known. The row stays,
            # because members can want notices again without a new choice: their account can be reactivated.
            own.update(known=None, check_at=now + EVERY)
            return False
        cases = open_cases(merchant, now)
        first = None if watch.had_payment else _first_day(merchant)
        is_baseline = watch.known is None
        new = [] if is_baseline else sorted(cases - set(watch.known or ()))
        written = own.update(
            known=sorted(cases),
            had_payment=watch.had_payment or first is not None,
            check_at=now + (PAUSE if new else EVERY),
        )
        if not written:
            return False
        if first is not None and not is_baseline:
            notify(merchant, NoticeKind.FIRST_PAYMENT, *_first_payment(merchant, first))
        if new:
            notify(merchant, NoticeKind.ATTENTION, *_attention(merchant, new))
    return True


def _first_day(merchant: Merchant) -> datetime | None:
    """Return the start of the day of the merchant's first payment. Simulated payments don't count."""
    days = DailyVolume.objects.filter(merchant=merchant, payments__gt=0).order_by("day")
    day = days.values_list("day", flat=True).first()
    return datetime.combine(day, time.min, UTC) if day else None


def _first_payment(merchant: Merchant, since: datetime) -> tuple[str, str]:
    payments = Payment.objects.filter(
        lookup__merchant=merchant,
        status=Payment.Status.COMPLETED,
        is_simulated=False,
        request__is_refund=False,
        completed_at__gte=since,
    )
    payment = payments.select_related("request__token", "request__chain").order_by("completed_at").first()
    context = {
        "merchant": merchant,
        "payment": payment,
        "amount": _amount(payment) if payment else "",
        "base_url": settings.BASE_URL,
    }
    text = render_to_string("payments/first_payment.txt", context)
    return f"{merchant}: your first payment arrived", text


def _amount(payment: Payment) -> str:
    token = payment.request.token
    return f"{display_amount(payment.amount_received or 0, token.decimals)} {token.symbol}"


def _attention(merchant: Merchant, cases: list[str]) -> tuple[str, str]:
    """Return subject and text. Each of the `cases` is a key that begins with its matter, such as `overpaid:`."""
    counts = Counter(LABELS[Matter(case.partition(":")[0])] for case in cases)
    context = {"merchant": merchant, "counts": counts.items(), "base_url": settings.BASE_URL}
    number = "a payment needs" if len(cases) == 1 else f"{len(cases)} payments need"
    return f"{merchant}: {number} attention", render_to_string("payments/attention.txt", context)
