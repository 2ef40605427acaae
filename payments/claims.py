"""What each payment's request asks for and may claim a transfer by, read for a whole batch at once."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Sequence

from django.db.models import Exists, OuterRef

from chains.clients.base import Snapshot
from chains.models import Token
from payments.binding import Claims, Proof
from payments.judging import Terms, all_references
from payments.models import Payment, PaymentRequest
from payments.models.proof import PayerProof


def terms_of(payments: Sequence[Payment], snapshot: Snapshot) -> dict[str, Terms]:
    """Return the terms for each payment, by its id, given what was seen on the chain. Four queries in all."""
    request_ids = {payment.request_id for payment in payments}
    requests = PaymentRequest.objects.filter(pk__in=request_ids).select_related("token").in_bulk()
    proofs = _proofs(request_ids)
    owners = _owners(snapshot)
    symbols = _symbols({payment.chain_id for payment in payments})
    terms = {}
    for payment in payments:
        request = requests[payment.request_id]
        claims = Claims(
            reference=bytes(request.reference) if request.references else None,
            proofs=tuple(proofs[request.pk]),
            foreign=frozenset(reference for reference, owner in owners.items() if owner != request.pk),
            by_hand=bool(payment.accepted_by),
        )
        terms[payment.pk] = _terms(request, claims, symbols)
    return terms


def _terms(request: PaymentRequest, claims: Claims, symbols: dict[str, str]) -> Terms:
    return Terms(
        chain_id=request.chain_id,
        token=request.token.contract_address,
        symbol=request.token.symbol,
        decimals=request.token.decimals,
        recipient=request.recipient_address,
        created_at=request.created_at,
        claims=claims,
        known_tokens=symbols,
    )


def _owners(snapshot: Snapshot) -> dict[bytes, uuid.UUID]:
    """Return whose the references are that the transactions carry; those of nobody are left out."""
    seen: set[bytes] = set()
    for facts in snapshot.transactions.values():
        if facts is not None:
            seen |= all_references(facts.transfers)
    rows = PaymentRequest.objects.filter(reference__in=seen).values_list("reference", "pk") if seen else []
    return {bytes(reference): pk for reference, pk in rows}


def _proofs(request_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Proof]]:
    """Return the proofs that stand: those after which the wallet gave none for another request of the same kind."""
    later = PayerProof.objects.filter(
        address=OuterRef("address"),
        chain=OuterRef("chain"),
        token=OuterRef("token"),
        recipient_address=OuterRef("recipient_address"),
        verified_at__gt=OuterRef("verified_at"),
    ).exclude(request=OuterRef("request"))
    standing: dict[uuid.UUID, list[Proof]] = defaultdict(list)
    rows = PayerProof.objects.filter(~Exists(later), request__in=request_ids)
    for request_id, address, not_before, not_after in rows.values_list(
        "request_id", "address", "not_before", "not_after"
    ):
        standing[request_id].append(Proof(address, not_before, not_after))
    return standing


def _symbols(chain_ids: Collection[int]) -> dict[str, str]:
    return dict(Token.objects.filter(chain__in=chain_ids).values_list("contract_address", "symbol"))
