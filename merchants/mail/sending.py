"""Send the stored e-mails (see `config.due_work`).

After an e-mail is sent or given up, its row is deleted. If a worker dies between sending and deleting, or loses its
lease because the mail server is slow, another worker sends the e-mail a second time. Addresses are never logged. A mail
server's error may quote an address, so only the class of the error is logged.
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
_BATCH = 5
MAILS = Queue(model=Mail, due="next_attempt_at", owner="merchant_id")

Send = Callable[..., object]


def send_due(*, now: Callable[[], datetime] = timezone.now, send: Send = mail.send) -> int:
    """Send some due e-mails. Merchants take turns. Return how many were due."""
    keys = MAILS.pick(now(), _BATCH)
    for key in keys:
        # EMAIL_TIMEOUT limits each wait for the server, not the whole e-mail. A slow e-mail can take as long as a lease
        # is renewed. So each e-mail has a lease of its own.
        lease = MAILS.lease(now(), [key])
        with leases.kept(lease):
            for row in Mail.objects.filter(pk__in=lease.keys):
                _send_one(row, lease, now(), send)
    return len(keys)


def _send_one(row: Mail, lease: Lease, now: datetime, send: Send) -> None:
    # After an e-mail is sent or given up, its row is deleted even if the lease was lost. Otherwise, if sending always
    # takes longer than the lease, each worker would send the e-mail again.
    own = Mail.objects.filter(pk=row.pk)
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
        own.filter(claim_id=lease.claim_id).update(
            next_attempt_at=now + pause, failures=F("failures") + 1, **FREE
        )
        logger.warning(
            "the %s e-mail %d of merchant %s was not sent: %s", row.kind, row.pk, row.merchant_id, reason
        )
        return
    own.delete()


def _is_final(error: Exception) -> bool:
    """Whether a retry can't succeed: the server rejects the address permanently, or the address is malformed."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code >= 500 for code, _ in error.recipients.values())
    return isinstance(error, ValueError)


MAILING: Runner[None] = Runner("mail", lambda _: send_due(), lanes=lambda: MAILS.lanes(timezone.now()))
