"""Sending a delivery again because somebody asks: the merchant by the API, or an operator in the admin (contract 9)."""

import logging

from django.db import transaction
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from webhooks.models import Delivery, Endpoint

logger = logging.getLogger(__name__)

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
        is_under_way = row.lease_until is not None and row.lease_until > now
        row.earlier_attempts = row.attempts - 1 if is_under_way else row.attempts
        row.status = Delivery.Status.PENDING
        row.due_at = now
        row.finished_at = None
        row.redelivered_at = now
        row.redelivered_by = actor[:100]
        changed = ("earlier_attempts", "status", "due_at", "finished_at", "redelivered_at", "redelivered_by")
        row.save(update_fields=changed)
    logger.info("webhook delivery %s is sent again, by %s", row.pk, actor)
    return row


def _demand_url(delivery: Delivery) -> None:
    if delivery.url_override:
        return
    if not Endpoint.objects.filter(merchant=delivery.merchant_id, url__isnull=False).exists():
        message = "There is no webhook URL to send to; set one with PUT /api/webhooks."
        raise ApiError(ErrorCode.WEBHOOK_NOT_CONFIGURED, message)
