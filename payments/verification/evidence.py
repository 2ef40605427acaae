"""What each payment's request asks for and may claim a transfer by, read for a whole batch at once."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from chains.client import Snapshot
from chains.models import Chain, Token
from payments.evaluation.binding import Claims
from payments.evaluation.named_quotes import NOTHING_NAMED, Naming, seen_from
from payments.evaluation.proof_windows import Proof
from payments.evaluation.verdicts import Terms, all_references
from payments.models import PayerProof, Payment, PaymentRequest, Quote
from payments.verification.quote_evidence import (
    contracts_of,
    deliveries_of,
    namings_in,
    quotes_named_in,
    reported_elsewhere,
)

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
    proofs = _proofs(chain, snapshot)
    owners = _owners(snapshot)
    symbols = dict(Token.objects.filter(chain=chain).values_list("contract_address", "symbol"))
    deliveries = deliveries_of(payments, chain)
    reported = reported_elsewhere(payments, chain)
    quotes = {**quotes, **quotes_named_in(snapshot, chain)}
    namings = namings_in(snapshot, quotes.values(), chain)
    rules = chain.family.call_rules
    cases = {}
    for payment in payments:
        request = requests[payment.request_id]
        named = NOTHING_NAMED
        # Of a delivery in the customer's own transaction only what lies within the swap's own call counts.
        if not payment.has_delivery or payment.names_itself:
            named = seen_from(request.pk, namings.get(payment.transaction_hash, ()), rules=rules)
        quote = quotes[named.quote.pk] if named.quote else None
        claims = Claims(
            reference=bytes(request.reference) if request.references else None,
            proofs=_seen_from(request, proofs),
            foreign=frozenset(reference for reference, owner in owners.items() if owner != request.pk),
            elsewhere=reported.get(payment.pk, ()),
            is_accepted=bool(payment.accepted_by),
            names_ours=named.naming in (Naming.OURS, Naming.SEVERAL),
            names_others=named.naming in (Naming.ANOTHERS, Naming.SEVERAL),
            our_calls=named.calls,
            others_calls=named.others_calls,
            routers=contracts_of(quote.provider, chain) if quote else frozenset(),
            delivery=deliveries.get(payment.pk),
        )
        terms = _terms(payment, request, claims, symbols)
        cases[payment.pk] = Case(terms, quote)
    return cases


def _terms(payment: Payment, request: PaymentRequest, claims: Claims, symbols: dict[str, str]) -> Terms:
    return Terms(
        chain_id=request.chain_id,
        token=request.token.contract_address,
        symbol=request.token.symbol,
        decimals=request.token.decimals,
        recipient=request.recipient_address,
        created_at=_not_before(payment, request),
        claims=claims,
        known_tokens=symbols,
        asked_at=timezone.now(),
        first_block=_first_block(payment),
    )


def _first_block(payment: Payment) -> tuple[int, datetime] | None:
    """Return the height and time of the first block in which our nodes saw the payment's own transaction."""
    if payment.has_delivery or payment.first_block_time is None or payment.first_block_number is None:
        return None
    return payment.first_block_number, payment.first_block_time


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
            seen |= all_references((*facts.transfers, *facts.intended))
    rows = PaymentRequest.objects.filter(reference__in=seen).values_list("reference", "pk") if seen else []
    return {bytes(reference): pk for reference, pk in rows}


def _proofs(chain: Chain, snapshot: Snapshot) -> list[PayerProof]:
    """Return the proofs of everyone who made a transfer in these transactions, whichever request they gave them to."""
    payers = {
        transfer.made_by
        for facts in snapshot.transactions.values()
        if facts is not None
        for transfer in (*facts.transfers, *facts.intended)
        if transfer.made_by
    }
    return list(PayerProof.objects.filter(chain=chain, address__in=payers)) if payers else []


def _seen_from(request: PaymentRequest, proofs: Sequence[PayerProof]) -> tuple[Proof, ...]:
    """Return the proofs that compete for transfers of the request's token to its recipient."""
    return tuple(
        Proof(
            proof.address,
            proof.not_before,
            proof.not_after,
            proof.verified_at,
            proof.head_block,
            is_ours=proof.request_id == request.pk,
        )
        for proof in proofs
        if proof.token_id == request.token_id and proof.recipient_address == request.recipient_address
    )
