"""Send the stored e-mails, a queue of due work. A row is deleted once its e-mail is sent or given up.

An e-mail is sent outside any transaction. If a worker dies between sending and deleting, it is sent twice rather than
never. Addresses are never logged: a mail server's error quotes the address, so only the error's class is logged.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from smtplib import SMTPRecipientsRefused
from typing import Any

from django.db.models import F
from django.utils import timezone

from config import mail
from config.due_work import leases
from config.due_work.leases import FREE, Lease
from config.due_work.queue import Queue
from config.due_work.runner import Runner
from merchants.mail.unsubscribing import footer, headers
from merchants.models import Mail

logger = logging.getLogger(__name__)

KEPT = timedelta(hours=24)
FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)
# A batch has to end within the minute for which its lease is renewed, and each e-mail can take up to EMAIL_TIMEOUT.
_BATCH = 5
MAILS = Queue(model=Mail, due="next_attempt_at", owner="merchant_id")

Send = Callable[..., object]


def send_due(*, now: Callable[[], datetime] = timezone.now, send: Send = mail.send) -> int:
    """Send a batch of due e-mails; return how many were due."""
    lease = MAILS.claim(now(), _BATCH)
    with leases.kept(lease):
        for row in Mail.objects.filter(pk__in=lease.keys).order_by("next_attempt_at", "pk"):
            if lease.holds(row.pk):
                _send_one(row, lease, now(), send)
                lease.end(row.pk)
    return len(lease.keys)


def _send_one(row: Mail, lease: Lease, now: datetime, send: Send) -> None:
    own = Mail.objects.filter(pk=row.pk, claim_id=lease.claim_id)
    extra: dict[str, Any] = {"headers": headers(row)} if row.member_id else {}
    try:
        send(row.recipient, row.subject, row.text + footer(row), **extra)
    except Exception as error:
        reason = type(error).__name__
        if _is_final(error) or now - row.created_at >= KEPT:
            own.delete()
            logger.warning(
                "gave up the %s e-mail %d of merchant %s: %s", row.kind, row.pk, row.merchant_id, reason
            )
            return
        pause = min(FIRST_PAUSE * 2**row.failures, LONGEST_PAUSE)
        own.update(next_attempt_at=now + pause, failures=F("failures") + 1, **FREE)
        logger.warning(
            "the %s e-mail %d of merchant %s was not sent: %s", row.kind, row.pk, row.merchant_id, reason
        )
        return
    own.delete()


def _is_final(error: Exception) -> bool:
    """Whether retries can't help: the server rejects the address permanently, or it can't be in a message."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code >= 500 for code, _ in error.recipients.values())
    return isinstance(error, ValueError)


MAILING: Runner[None] = Runner("mail", lambda _: send_due(), lanes=lambda: MAILS.lanes(timezone.now()))
