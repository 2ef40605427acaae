"""Payment requests and payments in the API's responses."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from chains.api.objects import AmountObject, TokenObject
from config.api.answers import Answer, Choices, NonEmpty, Time, Uuid, doc
from config.api.schema.operations import described
from config.api.serializers import required_timestamp, timestamp
from payments.api import examples
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
    """The fields of a payment that both the merchant and the customer may see."""

    id: Annotated[str, doc("`pay_` and 24 characters.")]
    object: Annotated[Literal["payment"], doc("Always `payment`.")] = "payment"
    payment_request: Annotated[Uuid, doc("The `id` of the payment request.")]
    status: Annotated[
        str,
        Choices(Payment.Status.choices),
        doc(
            "`pending` until a worker checks it or, for a contract account's proposal, until its signers execute it; "
            "`processing` during verification, then `completed` or `failed`. `pending` again after a retry."
        ),
    ]
    type: Annotated[
        PaymentTypeText,
        doc(
            "`direct` for a transfer of the requested token, `swap` if a routing provider delivers that token."
        ),
    ]
    chain_id: Annotated[int, doc("The chain of the customer's transaction.")]
    transaction_hash: Annotated[
        str,
        doc(
            "The hash of the customer's transaction; until it is executed, the id of a contract account's proposal."
        ),
    ]
    replaced_hashes: Annotated[
        list[NonEmpty],
        doc(
            "Earlier transactions that this one replaced with the same effect (speed-ups), and the id of the proposal "
            "that it executed, oldest first."
        ),
    ]
    token: Annotated[TokenObject | None, doc("The token that the customer sent; null until known.")]
    amount: Annotated[AmountObject | None, doc("The amount of `token` that was sent; null until known.")]
    amount_received: Annotated[
        AmountObject | None, doc("The credited amount of the requested token; null until verified.")
    ]
    destination_chain_id: Annotated[int, doc("The requested chain.")]
    destination_transaction_hash: Annotated[
        str | None,
        doc(
            "The transaction that delivered the requested token; for a completed direct payment, the customer's own. "
            "For an open swap, the one that the provider reports; null until then."
        ),
    ]
    confirmations: Annotated[int, doc("The depth of the transaction in blocks, its own block included.")]
    confirmations_required: Annotated[
        int | None,
        doc(
            "The required depth; null if the chain's finality decides. 1 for a swap to another chain, whose delivery "
            "has to reach `destination_confirmations_required`."
        ),
    ]
    explorer_url: Annotated[
        str | None, doc("The transaction's page on the chain's explorer; null without one.")
    ]
    destination_confirmations: Annotated[
        int | None,
        doc("The depth of a separate delivery in blocks; null until a node has seen it, and without one."),
    ]
    destination_confirmations_required: Annotated[
        int | None,
        doc(
            "The required depth of a separate delivery; null if the chain's finality decides, and without one."
        ),
    ]
    destination_explorer_url: Annotated[
        str | None, doc("The page of a separate delivery on its chain's explorer; null without one.")
    ]
    bound_by: Annotated[
        _BoundByText | None,
        doc(
            "What binds the transaction to the request: its `reference`, the `payer`'s signed proof, the `provider`'s "
            "id in it, or your acceptance (`manual`). Null until known."
        ),
    ]
    sender_signed_at: Annotated[
        Time | None,
        doc(
            "When the transaction's sender signed for this request after sending it; null if it did not. A signature "
            "in time binds the payment (`bound_by` is `payer`). A later one does not, but you can accept the payment."
        ),
    ]
    reorged: Annotated[
        bool,
        doc(
            "Whether a chain reorganisation removed the block after completion. The payment doesn't count as paid "
            "until its transaction is in the chain again. Review it manually."
        ),
    ]
    provider: Annotated[str | None, doc("The routing provider of a swap; null for a direct payment.")]
    provider_status: Annotated[
        str | None, doc("The provider's own status of the swap; null for a direct payment.")
    ]
    provider_url: Annotated[
        str | None, doc("The provider's page about the swap; null until the provider names one.")
    ]
    status_detail: Annotated[
        str,
        doc("A sentence for people: what the payment waits for, or why it failed. May be empty."),
    ]
    attempts: Annotated[int, doc("Lookups that did not find the transaction (10 at most).")]
    retries_left: Annotated[
        int, doc("Retries left for a failed payment; 0 if a retry can't change the result.")
    ]
    failure_code: Annotated[
        FailureCodeText | None,
        doc("The reason of the failure, for programs; null unless `failed`."),
    ]
    failure_message: Annotated[
        str | None, doc("The reason of the failure, for people; null unless `failed`.")
    ]
    created_at: Annotated[Time, doc("The time of the submission or discovery.")]
    completed_at: Annotated[Time | None, doc("The time of the completion; null unless `completed`.")]
    failed_at: Annotated[Time | None, doc("The time of the failure; null unless `failed`.")]
    is_simulated: Annotated[bool, doc("Whether the sandbox made the payment, so that no money moved.")]

    @classmethod
    def of(cls, payment: Payment, **own: Any) -> Self:
        """Return the payment's object. `own` has the fields of the subclass."""
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
            destination_confirmations_required=_delivery_confirmations_required(payment),
            destination_explorer_url=delivery_explorer_url(payment),
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
            **own,
        )


