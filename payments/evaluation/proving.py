"""Decide whether the sender of a mined transaction can still prove which request it pays. Pure functions."""

from dataclasses import dataclass, replace
from datetime import datetime

from chains.client import Block, TransactionFacts
from payments.evaluation.binding import Bound, claims_in
from payments.evaluation.sender_proofs import SenderProof
from payments.evaluation.verdicts import (
    Refused,
    Terms,
    decide,
    first_block,
    refused_outright,
)
from payments.models.payment import FailureCode

_NOT_MINED = "The transaction is not in a block yet. Try again once it is confirmed."
_IS_REFUND = (
    "Transfers of a refund can't be proved afterwards. Submit the transaction that was built for the refund."
)
_NONE_MADE = (
    "This wallet itself sent nothing to the recipient in this transaction. Sign with the wallet that sent it."
)
_NOT_PROVABLE = (
    "A signature can't prove this wallet's transfer: it was built for another order, or the wallet delivers swaps. The "
    "merchant can accept the payment."
)
_USED = "This wallet's transfer already pays another request."


@dataclass(frozen=True)
class Provable:
    """The wallet can prove some transfers of this transaction. Their sum is `amount`, in base units.

    `is_all` means that all transfers that the merchant could accept come from wallets that signed for this
    payment. Otherwise, the signer may have added its own transfer to a transaction that relays another person's
    transfer.
    """

    amount: int
    block: Block
    is_all: bool = True


@dataclass(frozen=True)
class NotProvable:
    """The wallet can prove no transfer of this transaction. `is_used` means that something else already claims the
    transfers.
    """

    message: str
    is_used: bool = False


def provable(
    terms: Terms, facts: TransactionFacts | None, address: str, needed: int, at: datetime
) -> Provable | NotProvable:
    """Return whether `address` can prove, at this time, that the transaction pays the request.

    `needed` is the unpaid rest of the request, in base units.
    """
    if terms.is_refund:
        return NotProvable(_IS_REFUND)
    if facts is None or facts.block is None:
        return NotProvable(_NOT_MINED)
    refused = refused_outright(terms, facts, facts.block)
    if refused is not None:
        return NotProvable(refused.message)
    block = first_block(terms, facts.block)
    # Transfers to the deposit address need no proof: they belong to the request whatever else claims them.
    all_arrived = terms.arrived(facts.transfers, facts.sender)
    arrived = [transfer for transfer in all_arrived if not terms.evidence.is_addressed(transfer)]
    own = [transfer for transfer in arrived if transfer.made_by == address]
    if not own:
        return NotProvable(_NONE_MADE)
    others = tuple(p for p in terms.evidence.sender_proofs if not (p.is_ours and p.address == address))
    earlier = replace(terms.evidence, is_accepted=False, accepted_at=None, sender_proofs=others).with_claims(
        arrived, block
    )
    if all(
        transfer.slot in earlier.claimed or earlier.is_claimed_otherwise(transfer, block, at)
        for transfer in own
    ):
        return NotProvable(_USED, is_used=True)
    proofs = (*others, SenderProof(address, at, needed))
    decided = decide(replace(terms, evidence=replace(earlier, sender_proofs=proofs)), facts, facts.block)
    if isinstance(decided, Bound) and decided.proved_at == at:
        signers = {proof.address for proof in proofs if proof.is_ours}
        acceptable = claims_in(arrived, earlier, block).acceptable
        return Provable(decided.amount, block, all(each.made_by in signers for each in acceptable))
    is_own_money = isinstance(decided, Refused) and decided.code == FailureCode.NOT_VERIFIABLE
    return NotProvable(decided.message if isinstance(decided, Refused) and is_own_money else _NOT_PROVABLE)
