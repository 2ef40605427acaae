"""Staff actions on requests, payments and refunds. Each calls the same service as the API."""

from typing import Any

from django import forms
from django.utils.html import format_html
from rest_framework.exceptions import ValidationError

from chains.amounts import display_amount
from chains.switches import Feature, require_on
from config.admin import portal
from config.admin.actions import Action, ConfirmForm, ReasonForm
from config.admin.cells import ends, exact
from config.api.errors import ApiError, ErrorCode
from config.api.handler import as_api_error
from payments.admin.records import in_token
from payments.api.refund_serializers import CreateRefundSerializer
from payments.models import Payment, PaymentRequest, Refund
from payments.models.payment import MAX_RETRIES
from payments.prices.late_payments import rate_now
from payments.refunds.amounts import Refundable
from payments.refunds.reading import now, with_request
from payments.refunds.services import cancel_refund, create_refund, refundable
from payments.requests.lifecycle import cancel_request, lock_request
from payments.submission.hashes import retry_payment
from payments.submission.merchant_acceptance import accept_payment, awaits_acceptance, is_acceptable
from payments.submission.rechecking import Recheck, check_now

_CANCELLABLE = (Refund.Status.REQUIRES_ADDRESS, Refund.Status.READY, Refund.Status.FAILED)


class Cancel(Action):
    name, icon, permission = "cancel", "block", "payments.cancel_paymentrequest"
    is_dangerous = True

    def label(self, row: PaymentRequest) -> str:  # noqa: ARG002 - the action interface
        return "Cancel the request"

    def is_offered(self, row: PaymentRequest) -> bool:
        """Return False for a refund's carrier, which is cancelled with its refund."""
        return row.status == PaymentRequest.Status.ACTIVE and not row.is_refund

    def explanation(self, row: PaymentRequest) -> str:
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
        return lock_request(row.pk)

    def seen(self, row: PaymentRequest) -> str:
        return f"{row.status} {row.amount_paid}"

    def perform(self, row: PaymentRequest, actor: str, answer: dict[str, Any]) -> tuple[str, str]:  # noqa: ARG002 - the action interface
        from_status = row.status
        cancelled = cancel_request(row.pk, actor=actor)
        return f"Cancelled ({from_status} → {cancelled.status}).", f"{row} is cancelled."


class PaymentAction(Action):
    """Lock the payment's request, then perform the action."""

    def lock(self, row: Payment) -> Payment:
        lock_request(row.request_id)
        return Payment.objects.select_related(
            "request__token", "request__merchant", "request__chain", "chain", "lookup", "swap__delivery"
        ).get(pk=row.pk)

    def seen(self, row: Payment) -> str:
        return f"{row.status} {row.retries} {row.failure_code} {row.accepted_by}"


class Retry(PaymentAction):
    name, icon, permission = "retry", "autorenew", "payments.retry_payment"

    def label(self, row: Payment) -> str:  # noqa: ARG002 - the action interface
        return "Check again"

    def is_offered(self, row: Payment) -> bool:
        return row.is_retryable and row.retries_left > 0

    def explanation(self, row: Payment) -> str:
        return (
            "The transaction is verified again on its chain (for a swap also with its provider and on the chain of "
            f"the delivery). {row.retries_left} of {MAX_RETRIES} retries are left."
        )

    def perform(self, row: Payment, actor: str, answer: dict[str, Any]) -> tuple[str, str]:  # noqa: ARG002 - the action interface
        failure = row.failure_code
        retried = retry_payment(row, actor=actor)
        return f"Retried (failed: {failure} → {retried.status}).", f"{row} is being verified again."


class CheckNow(PaymentAction):
    """Check an open payment now. For a completed payment, check that its block is still part of the chain."""

    name, icon, permission = "look", "search", "payments.retry_payment"
    _MESSAGES = {
        Recheck.BROUGHT_FORWARD: "will be checked within two seconds",
        Recheck.DUE_ALREADY: "is already due for a check",
        Recheck.REOPENED: "is being verified again",
        Recheck.AT_FINALITY: "will be checked for finality within a minute",
    }

    def label(self, row: Payment) -> str:
        return "Check finality" if row.status == Payment.Status.COMPLETED else "Check now"

    def is_offered(self, row: Payment) -> bool:
        """Failed payments have the action `Retry` instead. Simulated payments have no transaction to check."""
        return row.status != Payment.Status.FAILED and not row.is_simulated

    def explanation(self, row: Payment) -> str:
        if row.status == Payment.Status.COMPLETED:
            return (
                "Checks whether this payment's block is still part of the chain. If it is not, the payment is flagged "
                "under Needs attention. Neither its credit nor its status changes."
            )
        return "Checks the chain now instead of at the next scheduled time. This uses none of the payment's attempts."

    def perform(self, row: Payment, actor: str, answer: dict[str, Any]) -> tuple[str, str]:  # noqa: ARG002 - the action interface
        recheck = check_now(row, actor=actor)
        return f"Check requested ({row.status}): {recheck.value}.", f"{row} {self._MESSAGES[recheck]}."


