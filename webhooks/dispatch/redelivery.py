"""Sending a delivery again because somebody asks: the merchant by the API, or an operator in the admin (contract 9)."""

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from config import leases
from config.api.errors import ApiError, ErrorCode
from merchants.models import Merchant
from webhooks.models import Delivery, Endpoint

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 10_000
MOST_ATTEMPTS = 100
"""From here on a delivery is not begun again: whatever is wrong, it is not bad luck."""


def redeliver(delivery: Delivery, actor: str) -> Delivery:
    """Begin a new series of eight attempts of the same frozen body, due at once; return the delivery as it is now.

    The attempts made so far stay on record, and their numbers go on. Whatever the status was, it is `pending`
    again. A waiting delivery is due at once instead of later, and an attempt under way becomes the first of the new
    series: none is lost, and none is made twice. Held back by a disabled endpoint, it goes out when that is enabled.

    `actor` (such as `api key quitt_012345` or `operator alice`) is kept with it, and logged.

    Raises ApiError: `webhook_not_configured` where there is no URL to send to, `retry_limit_reached` after 100
    attempts.
    """
    now = timezone.now()
    with transaction.atomic():
        row = Delivery.objects.select_for_update().get(pk=delivery.pk)
        _demand_url(row)
        if row.attempts >= MOST_ATTEMPTS:
            message = f"This was sent {row.attempts} times; at most {MOST_ATTEMPTS} are made of one delivery."
            raise ApiError(ErrorCode.RETRY_LIMIT_REACHED, message)
        is_under_way = not Delivery.objects.filter(leases.is_free(), pk=row.pk).exists()
        row.earlier_attempts = row.attempts - 1 if is_under_way else row.attempts
        if not is_under_way:  # a worker that comes back late has no say in the new series
            row.claim_id = row.lease_until = None
        row.status = Delivery.Status.PENDING
        row.due_at = now
        row.finished_at = None
        row.redelivered_at = now
        row.redelivered_by = actor[:100]
        row.save(
            update_fields=(
                "earlier_attempts",
                "claim_id",
                "lease_until",
                "status",
                "due_at",
                "finished_at",
                "redelivered_at",
                "redelivered_by",
            )
        )
    logger.info("webhook delivery %s is sent again, by %s", row.pk, actor)
    return row


def redeliver_failed(merchant: Merchant, since: datetime, actor: str, *, type_: str | None = None) -> int:
    """Send again, each as a new series, the deliveries given up since `since`; return how many these are.

    Tests are left alone. At most 10,000 are begun by one call: a further call takes the next ones. Raises ApiError as
    `redeliver` does where there is no URL to send to.
    """
    failed = Delivery.objects.filter(
        merchant=merchant,
        status=Delivery.Status.FAILED,
        finished_at__gte=since,
        is_test=False,
        attempts__lt=MOST_ATTEMPTS,
    )
    if type_ is not None:
        failed = failed.filter(type=type_)
    now = timezone.now()
    with transaction.atomic():
        if not Endpoint.objects.filter(merchant=merchant, url__isnull=False).exists():
            failed = failed.exclude(url_override="")
            if not failed.exists():
                raise _no_url()
        chosen = failed.order_by("finished_at", "pk").select_for_update(skip_locked=True)[:MOST_AT_ONCE]
        begun = Delivery.objects.filter(pk__in=list(chosen.values_list("pk", flat=True))).update(
            earlier_attempts=F("attempts"),
            status=Delivery.Status.PENDING,
            due_at=now,
            finished_at=None,
            redelivered_at=now,
            redelivered_by=actor[:100],
        )
    logger.info(
        "%s failed webhook deliveries of merchant %s are sent again, by %s", begun, merchant.pk, actor
    )
    return begun


def _no_url() -> ApiError:
    message = "There is no webhook URL to send to; set one with PUT /api/webhooks."
    return ApiError(ErrorCode.WEBHOOK_NOT_CONFIGURED, message)


def _demand_url(delivery: Delivery) -> None:
    if delivery.url_override:
        return
    if not Endpoint.objects.filter(merchant=delivery.merchant_id, url__isnull=False).exists():
        raise _no_url()
