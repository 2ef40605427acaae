"""Database queries by a refund's status find exactly the refunds to which `standing_of` gives that status."""

from datetime import UTC, datetime, timedelta
from itertools import combinations_with_replacement, product
from typing import Any

import pytest
from django.utils import timezone

from payments.models import PaymentRequest, Refund
from payments.refunds.reading import now, with_status
from tests.support.payments.rows import new_payment
from tests.support.portal.payment_rows import SENDER, Make

# All kinds of payments that affect a refund's status. The refund is 10 base units.
KINDS: dict[str, dict[str, Any]] = {
    "all of it": {"status": "completed", "amount_received": 10},
    "more than it": {"status": "completed", "amount_received": 11},
    "a part": {"status": "completed", "amount_received": 4},
    "the rest": {"status": "completed", "amount_received": 6},
    "a stranger's hash": {"status": "pending"},
    "in flight": {"status": "processing", "is_in_flight": True},
    "bound, unmined": {"status": "pending", "is_bound_unmined": True},
    "failed": {"status": "failed", "failure_code": "transaction_reverted", "submitted_publicly": False},
    "failed, bound": {"status": "failed", "failure_code": "transaction_not_found", "bound_by": "reference"},
    "failed, used": {"status": "failed", "failure_code": "transaction_already_used"},
    "failed, a stranger's": {"status": "failed", "failure_code": "transaction_not_bound"},
}


FIRST = datetime(2026, 1, 1, tzinfo=UTC)
# The time of the last build: never, before the payments, between them, or with the last one.
BUILT = (None, FIRST - timedelta(hours=1), FIRST, FIRST + timedelta(hours=1))


def refund(
    make: Make, address: str, cancelled: bool, kinds: tuple[str, ...], built_at: datetime | None = None
) -> Refund:
    request = make()
    carrier = make() if address else None
    if carrier:
        PaymentRequest.objects.filter(pk=carrier.pk).update(is_refund=True, amount=10)
        for number, kind in enumerate(kinds):
            new_payment(
                request=carrier,
                chain=carrier.chain,
                transaction_hash=f"0x{number:064x}",
                created_at=FIRST + timedelta(hours=number),
                **{"failure_message": "", **KINDS[kind]},
            )
    return Refund.objects.create(
        merchant=request.merchant,
        request=request,
        carrier=carrier,
        amount=10,
        recipient_address=address,
        address_source="merchant" if address else "",
        cancelled_at=timezone.now() if cancelled else None,
        built_at=built_at,
    )


@pytest.mark.django_db
def test_each_refund_is_found_by_its_own_status_alone(make: Make) -> None:
    for cancelled in (False, True):
        refund(make, "", cancelled, ())
    payments = [(), *((kind,) for kind in KINDS), *combinations_with_replacement(KINDS, 2)]
    for cancelled, kinds, built_at in product((False, True), payments, BUILT):
        refund(make, SENDER, cancelled, kinds, built_at)
    expected: dict[str, set[str]] = {status.value: set() for status in Refund.Status}
    for each in now(Refund.objects.select_related("carrier")):
        expected[each.standing.status].add(each.refund.pk)
    assert all(expected.values())
    found = {
        status.value: set(with_status(Refund.objects.all(), status).values_list("pk", flat=True))
        for status in Refund.Status
    }
    assert found == expected
