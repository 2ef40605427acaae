"""A failed refund takes its amount back when it is built again, before its transaction is returned.

Or it is rejected.
"""

from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from payments.models import Payment, PaymentRequest, Refund, Transition
from payments.refunds import services
from payments.requests.lifecycle import cancel_request, lock_request
from payments.sandbox import payments as sandbox_payments
from tests.support.payments.rows import change
from tests.support.portal.payment_rows import Make
from tests.support.portal.refund_rows import WHY, carrier_of, create, pay, status

pytestmark = pytest.mark.django_db
Status = Refund.Status


def fail(refund: Refund) -> Payment:
    """Submit a transaction of the refund that reverts; return its payment."""
    with transaction.atomic():
        sandbox_payments.fail(lock_request(carrier_of(refund).pk), WHY)
    return Payment.objects.filter(request=carrier_of(refund)).latest("created_at")


def build(refund: Refund) -> None:
    services.reserve_to_send(carrier_of(refund), actor=WHY)


def left(request: PaymentRequest) -> int:
    """Return the amount of the request that can be refunded."""
    return services.refundable(PaymentRequest.objects.get(pk=request.pk)).left


def refused(code: ErrorCode, call: Any, *args: Any, **options: Any) -> None:
    """Check that the call is rejected with this code, and changes neither refunds nor the history."""
    before = list(Refund.objects.values()), list(Transition.objects.values_list("pk", flat=True))
    with pytest.raises(ApiError) as error:
        call(*args, **options)
    assert error.value.problems[0].code == code
    assert (list(Refund.objects.values()), list(Transition.objects.values_list("pk", flat=True))) == before


@pytest.fixture
def failed(paid: PaymentRequest) -> Refund:
    """A refund of the full amount whose transaction reverted."""
    refund = create(paid)
    build(refund)
    fail(refund)
    assert status(refund) == Status.FAILED
    return refund


def test_rebuilt_refund_reserves_its_amount_with_history(paid: PaymentRequest, failed: Refund) -> None:
    assert left(paid) == paid.amount
    build(failed)
    assert status(failed) == Status.READY
    assert left(paid) == 0
    refused(ErrorCode.REFUND_TOO_LARGE, create, paid, amount=1)
    [noted] = Transition.objects.filter(request=carrier_of(failed), reason__startswith="built again")
    assert (noted.actor, noted.from_status, noted.to_status) == (WHY, "active", "active")


def test_second_rebuild_keeps_reservation_without_new_record(paid: PaymentRequest, failed: Refund) -> None:
    build(failed)
    build(failed)
    assert status(failed) == Status.READY
    assert Transition.objects.filter(reason__startswith="built again").count() == 1


def test_failure_after_rebuild_frees_the_amount(paid: PaymentRequest, failed: Refund) -> None:
    build(failed)
    fail(failed)
    assert status(failed) == Status.FAILED
    create(paid)
    refused(ErrorCode.REFUND_TOO_LARGE, build, failed)


def test_repeated_failure_of_earlier_transaction_frees_nothing(paid: PaymentRequest, failed: Refund) -> None:
    """Finality checks and retries can reopen the earlier payment.

    Meanwhile, the newer transaction may be signed and sent.
    """
    earlier = Payment.objects.get(request=carrier_of(failed))
    build(failed)
    change(earlier, status="pending", failure_code="", next_check_at=timezone.now())
    assert status(failed) == Status.PROCESSING
    Payment.objects.filter(pk=earlier.pk).update(status="failed", failure_code="transaction_not_found")
    assert status(failed) == Status.READY
    refused(ErrorCode.REFUND_TOO_LARGE, create, paid, amount=1)


def test_transaction_of_a_clock_ahead_counts_as_earlier(failed: Refund) -> None:
    earlier = Payment.objects.get(request=carrier_of(failed))
    ahead = earlier.created_at.replace(year=earlier.created_at.year + 1)
    Payment.objects.filter(pk=earlier.pk).update(created_at=ahead)
    build(failed)
    assert status(failed) == Status.READY


def test_cancelling_it_frees_the_amount_and_ends_building(paid: PaymentRequest, failed: Refund) -> None:
    build(failed)
    services.cancel_refund(failed, actor=WHY)
    assert left(paid) == paid.amount
    refused(ErrorCode.REFUND_NOT_READY, build, failed)


def test_refund_with_transaction_in_flight_is_not_rebuilt(failed: Refund) -> None:
    earlier = Payment.objects.get(request=carrier_of(failed))
    change(
        earlier,
        status="processing",
        is_in_flight=True,
        amount=failed.amount,
        next_check_at=timezone.now(),
    )
    refused(ErrorCode.PAYMENT_IN_PROGRESS, build, failed)


def test_crash_before_the_commit_keeps_the_refund_failed(
    paid: PaymentRequest, failed: Refund, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(services, "note", crash)
    before = Refund.objects.values("built_at").get()
    with pytest.raises(KeyboardInterrupt):
        build(failed)
    assert Refund.objects.values("built_at").get() == before
    assert status(failed) == Status.FAILED
    create(paid)


def test_payment_is_not_refunded_twice_from_another_payment(make: Make) -> None:
    request = make()
    first = pay(request, 4_000_000)
    pay(request, 6_000_000)
    cancel_request(request.pk, actor=WHY)
    refund = create(request, payment_id=first.pk)
    fail(refund)
    create(request, payment_id=first.pk)
    assert left(request) == 6_000_000
    refused(ErrorCode.REFUND_TOO_LARGE, build, refund)
