"""What an event carries. `payments` makes these objects; a test event holds one of made-up values."""

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
}


@described("EventToken", "The requested token.", _TOKEN)
class EventToken(Answer, kw_only=True):
    """The token in an event."""

    id: Annotated[int, doc("Its `id` in the catalogue.")]
    symbol: Annotated[str, doc("For people.")]
    decimals: Annotated[int, doc("How many fraction digits an amount of it has.", ge=0)]
    contract_address: Annotated[str, doc("Its contract or mint; empty for the chain's own coin.")]

    @classmethod
    def of(cls, token: Token) -> "EventToken":
        """Return the token as events show it."""
        return cls(
            id=token.id,
            symbol=token.symbol,
            decimals=token.decimals,
            contract_address=token.contract_address,
        )


@described(
    "EventObject",
    "A payment, and its payment request after it. In the events of refunds, a refund with its own fields beside them.",
    EXAMPLE,
)
class EventObject(Answer, kw_only=True):
    """`data.object` of an event."""

    id: Annotated[
        str | None,
        doc(
            "The payment: `pay_` and 24 characters. For `payment.expired` the latest, or null if there is no payment. "
            "In the events of refunds the refund: `rf_` and 24 characters."
        ),
    ]
    amount: Annotated[
        int,
        doc(
            "What this payment delivered, in the requested token's smallest unit, as a JSON integer. For "
            "`payment.failed` what was due, for `payment.expired` the request's, for a refund the refund's. It may be "
            "larger than 2^53: where your language reads numbers as floats, take `amount_details`.",
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
    test: Annotated[bool | UnsetType, doc("True in a test event; left out in real ones.")] = UNSET
    payment_request: Annotated[Uuid, doc("The payment request's `id`.")]
    shortcode: Annotated[str, doc("The payment request's `shortcode`.")]
    token: Annotated[EventToken, doc("The requested token.")]
    chain_id: Annotated[int, doc("The chain that was asked for.")]
    transaction_hash: Annotated[str | None, doc("The customer's transaction; null if there is no payment.")]
    type: Annotated[
        Annotated[str, one_of("direct", "swap")] | None,
        doc("`swap` where a routing provider delivered, else `direct`; null if there is no payment."),
    ]
    source_chain_id: Annotated[
        int | None,
        doc(
            "The chain of `transaction_hash`, which for a swap may be another one; null if there is no payment."
        ),
    ]
    destination_transaction_hash: Annotated[
        str | None,
        doc("The transaction that delivered on `chain_id`: after success, the same one unless it is a swap."),
    ]
    amount_details: Annotated[AmountObject, doc("`amount`, exact in every language.")]
    request_amount: Annotated[AmountObject, doc("The requested amount of the whole request.")]
    amount_paid: Annotated[
        AmountObject, doc("The amount paid for the whole request, before refunds and reorganisations.")
    ]
    amount_remaining: Annotated[
        AmountObject, doc("The amount that remains to be paid, net of refunds; zero once completed.")
    ]
    amount_overpaid: Annotated[AmountObject, doc("The amount beyond the requested amount, net of refunds.")]
    amount_refunded: Annotated[AmountObject, doc("The amount that completed refunds returned.")]
    amount_refund_open: Annotated[AmountObject, doc("The amount that open refunds reserve.")]
    request_status: Annotated[
        str,
        one_of("active", "completed", "expired", "cancelled"),
        doc("The payment request's status after it."),
    ]
    metadata: Annotated[dict[str, str], doc("The request's own pairs.")]
    failure_code: Annotated[
        NonEmpty | UnsetType | None,
        doc(
            "Why it failed, for programs. Only in `payment.failed` and in events of refunds, there null unless failed."
        ),
    ] = UNSET
    failure_message: Annotated[
        NonEmpty | UnsetType | None, doc("Why it failed, for people. Where `failure_code` is.")
    ] = UNSET
    reorged: Annotated[
        bool | UnsetType,
        doc("Only in `payment.reorged`: false if the transaction is in the chain again, else true."),
    ] = UNSET
    object: Annotated[Literal["refund"] | UnsetType, doc("Only in events of refunds: `refund`.")] = UNSET
    payment_id: Annotated[
        str | UnsetType | None,
        doc("Only in events of refunds: the payment that it refunds, if you named one."),
    ] = UNSET
    recipient_address: Annotated[
        str | UnsetType, doc("Only in events of refunds: the customer's wallet.")
    ] = UNSET
    address_source: Annotated[
        Annotated[str, one_of("merchant", "customer")] | UnsetType,
        doc("Only in events of refunds: who named that wallet."),
    ] = UNSET
    reason: Annotated[str | UnsetType | None, doc("Only in events of refunds: your reason, as sent.")] = UNSET
    refund_url: Annotated[str | UnsetType | None, doc("Only in events of refunds: its page for you.")] = UNSET
    claim_url: Annotated[str | UnsetType, doc("Only in events of refunds: its page for the customer.")] = (
        UNSET
    )
    explorer_url: Annotated[
        str | UnsetType | None,
        doc("Only in events of refunds: the transaction's page on the chain's explorer, where there is one."),
    ] = UNSET
    confirmations: Annotated[
        int | UnsetType, doc("Only in events of refunds: how many blocks deep the transaction is.")
    ] = UNSET
    created_at: Annotated[Time | UnsetType, doc("Only in events of refunds: when it was created.")] = UNSET
    completed_at: Annotated[
        Time | UnsetType | None, doc("Only in events of refunds: when it was verified; null unless it was.")
    ] = UNSET


@described("EventData", "What happened to what.", {"object": EXAMPLE})
class EventData(Answer, kw_only=True):
    """`data` of the envelope."""

    object: Annotated[EventObject, doc("The payment that the event is about.")]
