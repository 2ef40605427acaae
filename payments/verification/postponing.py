"""Release a payment's lease until its next check, which a block may already have brought forward.

A block that arrives during a look makes the payment due again (`payments.waking.on_new_heads`). The look may have asked
its nodes before that block, so its result must not postpone the payment past it.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Case, F, When

from payments.models import Payment
from payments.requests.watching import tell_watchers

FREE: dict[str, Any] = {"claim_id": None, "lease_until": None}
"""The columns that release a lease."""


def postpone(payment: Payment, claim_id: uuid.UUID, next_check: datetime | Case, **fields: Any) -> None:
    """Release the lease and check again at `next_check`. Nothing is written if the lease was lost."""
    held = Payment.objects.filter(pk=payment.pk, claim_id=claim_id, status=Payment.Status.PROCESSING)
    if held.update(next_check_at=next_check, **FREE, **fields):
        tell_watchers(payment.request_id)


def unless_brought_forward(payment: Payment, next_check: datetime) -> Case:
    """Return the SQL expression for the next check: `next_check`, or the stored time if it changed since the lease."""
    return Case(When(next_check_at=payment.next_check_at, then=next_check), default=F("next_check_at"))


def brought_forward(leased: Mapping[str, datetime | None]) -> set[str]:
    """Return which payments' next checks have changed since the lease; `leased` holds the times then, by payment.

    The rows stay locked until the end of the transaction.
    """
    rows = Payment.objects.filter(pk__in=leased).select_for_update().order_by("pk")
    return {pk for pk, time in rows.values_list("pk", "next_check_at") if time != leased[pk]}