@described("Value", "A payment's value in a currency.", examples.VALUE)
class ValueObject(Answer, kw_only=True):
    """A payment's value in the merchant's reporting currency."""

    currency: Annotated[str, doc("The currency's code (ISO 4217).")]
    amount: Annotated[
        str, doc("A decimal string with the currency's fraction digits, rounded to the nearest.")
    ]
    rate: Annotated[str, doc("Units of the currency for one token, rounded down to 12 significant digits.")]
    observed_at: Annotated[Time, doc("The time of the rate.")]
    estimated: Annotated[bool, doc("Whether the rate is from more than two minutes after the completion.")]


@described("Payment", "A transaction that was submitted or found for a payment request.", examples.PAYMENT)
class PaymentObject(PaymentFields, kw_only=True):
    """A payment, as its merchant sees it."""

    from_address: Annotated[
        str | None,
        doc(
            "The sender of the transaction, which can be a relayer; null until known, and in public responses."
        ),
    ]
    value: Annotated[
        ValueObject | None,
        doc(
            "The value of `amount_received` in your reporting currency at completion; null until a rate is known, and "
            "for a token without a price."
        ),
    ]


def payment_object(payment: Payment) -> PaymentObject:
    """Return the payment for its merchant. The request, both tokens and both chains must be loaded."""
    value = payment.value and ValueObject(**payment.value)
    return PaymentObject.of(payment, from_address=payment.from_address or None, value=value)


def submitted_payment(payment: Payment) -> PaymentObject:
    """Return the payment for its submitter. Anyone with the link can submit, so the payer is left out."""
    return PaymentObject.of(payment, from_address=None, value=None)


def delivery_explorer_url(payment: Payment) -> str | None:
    """Return the explorer's page for a separate, real delivery transaction."""
    delivery = delivery_of(payment)
    if delivery is None or payment.is_simulated:
        return None
    base = payment.request.chain.explorer_url.rstrip("/")
    return f"{base}/tx/{delivery.transaction_hash}" if base else None


def _delivery_confirmations_required(payment: Payment) -> int | None:
    """Return the required depth of a separate delivery; None if the chain's finality decides."""
    rule = payment.request.chain.confirmations
    return int(rule) if delivery_of(payment) and rule.isdigit() else None


@described("Price", "A price in a currency.", {"currency": "EUR", "amount": "25.00"})
class PriceObject(Answer, kw_only=True):
    currency: Annotated[str, doc("The currency's code (ISO 4217).")]
    amount: Annotated[str, doc("A decimal string with the currency's fraction digits.")]


@described("Rate", "The exchange rate at which a price was converted.", examples.RATE)
class RateObject(Answer, kw_only=True):
    value: Annotated[
        str,
        doc(
            "Units of `currency` for one token, a decimal string rounded down to 12 significant digits. For display: "
            "`amount` is computed from the exact rate and can be lower than `price` divided by `value`."
        ),
    ]
    currency: Annotated[str, doc("The currency's code (ISO 4217).")]
    token: Annotated[str, doc("The symbol that the catalogue prices the token as.")]
    sources: Annotated[
        list[str],
        doc("The sources that agreed on the rate; `feeds:ID` is the price feeds on the chain with that id."),
    ]
    observed_at: Annotated[
        Time, doc("The time of the oldest observation in the rate, without daily sources.")
    ]


