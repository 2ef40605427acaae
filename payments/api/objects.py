"""Payment requests and payments in the API's responses."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from chains.api.objects import AmountObject, TokenObject
from config.api.answers import Answer, Choices, NonEmpty, Time, Uuid, doc
from config.api.schema.operations import described
from config.api.serializers import required_timestamp, timestamp
from payments.api import examples
from payments.api.currencies import PriceObject, RateObject, ValueObject
from payments.api.links import payment_url
from payments.api.refund_objects import RefundObject
from payments.api.shown_payments import newest_payments
from payments.models import FailureCode, Payment, PaymentRequest, delivery_of, swap_of
from payments.refunds.reading import RefundNow, refunds_by_request, refunds_of
from payments.requests.net_amounts import paid_amounts, refund_amounts

FailureCodeText = Annotated[str, Choices(FailureCode.choices)]
RequestStatusText = Annotated[str, Choices(PaymentRequest.Status.choices)]
PaymentTypeText = Annotated[str, Choices(Payment.Type.choices)]
_BoundByText = Annotated[str, Choices(Payment.BoundBy.choices)]


class PaymentFields(Answer, kw_only=True):
    """Fields that merchants and customers see."""

    id: Annotated[str, doc("`pay_` and 24 characters.")]
    object: Annotated[Literal["payment"], doc("Always `payment`.")] = "payment"
    payment_request: Annotated[Uuid, doc("The `id` of the payment request.")]
    status: Annotated[
        str,
        Choices(Payment.Status.choices),
        doc(
            "`pending`: waits for a worker, or for the signers of a contract account's proposal. `processing`: is "
            "being verified. `completed`: counts as paid. `failed`: doesn't count; a retry makes it `pending` again."
        ),
    ]
    type: Annotated[
        PaymentTypeText,
        doc(
            "`direct` for a transfer of the requested token; `swap` if a routing provider delivers that "
            "token."
        ),
    ]
    chain_id: Annotated[int, doc("The chain of the customer's transaction.")]
    transaction_hash: Annotated[
        str | None,
        doc(
            "The hash of the customer's transaction. Until a contract account's proposal is executed, it is the "
            "proposal's id. Null for native coin that arrived at the deposit address, until its hash is submitted."
        ),
    ]
    replaced_hashes: Annotated[
        list[NonEmpty],
        doc(
            "The hashes of earlier transactions that this one replaced as a speed-up, and the id of the proposal that "
            "it executed. The oldest comes first."
        ),
    ]
    token: Annotated[TokenObject | None, doc("The token that the customer sent; null until known.")]
    amount: Annotated[
        AmountObject | None, doc("The amount of `token` that the customer sent; null until known.")
    ]
    amount_received: Annotated[
        AmountObject | None,
        doc("The amount of the requested token that was credited; null until verified."),
    ]
    destination_chain_id: Annotated[int, doc("The requested chain.")]
    destination_transaction_hash: Annotated[
        str | None,
        doc(
            "The hash of the transaction that delivered the requested token; null until known. For a completed direct "
            "payment, it is the same as `transaction_hash`. For a swap in progress, it is the hash that the provider "
            "reports."
        ),
    ]
    confirmations: Annotated[int, doc("The depth of the transaction in blocks, including its own block.")]
    confirmations_required: Annotated[
        int | None,
        doc(
            "The required depth in blocks; null if the chain's finality decides. For a swap to another chain it is 1, "
            "because the delivery needs the depth `destination_confirmations_required`."
        ),
    ]
    explorer_url: Annotated[
        str | None,
        doc("The URL of the transaction in the chain's block explorer; null without a hash or an explorer."),
    ]
    destination_confirmations: Annotated[
        int | None,
        doc(
            "The depth in blocks of a swap's delivery on another chain. Null until a node has seen the delivery, and "
            "for all other payments."
        ),
    ]
    destination_confirmations_required: Annotated[
        int | None,
        doc(
            "The required depth in blocks of a swap's delivery on another chain. Null if that chain's finality "
            "decides, and for all other payments."
        ),
    ]
    destination_explorer_url: Annotated[
        str | None,
        doc(
            "The URL of a swap's delivery on another chain in that chain's block explorer; null for "
            "other payments."
        ),
    ]
    bound_by: Annotated[
        _BoundByText | None,
        doc(
            "The kind of binding between the transaction and the request; null until known. `reference`: the "
            "transaction contains the request's reference. `payer`: the sender signed for this request. `provider`: "
            "the transaction contains the routing provider's id. `address`: the transaction paid the request's deposit "
            "address. `authorization`: the payer signed the transfer, and another account sent it. `manual`: you "
            "accepted the payment."
        ),
    ]
    sender_signed_at: Annotated[
        Time | None,
        doc(
            "The time at which the sender of an already sent transaction signed for this request. Null without such a "
            "signature. A signature in time binds the payment (`bound_by` is `payer`). After a late signature, you can "
            "accept the payment."
        ),
    ]
    reorged: Annotated[
        bool,
        doc(
            "Whether a chain reorganisation removed the payment's block after completion. While this is true, the "
            "payment doesn't count as paid. Review it manually."
        ),
    ]
    provider: Annotated[str | None, doc("The routing provider of a swap; null for a direct payment.")]
    provider_status: Annotated[
        str | None, doc("The provider's own status of the swap; null for a direct payment.")
    ]
    provider_url: Annotated[
        str | None, doc("The URL of the provider's page about the swap; null if there is none yet.")
    ]
    status_detail: Annotated[
        str,
        doc("A sentence for people about what the payment waits for or why it failed. Can be empty."),
    ]
    attempts: Annotated[
        int, doc("The number of lookups that did not find the transaction. It is 10 at most.")
    ]
    retries_left: Annotated[
        int, doc("The number of retries left for a failed payment; 0 if a retry can't change the result.")
    ]
    failure_code: Annotated[
        FailureCodeText | None,
        doc("The failure as a code, for programs; null unless `failed`."),
    ]
    failure_message: Annotated[
        str | None, doc("The failure as a sentence, for people; null unless `failed`.")
    ]
    created_at: Annotated[Time, doc("The time at which the transaction was submitted or found.")]
    completed_at: Annotated[Time | None, doc("The time of the completion; null unless `completed`.")]
    failed_at: Annotated[Time | None, doc("The time of the failure; null unless `failed`.")]
    is_simulated: Annotated[bool, doc("Whether the sandbox simulated the payment. No money moved.")]
    sponsored: Annotated[
        bool,
        doc("Whether the operator's account sends the transfer and pays the fee. The payer only signed it."),
    ]

    @classmethod
    def of(cls, payment: Payment, **own: Any) -> Self:
        """Build the API object. `own` has the fields that a subclass adds."""
        request = payment.request
        decimals = request.token.decimals
        sent_decimals = payment.token.decimals if payment.token else decimals
        received = payment.amount_received
        swap, delivery = swap_of(payment), delivery_of(payment)
        return cls(
            id=payment.id,
            payment_request=str(payment.request_id),
            status=payment.status,
            type=payment.type,
            chain_id=payment.chain_id,
            transaction_hash=payment.transaction_hash,
            replaced_hashes=payment.replaced_hashes,
            token=TokenObject.of(payment.token) if payment.token else None,
            amount=None if payment.amount is None else AmountObject.of(payment.amount, sent_decimals),
            amount_received=None if received is None else AmountObject.of(received, decimals),
            destination_chain_id=request.chain_id,
            destination_transaction_hash=payment.delivered_by,
            confirmations=payment.lookup.confirmations,
            confirmations_required=payment.lookup.confirmations_required,
            explorer_url=payment.explorer_url,
            destination_confirmations=delivery.confirmations if delivery and delivery.is_seen else None,
            destination_confirmations_required=payment.delivery_confirmations_required,
            destination_explorer_url=payment.delivery_explorer_url,
            bound_by=payment.bound_by or None,
            sender_signed_at=timestamp(payment.sender_signed_at),
            reorged=payment.reorged,
            provider=(swap.provider if swap else "") or None,
            provider_status=(swap.provider_status if swap else "") or None,
            provider_url=(swap.provider_url if swap else "") or None,
            status_detail=payment.status_detail,
            attempts=payment.attempts,
            retries_left=payment.retries_left,
            failure_code=payment.failure_code or None,
            failure_message=payment.failure_message or None,
            created_at=required_timestamp(payment.created_at),
            completed_at=timestamp(payment.completed_at),
            failed_at=timestamp(payment.failed_at),
            is_simulated=payment.is_simulated,
            sponsored=payment.is_sponsored,
            **own,
        )


@described("Payment", "A transaction that was submitted or found for a payment request.", examples.PAYMENT)
class PaymentObject(PaymentFields, kw_only=True):
    from_address: Annotated[
        str | None,
        doc(
            "The account that signed the authorization, or else the transaction's sender, which can be a relayer. "
            "Null until known, and always null in public responses."
        ),
    ]
    value: Annotated[
        ValueObject | None,
        doc(
            "The value of `amount_received` in your reporting currency at completion. Null until a rate is known, and "
            "always null if the token has no price."
        ),
    ]


def payment_object(payment: Payment) -> PaymentObject:
    """Load these relations first: the payment's request, and the tokens and chains of both."""
    value = payment.value and ValueObject(**payment.value)
    return PaymentObject.of(payment, from_address=payment.from_address or None, value=value)


