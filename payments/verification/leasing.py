"""Leases on due payments: two workers never verify the same payment at once."""

import logging
import time
import uuid
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from config import leases
from config.leases import Lease
from payments.models import Payment
from payments.requests.fair_batches import batch_of
from payments.requests.transitions import start_processing

logger = logging.getLogger(__name__)

BATCH = 400


def claim_due(now: datetime) -> tuple[Lease, list[Payment]]:
    """Lease the due payments, mark them as processing and return them with their lease.

    Swaps that wait for their routing provider are left out.
    """
    return claim(due_payments(now).exclude(waits_for_provider()), BATCH)


def due_payments(now: datetime) -> QuerySet[Payment]:
    """Return the due payments that no worker holds, the longest overdue first."""
    open_ones = Payment.objects.filter(is_simulated=False, status__in=Payment.OPEN)
    return open_ones.filter(leases.is_free(), next_check_at__lte=now).order_by("next_check_at")


def waits_for_provider() -> Q:
    """Return the filter for swaps in progress whose provider has not reported a delivery yet."""
    return Q(is_bridging=True, destination_transaction_hash="")


def claim(due: QuerySet[Payment], most: int) -> tuple[Lease, list[Payment]]:
    """Lease up to `most` of the due payments and return them with their lease. Rows locked by others are skipped.

    If more are due, merchants take turns. Payments with fewer missed checks come first within a merchant, because
    anyone can submit hashes of transactions that don't exist.
    """
    asked_at, claim_id = time.monotonic(), uuid.uuid4()
    with transaction.atomic():
        due = batch_of(due, most, merchant="request__merchant_id", first=("attempts", "next_check_at"))
        free = due.select_for_update(skip_locked=True, of=("self",)).select_related("request")
        # Prefetched, not joined: a batch has few chains.
        payments = list(free.prefetch_related("chain", "request__chain")[:most])
        ids = [payment.pk for payment in payments]
        Payment.objects.filter(pk__in=ids).update(claim_id=claim_id, lease_until=leases.expiry())
        start_processing(payments)
    abandoned = sum(payment.lease_until is not None for payment in payments)
    if abandoned:
        logger.warning("took over %d payments whose worker stopped", abandoned)
    return Lease(Payment, claim_id, ids, asked_at=asked_at), payments
