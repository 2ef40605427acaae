"""Summarise the state of a request or payment in a sentence with the next step. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from config.admin.cells import ago
from payments.admin.records import in_token
from payments.models import Payment, PaymentRequest, Refund, delivery_of, swap_of
from payments.models.payment import ACCEPTABLE_FAILURES

Status = PaymentRequest.Status


# The key is True if a payment came after the price had expired.
_UNDECIDED = {
    True: "Paid after the price expired. Open the last payment and accept it at the old rate, or refund it.",
    False: "Paid in full but not completed: a refund was cancelled or failed, or a reversed payment came back. Open "
    "the last payment and accept it, or refund it.",
}


@dataclass(frozen=True)
class Diagnosis:
    sentence: str
    tone: str


_REFUNDS = {
    "requires_address": ("Send the customer the link. It asks for a wallet and a signature.", "warning"),
    "ready": ("Sign it with your wallet.", "warning"),
    "processing": ("Its transaction is being verified.", "info"),
    "completed": ("The customer has received it.", "success"),
    "failed": ("Its transaction failed. Sign it again, or cancel it.", "danger"),
    "cancelled": ("Cancelled. Its amount can be refunded again.", "info"),
}


def of_refund(status: Refund.Status) -> Diagnosis:
    return Diagnosis(*_REFUNDS[status.value])


def of_request(request: PaymentRequest, payments: Sequence[Payment], now: datetime) -> Diagnosis:
    if any(payment.reorged for payment in payments):
        return Diagnosis(
            "A chain reorganisation removed a payment's block after it was credited. Check the payment before you "
            "deliver anything.",
            "danger",
        )
    if request.can_be_accepted:
        return Diagnosis(_UNDECIDED[any(payment.after_price for payment in payments)], "warning")
    if request.amount_overpaid:
        more = in_token(request.amount_overpaid, request.token)
        if request.status == Status.COMPLETED and _is_one_swap(payments):
            return Diagnosis(f"Paid in full; the swap delivered {more} more than requested.", "success")
        return Diagnosis(f"Overpaid by {more}. You can refund the excess.", "warning")
    if request.status == Status.COMPLETED:
        late = ", after it expired" if request.paid_late else ""
        return Diagnosis(f"Paid in full{late}.", "warning" if late else "success")
    unbound = [payment for payment in payments if payment.failure_code in ACCEPTABLE_FAILURES]
    if any(payment.sender_signed_at for payment in unbound):
        return Diagnosis(
            "The sender signed for this request, too late for it to count by itself. Open the payment and accept it.",
            "warning",
        )
    if unbound:
        return Diagnosis(
            "Nothing links a submitted transaction to this request. If the customer sent it, open the "
            "payment and accept it.",
            "warning",
        )
    return _unpaid(request, payments, now)


def _is_one_swap(payments: Sequence[Payment]) -> bool:
    """Whether one swap alone paid the request. Swaps usually deliver slightly more than requested."""
    completed = [payment for payment in payments if payment.status == Payment.Status.COMPLETED]
    return [payment.type for payment in completed] == [Payment.Type.SWAP]


def _unpaid(request: PaymentRequest, payments: Sequence[Payment], now: datetime) -> Diagnosis:
    paid, rest = (in_token(raw, request.token) for raw in (max(request.net, 0), request.amount_remaining))
    if request.status != Status.ACTIVE:
        ended = "Cancelled" if request.status == Status.CANCELLED else "Expired"
        if request.amount_paid == 0:
            return Diagnosis(f"{ended} without a payment.", "info")
        if request.net <= 0:
            return Diagnosis(f"{ended}. Everything that was paid is refunded or being refunded.", "info")
        return Diagnosis(
            f"{ended} with {paid} paid and {rest} missing. The merchant decides how to proceed.",
            "warning",
        )
    open_now = sum(payment.is_open for payment in payments)
    if open_now:
        subject = "A payment is" if open_now == 1 else f"{open_now} payments are"
        return Diagnosis(f"{subject} being verified.", "info")
    so_far = (
        f"{paid} paid; waiting for the remaining {rest}"
        if request.net > 0
        else "Waiting for the customer to pay"
    )
    return Diagnosis(f"{so_far}. It expires {ago(request.expires_at, now)}.", "info")


def of_payment(payment: Payment, now: datetime) -> Diagnosis:
    if payment.reorged:
        return Diagnosis(
            "A chain reorganisation removed its block after it was credited. The credit is not reversed: "
            "make sure that the funds arrived before you deliver anything.",
            "danger",
        )
    if payment.is_open:
        return Diagnosis(f"{payment.status_detail or 'Being verified.'} {_next_check(payment, now)}", "info")
    if payment.status == Payment.Status.COMPLETED:
        return Diagnosis(payment.status_detail or "Verified on the chain.", "success")
    return Diagnosis(f"{payment.failure_message or 'It failed.'} {_way_out(payment)}", "danger")


def _next_check(payment: Payment, now: datetime) -> str:
    rows = (payment.lookup, swap_of(payment), delivery_of(payment))
    if any(row and row.lease_until and row.lease_until > now for row in rows):
        return "A worker is checking it now."
    if payment.due_at is None or payment.due_at <= now:
        return "The next check is due now."
    return f"Next check {ago(payment.due_at, now)}."


def _way_out(payment: Payment) -> str:
    if payment.failure_code in ACCEPTABLE_FAILURES and payment.sender_signed_at:
        return "The sender signed for this request. You can accept it."
    if payment.failure_code in ACCEPTABLE_FAILURES:
        return "If the customer sent it, you can accept it."
    if payment.is_retryable:
        left = payment.retries_left
        return f"You can check it again ({left} retries left)." if left else "No retries are left."
    return "This payment can't be retried."