def submitted_payment(payment: Payment) -> PaymentObject:
    """Return the payment without its payer, since anyone with the checkout link can submit a transaction."""
    return PaymentObject.of(payment, from_address=None, value=None)


class RequestFields(Answer, kw_only=True):
    """Fields that merchants and customers see."""

    id: Annotated[Uuid, doc("The id: a UUID. Later requests have larger ids.")]
    shortcode: Annotated[str, doc("The 12 characters in the checkout page's URL.")]
    status: Annotated[
        RequestStatusText,
        doc(
            "`active`: can be paid, and may be partly paid. `completed`: is paid in full. `expired`: `expires_at` has "
            "passed. `cancelled`: the merchant cancelled it."
        ),
    ]
    amount: Annotated[AmountObject, doc("The requested amount.")]
    amount_paid: Annotated[
        AmountObject,
        doc("The verified amount received so far. Refunds and reorganisations don't reduce it."),
    ]
    amount_remaining: Annotated[
        AmountObject,
        doc(
            "The amount left to pay: `amount` less the received amount, net of refunds and reorganised payments. Zero "
            "once the request is completed."
        ),
    ]
    amount_overpaid: Annotated[
        AmountObject, doc("The amount received beyond `amount`, net of refunds and reorganised payments.")
    ]
    price: Annotated[
        PriceObject | None, doc("The requested price in a currency; null if you requested a token amount.")
    ]
    rate: Annotated[
        RateObject | None,
        doc("The exchange rate that converted `price`, fixed at creation; null without a price."),
    ]
    token: Annotated[TokenObject, doc("The requested token.")]
    chain_id: Annotated[int, doc("The requested chain.")]
    recipient_address: Annotated[
        str, doc("The wallet that receives the payment, in its chain's canonical form.")
    ]
    description: Annotated[
        str | None, doc("The text that the customer sees; null if the merchant sent none.")
    ]
    payment_url: Annotated[str, doc("The URL of the checkout page.")]
    paid_late: Annotated[
        bool,
        doc(
            "Whether the request was completed after `expires_at`. The time of the completing block counts or, if you "
            "accepted the payment, the time of your acceptance."
        ),
    ]
    created_at: Annotated[Time, doc("The time of creation.")]
    expires_at: Annotated[Time, doc("The time at which the request expires.")]
    completed_at: Annotated[Time | None, doc("The time of completion; null until then.")]
    is_simulated: Annotated[
        bool,
        doc(
            "Whether the sandbox simulated a payment or the expiry of this request. Always false in production."
        ),
    ]

    @classmethod
    def of(cls, request: PaymentRequest, **own: Any) -> Self:
        """Build the API object. The request's token must be loaded. `own` has the fields that a subclass adds."""
        return cls(
            id=str(request.id),
            shortcode=request.shortcode,
            status=request.status,
            amount=AmountObject.of(request.amount, request.token.decimals),
            **paid_amounts(request),
            price=request.price and PriceObject(**request.price),
            rate=request.rate and RateObject(**request.rate),
            token=TokenObject.of(request.token),
            chain_id=request.chain_id,
            recipient_address=request.recipient_address,
            description=request.description,
            payment_url=payment_url(request),
            paid_late=request.paid_late,
            created_at=required_timestamp(request.created_at),
            expires_at=required_timestamp(request.expires_at),
            completed_at=timestamp(request.completed_at),
            is_simulated=request.is_simulated,
            **own,
        )


