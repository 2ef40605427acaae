"""Check whether an offer may be shown to a customer. Pure functions, called for every quote and rebuild.

A provider may be wrong or compromised, so nothing in its response is trusted. The offer must match the request. The
offer's transaction may call pinned contracts only. If the call can be decoded, it must pay the right recipient. For
what these checks can't detect, see docs/swaps.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from chains.client import EvmCall, SolanaInstructions, SolanaTransaction
from chains.families import family_of
from payments.providers.base import Fee, Offer, Wanted
from payments.providers.calldata import (
    NOT_EVM,
    BridgeCall,
    DepositCall,
    SwapCall,
    Unreadable,
    carries_id,
    read_call,
)

_ID_BYTES = 32


class OfferRefused(Exception):
    """The offer must not be shown. Only the log gets the message."""


@dataclass(frozen=True)
class Price:
    """A token's price in US dollars, for the limit on lost value only."""

    usd: Decimal
    decimals: int

    def value(self, amount: int) -> Decimal:
        return self.usd * amount / (Decimal(10) ** self.decimals)


@dataclass(frozen=True)
class Rules:
    """The limits for a provider's offers on one route.

    - `source_type` and `target_type` are the types of the two chains, for example `evm`.
    - `routers` are the contracts (on Solana, programs) that the catalogue pins for the provider on the source
      chain.
    - `max_lost` is the largest part of the value that a route may lose (0.1 is a tenth).
    - `prices` maps (chain id, token) to a price.
    - `allow_opaque` allows calls that can't be decoded.
    """

    source_type: str
    target_type: str
    routers: frozenset[str]
    max_lost: Decimal
    allow_opaque: bool
    prices: Mapping[tuple[int, str], Price]


def accept(offer: Offer, wanted: Wanted, rules: Rules) -> None:
    """Raise OfferRefused if the offer doesn't match the request, or makes a call that is not allowed."""
    _check_promise(offer, wanted)
    _check_loss(offer, rules)
    match offer.action:
        case EvmCall():
            _require(_signs(rules.source_type, EvmCall), "an EVM call on a chain of another kind")
            _check_evm_call(offer, offer.action, wanted, rules)
        case SolanaTransaction() | SolanaInstructions():
            is_signed = _signs(rules.source_type, type(offer.action))
            _require(is_signed, "a Solana transaction on a chain of another kind")
            _check_solana_action(offer, offer.action, wanted, rules)


def _signs(chain_type: str, action: type) -> bool:
    """Whether wallets on this type of chain can sign this type of action."""
    return action in family_of(chain_type).actions


def extra_native(offer: Offer) -> int:
    """Return how much native coin the offer takes in addition to its amount, on the source chain, in base units."""
    return sum(
        fee.amount
        for fee in offer.fees
        if not fee.included and fee.chain_id == offer.source.chain_id and fee.token == ""
    )


def _check_promise(offer: Offer, wanted: Wanted) -> None:
    """Check that the offer's description matches the request."""
    _require(offer.target.chain_id == wanted.target.chain_id, "it delivers on another chain")
    _require(offer.target.token == wanted.target.token, "it delivers another token")
    _require(offer.target.account == wanted.target.account, "it delivers to another recipient")
    _require(offer.source == wanted.source, "it debits another wallet, chain or token")
    _require(offer.amount_in > 0, "it debits nothing")
    _require(offer.amount_out_min >= wanted.amount, "it guarantees less than is due")
    _require(offer.amount_out >= offer.amount_out_min, "it expects less than it guarantees")
    _require(len(offer.bound_by) == _ID_BYTES and len(set(offer.bound_by)) > 1, "it has no id of its own")
    _require(offer.action_chain_id == offer.source.chain_id, "its transaction is for another chain")
    for fee in offer.fees:
        is_payable = fee.included or (fee.chain_id == offer.source.chain_id and fee.token == "")
        _require(fee.amount >= 0 and is_payable, "it includes a fee that its transaction can't pay")


def _check_loss(offer: Offer, rules: Rules) -> None:
    """Reject an offer that loses too much value. The loss is computed from our price list, and also from the
    provider's own values.
    """
    on_top = [fee for fee in offer.fees if not fee.included]
    listed_in = _listed(rules, offer.source.chain_id, offer.source.token, offer.amount_in)
    listed_out = _listed(rules, offer.target.chain_id, offer.target.token, offer.amount_out_min)
    fees = [_fee_value(fee, rules) for fee in on_top]
    for value_in, value_out in ((listed_in, listed_out), (offer.usd_in, offer.usd_out)):
        if value_in is None or value_out is None:
            continue
        paid = value_in + sum((fee for fee in fees if fee is not None), Decimal(0))
        _require(paid <= value_out * (1 + rules.max_lost), "it loses too much of the value on the way")


