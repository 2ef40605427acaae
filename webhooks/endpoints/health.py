"""E-mail merchants after one day of failures; after five days the endpoint is disabled.

`webhooks.dispatch.attempts` stores the failures. E-mails are sent outside any transaction, and are due while
`warned_at` is null.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone

from config.mail import send as send_mail
from webhooks.models import Endpoint

logger = logging.getLogger(__name__)

WARN_AFTER = timedelta(hours=24)
DISABLE_AFTER = timedelta(days=5)
DISABLED_REASON = "Every attempt of the last 5 days failed."
_BATCH = 100

Mail = Callable[[str, str, str], object]


def notify_merchants(*, now: Callable[[], datetime] = timezone.now, mail: Mail = send_mail) -> int:
    """E-mail merchants whose endpoint has failed for a day or was disabled; return the number of e-mails.

    Each merchant gets one e-mail. A failed e-mail is retried at the next call.
    """
    failing = Q(is_enabled=True, failing_since__lte=now() - WARN_AFTER)
    disabled = Q(is_enabled=False, disabled_reason__isnull=False)
    owed = Endpoint.objects.filter(failing | disabled, warned_at=None, url__isnull=False)
    sent = 0
    for endpoint in owed.select_related("merchant").order_by("pk")[:_BATCH]:
        sent += _warn(endpoint, now(), mail)
    return sent


def _warn(endpoint: Endpoint, now: datetime, mail: Mail) -> bool:
    """Mark the e-mail as sent, then send it; undo the mark if sending fails."""
    state = Endpoint.objects.filter(pk=endpoint.pk, is_enabled=endpoint.is_enabled)
    if not state.filter(warned_at=None).update(warned_at=now):
        return False
    if not endpoint.merchant.email:
        logger.warning(
            "the endpoint of merchant %s is failing, and the merchant has no e-mail address",
            endpoint.merchant_id,
        )
        return False
    subject, text = _letter(endpoint)
    try:
        mail(endpoint.merchant.email, subject, text)
    except OSError:
        logger.exception("the e-mail about the endpoint of merchant %s was not sent", endpoint.merchant_id)
        state.filter(warned_at=now).update(warned_at=None)
        return False
    return True


def _letter(endpoint: Endpoint) -> tuple[str, str]:
    """Return the subject and the text of the e-mail."""
    name = endpoint.merchant.name
    context = {"endpoint": endpoint, "merchant": endpoint.merchant, "base_url": settings.BASE_URL}
    if endpoint.is_enabled:
        context["disabled_at"] = (endpoint.failing_since or timezone.now()) + DISABLE_AFTER
        return f"{name}: your webhooks are failing", render_to_string("webhooks/failing.txt", context)
    return f"{name}: your webhook endpoint was disabled", render_to_string("webhooks/disabled.txt", context)