@described(
    "PaymentRequest",
    "A request for an amount of one token, on one chain, to one wallet.",
    examples.PAYMENT_REQUEST,
)
class PaymentRequestObject(RequestFields, kw_only=True):
    """A payment request without its payments, as its merchant sees it."""

    object: Annotated[Literal["payment_request"], doc("Always `payment_request`.")] = "payment_request"
    amount_refunded: Annotated[
        AmountObject, doc("The verified amount that refunds returned to the customer.")
    ]
    amount_refund_open: Annotated[
        AmountObject,
        doc("The amount reserved by refunds that are not completed, failed or cancelled."),
    ]
    deposit_address: Annotated[
        str | None,
        doc(
            "The request's deposit address, to which customers can pay from any wallet or exchange; null until the "
            "checkout requests it."
        ),
    ]
    redirect_url: Annotated[
        str | None, doc("The URL that customers return to after completion; null if you sent none.")
    ]
    cancel_url: Annotated[
        str | None, doc("The URL that customers return to if they cancel; null if you sent none.")
    ]
    webhook_url: Annotated[
        str | None,
        doc("The URL that receives this request's events instead of your endpoint; null if you sent none."),
    ]
    external_id: Annotated[
        str | None, doc("Your own reference, such as an order number; null if you sent none.")
    ]
    metadata: Annotated[dict[str, str], doc("Your own key-value pairs; an empty object if you sent none.")]
    payment_link: Annotated[
        str | None, doc("The `id` of the payment link that created the request; null without one.")
    ]
    references: Annotated[
        bool, doc("Whether transactions built for the request contain its payment reference.")
    ]
    cancelled_at: Annotated[Time | None, doc("The time of cancellation; null unless cancelled.")]
    expired_at: Annotated[
        Time | None,
        doc(
            "The time at which the request expired; null if it did not. It stays set after a late completion."
        ),
    ]
    refunds: Annotated[list[RefundObject], doc("All refunds of the request, newest first.")]


