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
from payments.models import FailureCode, Payment, PaymentRequest
from payments.refunds.reading import RefundNow, refunds_by_request, refunds_of

FailureCodeText = Annotated[str, Choices(FailureCode.choices)]
RequestStatusText = Annotated[str, Choices(PaymentRequest.Status.choices)]
PaymentTypeText = Annotated[str, Choices(Payment.Type.choices)]
_BoundByText = Annotated[str, Choices(Payment.BoundBy.choices)]


class PaymentFields(Answer, kw_only=True):
    """What both the merchant and the customer may see of a payment."""

    id: Annotated[str, doc("`pay_` and 24 characters.")]
    object: Annotated[Literal["payment"], doc("Always `payment`.")] = "payment"
    payment_request: Annotated[Uuid, doc("The payment request that it is for.")]
    status: Annotated[
        str,
        Choices(Payment.Status.choices),
        doc(
            "`pending` until a worker looks at it, `processing` while it is verified, then `completed` or "
            "`failed`. A retried one is `pending` again."
        ),
    ]
    type: Annotated[
        PaymentTypeText,
        doc("`direct`: the requested token on its chain. `swap`: anything else, by a provider."),
    ]
    chain_id: Annotated[int, doc("The chain of the customer's transaction.")]
    transaction_hash: Annotated[str, doc("The customer's transaction, as its chain writes it.")]
    replaced_hashes: Annotated[
        list[NonEmpty],
        doc(
            "The transactions that this one replaced with the same effect, as a wallet does to speed one up; oldest "
            "first."
        ),
    ]
    token: Annotated[TokenObject | None, doc("The token paid with. Null until known.")]
    amount: Annotated[
        AmountObject | None, doc("How much was paid, in the token paid with. Null until known.")
    ]
    amount_received: Annotated[
        AmountObject | None, doc("How much counts, in the requested token. Null until verified.")
    ]
    destination_chain_id: Annotated[int, doc("The chain that the request asks for.")]
    destination_transaction_hash: Annotated[
        str | None,
        doc(
            "The transaction that delivered: once completed, the same one for a direct payment. Until a swap is "
            "completed, the one that its provider names; null before."
        ),
    ]
    confirmations: Annotated[int, doc("How many blocks deep the transaction is, its own block included.")]
    confirmations_required: Annotated[
        int | None,
        doc(
            "How deep it has to be; null where the chain's own finality decides. Of a swap to another chain "
            "it is the delivery that has to be deep: one is enough here."
        ),
    ]
    explorer_url: Annotated[
        str | None, doc("The transaction's page on the chain's explorer, where there is one.")
    ]
    destination_confirmations: Annotated[
        int | None,
        doc(
            "How many blocks deep the delivery is; null until seen, and where no other transaction delivers."
        ),
    ]
    destination_confirmations_required: Annotated[
        int | None,
        doc(
            "How deep it has to be; null where the chain's finality decides, or no other transaction delivers."
        ),
    ]
    destination_explorer_url: Annotated[
        str | None, doc("The delivery's page on the explorer of its chain, where there is one.")
    ]
    bound_by: Annotated[
        _BoundByText | None,
        doc(
            "What ties the transaction to the request: the `reference` that it carries, the `payer`'s proof, the "
            "`provider`'s id in it, or the merchant's acceptance: `manual`. Null until known."
        ),
    ]
    reorged: Annotated[
        bool, doc("Whether its block vanished from the chain after it was completed: it then needs a person.")
    ]
    provider: Annotated[str | None, doc("The routing provider of a swap; null for a direct payment.")]
    provider_status: Annotated[
        str | None, doc("The provider's own word for how far the swap is; null for a direct payment.")
    ]
    provider_url: Annotated[
        str | None, doc("The provider's own page about the swap, where it has named one.")
    ]
    status_detail: Annotated[
        str, doc("One sentence for people: what is being waited for, or why not. May be empty.")
    ]
    attempts: Annotated[int, doc("How many looks at the chain found nothing; ten are made.")]
    retries_left: Annotated[int, doc("How often a failed one may still be retried; 0 where that can't help.")]
    failure_code: Annotated[
        FailureCodeText | None,
        doc("Why it failed, for programs; null unless it did. `retries_left` says whether a retry can help."),
    ]
    failure_message: Annotated[str | None, doc("Why it failed, for people; null unless it did.")]
    created_at: Annotated[Time, doc("When it was submitted or found.")]
    completed_at: Annotated[Time | None, doc("When it was verified; null until then.")]
    failed_at: Annotated[Time | None, doc("When it failed; null unless it did.")]

    @classmethod
    def of(cls, payment: Payment, **own: Any) -> Self:
        """Return the payment's object; `own` are the fields that only this kind of object has."""
        request = payment.request
        decimals = request.token.decimals
        sent_decimals = payment.token.decimals if payment.token else decimals
        received = payment.amount_received
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
            confirmations=payment.confirmations,
            confirmations_required=payment.confirmations_required,
            explorer_url=payment.explorer_url,
            destination_confirmations=payment.destination_confirmations,
            destination_confirmations_required=_delivery_confirmations_required(payment),
            destination_explorer_url=delivery_explorer_url(payment),
            bound_by=payment.bound_by or None,
            reorged=payment.reorged,
            provider=payment.provider or None,
            provider_status=payment.provider_status or None,
            provider_url=payment.provider_url or None,
            status_detail=payment.status_detail,
            attempts=payment.attempts,
            retries_left=payment.retries_left,
            failure_code=payment.failure_code or None,
            failure_message=payment.failure_message or None,
            created_at=required_timestamp(payment.created_at),
            completed_at=timestamp(payment.completed_at),
            failed_at=timestamp(payment.failed_at),
            **own,
        )


