"""Leases on due payments: two workers never verify the same payment at once.

A block that arrives during a check makes the payment due again (`payments.waking.on_new_heads`). The check may have
queried its nodes before that block, so its outcome must not postpone the payment past it. `lock_held` therefore returns
the stored times.
"""

import logging
import time
import uuid
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from config.database import leases
from config.database.leases import Lease
from payments.models import Payment
from payments.requests.due_in_turns import due_in_turns
from payments.requests.fair_batches import batch_of
from payments.requests.transitions import start_processing

logger = logging.getLogger(__name__)

BATCH = 400

FREE: dict[str, Any] = {"claim_id": None, "lease_until": None}
"""The columns that release a lease."""


def claim_due(now: datetime, chain_id: int | None = None) -> tuple[Lease, list[Payment]]:
    """Lease the due payments, mark them as processing and return them with their lease.

    Chains take turns, and on each chain merchants. With `chain_id`, only payments that are looked up on that chain are
    leased. Swaps that wait for their routing provider are left out.
    """
    ids = due_in_turns(now, BATCH, chain_id)
    return _lease(due_payments(now).exclude(waits_for_provider()).filter(pk__in=ids), BATCH)


def due_payments(now: datetime) -> QuerySet[Payment]:
    """Return the due payments that no worker holds, the longest overdue first."""
    open_ones = Payment.objects.filter(is_simulated=False, status__in=Payment.OPEN)
    return open_ones.filter(leases.is_free(), next_check_at__lte=now).order_by("next_check_at")


def waits_for_provider() -> Q:
    """Return the filter for swaps in progress whose provider has not reported a delivery yet."""
    return Q(is_bridging=True, destination_transaction_hash="")


def claim(due: QuerySet[Payment], most: int) -> tuple[Lease, list[Payment]]:
    """Lease up to `most` of the due payments and return them with their lease.

    If more are due, merchants take turns. Payments with fewer missed checks come first within a merchant, because
    anyone can submit hashes of transactions that don't exist.
    """
    return _lease(batch_of(due, most, merchant="merchant_id", first=("attempts", "next_check_at")), most)


def _lease(due: QuerySet[Payment], most: int) -> tuple[Lease, list[Payment]]:
    """Lease up to `most` of these payments. Rows locked by others are skipped."""
    asked_at, claim_id = time.monotonic(), uuid.uuid4()
    with transaction.atomic():
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


def lock_held(ids: Collection[str], claim_id: uuid.UUID) -> dict[str, datetime | None]:
    """Lock those of the payments that the claim still holds; return their stored next checks by id."""
    held = Payment.objects.filter(pk__in=ids, claim_id=claim_id, status=Payment.Status.PROCESSING)
    rows = held.select_for_update(no_key=True).order_by("pk")
    return dict(rows.values_list("pk", "next_check_at"))
