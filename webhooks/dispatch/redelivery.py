"""Send deliveries again, when a merchant requests this by API, or a user requests it in the portal."""

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from config.due_work import leases
from merchants.models import Merchant
from webhooks.models import Delivery, Endpoint

logger = logging.getLogger(__name__)

MAX_AT_ONCE = 10_000
MAX_ATTEMPTS = 100
"""A delivery with this many attempts is not sent again."""


def redeliver(delivery: Delivery, actor: str) -> Delivery:
    """Start a new series of eight attempts with the same body.

    The first attempt of the series is due at once. Return the updated delivery.

    Earlier attempts are kept, and new attempts continue their numbers. The status becomes `pending`. An attempt in
    progress counts as the first of the new series. If the endpoint is disabled, the delivery waits until it is enabled.

    `actor` (such as `api key quitt_012345` or `operator alice`) is stored and logged.

    Raises ApiError: `webhook_not_configured` without a URL, `retry_limit_reached` after 100 attempts.
    """
    now = timezone.now()
    with transaction.atomic():
        row = Delivery.objects.select_for_update().get(pk=delivery.pk)
        _require_url(row)
        if row.attempts >= MAX_ATTEMPTS:
            message = f"This delivery has had {row.attempts} attempts; the limit is {MAX_ATTEMPTS}."
            raise ApiError(ErrorCode.RETRY_LIMIT_REACHED, message)
        is_under_way = not Delivery.objects.filter(leases.is_free(), pk=row.pk).exists()
        row.earlier_attempts = row.attempts - 1 if is_under_way else row.attempts
        if not is_under_way:  # a worker whose lease has expired must not change the new series
            row.claim_id = row.lease_until = None
        row.is_retry = False
        row.status = Delivery.Status.PENDING
        row.due_at = now
        row.finished_at = None
        row.redelivered_at = now
        row.redelivered_by = actor[:100]
        row.save(
            update_fields=(
                "earlier_attempts",
                "is_retry",
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
    """Start a new series for each delivery that failed since `since`. Return how many series were started.

    Test events are not sent again. One call starts at most 10,000 deliveries. Call again to start more. Raises
    ApiError `webhook_not_configured` if there is no URL.
    """
    failed = Delivery.objects.filter(
        merchant=merchant,
        status=Delivery.Status.FAILED,
        finished_at__gte=since,
        is_test=False,
        attempts__lt=MAX_ATTEMPTS,
    )
    if type_ is not None:
        failed = failed.filter(type=type_)
    now = timezone.now()
    with transaction.atomic():
        if not Endpoint.objects.filter(merchant=merchant, url__isnull=False).exists():
            failed = failed.exclude(url_override="")
            if not failed.exists():
                raise _no_url()
        chosen = failed.order_by("finished_at", "pk").select_for_update(skip_locked=True)[:MAX_AT_ONCE]
        begun = Delivery.objects.filter(pk__in=list(chosen.values_list("pk", flat=True))).update(
            earlier_attempts=F("attempts"),
            is_retry=False,
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
    message = "No webhook URL is set. Set one with PUT /api/webhooks."
    return ApiError(ErrorCode.WEBHOOK_NOT_CONFIGURED, message)


def _require_url(delivery: Delivery) -> None:
    if delivery.url_override:
        return
    if not Endpoint.objects.filter(merchant=delivery.merchant_id, url__isnull=False).exists():
        raise _no_url()
