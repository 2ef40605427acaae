"""Send a merchant an e-mail when its endpoint has failed for a day, and another when the endpoint is disabled.

`webhooks.dispatch.attempts` stores the failures and disables endpoints. An e-mail is due if `warned_at` is null. The
transaction that stores the e-mail also sets `warned_at`.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone

from merchants.mail.notices import notify
from merchants.models import NoticeKind
from webhooks.models import Endpoint

WARN_AFTER = timedelta(hours=24)
DISABLE_AFTER = timedelta(days=5)
DISABLED_REASON = "Every attempt of the last 5 days failed."
_BATCH = 100


def notify_merchants(*, now: Callable[[], datetime] = timezone.now) -> int:
    """E-mail merchants whose endpoint has failed for a day or was disabled. Return how many merchants get an e-mail."""
    failing = Q(is_enabled=True, failing_since__lte=now() - WARN_AFTER)
    disabled = Q(is_enabled=False, disabled_reason__isnull=False)
    owed = Endpoint.objects.filter(failing | disabled, warned_at=None, url__isnull=False)
    sent = 0
    for endpoint in owed.select_related("merchant").order_by("pk")[:_BATCH]:
        sent += _warn(endpoint, now())
    return sent


def _warn(endpoint: Endpoint, now: datetime) -> bool:
    state = Endpoint.objects.filter(pk=endpoint.pk, is_enabled=endpoint.is_enabled, warned_at=None)
    with transaction.atomic():
        if not state.update(warned_at=now):
            return False
        return notify(endpoint.merchant, NoticeKind.ENDPOINT, *_letter(endpoint), to_merchant=True) > 0


def _letter(endpoint: Endpoint) -> tuple[str, str]:
    """Return the subject and the text of the e-mail."""
    name = endpoint.merchant.name
    context = {"endpoint": endpoint, "merchant": endpoint.merchant, "base_url": settings.BASE_URL}
    if endpoint.is_enabled:
        context["disabled_at"] = (endpoint.failing_since or timezone.now()) + DISABLE_AFTER
        return f"{name}: your webhooks are failing", render_to_string("webhooks/failing.txt", context)
    return f"{name}: your webhook endpoint was disabled", render_to_string("webhooks/disabled.txt", context)
