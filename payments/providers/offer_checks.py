"""May this offer be shown to a customer? Pure checks over what a provider answered, each on every quote and rebuild.

A provider may be wrong, or not be itself any more. So nothing that it says is taken for granted: what it offers has to
be what was asked for, its transaction may call pinned contracts alone, and where the call's shape is known, the money
has to go where the request says. What no check can see is said in docs/swaps.md.
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
    """The offer must not be shown; the message says why, for the log."""


@dataclass(frozen=True)
class Price:
    """A token's price in US dollars and its decimals, from the cached list; for the cap on absurd prices alone."""

    usd: Decimal
    decimals: int

    def value(self, amount: int) -> Decimal:
        """Return what so many base units are worth."""
        return self.usd * amount / (Decimal(10) ** self.decimals)


@dataclass(frozen=True)
class Rules:
    """What this deployment allows a provider on one route.

    The types are the keys of the two chains' families.
    `routers` are the contracts (on Solana the programs) that the catalogue pins for the provider on the source chain.
    `most_lost` is the largest part of the value that may be lost on the way (0.1 is a tenth). `prices` are keyed by
    (chain id, token). `allow_opaque`: whether a call whose shape is not known may be offered at all.
    """

    source_type: str
    target_type: str
    routers: frozenset[str]
    most_lost: Decimal
    allow_opaque: bool
    prices: Mapping[tuple[int, str], Price]


def accept(offer: Offer, wanted: Wanted, rules: Rules) -> None:
    """Raise OfferRefused unless the offer gives what is wanted, to whom it is wanted for, by calls that are allowed."""
    _check_promise(offer, wanted)
    _check_loss(offer, rules)
    match offer.action:
        case EvmCall():
            _demand(_signs(rules.source_type, EvmCall), "an EVM call on a chain of another kind")
            _check_evm_call(offer, offer.action, wanted, rules)
        case SolanaTransaction() | SolanaInstructions():
            is_signed = _signs(rules.source_type, type(offer.action))
            _demand(is_signed, "a Solana transaction on a chain of another kind")
            _check_solana_action(offer, offer.action, wanted, rules)


def _signs(chain_type: str, action: type) -> bool:
    """Whether wallets of this family sign such actions."""
    return action in family_of(chain_type).actions


def extra_native(offer: Offer) -> int:
    """Return the native coin of the source chain that the offer says is paid on top, in base units."""
    return sum(
        fee.amount
        for fee in offer.fees
        if not fee.included and fee.chain_id == offer.source.chain_id and fee.token == ""
    )


def _check_promise(offer: Offer, wanted: Wanted) -> None:
    """Check what the provider says it will do."""
    _demand(offer.target.chain_id == wanted.target.chain_id, "it delivers on another chain")
    _demand(offer.target.token == wanted.target.token, "it delivers another token")
    _demand(offer.target.account == wanted.target.account, "it delivers to somebody else")
    _demand(offer.source == wanted.source, "it takes from another wallet, chain or token")
    _demand(offer.amount_in > 0, "it takes nothing")
    _demand(offer.amount_out_min >= wanted.amount, "it guarantees less than is due")
    _demand(offer.amount_out >= offer.amount_out_min, "it expects less than it guarantees")
    _demand(len(offer.bound_by) == _ID_BYTES and len(set(offer.bound_by)) > 1, "it has no id of its own")
    _demand(offer.action_chain_id == offer.source.chain_id, "its transaction is for another chain")
    for fee in offer.fees:
        is_payable = fee.included or (fee.chain_id == offer.source.chain_id and fee.token == "")
        _demand(fee.amount >= 0 and is_payable, "it asks for a fee that its transaction can't pay")


def _check_loss(offer: Offer, rules: Rules) -> None:
    """Refuse an absurd price: by our list of prices where it knows the token, and by the provider's own words."""
    on_top = [fee for fee in offer.fees if not fee.included]
    listed_in = _listed(rules, offer.source.chain_id, offer.source.token, offer.amount_in)
    listed_out = _listed(rules, offer.target.chain_id, offer.target.token, offer.amount_out_min)
    fees = [_fee_value(fee, rules) for fee in on_top]
    for value_in, value_out in ((listed_in, listed_out), (offer.usd_in, offer.usd_out)):
        if value_in is None or value_out is None:
            continue
        paid = value_in + sum((fee for fee in fees if fee is not None), Decimal(0))
        _demand(paid <= value_out * (1 + rules.most_lost), "it loses too much of the value on the way")


