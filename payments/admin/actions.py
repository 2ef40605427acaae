"""The actions of staff on requests and payments. Each calls the same service as the API."""

from typing import Any

from config.admin.actions import Action, ReasonForm
from payments.admin.records import in_token
from payments.models import Payment, PaymentRequest
from payments.models.payment import MAX_RETRIES
from payments.requests.lifecycle import cancel_request, lock_request
from payments.submission.hashes import retry_payment
from payments.submission.merchant_acceptance import accept_payment, awaits_acceptance, is_acceptable
from payments.submission.rechecking import Recheck, check_now


class Cancel(Action):
    """Cancel a request for the merchant."""

    name, icon, permission = "cancel", "block", "payments.cancel_paymentrequest"
    is_dangerous = True

    def label(self, row: PaymentRequest) -> str:  # noqa: ARG002 - the action interface
        """Return the label of the button."""
        return "Cancel the request"

    def is_offered(self, row: PaymentRequest) -> bool:
        """Return True for an active request."""
        return row.status == PaymentRequest.Status.ACTIVE

    def explanation(self, row: PaymentRequest) -> str:
        """Return the explanation for the confirmation page."""
        paid = (
            f" {in_token(row.amount_paid, row.token)} is already paid and stays credited."
            if row.amount_paid
            else ""
        )
        return (
            f"Customers can no longer pay {in_token(row.amount, row.token)} to {row.merchant} with it.{paid} You can't "
            "cancel it while a payment is being verified. This can't be undone."
        )

    def lock(self, row: PaymentRequest) -> PaymentRequest:
        """Return the request, locked."""
        return lock_request(row.pk)

    def seen(self, row: PaymentRequest) -> str:
        """Return a fingerprint of the request's state."""
        return f"{row.status} {row.amount_paid}"

    def perform(self, row: PaymentRequest, actor: str, answer: dict[str, Any]) -> tuple[str, str]:  # noqa: ARG002 - the action interface
        """Cancel the request."""
        from_status = row.status
        cancelled = cancel_request(row.pk, actor=actor)
        return f"Cancelled ({from_status} → {cancelled.status}).", f"{row} is cancelled."


class PaymentAction(Action):
    """An action on a payment under the lock of its request."""

    def lock(self, row: Payment) -> Payment:
        """Lock the request and return the payment."""
        lock_request(row.request_id)
        return Payment.objects.select_related(
            "request__token", "request__merchant", "request__chain", "chain"
        ).get(pk=row.pk)

    def seen(self, row: Payment) -> str:
        """Return a fingerprint of the payment's state."""
        return f"{row.status} {row.retries} {row.failure_code} {row.accepted_by}"


class Retry(PaymentAction):
    """Retry a failed payment."""

    name, icon, permission = "retry", "autorenew", "payments.retry_payment"

    def label(self, row: Payment) -> str:  # noqa: ARG002 - the action interface
        """Return the label of the button."""
        return "Check again"

    def is_offered(self, row: Payment) -> bool:
        """Return True if another check may reverse the failure."""
        return row.is_retryable and row.retries_left > 0

    def explanation(self, row: Payment) -> str:
        """Return the explanation for the confirmation page."""
        return (
            "The transaction is verified again on its chain (for a swap also with its provider and on the chain of "
            f"the delivery). {row.retries_left} of {MAX_RETRIES} retries are left."
        )

    def perform(self, row: Payment, actor: str, answer: dict[str, Any]) -> tuple[str, str]:  # noqa: ARG002 - the action interface
        """Retry the payment."""
        failure = row.failure_code
        retried = retry_payment(row, actor=actor)
        return f"Retried (failed: {failure} → {retried.status}).", f"{row} is being verified again."


class CheckNow(PaymentAction):
    """Check an open payment now, or the finality of a completed one."""

    name, icon, permission = "look", "search", "payments.retry_payment"
    _MESSAGES = {
        Recheck.BROUGHT_FORWARD: "will be checked within two seconds",
        Recheck.DUE_ALREADY: "is already due for a check",
        Recheck.REOPENED: "is being verified again",
        Recheck.AT_FINALITY: "will be checked for finality within a minute",
    }

    def label(self, row: Payment) -> str:
        """Return the label of the button."""
        return "Check finality" if row.status == Payment.Status.COMPLETED else "Check now"

    def is_offered(self, row: Payment) -> bool:
        """Return False for failed payments, which are retried instead, and for simulated ones."""
        return row.status != Payment.Status.FAILED and not row.is_simulated

    def explanation(self, row: Payment) -> str:
        """Return the explanation for the confirmation page."""
        if row.status == Payment.Status.COMPLETED:
            return (
                "Checks whether this payment's block is still part of the chain. If it is not, the payment is flagged "
                "under Needs attention. Neither its credit nor its status changes."
            )
        return "Checks the chain now instead of at the next scheduled time. This uses none of the payment's attempts."

    def perform(self, row: Payment, actor: str, answer: dict[str, Any]) -> tuple[str, str]:  # noqa: ARG002 - the action interface
        """Request the check."""
        recheck = check_now(row, actor=actor)
        return f"Check requested ({row.status}): {recheck.value}.", f"{row} {self._MESSAGES[recheck]}."


class Accept(PaymentAction):
    """Accept an unbound transaction as payment."""

    name, icon, permission = "accept", "check", "payments.accept_payment"
    form = ReasonForm

    def label(self, row: Payment) -> str:  # noqa: ARG002 - the action interface
        """Return the label of the button."""
        return "Accept as payment"

    def is_offered(self, row: Payment) -> bool:
        """Return True if only the binding is missing."""
        return is_acceptable(row) and (awaits_acceptance(row) or not row.is_simulated)

    def explanation(self, row: Payment) -> str:
        """Return the explanation for the confirmation page."""
        arrived = f"{in_token(row.amount, row.token)} arrived from {row.from_address}. " if row.amount else ""
        return (
            f"{arrived}Nothing ties this transaction to the request. Accept it only if you know that this customer "
            "sent it. Everything else is still verified, and the transfer is credited once."
        )

    def perform(self, row: Payment, actor: str, answer: dict[str, Any]) -> tuple[str, str]:
        """Accept the payment."""
        reason, failure = answer["reason"], row.failure_code
        accepted = accept_payment(row, reason=reason, actor=actor)
        return (
            f"Accepted by hand (failed: {failure} → {accepted.status}): {reason}",
            f"{row} is accepted, and is being verified.",
        )
