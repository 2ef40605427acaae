"""The status of payments, as the payment page shows it.

Anyone with the page's URL can submit the hash of any transaction. So a payment is in progress only if a node has seen
its transaction, and the transaction is identified as a payment of this request ("bound"). For any other hash, the page
shows a warning, and the customer can still pay.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from payments.models import FailureCode, Payment, PaymentRequest

MAX_NOTICES = 3


class PaymentWarning(StrEnum):
    """The reason why a submitted payment is not in progress."""

    UNSEEN = "unseen"
    """No node knows the transaction: its hash is wrong, it is on another network, or it has not spread yet."""
    UNBOUND = "unbound"
    "Nothing links the payment to the request yet: no worker has checked it, or the nodes' results are inconclusive."
    SIGNERS = "signers"
    "Other signers of the wallet still have to execute the transaction."
    UNPAID = "unpaid"
    "The transaction paid nothing to the request, or its block is not deep enough yet to confirm that."


def is_under_way(payment: dict[str, Any]) -> bool:
    """Whether the payment is in progress.

    No node needs to have seen a sponsored payment, because the service itself sends it.
    """
    return (
        payment["status"] in Payment.OPEN
        and (payment["is_seen"] or payment["sponsored"])
        and payment["is_bound"]
        and not payment["likely_failure"]
    )


def failure_of(payment: dict[str, Any]) -> str | None:
    code: str | None = payment["failure_code"] or payment["likely_failure"]
    return code


def warning_for(payment: dict[str, Any]) -> PaymentWarning | None:
    """Return why the payment is not in progress. Return None if it is in progress or completed."""
    if payment["status"] == Payment.Status.COMPLETED or is_under_way(payment):
        return None
    code = failure_of(payment)
    if payment["is_awaiting_signers"] and code is None:
        return PaymentWarning.SIGNERS
    # A pending payment has not been checked yet.
    is_missing = not payment["is_seen"] and payment["status"] != Payment.Status.PENDING
    if code == FailureCode.TRANSACTION_NOT_FOUND or (code is None and is_missing):
        return PaymentWarning.UNSEEN
    return PaymentWarning.UNBOUND if code is None else PaymentWarning.UNPAID


def payments_with_warnings(payments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the newest payments that need a warning. Each has its `warning` and `code`.

    `payments` are the API's payment objects, newest first. Payments older than a completed one need no warning.
    """
    return list(_with_warnings(payments))[:MAX_NOTICES]


def _with_warnings(payments: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for payment in payments:
        if payment["status"] == Payment.Status.COMPLETED:
            return
        warning = warning_for(payment)
        if warning is not None:
            yield {**payment, "warning": warning.value, "code": failure_of(payment)}


def page_state(checkout: dict[str, Any]) -> str:
    """Return the state that the page shows. While a payment is in progress, it is `processing`."""
    if checkout["status"] != PaymentRequest.Status.ACTIVE:
        return str(checkout["status"])
    if any(is_under_way(payment) for payment in checkout["payments"]):
        return "processing"
    return "partly_paid" if paid_so_far(checkout) else "active"


def paid_so_far(checkout: dict[str, Any]) -> int:
    """Return the amount paid towards an active request, without reorganised payments."""
    return max(int(checkout["amount"]["raw"]) - int(checkout["amount_remaining"]["raw"]), 0)


def is_paid_too_much(checkout: dict[str, Any]) -> bool:
    """Whether the customer overpaid. If a swap delivered more than expected, that doesn't count."""
    is_over = checkout["amount_overpaid"]["raw"] != "0"
    return (
        checkout["status"] == PaymentRequest.Status.COMPLETED
        and is_over
        and not is_extra_from_conversion(checkout)
    )


def is_whole_shown(checkout: dict[str, Any]) -> bool:
    """Whether the page shows the paid amount instead of the requested amount.

    The paid amount is shown after an overpayment, even if the excess was refunded.
    """
    is_beyond = int(checkout["amount_paid"]["raw"]) > int(checkout["amount"]["raw"])
    is_refunded = (
        checkout["status"] == PaymentRequest.Status.COMPLETED
        and bool(checkout["refunds"])
        and not is_extra_from_conversion(checkout)
    )
    return is_paid_too_much(checkout) or (is_beyond and is_refunded)


def is_extra_from_conversion(checkout: dict[str, Any]) -> bool:
    """Whether the customer overpaid only because a swap delivered more than expected.

    That is so if the newest completed payment is a swap, and the others didn't pay the request in full.
    """
    paid = [payment for payment in checkout["payments"] if payment["status"] == Payment.Status.COMPLETED]
    if not paid or paid[0]["type"] != Payment.Type.SWAP:
        return False
    received = paid[0]["amount_received"]
    others = int(checkout["amount_paid"]["raw"]) - int(received["raw"] if received else 0)
    return others < int(checkout["amount"]["raw"])
