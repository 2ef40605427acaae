"""Collect the request's terms and the evidence for each payment of a batch, in a fixed number of queries."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from chains.client import Snapshot
from chains.models import Chain, Token
from payments.evaluation.binding import Evidence
from payments.evaluation.named_quotes import NOTHING_NAMED, Naming, naming_for
from payments.evaluation.proof_windows import Proof
from payments.evaluation.verdicts import Terms, all_references
from payments.models import PayerProof, Payment, PaymentRequest, Quote
from payments.verification.quote_evidence import (
    contracts_of,
    deliveries_of,
    named_quotes_by_hash,
    quotes_named_in,
    reported_elsewhere,
)

# How far the clocks of two chains may differ.
MAX_CLOCK_SKEW = timedelta(minutes=2)


@dataclass(frozen=True)
class EvaluationInput:
    """What a payment is evaluated against.

    `quote` is the quote of its request that its transaction names, if it names one.
    """

    terms: Terms
    quote: Quote | None = None


def collect_evidence(
    payments: Sequence[Payment], chain: Chain, snapshot: Snapshot, quotes: Mapping[int, Quote]
) -> dict[str, EvaluationInput]:
    """Return the evaluation input of each payment by its id.

    `snapshot` is what the nodes of `chain` returned, `quotes` are the built quotes of the requests. The number of
    queries does not grow with the number of payments.
    """
    request_ids = {payment.request_id for payment in payments}
    requests = PaymentRequest.objects.filter(pk__in=request_ids).select_related("token").in_bulk()
    proofs = _proofs(chain, snapshot)
    owners = _owners(snapshot)
    symbols = dict(Token.objects.filter(chain=chain).values_list("contract_address", "symbol"))
    deliveries = deliveries_of(payments, chain)
    reported = reported_elsewhere(payments, chain)
    quotes = {**quotes, **quotes_named_in(snapshot, chain)}
    namings = named_quotes_by_hash(snapshot, quotes.values(), chain)
    rules = chain.family.call_rules
    inputs = {}
    for payment in payments:
        request = requests[payment.request_id]
        named = NOTHING_NAMED
        # In a delivery by the customer's own transaction, only transfers within the swap's own call count.
        if not payment.has_delivery or payment.names_itself:
            named = naming_for(request.pk, namings.get(payment.transaction_hash, ()), rules=rules)
        quote = quotes[named.quote.pk] if named.quote else None
        evidence = Evidence(
            reference=bytes(request.reference) if request.references else None,
            proofs=_competing_proofs(request, proofs),
            foreign=frozenset(reference for reference, owner in owners.items() if owner != request.pk),
            elsewhere=reported.get(payment.pk, ()),
            is_accepted=bool(payment.accepted_by),
            names_ours=named.naming in (Naming.OURS, Naming.SEVERAL),
            names_others=named.naming in (Naming.OTHERS, Naming.SEVERAL),
            our_calls=named.calls,
            others_calls=named.others_calls,
            routers=contracts_of(quote.provider, chain) if quote else frozenset(),
            delivery=deliveries.get(payment.pk),
        )
        terms = _terms(payment, request, evidence, symbols)
        inputs[payment.pk] = EvaluationInput(terms, quote)
    return inputs


def _terms(payment: Payment, request: PaymentRequest, evidence: Evidence, symbols: dict[str, str]) -> Terms:
    return Terms(
        chain_id=request.chain_id,
        token=request.token.contract_address,
        symbol=request.token.symbol,
        decimals=request.token.decimals,
        recipient=request.recipient_address,
        created_at=_earliest_time(payment, request),
        evidence=evidence,
        known_tokens=symbols,
        asked_at=timezone.now(),
        first_block=_first_block(payment),
    )


def _first_block(payment: Payment) -> tuple[int, datetime] | None:
    """Return the height and time of the first block in which our nodes saw the payment's own transaction."""
    if payment.has_delivery or payment.first_block_time is None or payment.first_block_number is None:
        return None
    return payment.first_block_number, payment.first_block_time


def _earliest_time(payment: Payment, request: PaymentRequest) -> datetime:
    """Return the earliest time at which a transaction can pay the request.

    That is the request's creation or, for a delivery, the block time of the customer's transaction.
    """
    if payment.has_delivery and payment.block_time is not None:
        return max(request.created_at, payment.block_time - MAX_CLOCK_SKEW)
    return request.created_at


def _owners(snapshot: Snapshot) -> dict[bytes, uuid.UUID]:
    """Return the request id of each known reference that the transactions carry."""
    seen: set[bytes] = set()
    for facts in snapshot.transactions.values():
        if facts is not None:
            seen |= all_references((*facts.transfers, *facts.intended))
    rows = PaymentRequest.objects.filter(reference__in=seen).values_list("reference", "pk") if seen else []
    return {bytes(reference): pk for reference, pk in rows}


def _proofs(chain: Chain, snapshot: Snapshot) -> list[PayerProof]:
    """Return the proofs of all accounts that made a transfer in these transactions, for any request."""
    payers = {
        transfer.made_by
        for facts in snapshot.transactions.values()
        if facts is not None
        for transfer in (*facts.transfers, *facts.intended)
        if transfer.made_by
    }
    return list(PayerProof.objects.filter(chain=chain, address__in=payers)) if payers else []


def _competing_proofs(request: PaymentRequest, proofs: Sequence[PayerProof]) -> tuple[Proof, ...]:
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
