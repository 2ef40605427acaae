"""Collect the payment terms and the evidence for a batch of transactions to look up.

The number of queries doesn't depend on the batch's size.
"""

import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from chains.client import Snapshot
from chains.models import Chain, Token
from payments.coins.recording import difference_with
from payments.evaluation.binding import Evidence
from payments.evaluation.named_quotes import NOTHING_NAMED, Naming, naming_for
from payments.evaluation.proof_windows import CLOCK_ALLOWANCE, Proof
from payments.evaluation.verdicts import Finality, Terms, all_references
from payments.models import Authorization, DepositAddress, Lookup, PayerProof, Payment, PaymentRequest, Quote
from payments.verification.afterwards import accepted_at, afterwards_of
from payments.verification.quote_evidence import (
    deliveries_of,
    named_quotes_by_hash,
    quotes_named_in,
    reported_elsewhere,
)

# The clocks of two chains may differ by this much.
MAX_CLOCK_SKEW = timedelta(minutes=2)


@dataclass(frozen=True)
class ChainCheck:
    """The responses of a chain's nodes, the time of the check, and the claim id under which the results are stored."""

    claim_id: uuid.UUID
    snapshot: Snapshot
    finality: Finality
    now: datetime


@dataclass(frozen=True)
class EvaluationInput:
    """The terms and the evidence by which a lookup is evaluated.

    `quote` is the request's quote that the transaction names, if it names exactly one. `difference` is the payment
    that was found by the deposit address's balance. It already includes the native coin that this transaction sent to
    that address.
    """

    terms: Terms
    quote: Quote | None = None
    difference: Payment | None = None


def collect_evidence(
    lookups: Sequence[Lookup],
    chain: Chain,
    snapshot: Snapshot,
    quotes: Mapping[int, Quote],
    *,
    for_new_proof: bool = False,
) -> dict[str, EvaluationInput]:
    """Return the terms and evidence of each lookup, by the id of its payment.

    `snapshot` has the responses of the chain's nodes, `quotes` the requests' built quotes. If there is a proof by the
    sender, or with `for_new_proof`, the evidence includes the transfers that a proof may not claim.
    """
    tokens = Token.objects.in_bulk({lookup.payment.request.token_id for lookup in lookups})
    payers, references = _payers(snapshot), _references(snapshot)
    proofs = _proofs(chain, payers)
    owners = _owners(references)
    afterwards = afterwards_of(lookups, chain, payers, for_new_proof=for_new_proof)
    symbols = dict(Token.objects.filter(chain=chain).values_list("contract_address", "symbol"))
    deliveries = deliveries_of(lookups, chain)
    reported = reported_elsewhere(lookups, chain)
    quotes = {**quotes, **quotes_named_in(snapshot, chain)}
    namings = named_quotes_by_hash(snapshot, quotes.values(), chain)
    forwarders, early = _addresses(lookups, chain, snapshot)
    authorizations = _authorizations(snapshot, chain)
    rules = chain.family.call_rules
    inputs = {}
    for lookup in lookups:
        payment, hash_ = lookup.payment, lookup.transaction_hash
        request = payment.request
        named = NOTHING_NAMED
        # If the customer's own transaction is the delivery, count only the transfers within the swap's own call.
        if lookup.is_customers_own:
            named = naming_for(request.pk, namings.get(hash_, ()), rules=rules)
        quote = quotes[named.quote.pk] if named.quote else None
        # Native coin at the deposit address is counted by the address's balance, not by the transaction that sent it.
        is_by_balance = tokens[request.token_id].contract_address == "" and not lookup.is_difference
        evidence = Evidence(
            reference=bytes(request.reference) if request.references else None,
            proofs=_competing_proofs(request, proofs, payers.get(hash_, frozenset())),
            sender_proofs=afterwards[payment.pk].proofs,
            consumed=afterwards[payment.pk].consumed,
            solvers=afterwards[payment.pk].solvers,
            accepted_elsewhere_at=afterwards[payment.pk].accepted_elsewhere_at,
            foreign=frozenset(
                reference
                for reference in references.get(hash_, ())
                if owners.get(reference, request.pk) != request.pk
            ),
            elsewhere=reported.get(payment.pk, ()),
            is_accepted=bool(payment.accepted_by),
            accepted_at=accepted_at(payment) if payment.accepted_by else None,
            names_ours=named.naming in (Naming.OURS, Naming.SEVERAL),
            names_others=named.naming in (Naming.OTHERS, Naming.SEVERAL),
            names_several=len(named.quotes) > 1,
            our_calls=named.calls,
            others_calls=named.others_calls,
            routers=frozenset().union(*(quote.contracts for quote in named.quotes)),
            delivery=deliveries.get(payment.pk),
            deposit_address="" if is_by_balance or payment.pk in early else request.deposit_address or "",
            coin_address=(request.deposit_address or "") if is_by_balance else "",
            forwarders=forwarders.get(hash_, frozenset()),
            authorizations={key: owner == request.pk for key, owner in authorizations.get(hash_, {}).items()},
        )
        terms = _terms(lookup, tokens[request.token_id], evidence, symbols)
        facts = snapshot.transactions.get(hash_)
        difference = difference_with(request, facts) if evidence.coin_address and facts else None
        inputs[payment.pk] = EvaluationInput(terms, quote, difference)
    return inputs


def _terms(lookup: Lookup, token: Token, evidence: Evidence, symbols: dict[str, str]) -> Terms:
    request = lookup.payment.request
    return Terms(
        chain_id=request.chain_id,
        token=token.contract_address,
        symbol=token.symbol,
        decimals=token.decimals,
        recipient=request.recipient_address,
        created_at=_earliest_time(lookup, request),
        evidence=evidence,
        known_tokens=symbols,
        asked_at=timezone.now(),
        first_block=_first_block(lookup),
        is_refund=request.is_refund,
    )


