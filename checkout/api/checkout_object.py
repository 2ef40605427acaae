"""The checkout in the API's responses. Customers read this object, so it has no private data of the merchant."""

import hashlib
from typing import Annotated, Any, Literal

import msgspec
from django.conf import settings
from django.utils import timezone

from chains import families
from chains.api.objects import AmountObject
from chains.models import Chain
from chains.switches import Feature, is_on
from config.api.answers import Answer, Choices, Time, doc
from config.api.schema.operations import described
from config.api.serializers import required_timestamp
from merchants.models import Merchant
from payments.api import examples
from payments.api.links import return_url
from payments.api.objects import FailureCodeText, PaymentFields, RequestFields
from payments.api.shown_payments import weightiest_payments
from payments.deposits.showing import shown_address
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.reading import refunds_of
from payments.refunds.services import is_left

_FASTEST_POLL_MS = 1000
_IDLE_POLL_MS = 5000
_FINAL_POLL_MS = 60_000
_REQUEST = examples.PAYMENT_REQUEST
CHAIN: dict[str, Any] = {
    "id": 8453,
    "name": "Base",
    "chain_type": "evm",
    "network": "",
    "native_symbol": "ETH",
    "explorer_url": "https://basescan.org",
    "wallet_rpc_url": "https://mainnet.base.org",
}
_MERCHANT: dict[str, Any] = {
    "name": "Harbour Coffee",
    "logo_url": "https://shop.example.com/logo.svg",
    "accent_colour": "#1f2a44",
    "background_colour": None,
    "support_url": None,
    "support_email": "help@shop.example.com",
    "default_language": "en",
}
_PAYMENT: dict[str, Any] = {
    **{name: value for name, value in examples.PAYMENT.items() if name not in ("from_address", "value")},
    "is_seen": True,
    "is_bound": True,
    "is_awaiting_signers": False,
    "likely_failure": None,
}
_MERCHANTS_OWN = {
    "amount_refunded",
    "amount_refund_open",
    "external_id",
    "metadata",
    "webhook_url",
    "payment_link",
    "references",
    "cancelled_at",
    "expired_at",
}
_REFUND = {"status": "completed", "amount": {"raw": "500000", "formatted": "0.500000", "decimals": 6}}
_SHOWN = {name: value for name, value in _REQUEST.items() if name not in _MERCHANTS_OWN}
_CHECKOUT: dict[str, Any] = {
    **_SHOWN,
    "object": "checkout",
    "chain": CHAIN,
    "cancel_url": f"https://shop.example.com/basket?payment_request_id={_REQUEST['id']}&status=completed",
    "redirect_url": f"https://shop.example.com/orders/1001?payment_request_id={_REQUEST['id']}&status=completed",
    "merchant": _MERCHANT,
    "payments": [_PAYMENT],
    "refunds": [],
    "is_available": True,
    "is_test": False,
    "pay_with": {"is_routed": True},
    "is_final": True,
    "poll_in_ms": 60000,
    "server_time": "2026-11-21T10:07:00.000000Z",
}


@described("CheckoutChain", "A chain, with the details that wallets need.", CHAIN)
class CheckoutChain(Answer, kw_only=True):
    id: Annotated[
        int, doc("The value to send as `chain_id`, a 64-bit integer. On EVM, it is the EVM chain id.")
    ]
    name: Annotated[str, doc("The display name.")]
    chain_type: Annotated[
        str,
        Choices(families.choices()),
        doc("The chain family. It determines the format of addresses and transactions."),
    ]
    network: Annotated[str, doc("The Solana cluster; empty for mainnet and for other chain families.")]
    native_symbol: Annotated[str, doc("The symbol of the native coin, which pays network fees.")]
    explorer_url: Annotated[str | None, doc("The URL of the block explorer; null if none is known.")]
    wallet_rpc_url: Annotated[
        str | None,
        doc("The URL of a public node, for wallets that don't know the network yet; null if none is known."),
    ]

    @classmethod
    def of(cls, chain: Chain) -> "CheckoutChain":
        return cls(
            id=chain.id,
            name=chain.name,
            chain_type=chain.chain_type,
            network=chain.network,
            native_symbol=chain.native_symbol,
            explorer_url=chain.explorer_url or None,
            wallet_rpc_url=chain.wallet_rpc_url or None,
        )


