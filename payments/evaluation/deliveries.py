"""Find the transfer that delivered a swap, in the transaction that the routing provider reports. Pure functions."""

from collections.abc import Sequence
from dataclasses import replace

from chains.client import Block, Transfer
from payments.evaluation.binding import (
    AMBIGUOUS_DELIVERY,
    Bound,
    BoundBy,
    Delivery,
    Evidence,
    Unbound,
    claimable_part,
    claims_in,
    limit_to_gains,
    partition,
    proved_at,
    with_certain,
)
from payments.models.payment import FailureCode

_ZERO_ADDRESS = "0x0000000000000000000000000000000000000000"

_FOREIGN_DELIVERY = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND, "The money that reached the recipient belongs to another payment."
)
_TAKEN_DELIVERY = Unbound(
    FailureCode.TRANSACTION_ALREADY_USED, "The money that reached the recipient has already been credited."
)
_NOT_REPORTED = Unbound(
    FailureCode.TRANSACTION_NOT_BOUND,
    "The amount that reached the recipient is not what the provider reports.",
)
_OUTSIDE_SWAP = Unbound(
    FailureCode.NOT_VERIFIABLE,
    "No node of this network can show that the money came from the swap itself. The merchant can accept the payment.",
)
_SEVERAL_DELIVERIES = Unbound(
    FailureCode.TRANSACTION_AMBIGUOUS,
    "The transaction paid the recipient several amounts, and none is what the provider reports.",
)


def find_delivery(
    arrived: Sequence[Transfer],
    evidence: Evidence,
    delivery: Delivery,
    block: Block,
    *,
    is_complete: bool = True,
) -> Bound | Unbound:
    """Return the transfer that delivered the swap. A delivery is a transfer that no reference and no proof
    claims.

    The customer's own transaction can contain a delivery and also a transfer that the customer signed for the
    same request. Anyone can combine the two in one transaction. The delivery and the signed transfer are then
    both credited.
    """
    certain, arrived = partition(arrived, evidence.is_certain)
    delivered = _delivered_or_claimed(arrived, evidence, delivery, block, is_complete=is_complete)
    # If the customer's own transaction did not make the delivery, the certain transfers are a separate
    # payment.
    own = [t for t in certain if delivery.is_own and not delivery.taken.includes(t)]
    return with_certain(own, evidence, delivered)


def _delivered_or_claimed(
    arrived: Sequence[Transfer], evidence: Evidence, delivery: Delivery, block: Block, *, is_complete: bool
) -> Bound | Unbound:
    delivered = _delivered(arrived, evidence, delivery, block, is_complete=is_complete)
    if not delivery.is_own:
        return delivered
    transfers = delivered.transfers if isinstance(delivered, Bound) else ()
    slots = {transfer.slot for transfer in transfers}
    claims = claims_in(arrived, evidence, block)
    if claims.are_contested([t for t in claims.unclaimed if t.slot not in slots], evidence):
        return delivered
    fresh = [t for t in claims.claimable if not delivery.taken.includes(t)]
    credited = limit_to_gains([*fresh, *transfers]) if fresh else []
    return Bound(tuple(credited), claims.by, proved_at(credited, evidence)) if credited else delivered


def _delivered(
    arrived: Sequence[Transfer], evidence: Evidence, delivery: Delivery, block: Block, *, is_complete: bool
) -> Bound | Unbound:
    """Return the transfer with the reported amount. If there is none, return the only candidate."""
    claimed, own = partition(arrived, lambda t: _is_claimed(t, evidence, block))
    used, free = partition(own, delivery.taken.includes)
    inside = [t for t in free if not delivery.is_own or _is_inside_swap(t, evidence)]
    for transfer in inside:
        if transfer.amount == delivery.reported:
            return _limited_delivery(transfer, arrived, evidence, delivery, block)
    reported = [t for t in (*claimed, *used) if t.amount == delivery.reported]
    if any(map(delivery.taken.includes, reported)) or (own and not free):
        # An unreadable part of the transaction may have a reference that binds the free transfers to this request.
        return _OUTSIDE_SWAP if delivery.is_own and free and not is_complete else _TAKEN_DELIVERY
    if reported:
        return AMBIGUOUS_DELIVERY
    if not free:
        return _FOREIGN_DELIVERY
    if not inside:
        return _NOT_REPORTED if is_complete else _OUTSIDE_SWAP
    if len(inside if delivery.is_own else own) > 1:
        return _SEVERAL_DELIVERIES
    return _limited_delivery(inside[0], arrived, evidence, delivery, block)


def _is_claimed(transfer: Transfer, evidence: Evidence, block: Block) -> bool:
    """Whether a reference or a proof of any request claims the transfer. A claimed transfer is not a delivery."""
    is_own_reference = evidence.reference is not None and evidence.reference in transfer.references
    is_own_proof = evidence.is_proved_by(transfer, block, ours=True)
    return is_own_reference or is_own_proof or evidence.is_others(transfer, block)


def _is_inside_swap(transfer: Transfer, evidence: Evidence) -> bool:
    """Whether the transfer is within a call that carries this swap's id and no other, and is not a mint.

    Mints don't count: a bridge may mint what it delivers, and anyone can complete another customer's delivery within
    their own swap. Native coin without a sender is no mint: on Solana, it comes from a token account that exists only
    within the transaction, so the node doesn't name its owner.
    """
    is_mint = transfer.sender == _ZERO_ADDRESS or (transfer.sender == "" and transfer.token != "")
    is_others = bool(evidence.others_calls.intersection(transfer.within))
    return not is_mint and not is_others and bool(evidence.our_calls.intersection(transfer.within))


def _limited_delivery(
    transfer: Transfer, arrived: Sequence[Transfer], evidence: Evidence, delivery: Delivery, block: Block
) -> Bound | Unbound:
    """Limit the delivery to the amount that can't belong to another payment.

    In the customer's own transaction, and on Solana, the limit is the reported amount. On Solana, another limit is
    the account's gain, minus the amounts that were credited or that other payments claim. Any other delivery counts
    in full.
    """
    amount = transfer.amount
    if delivery.reported is not None and (delivery.is_own or transfer.gain is not None):
        amount = min(amount, delivery.reported)
    if transfer.gain is not None:
        named = sum(
            claimable_part(t).amount
            for t in arrived
            if t.account == transfer.account
            and _is_claimed(t, evidence, block)
            and not delivery.taken.includes(t)
        )
        left = transfer.gain - named - delivery.taken.of_account(transfer.account)
        amount = min(amount, left)
    if amount <= 0:
        return _FOREIGN_DELIVERY
    return Bound((replace(transfer, amount=amount),), BoundBy.PROVIDER)