@described("Value", "What a payment was worth in a currency.", examples.VALUE)
class ValueObject(Answer, kw_only=True):
    """What a payment was worth in the merchant's reporting currency."""

    currency: Annotated[str, doc("The currency's code (ISO 4217).")]
    amount: Annotated[
        str, doc("A decimal string with the currency's fraction digits, rounded to the nearest.")
    ]
    rate: Annotated[str, doc("Units of the currency for one token, rounded down to 12 significant digits.")]
    observed_at: Annotated[Time, doc("When the rate was observed.")]
    estimated: Annotated[bool, doc("Whether the rate is from more than two minutes after the completion.")]


@described(
    "Payment", "One transaction that was submitted, or found, for a payment request.", examples.PAYMENT
)
class PaymentObject(PaymentFields, kw_only=True):
    """A payment, as its merchant sees it."""

    from_address: Annotated[
        str | None, doc("The wallet that paid. Null until known; always null in public answers.")
    ]
    value: Annotated[
        ValueObject | None,
        doc(
            "What `amount_received` was worth in your reporting currency at completion; null until a rate is known, "
            "and for a token without a price."
        ),
    ]


def payment_object(payment: Payment) -> PaymentObject:
    """Return the payment for its merchant; its request, both tokens and both chains are loaded."""
    value = payment.value and ValueObject(**payment.value)
    return PaymentObject.of(payment, from_address=payment.from_address or None, value=value)


def submitted_payment(payment: Payment) -> PaymentObject:
    """Return the payment for the one who submitted it: anyone who has the link may, so who paid is left out."""
    return PaymentObject.of(payment, from_address=None, value=None)


def delivery_explorer_url(payment: Payment) -> str | None:
    """Return the delivery's page on the explorer of the requested chain, if another, real transaction delivers."""
    is_on_chain = payment.has_delivery and not payment.is_simulated
    base = payment.request.chain.explorer_url.rstrip("/") if is_on_chain else ""
    return f"{base}/tx/{payment.destination_transaction_hash}" if base else None


def _delivery_confirmations_required(payment: Payment) -> int | None:
    """Return how deep the delivery has to be, if another transaction delivers and a number decides."""
    rule = payment.request.chain.confirmations
    return int(rule) if payment.has_delivery and rule.isdigit() else None


@described("Price", "A price in a currency.", {"currency": "EUR", "amount": "25.00"})
class PriceObject(Answer, kw_only=True):
    """A price in a currency."""

    currency: Annotated[str, doc("The currency's code (ISO 4217).")]
    amount: Annotated[str, doc("A decimal string with the currency's fraction digits.")]


@described("Rate", "The exchange rate at which a price was converted.", examples.RATE)
class RateObject(Answer, kw_only=True):
    """The exchange rate at which a price was converted."""

    value: Annotated[
        str,
        doc(
            "Units of `currency` for one token, a decimal string rounded down to 12 significant digits. For display: "
            "`amount` is computed from the exact rate and can be lower than `price` divided by `value`."
        ),
    ]
    currency: Annotated[str, doc("The currency's code.")]
    token: Annotated[str, doc("What the token is priced as.")]
    sources: Annotated[
        list[str], doc("The sources that agreed on it; a chain's price feeds are `feeds:` and its id.")
    ]
    observed_at: Annotated[Time, doc("The time of the oldest observation in it; daily sources don't count.")]