def _listed(rules: Rules, chain_id: int, token: str, amount: int) -> Decimal | None:
    price = rules.prices.get((chain_id, token))
    return price.value(amount) if price else None


def _fee_value(fee: Fee, rules: Rules) -> Decimal | None:
    """Return what a fee is worth: the higher of what our list and the provider say."""
    listed = _listed(rules, fee.chain_id, fee.token, fee.amount)
    return max((value for value in (listed, fee.usd) if value is not None), default=None)


def _check_evm_call(offer: Offer, call: EvmCall, wanted: Wanted, rules: Rules) -> None:
    _demand(call.to in rules.routers, f"its transaction calls {call.to}, which the catalogue does not pin")
    if offer.spender is not None:
        _demand(
            offer.spender in rules.routers, f"it wants {offer.spender} approved, which is not pinned either"
        )
    own_value = offer.amount_in if offer.source.token == "" else 0
    most_value = own_value + extra_native(offer)
    _demand(own_value <= call.value <= most_value, "its transaction's value is not what it says")
    _demand(carries_id(call.data, offer.bound_by), "its transaction does not carry its id")
    try:
        known = read_call(call.data, offer.bound_by)
    except Unreadable as error:
        raise OfferRefused("its call is malformed") from error
    match known:
        case BridgeCall():
            _check_bridge(known, offer, call, wanted, rules)
        case SwapCall():
            _check_swap(known, offer, wanted)
        case DepositCall():
            _check_deposit(known, offer)
        case None:
            _demand(rules.allow_opaque, "its call's shape is not known, and such routes are switched off")


def _check_bridge(known: BridgeCall, offer: Offer, call: EvmCall, wanted: Wanted, rules: Rules) -> None:
    _demand(wanted.target.chain_id != wanted.source.chain_id, "it bridges what is to stay on its chain")
    _demand(known.destination_chain_id == wanted.target.chain_id, "its call bridges to another chain")
    if not known.has_source_swaps:
        _demand(known.asset == wanted.source.token, "its call bridges another token")
        _demand(known.min_amount <= offer.amount_in, "its call bridges more than it says")
    if _signs(rules.target_type, EvmCall):
        _demand(known.receiver == wanted.target.account, "its call names another receiver")
    else:
        _demand(known.receiver == NOT_EVM, "its call names a receiver of another kind of chain")
        own = family_of(rules.target_type).address_bytes(wanted.target.account)
        _demand(own in call.data or rules.allow_opaque, "its call does not name the receiver")


def _check_swap(known: SwapCall, offer: Offer, wanted: Wanted) -> None:
    _demand(
        wanted.target.chain_id == wanted.source.chain_id,
        "its call swaps on the chain where the money comes from",
    )
    _demand(known.transaction_id == offer.bound_by, "its call is that of another quote")
    _demand(known.receiver == wanted.target.account, "its call names another receiver")
    _demand(known.min_amount_out >= wanted.amount, "its call guarantees less than is due")
    _demand(known.token_out == wanted.target.token, "its call gives another token")
    _demand(known.token_in == wanted.source.token, "its call takes another token")
    _demand(known.amount_in <= offer.amount_in, "its call takes more than it says")


def _check_deposit(known: DepositCall, offer: Offer) -> None:
    _demand(known.order_id == offer.bound_by, "its call is for another order")
    _demand(known.depositor == offer.source.account, "its call deposits for somebody else")
    _demand(known.token == offer.source.token, "its call deposits another token")
    _demand(known.amount in (None, offer.amount_in), "its call deposits another amount")


def _check_solana_action(
    offer: Offer, action: SolanaTransaction | SolanaInstructions, wanted: Wanted, rules: Rules
) -> None:
    # Here, since Solana's libraries are large.
    from payments.providers.solana_offer_checks import names_receiver, problem_of

    problem = problem_of(action, offer, extra_native(offer), rules.routers)
    _demand(problem is None, problem or "")
    is_named = names_receiver(action, wanted.target.account, wanted.source.account, rules.routers)
    _demand(is_named or rules.allow_opaque, "its transaction does not name the receiver")


def _demand(holds: bool, reason: str) -> None:
    if not holds:
        raise OfferRefused(reason)
