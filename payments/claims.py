"""What each payment's request asks for and may claim a transfer by, read for a whole batch at once."""

import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from chains.clients.base import Snapshot
from chains.models import Chain, Token
from payments.binding import Claims, Proof
from payments.judging import Terms, all_references
from payments.models import Payment, PaymentRequest, Quote
from payments.swaps.binding import NOTHING_NAMED, Naming
from payments.swaps.claims import contracts_of, deliveries_of, named_by, quotes_named_in, standing_proofs

# By how much the clocks of two chains may differ.
BETWEEN_CHAINS = timedelta(minutes=2)


@dataclass(frozen=True)
class Case:
    """What a payment is judged by. `quote` is the one of its request that its transaction names, if it names one."""

    terms: Terms
    quote: Quote | None = None


def cases_of(
    payments: Sequence[Payment], chain: Chain, snapshot: Snapshot, quotes: Mapping[int, Quote]
) -> dict[str, Case]:
    """Return the case of each payment, by its id, given what was seen on `chain` and the requests' built `quotes`.

    The number of queries does not grow with the payments.
    """
    request_ids = {payment.request_id for payment in payments}
    requests = PaymentRequest.objects.filter(pk__in=request_ids).select_related("token").in_bulk()
    proofs = _proofs(request_ids)
    owners = _owners(snapshot)
    symbols = dict(Token.objects.filter(chain=chain).values_list("contract_address", "symbol"))
    deliveries = deliveries_of(payments, chain, snapshot)
    quotes = {**quotes, **quotes_named_in(snapshot, chain)}
    cases = {}
    for payment in payments:
        request = requests[payment.request_id]
        named = NOTHING_NAMED
        if not payment.has_delivery:
            facts = snapshot.transactions.get(payment.transaction_hash)
            named = named_by(facts, request.pk, quotes.values(), chain)
        quote = quotes[named.quote.pk] if named.quote else None
        claims = Claims(
            reference=bytes(request.reference) if request.references else None,
            proofs=tuple(proofs[request.pk]),
            foreign=frozenset(reference for reference, owner in owners.items() if owner != request.pk),
            by_hand=bool(payment.accepted_by),
            names_ours=named.naming in (Naming.OURS, Naming.SEVERAL),
            names_others=named.naming in (Naming.ANOTHERS, Naming.SEVERAL),
            routers=contracts_of(quote.provider, chain) if quote else frozenset(),
            delivery=deliveries.get(payment.pk),
        )
        terms = _terms(request, claims, symbols, _not_before(payment, request))
        cases[payment.pk] = Case(terms, quote)
    return cases


def _terms(request: PaymentRequest, claims: Claims, symbols: dict[str, str], not_before: datetime) -> Terms:
    return Terms(
        chain_id=request.chain_id,
        token=request.token.contract_address,
        symbol=request.token.symbol,
        decimals=request.token.decimals,
        recipient=request.recipient_address,
        created_at=not_before,
        claims=claims,
        known_tokens=symbols,
    )


def _not_before(payment: Payment, request: PaymentRequest) -> datetime:
    """Return when the request was made or, of a delivery, when the customer's transaction was mined, by its chain."""
    if payment.has_delivery and payment.block_time is not None:
        return max(request.created_at, payment.block_time - BETWEEN_CHAINS)
    return request.created_at


def _owners(snapshot: Snapshot) -> dict[bytes, uuid.UUID]:
    """Return whose the references are that the transactions carry; those of nobody are left out."""
    seen: set[bytes] = set()
    for facts in snapshot.transactions.values():
        if facts is not None:
            seen |= all_references(facts.transfers)
    rows = PaymentRequest.objects.filter(reference__in=seen).values_list("reference", "pk") if seen else []
    return {bytes(reference): pk for reference, pk in rows}


def _proofs(request_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, list[Proof]]:
    """Return each request's proofs that stand."""
    standing: dict[uuid.UUID, list[Proof]] = defaultdict(list)
    rows = standing_proofs().filter(request__in=request_ids)
    for request_id, address, not_before, not_after in rows.values_list(
        "request_id", "address", "not_before", "not_after"
    ):
        standing[request_id].append(Proof(address, not_before, not_after))
    return standing
