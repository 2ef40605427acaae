"""Refunds in the API's responses."""

from typing import Annotated, Literal

from chains.api.objects import AmountObject, TokenObject
from config.api.answers import Answer, Choices, Time, Uuid, doc
from config.api.schema.operations import described
from config.api.serializers import required_timestamp, timestamp
from payments.api import examples
from payments.models import FailureCode, Refund
from payments.refunds.reading import RefundNow


@described("Refund", "Money that goes back to a customer.", examples.REFUND)
class RefundObject(Answer, kw_only=True):
    """A refund of a payment request."""

    id: Annotated[str, doc("`rf_` and 24 characters.")]
    object: Annotated[Literal["refund"], doc("Always `refund`.")] = "refund"
    payment_request: Annotated[Uuid, doc("The refunded payment request.")]
    payment_id: Annotated[str | None, doc("The refunded payment, if you named one.")]
    status: Annotated[
        str,
        Choices(Refund.Status.choices),
        doc(
            "`requires_address` until the customer has named one on `claim_url`, `ready` for you to sign, "
            "`processing` while its transaction is verified, then `completed` or `failed`; `cancelled` by you. A "
            "failed one reserves nothing; building its transaction again makes it `ready`. A cancelled one that was "
            "sent all the same becomes `completed`."
        ),
    ]
    amount: Annotated[AmountObject, doc("How much goes back, in the requested token.")]
    chain_id: Annotated[int, doc("The chain on which it is sent: the request's.")]
    token: Annotated[TokenObject, doc("The requested token, also where the customer paid with another one.")]
    recipient_address: Annotated[str | None, doc("The customer's wallet; null until there is one.")]
    address_source: Annotated[
        Annotated[str, Choices(Refund.AddressSource.choices)] | None,
        doc(
            "Who named the wallet: you (`merchant`), or the `customer`, who signed for it. Null without one."
        ),
    ]
    reason: Annotated[str | None, doc("Your reason, as sent; null if left out.")]
    refund_url: Annotated[
        str | None, doc("The page on which you sign it with any wallet; null until there is an address.")
    ]
    claim_url: Annotated[str, doc("The page on which the customer names an address: send it to them.")]
    transaction_hash: Annotated[str | None, doc("The refund's transaction; null until one is known.")]
    explorer_url: Annotated[
        str | None, doc("The transaction's page on the chain's explorer, where there is one.")
    ]
    confirmations: Annotated[int, doc("How many blocks deep the transaction is.")]
    failure_code: Annotated[
        Annotated[str, Choices(FailureCode.choices)] | None,
        doc("Why it failed, for programs; null unless it did."),
    ]
    failure_message: Annotated[str | None, doc("Why it failed, for people; null unless it did.")]
    created_at: Annotated[Time, doc("When it was created.")]
    completed_at: Annotated[Time | None, doc("When its transaction was verified; null until then.")]

    @classmethod
    def of(cls, current: RefundNow) -> "RefundObject":
        """Return the refund's object."""
        refund, standing = current.refund, current.standing
        request, payment = refund.request, standing.payment
        is_completed = standing.status == Refund.Status.COMPLETED
        return cls(
            id=refund.id,
            payment_request=str(request.id),
            payment_id=refund.payment_id,
            status=standing.status.value,
            amount=AmountObject.of(refund.amount, request.token.decimals),
            chain_id=request.chain_id,
            token=TokenObject.of(request.token),
            recipient_address=refund.recipient_address or None,
            address_source=refund.address_source or None,
            reason=refund.reason,
            refund_url=refund.refund_url,
            claim_url=refund.claim_url,
            transaction_hash=payment.transaction_hash if payment else None,
            explorer_url=payment.explorer_url if payment else None,
            confirmations=payment.confirmations if payment else 0,
            failure_code=standing.failure_code or None,
            failure_message=standing.failure_message or None,
            created_at=required_timestamp(refund.created_at),
            completed_at=timestamp(payment.completed_at) if payment and is_completed else None,
        )