class RequestFields(Answer, kw_only=True):
    """The fields of a payment request that both the merchant and the customer may see."""

    id: Annotated[Uuid, doc("A UUID, ordered by time.")]
    shortcode: Annotated[str, doc("The 12 characters in the checkout page's URL.")]
    status: Annotated[
        RequestStatusText,
        doc(
            "`active` until it is paid in full (`completed`), expires (`expired`) or is cancelled by the merchant "
            "(`cancelled`). A partly paid request stays `active`."
        ),
    ]
    amount: Annotated[AmountObject, doc("The requested amount.")]
    amount_paid: Annotated[
        AmountObject, doc("The verified amount received so far, before refunds and reorganisations.")
    ]
    amount_remaining: Annotated[
        AmountObject,
        doc(
            "The amount that remains to be paid, net of completed and open refunds and of payments that are `reorged`; "
            "zero once completed."
        ),
    ]
    amount_overpaid: Annotated[
        AmountObject, doc("The amount received beyond the requested amount, net of the same.")
    ]
    price: Annotated[
        PriceObject | None, doc("The requested price in a currency; null for a request of a token amount.")
    ]
    rate: Annotated[
        RateObject | None, doc("The rate that converted `price`. It never changes; null without a price.")
    ]
    token: Annotated[TokenObject, doc("The requested token.")]
    chain_id: Annotated[int, doc("The requested chain.")]
    recipient_address: Annotated[str, doc("The merchant's wallet, in its chain's canonical form.")]
    description: Annotated[
        str | None, doc("The text that the customer sees; null if the merchant sent none.")
    ]
    payment_url: Annotated[str, doc("The URL of the checkout page.")]
    paid_late: Annotated[
        bool,
        doc(
            "Whether the completing transfer's block is later than `expires_at`. If the merchant's acceptance "
            "completed the request, whether that was later."
        ),
    ]
    created_at: Annotated[Time, doc("The time of creation.")]
    expires_at: Annotated[Time, doc("The time at which the request expires.")]
    completed_at: Annotated[Time | None, doc("The time of completion; null until then.")]
    is_simulated: Annotated[
        bool,
        doc(
            "Whether the sandbox simulated a payment of the request or its expiry. Always false in production."
        ),
    ]

    @classmethod
    def of(cls, request: PaymentRequest, **own: Any) -> Self:
        """Return the request's object; its token must be loaded. `own` has the fields of the subclass."""
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
        doc("The amount that open refunds reserve, sent or not. A failed refund reserves nothing."),
    ]
    redirect_url: Annotated[
        str | None, doc("The URL for customers once the request is completed; null if you sent none.")
    ]
    cancel_url: Annotated[str | None, doc("The URL for customers who cancel; null if you sent none.")]
    webhook_url: Annotated[
        str | None,
        doc("The URL for this request's events, in place of your endpoint; null if you sent none."),
    ]
    external_id: Annotated[str | None, doc("Your own reference; null if you sent none.")]
    metadata: Annotated[dict[str, str], doc("Your own key-value pairs; `{}` if you sent none.")]
    payment_link: Annotated[
        str | None, doc("The `id` of the payment link that created the request; null without one.")
    ]
    references: Annotated[bool, doc("Whether transactions built for the request carry its reference.")]
    cancelled_at: Annotated[Time | None, doc("The time of cancellation; null unless cancelled.")]
    expired_at: Annotated[
        Time | None, doc("The time of expiry; null unless it expired. Kept if a late payment completes it.")
    ]
    refunds: Annotated[list[RefundObject], doc("All refunds of the request, newest first.")]


def request_object(request: PaymentRequest, refunds: Sequence[RefundNow] = ()) -> PaymentRequestObject:
    """Return the request with its refunds, without its payments."""
    return PaymentRequestObject.of(request, **_merchants_own(request, refunds))


def _merchants_own(request: PaymentRequest, refunds: Sequence[RefundNow]) -> dict[str, Any]:
    return {
        **refund_amounts(request),
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
        list[PaymentObject], doc("The newest 20 payments, newest first. `payments.list` returns all.")
    ]


def request_detail(request: PaymentRequest) -> PaymentRequestDetail:
    payments = [payment_object(payment) for payment in newest_payments(request)]
    return PaymentRequestDetail.of(request, **_merchants_own(request, refunds_of(request)), payments=payments)


def request_objects(requests: Sequence[PaymentRequest]) -> list[PaymentRequestObject]:
    """Return the requests with their refunds, in one query for all refunds."""
    refunds = refunds_by_request(requests)
    return [request_object(request, refunds[request.pk]) for request in requests]
