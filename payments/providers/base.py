"""The narrow interface between the service and a routing provider, and the one form of the answers.

A provider offers to take one token and to deliver at least so much of another, tracks what became of it, and lists the
tokens that it knows. Nothing that it says is believed: `payments.providers.offer_checks` checks offers before a
customer sees them, and a delivery counts once our own node has shown it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Protocol

from chains.client import Action


class ProviderDown(Exception):
    """No usable answer: down, late, over its quota, malformed. `retry_after` is in seconds, where it named a time."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ShareSpent(ProviderDown):
    """The provider was not asked, since this client has used up its share of the quota; others still get quotes."""


class NoOffer(Exception):
    """The provider has no way; an answer, not an error. `code` is one of the reasons of `NoOfferCode`."""

    def __init__(self, code: "NoOfferCode") -> None:
        super().__init__(code.value)
        self.code = code


class NoOfferCode(StrEnum):
    """Why there is no way to pay with a token; the public `reason.code` of POST …/routes (contract 8)."""

    NO_ROUTE = "no_route"
    AMOUNT_TOO_LOW = "amount_too_low"
    AMOUNT_TOO_HIGH = "amount_too_high"
    NO_LIQUIDITY = "no_liquidity"
    FEES_TOO_HIGH = "fees_too_high"
    ROUTE_REFUSED = "route_refused"  # an offer came, and our own checks refused it


class Order(StrEnum):
    """What a customer may want most of a route."""

    CHEAPEST = "cheapest"
    FASTEST = "fastest"


@dataclass(frozen=True)
class Side:
    """A token on a chain, by our catalogue's chain id; the empty `token` is the native coin. `account` holds it."""

    chain_id: int
    token: str
    account: str


@dataclass(frozen=True)
class Wanted:
    """What is asked of a provider: from the payer's `source`, at least `amount` base units at the `target`.

    `slippage` is a fraction (0.005 is half a per cent). `asked_by` names the client whose share of the provider's quota
    pays for the quote (its address, an IPv6 one by its /64); providers never get it.
    """

    source: Side
    target: Side
    amount: int
    order: Order = Order.CHEAPEST
    slippage: Decimal = Decimal("0.005")
    asked_by: str = ""


@dataclass(frozen=True)
class Fee:
    """A fee of a route: base units of a token, in US dollars where told; not `included` is paid on top."""

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
    """A bridge or an exchange that a route goes through."""

    key: str
    name: str


@dataclass(frozen=True)
class Offer:
    """One executable quote, as the provider put it: every field is a claim until it was judged.

    `source`, `target`, the amounts and `action` are read from the answer, never copied from the question. `bound_by` is
    the id (32 bytes) that stands in the action's data and that the provider tracks it by. `spender` is who an ERC-20
    approval must name, None where none is needed. `action_chain_id` is the chain that the action says it is for.
    `tracking` is what `status` needs, JSON, opaque to everybody else.
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
    """What a provider says has become of a swap; each but the last five is no end."""

    UNKNOWN = "unknown"
    AWAITING_SOURCE = "awaiting_source"
    BRIDGING = "bridging"
    REFUNDING = "refunding"
    DELIVERED = "delivered"
    DELIVERED_OTHER_TOKEN = "delivered_other_token"  # noqa: S105 - a state
    REFUNDED = "refunded"
    NEEDS_CLAIM = "needs_claim"  # the customer has to claim the refund where it is kept
    FAILED = "failed"


@dataclass(frozen=True)
class SwapStatus:
    """A provider's word on one swap. `raw` is its own status (`DONE/COMPLETED`), kept for people.

    The destination fields are told once something was delivered; a claim each. `explorer_url` shows the swap.
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
    """A token that a provider knows; `usd` is its price, for people alone and never for what is owed."""

    chain_id: int
    token: str
    symbol: str
    name: str
    decimals: int
    usd: Decimal | None
    logo_url: str | None = None


class RoutingProvider(Protocol):
    """One routing provider. Every method raises ProviderDown when no usable answer came.

    One that answers alike whatever is wanted most has `has_orders = False`, so that it is not asked twice.
    """

    key: str

    def quote(self, wanted: Wanted) -> Offer:
        """Return one executable offer made for this payer and this question alone. Raises NoOffer."""
        ...

    def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
        """Return what became of the swap begun by the transaction `source_hash`; not found is UNKNOWN, never FAILED."""
        ...

    def tokens(self, chain_ids: Sequence[int]) -> list[ListedToken]:
        """Return the tokens that it can start from on these chains, with prices; what makes no sense is left out."""
        ...