def _first_block(lookup: Lookup) -> tuple[int, datetime] | None:
    """Return height and time of the first block in which our nodes saw the transaction. None for a delivery."""
    if lookup.is_delivery or lookup.first_block_time is None or lookup.first_block_number is None:
        return None
    return lookup.first_block_number, lookup.first_block_time


def _earliest_time(lookup: Lookup, request: PaymentRequest) -> datetime:
    """Return the earliest time at which a transaction can pay the request.

    The earliest time is the creation of the request. For a delivery, it is the block time of the customer's
    transaction.
    """
    sent_at = lookup.payment.lookup.block_time
    if lookup.is_delivery and sent_at is not None:
        return max(request.created_at, sent_at - MAX_CLOCK_SKEW)
    return request.created_at


def _references(snapshot: Snapshot) -> dict[str, set[bytes]]:
    return {
        hash_: all_references((*facts.transfers, *facts.intended))
        for hash_, facts in snapshot.transactions.items()
        if facts is not None
    }


def _owners(references: Mapping[str, Set[bytes]]) -> dict[bytes, uuid.UUID]:
    """Return the request's id for each known reference in the transactions."""
    seen = set().union(*references.values())
    rows = PaymentRequest.objects.filter(reference__in=seen).values_list("reference", "pk") if seen else []
    return {bytes(reference): pk for reference, pk in rows}


def _payers(snapshot: Snapshot) -> dict[str, frozenset[str]]:
    return {
        hash_: frozenset(
            transfer.made_by for transfer in (*facts.transfers, *facts.intended) if transfer.made_by
        )
        for hash_, facts in snapshot.transactions.items()
        if facts is not None
    }


def _addresses(
    lookups: Sequence[Lookup], chain: Chain, snapshot: Snapshot
) -> tuple[dict[str, frozenset[str]], set[str]]:
    """Return the deposit addresses that sent something, by transaction hash, and the payments that came too early.

    An address counts if it belongs to any request, and if it sent something to these requests' recipients.

    A payment is too early if its transaction was mined before its deposit address was shown. Before that time, a
    sweep can't be recognised, so the merchant may have accepted the sweep as a payment. The swept money must not
    count again.
    """
    recipients = {lookup.payment.request.recipient_address for lookup in lookups}
    senders = {
        hash_: {transfer.sender for transfer in facts.transfers if transfer.recipient in recipients}
        for hash_, facts in snapshot.transactions.items()
        if facts is not None
    }
    possible = set().union(*senders.values()) - {""}
    own = [each for each in lookups if each.payment.request.deposit_address and not each.is_difference]
    if not possible and not own:
        return {}, set()
    wanted = Q(pk__in={each.payment.request_id for each in own}) | Q(chain=chain, address__in=possible)
    rows = DepositAddress.objects.filter(wanted).values_list("pk", "chain", "address", "shown_at")
    shown_at = {pk: at for pk, _, _, at in rows}
    addresses = frozenset(address for _, chain_id, address, _ in rows if chain_id == chain.pk)
    early = set()
    for each in own:
        facts, at = snapshot.transactions.get(each.transaction_hash), shown_at.get(each.payment.request_id)
        if facts is not None and facts.block is not None and at is not None:
            early |= {each.payment.pk} if facts.block.time < at - CLOCK_ALLOWANCE else set()
    return {hash_: addresses.intersection(of_hash) for hash_, of_hash in senders.items()}, early


def _authorizations(snapshot: Snapshot, chain: Chain) -> dict[str, dict[tuple[str, bytes], uuid.UUID]]:
    """Return the requests for which payers authorized transfers: by transaction, and by payer and nonce."""
    used = {
        hash_: {
            (transfer.sender, transfer.authorization)
            for transfer in (*facts.transfers, *facts.intended)
            if transfer.authorization is not None
        }
        for hash_, facts in snapshot.transactions.items()
        if facts is not None
    }
    nonces = {nonce for keys in used.values() for _, nonce in keys}
    if not nonces:
        return {}
    rows = Authorization.objects.filter(chain=chain, nonce__in=nonces)
    owners = {
        (payer, bytes(nonce)): owner
        for payer, nonce, owner in rows.values_list("payer", "nonce", "request_id")
    }
    return {hash_: {key: owners[key] for key in keys if key in owners} for hash_, keys in used.items()}


ProofsByPlace = Mapping[tuple[str, int, str], Sequence[PayerProof]]


def _proofs(chain: Chain, payers: Mapping[str, Set[str]]) -> ProofsByPlace:
    """Return the proofs that these accounts gave for any request, by account, token and recipient."""
    accounts = set().union(*payers.values())
    proofs: dict[tuple[str, int, str], list[PayerProof]] = defaultdict(list)
    for proof in PayerProof.objects.filter(chain=chain, address__in=accounts) if accounts else ():
        proofs[proof.address, proof.token_id, proof.recipient_address].append(proof)
    return proofs


def _competing_proofs(
    request: PaymentRequest, proofs: ProofsByPlace, payers: Collection[str]
) -> tuple[Proof, ...]:
    """Return these payers' proofs for any request with the same token and recipient."""
    return tuple(
        Proof(
            proof.address,
            proof.not_before,
            proof.not_after,
            proof.verified_at,
            proof.head_block,
            is_ours=proof.request_id == request.pk,
        )
        for payer in sorted(payers)
        for proof in proofs.get((payer, request.token_id, request.recipient_address), ())
    )
