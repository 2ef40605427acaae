"""The interface of routing providers, and the types of their responses.

A provider offers to deliver a minimum amount of one token for another. A provider also reports the status of swaps,
and lists its tokens. Don't trust its responses. `payments.providers.offer_checks` checks offers before a customer
sees them, and a delivery counts only when our own node confirms it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol

from chains.client import Action
from config.api.limits.fair_shares import Share


class ProviderDown(Exception):
    """The provider gave no usable response: it is down, late, over its quota, or the response is malformed.

    `retry_after` is in seconds.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ShareSpent(ProviderDown):
    """This customer's share of the quota is used up, so the provider was not called."""


class NoOffer(Exception):
    """The provider has no route; `code` says why. `NoOffer` is a result, not an error."""

    def __init__(self, code: "NoOfferCode") -> None:
        super().__init__(code.value)
        self.code = code


class NoOfferCode(StrEnum):
    """The public values of `reason.code` in the response of POST …/routes."""

    NO_ROUTE = "no_route"
    AMOUNT_TOO_LOW = "amount_too_low"
    AMOUNT_TOO_HIGH = "amount_too_high"
    NO_LIQUIDITY = "no_liquidity"
    FEES_TOO_HIGH = "fees_too_high"
    ROUTE_REFUSED = "route_refused"  # Our own checks rejected the offer.


class Order(StrEnum):
    CHEAPEST = "cheapest"
    FASTEST = "fastest"


@dataclass(frozen=True)
class Side:
    """One side of a swap. `chain_id` is our chain id, not the provider's. For native coin, `token` is ""."""

    chain_id: int
    token: str
    account: str


@dataclass(frozen=True)
class Wanted:
    """A request for a quote that takes the payer's token at `source` and delivers at least `amount` base units to
    `target`.

    `slippage` is a fraction (0.005 is half a per cent). `shares` are the parts of our quota that the quote uses.
    The shares are not sent to the provider.
    """

    source: Side
    target: Side
    amount: int
    order: Order = Order.CHEAPEST
    slippage: Decimal = Decimal("0.005")
    shares: tuple[Share, ...] = ()


@dataclass(frozen=True)
class Fee:
    """A fee of a route, in base units.

    `usd` is its value, if known. If a fee is not `included`, the customer pays it in addition to the route's amount.
    """

    name: str
    symbol: str
    decimals: int
    chain_id: int
    token: str
    amount: int
    usd: Decimal | None
    included: bool


@dataclass(frozen=True)
class Tool:
    """A bridge or exchange that a route uses."""

    key: str
    name: str


@dataclass(frozen=True)
class Offer:
    """A quote that can be executed, as the provider returned it. Don't trust any field before `offer_checks`
    passes.

    - `source`, `target`, the amounts and `action` are copied from the response, never from our request.
    - `bound_by` is the 32-byte id in the action's data, by which the provider tracks the swap.
    - `spender` is the account that may spend the customer's token, or None if no approval is needed.
    - `action_chain_id` is the action's chain, as the response says.
    - `tracking` is JSON that only the provider's client reads, for `RoutingProvider.status`.
    """

    provider: str
    quote_id: str
    bound_by: bytes
    source: Side
    target: Side
    amount_in: int
    amount_out: int
    amount_out_min: int
    action: Action
    action_chain_id: int
    spender: str | None
    must_reset_approval: bool = False
    duration_seconds: int | None = None
    fees: tuple[Fee, ...] = ()
    gas: tuple[Fee, ...] = ()
    usd_in: Decimal | None = None
    usd_out: Decimal | None = None
    tools: tuple[Tool, ...] = ()
    tracking: Mapping[str, Any] = field(default_factory=dict)


class SwapState(StrEnum):
    """The state of a swap as its provider reports it. The last five are final."""

    UNKNOWN = "unknown"
    AWAITING_SOURCE = "awaiting_source"
    BRIDGING = "bridging"
    REFUNDING = "refunding"
    DELIVERED = "delivered"
    DELIVERED_OTHER_TOKEN = "delivered_other_token"  # noqa: S105 - a state
    REFUNDED = "refunded"
    NEEDS_CLAIM = "needs_claim"  # The customer must claim the refund at the provider.
    FAILED = "failed"


@dataclass(frozen=True)
class SwapStatus:
    """A swap's status at its provider. `raw` is the provider's own wording (`DONE/COMPLETED`), for display.

    The destination fields are set after a delivery, and are not trusted. `explorer_url` is a page about the
    swap.
    """

    state: SwapState
    raw: str
    destination_chain_id: int | None = None
    destination_hash: str | None = None
    destination_token: str | None = None
    destination_amount: int | None = None
    destination_account: str | None = None
    explorer_url: str | None = None
    retry_after: float | None = None


@dataclass(frozen=True)
class ListedToken:
    """A token that the provider lists. `usd` is its price, for display only."""

    chain_id: int
    token: str
    symbol: str
    name: str
    decimals: int
    usd: Decimal | None
    logo_url: str | None = None


class RoutingProvider(Protocol):
    """A routing provider. A method raises ProviderDown if there is no usable response. If `has_orders` is False, the
    provider ignores `Wanted.order`, and only one quote is requested.
    """

    key: str

    def quote(self, wanted: Wanted) -> Offer:
        """Request one offer. Raises NoOffer."""
        ...

    def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
        """Return the status of the swap that `source_hash` started: UNKNOWN if it is not found, never FAILED."""
        ...

    def tokens(self, chain_ids: Sequence[int]) -> list[ListedToken]:
        """Return the tokens that customers can pay with on these chains, with prices. Malformed entries are skipped."""
        ...
