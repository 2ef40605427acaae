"""When the operator pays the network fee for a payer, and how much. Reads nothing but the settings."""

from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings

from chains.families.base import Authorizations, Cosigning
from chains.models import Chain
from payments.models import PaymentRequest

LIFETIME = timedelta(minutes=15)
"""The longest time for which a signature is valid."""
LEFT_TO_BUILD = timedelta(seconds=120)
LEFT_TO_SEND = timedelta(seconds=45)
MAX_GAS = 200_000
MERCHANTS_SHARE = 2
REQUESTS_SHARE = 100
FAILED_RELAYS = 2
# The maximum number of unsigned authorizations of a request at one time. Each costs queries to nodes, and anyone can
# name a wallet that has enough tokens.
MAX_UNSIGNED = 20
MAX_ACCOUNTS = 20
"""How many recipients' token accounts the operator opens for one merchant on a chain, in all."""


def rules_of(chain: Chain) -> Authorizations | None:
    """Return how a signature moves tokens on this chain, or None if it can't."""
    return chain.family.authorizations if chain.is_installed else None


def cosigning_of(chain: Chain) -> Cosigning | None:
    """Return how the operator's account signs payers' transactions on this chain, or None if it doesn't."""
    return chain.family.cosigning if chain.is_installed else None


def key_of(chain: Chain) -> str:
    """Return the private key of the operator's account on the chain, or ""."""
    return settings.SPONSOR_KEYS.get(chain.chain_type, "")


def address_of(chain: Chain) -> str:
    """Return the address of the operator's account on the chain, or "" without a key. Raises ValueError."""
    rules, key = chain.family.sponsoring if chain.is_installed else None, key_of(chain)
    return rules.address_of(key) if rules is not None and key else ""


def budget_of(chain: Chain) -> int:
    """Return the chain's daily budget, in base units of its coin."""
    amount = settings.SPONSOR_DAILY_BUDGET.get(chain.pk, Decimal(0))
    return int(amount.scaleb(chain.family.native_decimals))


def is_configured(chain: Chain) -> bool:
    can_sponsor = chain.is_installed and chain.family.sponsoring is not None
    return can_sponsor and key_of(chain) != "" and budget_of(chain) > 0


def is_allowed(request: PaymentRequest) -> bool:
    """Whether the settings, the merchant and the catalogue allow a sponsored payment of this request."""
    token, chain = request.token, request.chain
    return (
        is_configured(chain)
        and token.authorization is not None
        and request.merchant.sponsored_payments
        and request.references
        and (rules_of(chain) is not None or token.trailing_data)
        and not request.is_refund
    )


def valid_before(request: PaymentRequest, now: datetime) -> int:
    """Return the time until which a new signature is valid, in Unix seconds."""
    return int(min(now + LIFETIME, request.expires_at).timestamp())


def has_room(cost: int, *, budget: int, spent: int, of_merchant: int, of_request: int) -> bool:
    """Whether this cost fits the day's budget, and the merchant's and the request's shares of it. All amounts are in
    base units of the coin.

    A merchant gets at most half of the budget that other merchants leave. A request gets at most a hundredth of the
    budget that other requests leave.
    """
    left = budget - spent
    return (
        cost <= left
        and (of_merchant + cost) * MERCHANTS_SHARE <= left + of_merchant
        and (of_request + cost) * REQUESTS_SHARE <= left + of_request
    )
