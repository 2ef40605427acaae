"""Refunds of requests in every situation: the table of docs/states.md says what the service does."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.api.errors import ApiError
from payments.attention import LABELS, Matter, count_requests, payments_with, requests_with
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.services import cancel_refund
from payments.requests.lifecycle import cancel_request
from payments.submission.merchant_acceptance import accept_payment
from payments.verification.finality import clear_reorged, flag_reorged
from tests.support.payments.credits import PRICE, UNIT, credit, expire, fail, refund
from tests.support.payments.credits import pay_tenths as pay
from tests.support.portal.payment_rows import Make

pytestmark = pytest.mark.django_db

PAGE = Path(__file__).resolve().parents[4] / "docs/states.md"
ASKED = 10


def with_price(request: PaymentRequest) -> None:
    PaymentRequest.objects.filter(pk=request.pk).update(price=PRICE)


def part_paid(request: PaymentRequest) -> None:
    pay(request, 4)


def part_paid_then_cancelled(request: PaymentRequest) -> None:
    pay(request, 4)
    cancel_request(request.pk, actor="test")


def part_paid_then_expired(request: PaymentRequest) -> None:
    pay(request, 4)
    expire(request)


def expired_without_payment(request: PaymentRequest) -> None:
    expire(request)


def paid_in_time(request: PaymentRequest) -> None:
    pay(request, 10)


def paid_late(request: PaymentRequest) -> None:
    expire(request)
    pay(request, 10)


def priced_paid_in_time(request: PaymentRequest) -> None:
    with_price(request)
    pay(request, 10)


def paid_after_the_price(request: PaymentRequest) -> None:
    with_price(request)
    expire(request)
    pay(request, 10)


def part_paid_after_the_price(request: PaymentRequest) -> None:
    with_price(request)
    expire(request)
    pay(request, 4)


def overpaid(request: PaymentRequest) -> None:
    pay(request, 6)
    pay(request, 7)


def cancelled_and_paid(request: PaymentRequest) -> None:
    cancel_request(request.pk, actor="test")
    pay(request, 10)


def paid_by_a_swap(request: PaymentRequest) -> None:
    pay(request, 11, type=Payment.Type.SWAP)


def accepted(request: PaymentRequest) -> None:
    pay(request, 10, accepted_by="test")


def refunded_and_paid_again(request: PaymentRequest) -> None:
    pay(request, 10)
    made = refund(request)
    assert made.carrier is not None
    credit(made.carrier, made.amount)
    pay(request, 10)


def reorganised(request: PaymentRequest) -> None:
    flag_reorged(pay(request, 10))


def reorganised_and_mined_again(request: PaymentRequest) -> None:
    payment = pay(request, 10)
    flag_reorged(payment)
    clear_reorged(payment)


def part_paid_and_reorganised(request: PaymentRequest) -> None:
    payment = pay(request, 4)
    expire(request)
    flag_reorged(payment)


def simulated(request: PaymentRequest) -> None:
    pay(request, 10, is_simulated=True)


SITUATIONS: dict[str, Callable[[PaymentRequest], None]] = {
    "part paid, still active": part_paid,
    "part paid, then cancelled": part_paid_then_cancelled,
    "part paid, then expired": part_paid_then_expired,
    "expired without a payment": expired_without_payment,
    "paid in time": paid_in_time,
    "paid after expiry": paid_late,
    "priced, paid in time": priced_paid_in_time,
    "priced, paid after the price expired": paid_after_the_price,
    "priced, part paid after the price expired": part_paid_after_the_price,
    "overpaid": overpaid,
    "paid, refunded and paid again": refunded_and_paid_again,
    "cancelled, then paid": cancelled_and_paid,
    "paid by a swap": paid_by_a_swap,
    "paid by an accepted payment": accepted,
    "paid, then reorganised": reorganised,
    "paid, reorganised and mined again": reorganised_and_mined_again,
    "part paid, expired, reorganised": part_paid_and_reorganised,
    "simulated": simulated,
}


def carrier_of(refund: Refund) -> PaymentRequest:
    assert refund.carrier is not None
    return refund.carrier


def completed(refund: Refund) -> None:
    credit(carrier_of(refund), refund.amount)


def cancelled(refund: Refund) -> None:
    cancel_refund(refund, actor="test")


def failed(refund: Refund) -> None:
    fail(carrier_of(refund))


ENDINGS: dict[str, Callable[[Refund], object]] = {
    "open": lambda _: None,
    "completed": completed,
    "cancelled": cancelled,
    "failed": failed,
}


def described(request: PaymentRequest) -> str:
    """Return the service's description of the request: status, amount held, attention, and acceptance."""
    request = PaymentRequest.objects.select_related("token").get(pk=request.pk)
    parts = [f"`{request.status}`", f"holds {request.net // UNIT}"]
    parts += [f"*{label}*" for matter, label in LABELS.items() if needs_attention(request, matter)]
    payment = request.payments.filter(status="completed").order_by("created_at").last()
    if payment is not None and request.status != PaymentRequest.Status.COMPLETED:
        parts += accepting(payment)
    return ", ".join(parts)


def needs_attention(request: PaymentRequest, matter: Matter) -> bool:
    of_request = requests_with(PaymentRequest.objects.all(), matter, Payment.objects.all()).filter(
        pk=request.pk
    )
    of_payment = payments_with(Payment.objects.all(), matter, PaymentRequest.objects.all()).filter(
        request=request
    )
    return of_request.exists() or of_payment.exists()


def accepting(payment: Payment) -> list[str]:
    """Accept the payment, and roll back; return the result, empty if no status changes."""
    before = payment.request.status
    with transaction.atomic():
        try:
            accept_payment(payment, reason="test", actor="test")
        except ApiError as error:
            code = error.problems[0].code.value
            return [f"accept: `{code}`"] if code == "payment_refunded" else []
        payment.request.refresh_from_db()
        outcome = payment.request.status
        transaction.set_rollback(True)
    return [f"accept: `{outcome}`"] if outcome != before else []


def cells() -> dict[str, list[str]]:
    """Return the rows of the page's table by their first cell, the case."""
    rows = re.findall(r"^\| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    split = [[cell.strip() for cell in row.split(" | ")] for row in rows]
    return {first: rest for first, *rest in split if first in SITUATIONS}


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("ending", ["none", *ENDINGS])
def test_refund_combination_matches_documented_table(make: Make, situation: str, ending: str) -> None:
    request = make()
    SITUATIONS[situation](request)
    before = described(request)
    if ending != "none":
        try:
            ENDINGS[ending](refund(request))
        except ApiError as error:
            assert described(request) == before
            shown = f"no refund: `{error.problems[0].code.value}`"
        else:
            shown = described(request)
    else:
        shown = before
    row = cells().get(situation, [])
    column = ["none", *ENDINGS].index(ending)
    assert row[column : column + 1] == [shown]


@pytest.mark.parametrize("matter", [Matter.PARTLY_PAID, Matter.OVERPAID, Matter.AFTER_PRICE])
def test_attention_takes_no_query_for_each_request(make: Make, matter: Matter) -> None:
    situation = {
        Matter.PARTLY_PAID: part_paid_then_expired,
        Matter.OVERPAID: overpaid,
        Matter.AFTER_PRICE: paid_after_the_price,
    }[matter]

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert count_requests(PaymentRequest.objects.all(), matter, timezone.now()) > 0
        return len(captured)

    def one() -> None:
        request = make()
        situation(request)
        cancel_refund(refund(request), actor="test")

    one()
    before = queries()
    one()
    one()
    assert queries() == before
