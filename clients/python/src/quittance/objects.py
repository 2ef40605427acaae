"""The API's response objects, with types.

The API may get new fields and new values of enumerations. So an object ignores unknown fields, and `to_dict()` returns
the whole response. Enumerations (`status`, `type`, ...) are plain strings.
"""

import types
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from quittance.errors import APIError

T = TypeVar("T", bound="ApiObject")


@dataclass(frozen=True, kw_only=True)
class ApiObject:
    """The base of all API objects."""

    _answer: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_answer(cls: type[T], answer: Any) -> T:
        """Return the object from parsed JSON. Raises APIError if it is malformed."""
        if not isinstance(answer, dict):
            raise APIError(
                f"The response is a {type(answer).__name__}, not a {cls.__name__}. Check base_url."
            )
        try:
            kind: Any = cls
            values = {name: read(answer[name]) for name, read in _readers(kind).items() if name in answer}
            return cls(_answer=answer, **values)
        except (TypeError, ValueError) as error:
            message = f"The response is not a valid {cls.__name__} ({error}). Check base_url."
            raise APIError(message) from error

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the response, including fields that this version doesn't know."""
        return self._answer


@cache
def _readers(cls: Any) -> dict[str, Callable[[Any], Any]]:
    hints = get_type_hints(cls)
    return {each.name: _reader(hints[each.name]) for each in fields(cls) if each.name != "_answer"}


def _reader(hint: Any) -> Callable[[Any], Any]:
    """Return a function that converts a JSON value to this type. Only objects and times are converted."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (inner,) = [_reader(argument) for argument in arguments if argument is not type(None)]
        return lambda value: None if value is None else inner(value)
    if origin is list:
        item = _reader(arguments[0])
        return lambda value: [item(each) for each in value]
    if hint is datetime:
        return _time
    if isinstance(hint, type) and issubclass(hint, ApiObject):
        return hint.from_answer
    return lambda value: value


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


@dataclass(frozen=True, kw_only=True)
class Amount(ApiObject):
    """An amount of a token.

    `raw` is in the token's smallest unit. `formatted` is in whole units, with all `decimals` digits.
    """

    raw: str
    formatted: str
    decimals: int

    @property
    def value(self) -> Decimal:
        """The exact amount in whole units."""
        return Decimal(self.formatted)

    @property
    def base_units(self) -> int:
        """The amount in the token's smallest unit."""
        return int(self.raw)

    def __str__(self) -> str:
        return self.formatted


@dataclass(frozen=True, kw_only=True)
class Chain(ApiObject):
    """A chain on which you can receive payments. `chain_type` is `evm` or `solana`."""

    id: int
    name: str
    chain_type: str
    is_active: bool


@dataclass(frozen=True, kw_only=True)
class Token(ApiObject):
    """A token of a chain.

    `contract_address` is empty for the chain's coin. Ids differ between deployments, so look up the id by the contract
    address. In events, `name` is None.
    """

    id: int
    symbol: str
    decimals: int
    contract_address: str
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Currency(ApiObject):
    """A currency for prices. `is_available`: whether at least two independent sources now agree on its rate."""

    code: str
    sources: list[str]
    is_available: bool


@dataclass(frozen=True, kw_only=True)
class Price(ApiObject):
    """A price in a currency (ISO 4217). `amount` is a decimal string."""

    currency: str
    amount: str


@dataclass(frozen=True, kw_only=True)
class Rate(ApiObject):
    """The rate at which a price was converted: `value` units of `currency` for one token."""

    value: str
    currency: str
    token: str
    observed_at: datetime
    sources: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Value(ApiObject):
    """The value of a payment in your reporting currency.

    `estimated`: whether the rate was observed more than two minutes after the completion.
    """

    currency: str
    amount: str
    rate: str
    observed_at: datetime
    estimated: bool = False


@dataclass(frozen=True, kw_only=True)
class Payment(ApiObject):
    """A transaction that pays a payment request. `status` is `pending`, `processing`, `completed` or `failed`.

    `status_detail` is a sentence for display. `amount` is in the paid token, and `amount_received` is in the requested
    token. Unknown amounts are None. If native coin arrived at the deposit address, `transaction_hash` is None until
    the hash is submitted.
    """

    id: str
    payment_request: str
    status: str
    chain_id: int
    transaction_hash: str | None
    created_at: datetime
    type: str = "direct"
    status_detail: str | None = None
    replaced_hashes: list[str] = field(default_factory=list)
    from_address: str | None = None
    token: Token | None = None
    amount: Amount | None = None
    amount_received: Amount | None = None
    value: Value | None = None
    destination_chain_id: int | None = None
    destination_transaction_hash: str | None = None
    confirmations: int | None = None
    confirmations_required: int | None = None
    explorer_url: str | None = None
    bound_by: str | None = None
    sender_signed_at: datetime | None = None
    reorged: bool = False
    provider: str | None = None
    provider_status: str | None = None
    attempts: int = 0
    retries_left: int = 0
    failure_code: str | None = None
    failure_message: str | None = None
    completed_at: datetime | None = None
    failed_at: datetime | None = None
    is_simulated: bool = False


@dataclass(frozen=True, kw_only=True)
class Refund(ApiObject):
    """Money that you send back to a customer.

    `status` is `requires_address`, `ready`, `processing`, `completed`, `failed` or `cancelled`. The customer enters a
    wallet on `claim_url`. You sign on `refund_url`.
    """

    id: str
    payment_request: str
    status: str
    amount: Amount
    chain_id: int
    token: Token
    claim_url: str
    created_at: datetime
    payment_id: str | None = None
    recipient_address: str | None = None
    address_source: str | None = None
    reason: str | None = None
    refund_url: str | None = None
    transaction_hash: str | None = None
    explorer_url: str | None = None
    confirmations: int = 0
    failure_code: str | None = None
    failure_message: str | None = None
    completed_at: datetime | None = None
    is_simulated: bool = False