@described(
    "PaymentRequest",
    "An amount of one token, asked for on one chain to one wallet.",
    examples.PAYMENT_REQUEST,
)
class PaymentRequestObject(Answer, kw_only=True):
    """A payment request without its payments."""

    id: Annotated[Uuid, doc("A UUID in order of time.")]
    object: Annotated[Literal["payment_request"], doc("Always `payment_request`.")] = "payment_request"
    shortcode: Annotated[str, doc("12 characters, for the checkout page's address.")]
    status: Annotated[
        RequestStatusText,
        doc(
            "`active` until it is paid in full (`completed`), its time is over (`expired`) or you cancel it "
            "(`cancelled`). Partly paid, it stays `active`."
        ),
    ]
    amount: Annotated[AmountObject, doc("What was asked for.")]
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
    amount_refunded: Annotated[
        AmountObject, doc("The verified amount that refunds returned to the customer.")
    ]
    amount_refund_open: Annotated[
        AmountObject, doc("The amount that open refunds reserve: they may be sent, or are on their way.")
    ]
    price: Annotated[
        PriceObject | None, doc("What was asked for in a currency; null for an amount of the token.")
    ]
    rate: Annotated[
        RateObject | None, doc("The rate at which `price` was converted, for good; null without a price.")
    ]
    chain_id: Annotated[int, doc("The chain on which it is to arrive.")]
    token: Annotated[TokenObject, doc("The token that is to arrive.")]
    recipient_address: Annotated[str, doc("The wallet that is paid, in its chain's canonical form.")]
    payment_url: Annotated[str, doc("The checkout page: send the customer there.")]
    redirect_url: Annotated[
        str | None, doc("Where the customer goes once it is completed, as sent; null if left out.")
    ]
    cancel_url: Annotated[str | None, doc("Where a customer who gives up goes, as sent; null if left out.")]
    webhook_url: Annotated[
        str | None, doc("Where its events go instead of your endpoint, as sent; null if left out.")
    ]
    external_id: Annotated[str | None, doc("Your own reference, as sent; null if left out.")]
    description: Annotated[
        str | None, doc("What the customer reads on the checkout, as sent; null if left out.")
    ]
    metadata: Annotated[dict[str, str], doc("Your own pairs, as sent; `{}` if left out.")]
    references: Annotated[bool, doc("Whether the transactions that are built for it carry its reference.")]
    paid_late: Annotated[bool, doc("Whether the completing transfer's block is later than `expires_at`.")]
    expires_at: Annotated[Time, doc("Until when it can be paid.")]
    created_at: Annotated[Time, doc("When it was created.")]
    completed_at: Annotated[Time | None, doc("When it was paid in full; null until then.")]
    cancelled_at: Annotated[Time | None, doc("When it was cancelled; null unless it was.")]
    expired_at: Annotated[Time | None, doc("When it expired; null unless it did.")]
    refunds: Annotated[list[RefundObject], doc("All refunds of it, newest first.")]

    @classmethod
    def of(cls, request: PaymentRequest, refunds: Sequence[RefundNow] = (), **own: Any) -> Self:
        """Return the request's object; its token is loaded. `own` are the fields that only this kind of object has."""
        decimals = request.token.decimals
        totals = request.refund_totals
        return cls(
            id=str(request.id),
            shortcode=request.shortcode,
            status=request.status,
            amount=AmountObject.of(request.amount, decimals),
            amount_paid=AmountObject.of(request.amount_paid, decimals),
            amount_remaining=AmountObject.of(request.amount_remaining, decimals),
            amount_overpaid=AmountObject.of(request.amount_overpaid, decimals),
            amount_refunded=AmountObject.of(totals.completed, decimals),
            amount_refund_open=AmountObject.of(totals.open, decimals),
            price=request.price and PriceObject(**request.price),
            rate=request.rate and RateObject(**request.rate),
            chain_id=request.chain_id,
            token=TokenObject.of(request.token),
            recipient_address=request.recipient_address,
            payment_url=payment_url(request),
            redirect_url=request.redirect_url,
            cancel_url=request.cancel_url,
            webhook_url=request.webhook_url,
            external_id=request.external_id,
            description=request.description,
            metadata=request.metadata,
            references=request.references,
            paid_late=request.paid_late,
            expires_at=required_timestamp(request.expires_at),
            created_at=required_timestamp(request.created_at),
            completed_at=timestamp(request.completed_at),
            cancelled_at=timestamp(request.cancelled_at),
            expired_at=timestamp(request.expired_at),
            refunds=[RefundObject.of(each) for each in refunds],
            **own,
        )


@described(
    "PaymentRequestDetail", "A payment request with its newest 20 payments.", examples.PAYMENT_REQUEST_DETAIL
)
class PaymentRequestDetail(PaymentRequestObject, kw_only=True):
    """A payment request with its newest 20 payments."""

    payments: Annotated[
        list[PaymentObject],
        doc("The newest 20 payments, newest first. `payments.list` has all of them."),
    ]


def request_detail(request: PaymentRequest) -> PaymentRequestDetail:
    """Return the request with its newest payments."""
    payments = [payment_object(payment) for payment in newest_payments(request)]
    return PaymentRequestDetail.of(request, refunds_of(request), payments=payments)


def request_objects(requests: Sequence[PaymentRequest]) -> list[PaymentRequestObject]:
    """Return the requests of a list with their refunds, which are read together."""
    refunds = refunds_by_request(requests)
    return [PaymentRequestObject.of(request, refunds[request.pk]) for request in requests]