class Accept(PaymentAction):
    name, icon, permission = "accept", "check", "payments.accept_payment"
    form = ReasonForm

    def label(self, row: Payment) -> str:  # noqa: ARG002 - the action interface
        return "Accept as payment"

    def is_offered(self, row: Payment) -> bool:
        """Offer the action in two cases: nothing links the transaction to the request, or the request is paid in full
        but not completed.
        """
        return is_acceptable(row)

    def explanation(self, row: Payment) -> str:
        if awaits_acceptance(row):
            return _late_explanation(row)
        arrived = f"{in_token(row.amount, row.token)} arrived from {row.from_address}. " if row.amount else ""
        failure = row.failure_message or "Nothing links this transaction to the request."
        return (
            f"{arrived}{failure} Accept it only if you know that this customer sent it. Everything else is still "
            "verified, and the transfer is credited once."
        )

    def perform(self, row: Payment, actor: str, answer: dict[str, Any]) -> tuple[str, str]:
        reason, failure = answer["reason"], row.failure_code
        accepted = accept_payment(row, reason=reason, actor=actor)
        if not failure:
            return f"Accepted by hand: {reason}", f"{row.request} is completed."
        return (
            f"Accepted by hand (failed: {failure} → {accepted.status}): {reason}",
            f"{row} is accepted, and is being verified.",
        )


def _late_explanation(payment: Payment) -> str:
    """Explain the action for a request that is paid in full but not completed."""
    request = payment.request
    completes = (
        "Accepting it completes the request and sends payment.succeeded. If you don't deliver, refund it."
    )
    if not payment.after_price or not request.price or not request.rate:
        return (
            f"The request is paid in full, but not completed, because a refund was cancelled or failed or a reversed "
            f"payment came back. {completes}"
        )
    price, rate = request.price, request.rate
    current = rate_now(request)
    now_text = f"It is {current} {rate['currency']} now." if current else "The current rate is unknown."
    return (
        f"The payment came after the price of {price['amount']} {price['currency']} had expired. The "
        f"rate was then {rate['value']} {rate['currency']} for one {rate['token']}. {now_text} "
        f"{completes}"
    )