@dataclass(frozen=True, kw_only=True)
class PaymentRequest(ApiObject):
    """A payment request. `status` is `active`, `completed`, `expired` or `cancelled`.

    Send the customer to `payment_url`. `payments` has the newest 20 payments. In lists and after creation, it is None.
    """

    id: str
    shortcode: str
    status: str
    amount: Amount
    payment_url: str
    chain_id: int
    token: Token
    recipient_address: str
    amount_paid: Amount
    amount_remaining: Amount
    amount_overpaid: Amount
    expires_at: datetime
    created_at: datetime
    amount_refunded: Amount | None = None
    amount_refund_open: Amount | None = None
    refunds: list[Refund] = field(default_factory=list)
    price: Price | None = None
    rate: Rate | None = None
    external_id: str | None = None
    description: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    redirect_url: str | None = None
    cancel_url: str | None = None
    webhook_url: str | None = None
    payment_link: str | None = None
    references: bool | None = None
    paid_late: bool = False
    completed_at: datetime | None = None
    cancelled_at: datetime | None = None
    expired_at: datetime | None = None
    is_simulated: bool = False
    payments: list[Payment] | None = None


@dataclass(frozen=True, kw_only=True)
class WebhookConfiguration(ApiObject):
    """This merchant's webhook endpoint. All fields are None if you have no endpoint.

    The previous secret also signs events until `previous_secret_expires_at`.
    """

    url: str | None = None
    secret: str | None = field(default=None, repr=False)
    is_enabled: bool | None = None
    enabled_events: list[str] | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    previous_secret_expires_at: datetime | None = None
    disabled_reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class WebhookTest(ApiObject):
    """The result of a test event. If it was not `delivered`, `error` explains why."""

    event_id: str
    delivered: bool
    status_code: int | None = None
    duration_ms: int | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class OpenAmount(ApiObject):
    """The limits of the amount that customers enter on a link's page."""

    min: Amount
    max: Amount | None = None


@dataclass(frozen=True, kw_only=True)
class PaymentLink(ApiObject):
    """A page where each customer gets a separate payment request. Share its `url`.

    Either `amount`, `price` or `open_amount` is set. `payments_count` counts the link's payment requests that are
    completed, or active and paid in part.
    """

    id: str
    url: str
    name: str
    is_active: bool
    token: Token
    chain_id: int
    recipient_address: str
    created_at: datetime
    code: str = ""
    amount: Amount | None = None
    price: Price | None = None
    open_amount: OpenAmount | None = None
    description: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    redirect_url: str | None = None
    max_payments: int | None = None
    expires_at: datetime | None = None
    requests_count: int = 0
    payments_count: int = 0


@dataclass(frozen=True, kw_only=True)
class PaymentEventObject(ApiObject):
    """The `data.object` of an event about a payment or a refund. For other events, use `to_dict()`.

    `amount` is the delivered amount of the payment, as an exact integer in base units of the requested token.
    `currency` is the symbol of that token. `reference` is the request's `external_id`. `id` is the payment's id, or
    None if a request expired without a payment. The amounts from `request_amount` to `amount_refund_open` are about the
    whole request. `test` is true for a test event. `reorged` is set only in `payment.reorged`, and is false if the
    transaction is in the chain again. In events of refunds, `object` is `refund`, and `id` and `amount` are those of
    the refund.
    """

    id: str | None = None
    amount: int = 0
    currency: str = ""
    status: str = ""
    reference: str | None = None
    payment_request: str | None = None
    shortcode: str | None = None
    token: Token | None = None
    chain_id: int | None = None
    transaction_hash: str | None = None
    amount_details: Amount | None = None
    request_amount: Amount | None = None
    amount_paid: Amount | None = None
    amount_remaining: Amount | None = None
    amount_overpaid: Amount | None = None
    amount_refunded: Amount | None = None
    amount_refund_open: Amount | None = None
    request_status: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    payment_link: str | None = None
    is_simulated: bool = False
    failure_code: str | None = None
    failure_message: str | None = None
    object: str | None = None
    payment_id: str | None = None
    recipient_address: str | None = None
    address_source: str | None = None
    reason: str | None = None
    reorged: bool | None = None
    test: bool = False


@dataclass(frozen=True, kw_only=True)
class EventData(ApiObject):
    """The envelope's `data`."""

    object: PaymentEventObject


@dataclass(frozen=True, kw_only=True)
class Event(ApiObject):
    """An event.

    The same event can arrive more than once, so handle each `id` once. `created` is in Unix seconds. `data.object` is
    the object of the event.
    """

    id: str
    type: str
    created: int
    data: EventData


@dataclass(frozen=True, kw_only=True)
class DeliveryAttempt(ApiObject):
    """An attempt to deliver an event.

    `duration_ms` is None while the attempt is in progress. `error` explains a failure.
    """

    number: int
    url: str
    started_at: datetime
    duration_ms: int | None = None
    status_code: int | None = None
    error: str | None = None
    response_excerpt: str | None = None


@dataclass(frozen=True, kw_only=True)
class Delivery(ApiObject):
    """The delivery of one event to one URL. `status` is `pending`, `delivered` or `failed`.

    `attempts` is None in lists, and set if you retrieve or redeliver the delivery.
    """

    id: str
    event_id: str
    type: str
    status: str
    created_at: datetime
    url: str | None = None
    attempt_count: int = 0
    next_attempt_at: datetime | None = None
    is_test: bool = False
    finished_at: datetime | None = None
    redelivered_at: datetime | None = None
    attempts: list[DeliveryAttempt] | None = None
