"""Store that many payments are still missing or wait for confirmations, in few statements."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from payments.models import Payment
from payments.requests.bulk_updates import update_each
from payments.verification.checks import ChainCheck
from payments.verification.leasing import FREE, brought_forward


def postpone_together(
    columns: Mapping[str, Mapping[str, Any]], check: ChainCheck, *, for_a_block: Mapping[str, datetime | None]
) -> None:
    """Write each payment's columns, which include its next check, and release its lease.

    Nothing is written for a payment whose lease was lost. `for_a_block` names those that wait for a block, with their
    next checks at the time of the lease: one that a new block has brought forward since keeps its stored time.
    """
    rows = {pk: {**fields, **FREE} for pk, fields in columns.items()}
    with transaction.atomic():
        for pk in brought_forward(for_a_block):
            del rows[pk]["next_check_at"]
        guard = {"claim_id": check.claim_id, "status": Payment.Status.PROCESSING}
        update_each(Payment, rows, guard=guard)