class RefundForm(ConfirmForm):
    """`CreateRefundSerializer` validates these fields."""

    amount = forms.CharField(
        required=False,
        max_length=100,
        widget=portal.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
        help_text="The amount in the requested token, such as 2.50. Leave it empty to refund everything that is left.",
    )
    payment_id = forms.ChoiceField(
        required=False,
        label="Payment",
        widget=portal.Select,
        help_text=(
            "Several wallets paid. Choose the payment to refund: its sender can then enter an address "
            "and sign for it. If you enter the customer's wallet below, you don't need to choose."
        ),
    )
    recipient_address = forms.CharField(
        required=False,
        max_length=200,
        label="Customer's wallet",
        widget=portal.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=(
            "The address on the request's chain that the customer gave you. Don't use the payment's "
            "sender, which may be an exchange. Leave it empty to let the customer enter an address and "
            "sign for it."
        ),
    )
    reason = forms.CharField(
        required=False, max_length=400, widget=portal.TextInput(), help_text="The customer doesn't see it."
    )

    def offer_payments(self, request: PaymentRequest, possible: Refundable) -> None:
        """Let staff choose the payment to refund if several wallets paid."""
        if len(possible.payers) <= 1:
            del self.fields["payment_id"]
            return
        choice = self.fields["payment_id"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [
            ("", "No single payment"),
            *(
                (payment.pk, _payment_label(request, payment, left))
                for payment in possible.payments
                if (left := possible.left_of(payment))
            ),
        ]


def _payment_label(request: PaymentRequest, payment: Payment, left: int) -> str:
    payer = ends(payment.from_address) if payment.from_address else "an unknown wallet"
    paid = in_token(payment.amount_received, request.token)
    rest = "" if left == payment.amount_received else f"; {in_token(left, request.token)} can be refunded"
    return f"{paid} from {payer}, {exact(payment.created_at)}{rest}"


def _has_ended(request: PaymentRequest) -> bool:
    return not request.is_refund and request.status != PaymentRequest.Status.ACTIVE


class RefundRequest(Action):
    name, icon, permission = "refund", "undo", "payments.refund_paymentrequest"
    form = RefundForm

    def label(self, row: PaymentRequest) -> str:  # noqa: ARG002 - the action interface
        return "Refund"

    def is_offered(self, row: PaymentRequest) -> bool:
        return _has_ended(row) and refundable(row).left > 0

    def explanation(self, row: PaymentRequest) -> str:
        possible = refundable(row)
        left = in_token(possible.left, row.token)
        is_swapped = any(payment.type == Payment.Type.SWAP for payment in possible.payments)
        swapped = (
            f" The customer paid with another token and receives {row.token.symbol}." if is_swapped else ""
        )
        return (
            f"Up to {left} on {row.chain} can be refunded.{swapped} This only prepares the refund: you then sign its "
            "transaction with your own wallet. You can cancel it until it is sent."
        )

    def form_for(self, row: PaymentRequest, data: Any, initial: dict[str, str]) -> ConfirmForm:
        form = RefundForm(data, initial=initial)
        form.offer_payments(row, refundable(row))
        return form

    def lock(self, row: PaymentRequest) -> PaymentRequest:
        return lock_request(row.pk)

    def seen(self, row: PaymentRequest) -> str:
        return str(refundable(row).left)

    def perform(self, row: PaymentRequest, actor: str, answer: dict[str, Any]) -> tuple[str, str]:
        require_on(Feature.REFUNDS)
        names = ("amount", "payment_id", "recipient_address", "reason")
        sent = {name: value for name in names if (value := answer.get(name))}
        try:
            # The row is locked, so don't query the chain here. The address is checked when the transaction is built.
            data = CreateRefundSerializer.read(sent, request=row, queries_nodes=False)
        except ValidationError as error:
            raise as_api_error(error) from error
        address, payment_id = data.get("recipient_address"), data.get("payment_id")
        if address is None and payment_id is None and len(refundable(row).payers) > 1:
            message = "Several wallets paid this request. Choose a payment, or enter the customer's wallet."
            raise ApiError(ErrorCode.PARAMETER_MISSING, message, "payment_id")
        refund = create_refund(
            row.pk,
            amount=data.get("amount"),
            recipient_address=address,
            payment_id=payment_id,
            reason=data.get("reason"),
            actor=actor,
        ).refund
        amount = in_token(refund.amount, row.token)
        next_step = "Sign it" if refund.recipient_address else "Send the customer its link"
        link = portal.link(portal.change_url(refund), f"{next_step}.")
        return f"Refund {refund.pk} of {amount} created.", format_html(
            "The refund of {} is created. {}", amount, link
        )


class RefundExcess(RefundRequest):
    name = "refund-excess"

    def label(self, row: PaymentRequest) -> str:  # noqa: ARG002 - the action interface
        return "Refund the excess"

    def is_offered(self, row: PaymentRequest) -> bool:
        return _has_ended(row) and row.amount_overpaid > 0

    def initial(self, row: PaymentRequest) -> dict[str, str]:
        return {"amount": display_amount(row.amount_overpaid, row.token.decimals)}


class RefundAction(Action):
    """Lock the refund's request, then perform the action."""

    def lock(self, row: Refund) -> Refund:
        lock_request(row.request_id)
        return with_request(Refund.objects.filter(pk=row.pk)).get()


class CancelRefund(RefundAction):
    name, icon, permission = "cancel", "block", "payments.cancel_refund"
    is_dangerous = True

    def label(self, row: Refund) -> str:  # noqa: ARG002 - the action interface
        return "Cancel the refund"

    def is_offered(self, row: Refund) -> bool:
        (current,) = now([row])
        return row.cancelled_at is None and current.standing.status in _CANCELLABLE

    def explanation(self, row: Refund) -> str:
        return (
            f"{in_token(row.amount, row.request.token)} can then be refunded again. Don't sign this "
            "refund any more: if its transaction arrives anyway, it counts."
        )

    def seen(self, row: Refund) -> str:
        (current,) = now([row])
        return f"{current.standing.status} {row.cancelled_at}"

    def perform(self, row: Refund, actor: str, answer: dict[str, Any]) -> tuple[str, str]:  # noqa: ARG002 - the action interface
        cancel_refund(row, actor=actor)
        return "Cancelled.", f"{row} is cancelled."