@described("CheckoutMerchant", "The merchant, and the theme of the page.", _MERCHANT)
class CheckoutMerchant(Answer, kw_only=True):
    name: Annotated[str, doc("The merchant's display name.")]
    logo_url: Annotated[str | None, doc("The logo; null if there is none.")]
    accent_colour: Annotated[
        str | None, doc("The colour of the buttons, such as `#1f2a44`; null for the default.")
    ]
    background_colour: Annotated[str | None, doc("The page's background colour; null for the default.")]
    support_url: Annotated[str | None, doc("The URL of the merchant's support page; null if not set.")]
    support_email: Annotated[str | None, doc("The merchant's support e-mail address; null if not set.")]
    default_language: Annotated[
        str, doc("The page's language if the page supports none of the browser's languages.")
    ]

    @classmethod
    def of(cls, merchant: Merchant, *, has_support: bool = True) -> "CheckoutMerchant":
        return cls(
            name=merchant.display_name or merchant.name,
            logo_url=merchant.logo_url or None,
            accent_colour=merchant.accent_colour or None,
            background_colour=merchant.background_colour or None,
            support_url=(merchant.support_url or None) if has_support else None,
            support_email=(merchant.support_email or None) if has_support else None,
            default_language=merchant.default_language or "en",
        )


@described("CheckoutPayment", "A payment without its sender, which only the merchant may see.", _PAYMENT)
class CheckoutPayment(PaymentFields, kw_only=True):
    is_seen: Annotated[
        bool,
        doc(
            "Whether a node has seen the transaction. If false, the hash may be wrong, or the transaction may not be "
            "sent."
        ),
    ]
    is_bound: Annotated[
        bool,
        doc(
            "Whether the transaction is bound to this request. Until the transaction is mined, only its data shows "
            "this. If false, the customer can still pay in another way."
        ),
    ]
    is_awaiting_signers: Annotated[
        bool,
        doc(
            "Whether `transaction_hash` is the id of a contract account's proposal that is not executed yet. "
            "Meanwhile, the customer can pay in another way."
        ),
    ]
    likely_failure: Annotated[
        FailureCodeText | None,
        doc(
            "The `failure_code` that the payment will get once its block is confirmed; null if no failure is "
            "expected. Until then the payment is `processing`, because a reorganisation can change the result."
        ),
    ]


def checkout_payment(payment: Payment) -> CheckoutPayment:
    return CheckoutPayment.of(
        payment,
        is_seen=payment.lookup.is_seen,
        is_bound=payment.is_bound,
        is_awaiting_signers=payment.is_open and payment.lookup.is_awaited,
        likely_failure=payment.likely_failure or None,
    )


@described("CheckoutRefund", "A refund of the request, without its address.", _REFUND)
class CheckoutRefund(Answer, kw_only=True):
    status: Annotated[str, Choices(Refund.Status.choices), doc("The refund's status.")]
    amount: Annotated[AmountObject, doc("The refunded amount, in the requested token.")]


def checkout_refunds(request: PaymentRequest) -> list[CheckoutRefund]:
    """Return the open and the completed refunds, oldest first."""
    decimals = request.token.decimals
    return [
        CheckoutRefund(
            status=each.standing.status.value, amount=AmountObject.of(each.refund.amount, decimals)
        )
        for each in reversed(refunds_of(request))
        if each.standing.is_open or each.standing.status == Refund.Status.COMPLETED
    ]


@described("PayWith", "Whether the request can be paid with other tokens.", {"is_routed": True})
class PayWith(Answer, kw_only=True):
    """The field `pay_with` of the checkout."""

    is_routed: Annotated[
        bool,
        doc(
            "Whether this deployment has a routing provider, which offers other tokens and chains. The provider can "
            "be unreachable at the moment."
        ),
    ]


