"""Wait until the balance of a deposit address shows the native coin that a known transaction sent there."""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from payments.coins.lookups import NATIVE
from payments.models import DepositAddress, Payment

# While a transaction waits, its address is looked at again after this time, since a node may be behind.
LOOK_PAUSE = timedelta(minutes=1)


def awaits_balance(payment: Payment) -> bool:
    """Whether the payment's transaction sent native coin to the deposit address. Only the balance credits such coin."""
    is_by_address = payment.bound_by == Payment.BoundBy.ADDRESS and payment.deposit_sequence is None
    return is_by_address and payment.request.token.contract_address == NATIVE


def make_look_due(request_ids: Collection[UUID], at: datetime) -> None:
    """Make the next look at these requests' addresses due at this time, unless it is due earlier.

    Only addresses for native coin that have left the chain's search need this. The year of weekly looks may be over.
    """
    if not request_ids:
        return
    left = DepositAddress.objects.filter(
        pk__in=request_ids, next_block__isnull=False, request__token__contract_address=NATIVE
    )
    # Lock in a fixed order, since several workers may store outcomes of the same requests.
    rows = left.exclude(next_look_at__lte=at).select_for_update(no_key=True, of=("self",)).order_by("pk")
    if keys := list(rows.values_list("pk", flat=True)):
        DepositAddress.objects.filter(pk__in=keys).update(next_look_at=at)
