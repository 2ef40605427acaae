"""Invent the response of a node about a simulated transaction. Stores nothing."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from chains.client import Block, Head, Snapshot, TransactionFacts, Transfer
from payments.evaluation.binding import Evidence
from payments.evaluation.proof_windows import Proof
from payments.evaluation.verdicts import Finality, Terms
from payments.models import PaymentRequest
from payments.verification.evidence import ChainCheck

ACTOR = "sandbox"
HASH_PREFIX = b"sandbox-payment-"
# The invented reference of another request. A transfer that carries both this reference and the request's own is
# ambiguous.
FOREIGN_REFERENCE = HASH_PREFIX


def new_hash(request: PaymentRequest) -> str:
    """Return a new hash in the chain's format, which belongs to no real transaction."""
    return request.chain.family.make_hash(HASH_PREFIX)


def payer_of(request: PaymentRequest) -> str:
    """Return an address without an owner. The address isn't the recipient's: a transfer from an account to itself
    pays nothing.
    """
    return next(
        address for address in request.chain.family.unowned_addresses if address != request.recipient_address
    )


def transfer(request: PaymentRequest, amount: int, references: tuple[bytes, ...] | None = None) -> Transfer:
    """Return a transfer of `amount` base units. By default it is bound to the request, like a wallet's transaction."""
    if references is None:
        references = (bytes(request.reference),) if request.references else ()
    payer = payer_of(request)
    return Transfer(
        slot=ACTOR,
        token=request.token.contract_address,
        sender=payer,
        recipient=request.recipient_address,
        amount=amount,
        references=references,
        made_by=payer,
    )


def mined(
    request: PaymentRequest, transaction_hash: str, now: datetime, *transfers: Transfer
) -> TransactionFacts:
    """Return a transaction that succeeded in block 0. No real payment is in block 0."""
    return TransactionFacts(
        hash=transaction_hash,
        sender=payer_of(request),
        nonce=None,
        block=Block(number=0, hash=ACTOR, time=now),
        succeeded=True,
        transfers=transfers,
    )


def unmined(request: PaymentRequest, transaction_hash: str, now: datetime, amount: int) -> TransactionFacts:
    """Return an unmined transaction that a node has seen. The transaction's bytes bind `amount` base units to
    the request.
    """
    facts = mined(request, transaction_hash, now)
    return replace(facts, block=None, intended=(transfer(request, amount),))


def check(
    request: PaymentRequest,
    claim_id: uuid.UUID,
    transactions: Mapping[str, TransactionFacts | None],
    now: datetime,
    *,
    is_deep: bool = True,
) -> ChainCheck:
    """Return a check in which block 0 is final.

    If `is_deep` is False, block 0 lacks at least one confirmation instead.
    """
    finality = Finality.parse(request.chain.confirmations)
    needed = finality.confirmations or 1
    if is_deep:
        head = Head(latest=needed - 1, safe=0, finalized=0)
    else:
        head = Head(latest=0 if needed > 1 or finality.tag else -1)
    return ChainCheck(claim_id, Snapshot(head, transactions), finality, now)


def terms(request: PaymentRequest, now: datetime, evidence: Evidence | None = None) -> Terms:
    """Return the request's terms. If the request has no references, a payer's proof binds the transfer by default."""
    proof = Proof(payer_of(request), now, now, now)
    return Terms(
        chain_id=request.chain_id,
        token=request.token.contract_address,
        symbol=request.token.symbol,
        decimals=request.token.decimals,
        recipient=request.recipient_address,
        created_at=request.created_at,
        evidence=evidence or Evidence(reference=bytes(request.reference), proofs=(proof,)),
        known_tokens={},
        asked_at=now,
    )
