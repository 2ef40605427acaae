"""A transaction is sent after its request or refund was cancelled, expired, completed or replaced.

A wallet may still hold a transaction that was built before. Here, the credits come from that transaction's
transfer, bound by its reference.
"""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from payments.attention import Matter, requests_with
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.reading import now as current
from payments.refunds.services import cancel_refund, refundable, reserve_to_send
from payments.requests.lifecycle import cancel_request
from payments.routes.direct import offer_direct
from payments.routes.routes import build_transaction
from tests.support.payments.credits import SENDER, UNIT, credit, expire, fail, refund
from tests.support.portal.payment_rows import Make
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def fresh(request: PaymentRequest) -> PaymentRequest:
    return PaymentRequest.objects.select_related("token__chain", "chain", "merchant").get(pk=request.pk)


def events() -> list[str]:
    """Return the types of all events, oldest first."""
    return [json.loads(event.body)["type"] for event in Event.objects.order_by("created")]


def attention(request: PaymentRequest) -> set[Matter]:
    own = PaymentRequest.objects.filter(pk=request.pk)
    matters = (Matter.OVERPAID, Matter.PARTLY_PAID, Matter.UNDECIDED, Matter.PAID_LATE)
    return {matter for matter in matters if requests_with(own, matter, Payment.objects.all()).exists()}


def build(refund: Refund) -> None:
    assert refund.carrier is not None
    reserve_to_send(refund.carrier, actor="test")


def send(refund: Refund) -> None:
    """Have a transaction of the refund mined, which may have been signed at any time."""
    assert refund.carrier is not None
    credit(refund.carrier, refund.amount)


def status(refund: Refund) -> str:
    [found] = current(Refund.objects.filter(pk=refund.pk).select_related("carrier"))
    return found.standing.status.value


def test_payment_of_cancelled_request_counts_and_is_refundable(make: Make) -> None:
    request = make()
    cancel_request(request.pk, actor="test")
    credit(request, request.amount)
    assert (fresh(request).status, events()) == ("cancelled", ["payment.succeeded"])
    assert attention(request) == {Matter.PARTLY_PAID}
    assert refundable(fresh(request)).left == request.amount


def test_payment_of_an_expired_request_completes_it_late(make: Make) -> None:
    request = make()
    expire(request)
    credit(request, request.amount)
    assert (fresh(request).status, fresh(request).paid_late) == ("completed", True)
    assert events() == ["payment.expired", "payment.succeeded"]
    assert attention(request) == {Matter.PAID_LATE}


def test_second_payment_of_a_completed_request_is_overpaid(make: Make) -> None:
    request = make()
    credit(request, request.amount)
    credit(request, request.amount)
    assert events() == ["payment.succeeded", "payment.overpaid"]
    assert fresh(request).amount_overpaid == request.amount
    assert attention(request) == {Matter.OVERPAID}
    assert fresh(request).amount_overpaid == request.amount


def test_full_payment_after_a_part_is_overpaid_by_the_part(make: Make) -> None:
    request = make()
    credit(request, 4 * UNIT)
    credit(request, request.amount)
    assert (fresh(request).status, fresh(request).amount_overpaid) == ("completed", 4 * UNIT)
    assert events() == ["payment.partially_paid", "payment.succeeded"]
    assert attention(request) == {Matter.OVERPAID}


@pytest.mark.parametrize("change", ["route expired", "partly paid"])
def test_old_route_is_not_built_again(make: Make, change: str) -> None:
    request = make()
    moment = timezone.now()
    if change == "route expired":
        moment -= timedelta(minutes=16)
    route = offer_direct(fresh(request), SENDER, moment)
    if change == "partly paid":
        credit(request, UNIT)
    route.request = fresh(request)
    with pytest.raises(ApiError) as refused:
        build_transaction(route, client=lambda chain: None)  # type: ignore[arg-type,return-value]
    assert refused.value.problems[0].code == ErrorCode.ROUTE_EXPIRED
    route.refresh_from_db()
    assert route.built_at is None


def test_cancelled_refund_that_is_sent_is_completed(make: Make) -> None:
    request = make()
    credit(request, request.amount)
    made = refund(request)
    build(made)
    cancel_refund(made, actor="test")
    assert refundable(fresh(request)).left == request.amount
    send(made)
    assert (status(made), events()[-1]) == ("completed", "refund.completed")
    assert refundable(fresh(request)).left == 0


def test_cancelled_refund_and_its_replacement_both_count(make: Make) -> None:
    """The merchant signed two transactions. The first can't be undone, but both amounts are shown."""
    request = make()
    credit(request, request.amount)
    first = refund(request)
    build(first)
    cancel_refund(first, actor="test")
    second = refund(request)
    send(first)
    with pytest.raises(ApiError) as refused:
        build(second)
    assert refused.value.problems[0].code == ErrorCode.REFUND_TOO_LARGE
    send(second)  # signed before the first one was mined
    assert (status(first), status(second)) == ("completed", "completed")
    assert fresh(request).refund_totals.completed == 2 * request.amount
    assert (fresh(request).net, fresh(request).status) == (-request.amount, "completed")
    assert events().count("refund.completed") == 2


def test_refund_that_is_sent_twice_is_completed_once(make: Make) -> None:
    request = make()
    credit(request, request.amount)
    made = refund(request)
    build(made)
    build(made)
    send(made)
    with pytest.raises(ApiError) as refused:
        build(made)
    assert refused.value.problems[0].code == ErrorCode.REFUND_NOT_READY
    send(made)
    assert (status(made), events().count("refund.completed")) == ("completed", 1)
    assert fresh(request).refund_totals.completed == request.amount


def test_earlier_transaction_completes_a_refund_built_again(make: Make) -> None:
    request = make()
    credit(request, request.amount)
    made = refund(request)
    build(made)
    assert made.carrier is not None
    fail(made.carrier)
    assert status(made) == "failed"
    build(made)
    send(made)
    assert status(made) == "completed"
    assert refundable(fresh(request)).left == 0


def test_failed_refund_sent_after_its_amount_was_taken_counts(make: Make) -> None:
    request = make()
    credit(request, request.amount)
    first = refund(request)
    build(first)
    assert first.carrier is not None
    fail(first.carrier)
    second = refund(request)
    send(first)
    assert (status(first), status(second)) == ("completed", "ready")
    with pytest.raises(ApiError) as refused:
        build(second)
    assert refused.value.problems[0].code == ErrorCode.REFUND_TOO_LARGE
    assert fresh(request).refund_totals.completed == request.amount
