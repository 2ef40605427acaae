"""Store that many payments are still missing or wait for confirmations, in few statements."""

from collections.abc import Mapping
from typing import Any

from payments.models import Payment
from payments.requests.bulk_updates import update_each
from payments.verification import outcomes
from payments.verification.checks import ChainCheck


def postpone_together(columns: Mapping[str, Mapping[str, Any]], check: ChainCheck) -> None:
    """Write each payment's columns, which include its next check, and release its lease.

    Nothing is written for a payment whose lease was lost.
    """
    update_each(
        Payment,
        {pk: {**fields, **outcomes.FREE} for pk, fields in columns.items()},
        guard={"claim_id": check.claim_id, "status": Payment.Status.PROCESSING},
    )