@described("Checkout", "A payment request as its customer may see it.", _CHECKOUT)
class Checkout(RequestFields, kw_only=True):
    object: Annotated[Literal["checkout"], doc("Always `checkout`.")] = "checkout"
    chain: Annotated[CheckoutChain, doc("The details of the requested chain.")]
    cancel_url: Annotated[
        str | None, doc("The URL that customers return to if they cancel; null if the merchant sent none.")
    ]
    redirect_url: Annotated[
        str | None,
        doc("The URL that customers return to. Null until completion, or if the merchant sent none."),
    ]
    merchant: Annotated[CheckoutMerchant, doc("The merchant.")]
    payments: Annotated[
        list[CheckoutPayment],
        doc("Up to 20 payments, newest first. If there are more than 20, bound payments have priority."),
    ]
    refunds: Annotated[list[CheckoutRefund], doc("The open and the completed refunds, oldest first.")]
    is_available: Annotated[
        bool,
        doc(
            "Whether the requested token and its chain are active. If false, there are no routes; tell "
            "customers not to send anything. Transactions that were already sent are still verified."
        ),
    ]
    is_test: Annotated[
        bool,
        doc("Whether this is a test: the deployment is `staging`, or the sandbox simulated a payment."),
    ]
    deposit_address: Annotated[
        str | None,
        doc("The request's deposit address. Null until it is requested, and while it must not be shown."),
    ]
    pay_with: Annotated[PayWith, doc("Whether customers can pay with other tokens.")]
    is_final: Annotated[bool, doc("Whether no further change is expected.")]
    poll_in_ms: Annotated[int, doc("The recommended polling interval in milliseconds.", ge=0)]
    server_time: Annotated[Time, doc("The server's time, for countdowns. Not part of the ETag.")] = ""


def checkout_object(request: PaymentRequest) -> Checkout:
    """Return the checkout, without the server's time (see `with_server_time`)."""
    payments = weightiest_payments(request)
    is_final = request.status != PaymentRequest.Status.ACTIVE and not any(
        payment.is_open for payment in payments
    )
    refunds = checkout_refunds(request)
    completed = request.status == PaymentRequest.Status.COMPLETED
    return Checkout.of(
        request,
        chain=CheckoutChain.of(request.chain),
        cancel_url=return_url(request.cancel_url, request),
        redirect_url=return_url(request.redirect_url, request) if completed else None,
        # The merchant pays the refund, so the refund's page doesn't show the merchant's support contact.
        merchant=CheckoutMerchant.of(request.merchant, has_support=not request.is_refund),
        payments=[checkout_payment(payment) for payment in payments],
        refunds=refunds,
        is_available=_is_available(request),
        is_test=settings.ENVIRONMENT == "staging" or any(payment.is_simulated for payment in payments),
        deposit_address=shown_address(request),
        pay_with=PayWith(is_routed=_is_routed(request)),
        is_final=is_final,
        poll_in_ms=_poll_in_ms(request, payments, refunds, is_final),
    )


def _is_available(request: PaymentRequest) -> bool:
    """Whether the customer may send money.

    A failed refund is not payable, because the merchant may have refunded the amount in another way. A request can be
    active although it is paid in full. For example, a reorganisation removed a payment, the customer paid again, and
    then the first payment came back. The merchant must then resolve the request.
    """
    if request.status != PaymentRequest.Status.ACTIVE:
        return request.is_available
    is_due = is_left(request) if request.is_refund else not request.is_paid_in_full
    return request.is_available and is_due


def _is_routed(request: PaymentRequest) -> bool:
    """Whether the customer may pay with other tokens. A refund is always paid in the requested token."""
    return bool(settings.ROUTING_PROVIDERS) and is_on(Feature.SWAPS) and not request.is_refund


def details_etag(checkout: Checkout) -> str:
    """Return the checkout's ETag. The ETag doesn't depend on the server's time, which is added later."""
    return '"' + hashlib.sha256(msgspec.json.encode(checkout)).hexdigest()[:32] + '"'


def with_server_time(checkout: Checkout) -> Checkout:
    """Add the server's time to the checkout, and return it."""
    checkout.server_time = required_timestamp(timezone.now())
    return checkout


def encoded_with_server_time(encoded: bytes) -> bytes:
    """Add the server's time to a checkout that is already JSON, and return it.

    Streams send the same details at different times, so they encode the details once.
    """
    # Inside a JSON string, quotes have a backslash. So these bytes are only the field itself.
    return encoded.replace(
        b'"server_time":""', b'"server_time":"%s"' % required_timestamp(timezone.now()).encode()
    )


def _poll_in_ms(
    request: PaymentRequest, payments: list[Payment], refunds: list[CheckoutRefund], is_final: bool
) -> int:
    """Return the polling interval. While a payment is open, the interval is about the chain's block time."""
    if is_final:
        is_refunding = any(refund.status != Refund.Status.COMPLETED for refund in refunds)
        return _IDLE_POLL_MS if is_refunding else _FINAL_POLL_MS
    if any(payment.is_open and not payment.lookup.is_awaited for payment in payments):
        return min(max(request.chain.block_time_ms, _FASTEST_POLL_MS), _IDLE_POLL_MS)
    return _IDLE_POLL_MS