def _listed(rules: Rules, chain_id: int, token: str, amount: int) -> Decimal | None:
    price = rules.prices.get((chain_id, token))
    return price.value(amount) if price else None


def _fee_value(fee: Fee, rules: Rules) -> Decimal | None:
    """Return the fee's value: the value by our price list or the provider's value, whichever is higher."""
    listed = _listed(rules, fee.chain_id, fee.token, fee.amount)
    return max((value for value in (listed, fee.usd) if value is not None), default=None)


def _check_evm_call(offer: Offer, call: EvmCall, wanted: Wanted, rules: Rules) -> None:
    _require(call.to in rules.routers, f"its transaction calls {call.to}, which the catalogue does not pin")
    if offer.spender is not None:
        _require(
            offer.spender in rules.routers,
            f"it needs an approval for {offer.spender}, which is not pinned either",
        )
    own_value = offer.amount_in if offer.source.token == "" else 0
    max_value = own_value + extra_native(offer)
    _require(own_value <= call.value <= max_value, "its transaction's value differs from the offer")
    _require(carries_id(call.data, offer.bound_by), "its transaction does not carry its id")
    try:
        decoded = read_call(call.data, offer.bound_by)
    except Unreadable as error:
        raise OfferRefused("its call is malformed") from error
    match decoded:
        case BridgeCall():
            _check_bridge(decoded, offer, call, wanted, rules)
        case SwapCall():
            _check_swap(decoded, offer, wanted)
        case DepositCall():
            _check_deposit(decoded, offer)
        case None:
            _require(rules.allow_opaque, "its call can't be decoded, and ALLOW_OPAQUE_ROUTES is off")


def _check_bridge(decoded: BridgeCall, offer: Offer, call: EvmCall, wanted: Wanted, rules: Rules) -> None:
    _require(
        wanted.target.chain_id != wanted.source.chain_id, "it bridges although both tokens are on one chain"
    )
    _require(decoded.destination_chain_id == wanted.target.chain_id, "its call bridges to another chain")
    if not decoded.has_source_swaps:
        _require(decoded.asset == wanted.source.token, "its call bridges another token")
        _require(decoded.min_amount <= offer.amount_in, "its call bridges more than the offer")
    if _signs(rules.target_type, EvmCall):
        _require(decoded.receiver == wanted.target.account, "its call names another receiver")
    else:
        _require(decoded.receiver == NOT_EVM, "its call names a receiver of another kind of chain")
        own = family_of(rules.target_type).address_bytes(wanted.target.account)
        _require(own in call.data or rules.allow_opaque, "its call does not name the receiver")


def _check_swap(decoded: SwapCall, offer: Offer, wanted: Wanted) -> None:
    _require(
        wanted.target.chain_id == wanted.source.chain_id,
        "its call swaps on the source chain instead of bridging",
    )
    _require(decoded.transaction_id == offer.bound_by, "its call belongs to another quote")
    _require(decoded.receiver == wanted.target.account, "its call names another receiver")
    _require(decoded.min_amount_out >= wanted.amount, "its call guarantees less than is due")
    _require(decoded.token_out == wanted.target.token, "its call gives another token")
    _require(decoded.token_in == wanted.source.token, "its call debits another token")
    _require(decoded.amount_in <= offer.amount_in, "its call debits more than the offer")


def _check_deposit(decoded: DepositCall, offer: Offer) -> None:
    _require(decoded.order_id == offer.bound_by, "its call is for another order")
    _require(decoded.depositor == offer.source.account, "its call deposits for another account")
    _require(decoded.token == offer.source.token, "its call deposits another token")
    _require(decoded.amount in (None, offer.amount_in), "its call deposits another amount")


def _check_solana_action(
    offer: Offer, action: SolanaTransaction | SolanaInstructions, wanted: Wanted, rules: Rules
) -> None:
    # Import it here, because Solana's libraries are large.
    from payments.providers.solana_offer_checks import names_receiver, problem_of

    problem = problem_of(action, offer, extra_native(offer), rules.routers)
    _require(problem is None, problem or "")
    is_named = names_receiver(action, wanted.target.account, wanted.source.account, rules.routers)
    _require(is_named or rules.allow_opaque, "its transaction does not name the receiver")


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise OfferRefused(reason)
