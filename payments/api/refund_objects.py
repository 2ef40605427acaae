"""Refunds in the API's responses."""

from typing import Annotated, Literal

from chains.api.objects import AmountObject, TokenObject
from config.api.answers import Answer, Choices, Time, Uuid, doc
from config.api.schema.operations import described
from config.api.serializers import required_timestamp, timestamp
from payments.api import examples
from payments.models import FailureCode, Refund
from payments.refunds.reading import RefundNow


@described("Refund", "Money that goes back to the customer of a payment request.", examples.REFUND)
class RefundObject(Answer, kw_only=True):
    id: Annotated[str, doc("`rf_` and 24 characters.")]
    object: Annotated[Literal["refund"], doc("Always `refund`.")] = "refund"
    payment_request: Annotated[Uuid, doc("The `id` of the refunded payment request.")]
    payment_id: Annotated[str | None, doc("The `id` of the refunded payment; null if you sent none.")]
    status: Annotated[
        str,
        Choices(Refund.Status.choices),
        doc(
            "`requires_address`: has no address yet. `ready`: you can sign it. `processing`: is being verified. "
            "`completed`: is verified. `failed`: reserves no amount, and becomes `ready` again when you build its "
            "transaction again. `cancelled`: you cancelled it; if its transaction is sent all the same, it becomes "
            "`completed`."
        ),
    ]
    amount: Annotated[AmountObject, doc("The refunded amount, in the requested token.")]
    chain_id: Annotated[int, doc("The request's chain, on which the refund is sent.")]
    token: Annotated[TokenObject, doc("The requested token, even if the customer paid with another token.")]
    recipient_address: Annotated[str | None, doc("The customer's wallet; null until set.")]
    address_source: Annotated[
        Annotated[str, Choices(Refund.AddressSource.choices)] | None,
        doc(
            "Who set the address; null until it is set. A `customer` also signed for the address, with the wallet that "
            "paid. A `merchant` sets it without a signature."
        ),
    ]
    reason: Annotated[str | None, doc("Your reason; null if you sent none. The customer doesn't see it.")]
    refund_url: Annotated[
        str | None,
        doc(
            "The URL of the page where you sign the refund with any wallet; null until an address is set. If the "
            "address changes, the URL changes too."
        ),
    ]
    claim_url: Annotated[str, doc("The URL of the page where the customer sets an address.")]
    transaction_hash: Annotated[str | None, doc("The hash of the refund's transaction; null until known.")]
    explorer_url: Annotated[
        str | None,
        doc("The URL of the transaction in the chain's block explorer; null if the chain has none."),
    ]
    confirmations: Annotated[int, doc("The depth of the transaction in blocks; 0 until it is mined.")]
    failure_code: Annotated[
        Annotated[str, Choices(FailureCode.choices)] | None,
        doc("The failure as a code, for programs; null unless `failed`."),
    ]
    failure_message: Annotated[
        str | None, doc("The failure as a sentence, for people; null unless `failed`.")
    ]
    created_at: Annotated[Time, doc("The time of creation.")]
    completed_at: Annotated[Time | None, doc("The time of verification; null unless `completed`.")]
    is_simulated: Annotated[
        bool,
        doc(
            "Whether the sandbox simulated the refund or a payment of the refunded request. Always false "
            "in production."
        ),
    ]

    @classmethod
    def of(cls, current: RefundNow) -> "RefundObject":
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
            confirmations=payment.lookup.confirmations if payment else 0,
            failure_code=standing.failure_code or None,
            failure_message=standing.failure_message or None,
            created_at=required_timestamp(refund.created_at),
            completed_at=timestamp(payment.completed_at) if payment and is_completed else None,
            is_simulated=refund.is_simulated,
        )
