"""The `data.object` of events. `payments` creates it for real events. In a test event, the values are invented."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType

from chains.api.objects import AmountObject
from chains.models import Token
from config.api.answers import Answer, NonEmpty, Time, Uuid, doc, one_of
from config.api.schema.operations import described
from webhooks.event_types import EventType

_SUM = {"raw": "12500000", "formatted": "12.500000", "decimals": 6}
_NOTHING = {"raw": "0", "formatted": "0.000000", "decimals": 6}
_TOKEN: dict[str, Any] = {
    "id": 2,
    "symbol": "USDC",
    "decimals": 6,
    "contract_address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
}
EXAMPLE: dict[str, Any] = {
    "id": "pay_LuEmx6pbX844yEZ3nq8pdsoC",
    "amount": 12500000,
    "currency": "USDC",
    "status": "succeeded",
    "reference": "order-1001",
    "payment_request": "01a1fd92-caa6-7393-afe5-964ec9235339",
    "shortcode": "Yj5LTJ4eWhtQ",
    "token": _TOKEN,
    "chain_id": 8453,
    "transaction_hash": "0x1674e0fa8c5ef411b67eeea593c73d514b2bda129634cbf60a4dc2a9bcb3427f",
    "type": "direct",
    "source_chain_id": 8453,
    "destination_transaction_hash": "0x1674e0fa8c5ef411b67eeea593c73d514b2bda129634cbf60a4dc2a9bcb3427f",
    "amount_details": _SUM,
    "request_amount": _SUM,
    "amount_paid": _SUM,
    "amount_remaining": _NOTHING,
    "amount_overpaid": _NOTHING,
    "amount_refunded": _NOTHING,
    "amount_refund_open": _NOTHING,
    "request_status": "completed",
    "metadata": {"customer": "c-42"},
    "payment_link": None,
    "is_simulated": False,
}


@described("EventToken", "The requested token.", _TOKEN)
class EventToken(Answer, kw_only=True):
    id: Annotated[int, doc("The token's `id` in the catalogue.")]
    symbol: Annotated[str, doc("The symbol, for display only.")]
    decimals: Annotated[int, doc("The number of fraction digits of an amount.", ge=0)]
    contract_address: Annotated[
        str, doc("The token's contract on EVM, or its mint on Solana; empty for native coin.")
    ]

    @classmethod
    def of(cls, token: Token) -> "EventToken":
        return cls(
            id=token.id,
            symbol=token.symbol,
            decimals=token.decimals,
            contract_address=token.contract_address,
        )


@described(
    "EventObject",
    "A payment, and its payment request after the event. In events of refunds, a refund with fields of its own.",
    EXAMPLE,
)
class EventObject(Answer, kw_only=True):
    id: Annotated[
        str | None,
        doc(
            "The id of the payment (`pay_` and 24 characters). In `payment.expired`, the id of the latest payment, or "
            "null if there is none. In events of refunds, the id of the refund (`rf_` and 24 characters)."
        ),
    ]
    amount: Annotated[
        int,
        doc(
            "The amount that the payment delivered, in the requested token's smallest unit, as a JSON integer. In "
            "`payment.failed`, it is the amount that was left to pay; in `payment.expired`, the "
            "requested amount; in events of refunds, the refund's amount. It can exceed 2^53: if your language reads "
            "numbers as floats, use `amount_details`.",
            ge=0,
        ),
    ]
    currency: Annotated[str, doc("The requested token's symbol.")]
    status: Annotated[
        str,
        one_of(*(type_.status for type_ in EventType)),
        doc("The last part of the event's type."),
    ]
    reference: Annotated[str | None, doc("The request's `external_id`.")]
    test: Annotated[bool | UnsetType, doc("True in a test event, absent in real ones.")] = UNSET
    payment_request: Annotated[Uuid, doc("The payment request's `id`.")]
    shortcode: Annotated[str, doc("The payment request's `shortcode`.")]
    token: Annotated[EventToken, doc("The requested token.")]
    chain_id: Annotated[int, doc("The requested chain.")]
    transaction_hash: Annotated[
        str | None,
        doc(
            "The hash of the payment's or refund's transaction. Null if there is no payment, and for native coin that "
            "arrived at a deposit address, until its hash is submitted."
        ),
    ]
    type: Annotated[
        Annotated[str, one_of("direct", "swap")] | None,
        doc("`direct`, or `swap` if a routing provider delivers the token; null if there is no payment."),
    ]
    source_chain_id: Annotated[
        int | None,
        doc(
            "The chain of `transaction_hash`; null if there is no payment. In a swap, it can differ from `chain_id`."
        ),
    ]
    destination_transaction_hash: Annotated[
        str | None,
        doc(
            "The hash of the transaction that delivered the token on `chain_id`. Null until known. For a completed "
            "direct payment, it is the same as `transaction_hash`."
        ),
    ]
    amount_details: Annotated[
        AmountObject, doc("`amount` as an object whose `raw` and `formatted` are strings.")
    ]
    request_amount: Annotated[AmountObject, doc("The requested amount.")]
    amount_paid: Annotated[
        AmountObject,
        doc(
            "The verified amount received for the request so far. Refunds and reorganisations don't "
            "reduce it."
        ),
    ]
    amount_remaining: Annotated[
        AmountObject,
        doc(
            "The amount left to pay: `request_amount` less the received amount, net of refunds and reorganised "
            "payments. Zero once the request is completed."
        ),
    ]
    amount_overpaid: Annotated[
        AmountObject,
        doc("The amount received beyond `request_amount`, net of refunds and reorganised payments."),
    ]
    amount_refunded: Annotated[AmountObject, doc("The amount that completed refunds returned.")]
    amount_refund_open: Annotated[AmountObject, doc("The amount that open refunds reserve.")]
    request_status: Annotated[
        str,
        one_of("active", "completed", "expired", "cancelled"),
        doc("The payment request's status after the event."),
    ]
    metadata: Annotated[dict[str, str], doc("The request's own key-value pairs.")]
    payment_link: Annotated[
        str | None, doc("The `id` of the payment link that created the request; null without one.")
    ]
    is_simulated: Annotated[
        bool,
        doc("Whether the sandbox simulated the payment, refund or expiry. True in a test event."),
    ]
    failure_code: Annotated[
        NonEmpty | UnsetType | None,
        doc(
            "The failure as a code, for programs. Only in `payment.failed` and events of refunds; null in "
            "`refund.completed`."
        ),
    ] = UNSET
    failure_message: Annotated[
        NonEmpty | UnsetType | None,
        doc("The failure as a sentence, for people. It is in the same events as `failure_code`."),
    ] = UNSET
    reorged: Annotated[
        bool | UnsetType,
        doc(
            "Only in `payment.reorged`: true if a reorganisation removed the payment's block; false if the "
            "transaction is in the chain again."
        ),
    ] = UNSET
    object: Annotated[Literal["refund"] | UnsetType, doc("Only in events of refunds: `refund`.")] = UNSET
    payment_id: Annotated[
        str | UnsetType | None,
        doc("Only in events of refunds: the `id` of the refunded payment; null if you sent none."),
    ] = UNSET
    recipient_address: Annotated[
        str | UnsetType, doc("Only in events of refunds: the customer's wallet.")
    ] = UNSET
    address_source: Annotated[
        Annotated[str, one_of("merchant", "customer")] | UnsetType,
        doc("Only in events of refunds: who set the address."),
    ] = UNSET
    reason: Annotated[
        str | UnsetType | None, doc("Only in events of refunds: your reason; null if you sent none.")
    ] = UNSET
    refund_url: Annotated[
        str | UnsetType | None,
        doc("Only in events of refunds: the URL of the page where you sign the refund."),
    ] = UNSET
    claim_url: Annotated[
        str | UnsetType,
        doc("Only in events of refunds: the URL of the page where the customer sets an address."),
    ] = UNSET
    explorer_url: Annotated[
        str | UnsetType | None,
        doc(
            "Only in events of refunds: the URL of the transaction in the chain's block explorer; null "
            "if the chain has none."
        ),
    ] = UNSET
    confirmations: Annotated[
        int | UnsetType, doc("Only in events of refunds: the depth of the transaction in blocks.")
    ] = UNSET
    created_at: Annotated[Time | UnsetType, doc("Only in events of refunds: the time of creation.")] = UNSET
    completed_at: Annotated[
        Time | UnsetType | None,
        doc("Only in events of refunds: the time of verification; null in `refund.failed`."),
    ] = UNSET


@described("EventData", "The data of an event.", {"object": EXAMPLE})
class EventData(Answer, kw_only=True):
    object: Annotated[EventObject, doc("The payment or refund that the event is about.")]
