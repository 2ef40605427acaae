"""One sentence for whoever opens the page: where it stands, and what a person could do about it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from config.portal_cells import ago
from payments.admin.records import in_token
from payments.models import Payment, PaymentRequest
from payments.models.payment import ACCEPTABLE_FAILURES

Status = PaymentRequest.Status


@dataclass(frozen=True)
class Diagnosis:
    """The sentence, and how grave it is: success, info, warning or danger."""

    sentence: str
    tone: str


def of_request(request: PaymentRequest, payments: Sequence[Payment], now: datetime) -> Diagnosis:
    """Return where `request` with its `payments` stands."""
    if any(payment.reorged for payment in payments):
        return Diagnosis(
            "A payment's block has vanished from the chain since it was credited. Look at the payment before "
            "anything is delivered.",
            "danger",
        )
    if request.amount_overpaid:
        more = in_token(request.amount_overpaid, request.token)
        if request.status == Status.COMPLETED and _is_one_swap(payments):
            return Diagnosis(f"Paid in full; the swap brought {more} more than was asked for.", "success")
        return Diagnosis(f"{more} more came than was asked for. The merchant decides on a refund.", "warning")
    if request.status == Status.COMPLETED:
        late = ", after the time to pay was over" if request.paid_late else ""
        return Diagnosis(f"Paid in full{late}.", "warning" if late else "success")
    unbound = sum(payment.failure_code in ACCEPTABLE_FAILURES for payment in payments)
    if unbound:
        return Diagnosis(
            "A transaction was submitted that nothing binds to this request. If the customer sent it, open the "
            "payment and accept it.",
            "warning",
        )
    return _unpaid(request, payments, now)


def _is_one_swap(payments: Sequence[Payment]) -> bool:
    """Whether a single swap has paid: they are made so that a little more arrives rather than less."""
    completed = [payment for payment in payments if payment.status == Payment.Status.COMPLETED]
    return [payment.type for payment in completed] == [Payment.Type.SWAP]


def _unpaid(request: PaymentRequest, payments: Sequence[Payment], now: datetime) -> Diagnosis:
    paid, rest = (in_token(raw, request.token) for raw in (request.amount_paid, request.amount_remaining))
    if request.status != Status.ACTIVE:
        ended = "Cancelled" if request.status == Status.CANCELLED else "Expired"
        if request.amount_paid == 0:
            return Diagnosis(f"{ended} without a payment.", "info")
        return Diagnosis(
            f"{ended} with {paid} paid and {rest} missing. The merchant decides what becomes of it.",
            "warning",
        )
    open_now = sum(payment.is_open for payment in payments)
    if open_now:
        subject = "A payment is" if open_now == 1 else f"{open_now} payments are"
        return Diagnosis(f"{subject} being verified.", "info")
    so_far = (
        f"{paid} came; waiting for the other {rest}"
        if request.amount_paid
        else "Waiting for the customer to pay"
    )
    return Diagnosis(f"{so_far}. It expires {ago(request.expires_at, now)}.", "info")


def of_payment(payment: Payment, now: datetime) -> Diagnosis:
    """Return where `payment` stands."""
    if payment.reorged:
        return Diagnosis(
            "Its block has vanished from the chain since it was credited. Nothing was taken back by itself: make sure "
            "that the money is there before anything is delivered.",
            "danger",
        )
    if payment.is_open:
        return Diagnosis(f"{payment.status_detail or 'Being verified.'} {_next_look(payment, now)}", "info")
    if payment.status == Payment.Status.COMPLETED:
        return Diagnosis(payment.status_detail or "Verified on the chain.", "success")
    return Diagnosis(f"{payment.failure_message or 'It failed.'} {_way_out(payment)}", "danger")


def _next_look(payment: Payment, now: datetime) -> str:
    if payment.lease_until and payment.lease_until > now:
        return "A worker is looking at it."
    if payment.next_check_at is None or payment.next_check_at <= now:
        return "The next look is due."
    return f"The next look is {ago(payment.next_check_at, now)}."


def _way_out(payment: Payment) -> str:
    if payment.failure_code in ACCEPTABLE_FAILURES:
        return "If the customer sent it, it can be accepted by hand."
    if payment.is_retryable:
        left = payment.retries_left
        return f"It can be looked at again ({left} left)." if left else "All its retries are used."
    return "Looking again can't change that."