def request_object(request: PaymentRequest, refunds: Sequence[RefundNow] = ()) -> PaymentRequestObject:
    """Return the request with its refunds, without its payments."""
    return PaymentRequestObject.of(request, **_merchants_own(request, refunds))


def _merchants_own(request: PaymentRequest, refunds: Sequence[RefundNow]) -> dict[str, Any]:
    return {
        **refund_amounts(request),
        "deposit_address": request.deposit_address,
        "redirect_url": request.redirect_url,
        "cancel_url": request.cancel_url,
        "webhook_url": request.webhook_url,
        "external_id": request.external_id,
        "metadata": request.metadata,
        "payment_link": request.payment_link_id,
        "references": request.references,
        "cancelled_at": timestamp(request.cancelled_at),
        "expired_at": timestamp(request.expired_at),
        "refunds": [RefundObject.of(each) for each in refunds],
    }


@described(
    "PaymentRequestDetail", "A payment request with its newest 20 payments.", examples.PAYMENT_REQUEST_DETAIL
)
class PaymentRequestDetail(PaymentRequestObject, kw_only=True):
    payments: Annotated[
        list[PaymentObject],
        doc("Up to 20 payments, newest first. List the request's payments to get all of them."),
    ]


def request_detail(request: PaymentRequest) -> PaymentRequestDetail:
    payments = [payment_object(payment) for payment in newest_payments(request)]
    return PaymentRequestDetail.of(request, **_merchants_own(request, refunds_of(request)), payments=payments)


def request_objects(requests: Sequence[PaymentRequest]) -> list[PaymentRequestObject]:
    """Return the requests with their refunds. One query reads all refunds."""
    refunds = refunds_by_request(requests)
    return [request_object(request, refunds[request.pk]) for request in requests]
