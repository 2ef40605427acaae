"""Read the proofs that senders gave after their transfers, and the rows that limit what a proof can claim."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from chains.models import Chain
from payments.evaluation.binding import NOTHING_TAKEN, Taken
from payments.evaluation.sender_proofs import SenderProof
from payments.models import ConsumedTransfer, Lookup, Payment, PaymentRequest, Solver, TransferProof


@dataclass(frozen=True)
class Afterwards:
    """The proofs that senders gave after one transaction, and the facts that limit what the proofs can claim.

    `proofs` becomes `sender_proofs` of `payments.evaluation.binding.Evidence`. The other fields have the same names
    in `Evidence`.
    """

    proofs: tuple[SenderProof, ...] = ()
    consumed: Taken = NOTHING_TAKEN
    solvers: frozenset[str] = frozenset()
    accepted_elsewhere_at: datetime | None = None


NONE = Afterwards()


def afterwards_of(
    lookups: Sequence[Lookup], chain: Chain, payers: Mapping[str, Set[str]], *, for_new_proof: bool
) -> dict[str, Afterwards]:
    """Return the `Afterwards` of each lookup, by the id of its payment.

    `payers` are the accounts that made a transfer in each transaction. Makes one query. Makes three more if there
    is a proof, or if `for_new_proof` is set.
    """
    hashes = {lookup.transaction_hash for lookup in lookups if payers.get(lookup.transaction_hash)}
    proofs = _proofs(chain, hashes)
    proved = hashes if for_new_proof else hashes & proofs.keys()
    if not proved:
        return {lookup.payment_id: NONE for lookup in lookups}
    consumed, accepted = _consumed(chain, proved), _accepted(chain, proved)
    accounts = set().union(*(payers[hash_] for hash_ in proved))
    solvers = frozenset(Solver.objects.filter(pk__in=accounts).values_list("pk", flat=True))
    return {
        lookup.payment_id: Afterwards(
            tuple(
                SenderProof(
                    proof.address,
                    proof.given_at,
                    proof.needed or 0,
                    is_ours=proof.payment.request_id == lookup.payment.request_id,
                    binds=proof.binds,
                    credited=frozenset(
                        slot
                        for payment_id, (slot, _, _) in consumed[lookup.transaction_hash]
                        if payment_id == proof.payment_id
                    ),
                )
                for proof in proofs[lookup.transaction_hash]
                if _ask_the_same(proof.payment.request, lookup.payment.request)
            ),
            Taken(
                tuple(
                    credit
                    for payment_id, credit in consumed[lookup.transaction_hash]
                    if payment_id != lookup.payment_id
                )
            ),
            solvers,
            min(
                (
                    accepted_at(other)
                    for other in accepted[lookup.transaction_hash]
                    if other.request_id != lookup.payment.request_id
                    and _ask_the_same(other.request, lookup.payment.request)
                ),
                default=None,
            ),
        )
        for lookup in lookups
    }


def accepted_at(payment: Payment) -> datetime:
    """Return when the merchant accepted the payment. Old rows don't have the time: return the earliest
    possible time.
    """
    return payment.accepted_at or payment.created_at


def _ask_the_same(one: PaymentRequest, other: PaymentRequest) -> bool:
    """Whether both requests have the same token and recipient. If so, the same transfer could pay either of them."""
    return (one.token_id, one.recipient_address) == (other.token_id, other.recipient_address)


def _proofs(chain: Chain, hashes: Set[str]) -> dict[str, list[TransferProof]]:
    found: dict[str, list[TransferProof]] = defaultdict(list)
    given = TransferProof.objects.filter(chain=chain, transaction_hash__in=hashes, verified_at__isnull=False)
    for proof in given.select_related("payment__request").order_by("verified_at", "pk") if hashes else ():
        found[proof.transaction_hash].append(proof)
    return found


def _consumed(chain: Chain, hashes: Set[str]) -> dict[str, list[tuple[str, tuple[str, str, int]]]]:
    found: dict[str, list[tuple[str, tuple[str, str, int]]]] = defaultdict(list)
    rows = ConsumedTransfer.objects.filter(chain=chain, transaction_hash__in=hashes)
    for row in rows:
        found[row.transaction_hash].append((row.payment_id, (row.slot, row.account, row.amount)))
    return found


def _accepted(chain: Chain, hashes: Set[str]) -> dict[str, list[Payment]]:
    """Return payments of these transactions that were accepted but are not credited yet."""
    found: dict[str, list[Payment]] = defaultdict(list)
    accepted = Payment.objects.filter(
        chain=chain, transaction_hash__in=hashes, status__in=Payment.OPEN
    ).exclude(accepted_by="")
    for payment in accepted.select_related("request"):
        found[payment.own_hash].append(payment)
    return found
