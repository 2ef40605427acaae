"""Invent a node's response about a simulated transaction. Stores nothing."""

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
# Simulates the reference of another request, for a transfer that carries the references of both.
FOREIGN_REFERENCE = HASH_PREFIX


def new_hash(request: PaymentRequest) -> str:
    """Return a new hash that is well-formed on the request's chain and belongs to no transaction."""
    return request.chain.family.make_hash(HASH_PREFIX)


def payer_of(request: PaymentRequest) -> str:
    """Return an unused address that is not the recipient: a transfer to itself pays nothing."""
    return next(
        address for address in request.chain.family.unowned_addresses if address != request.recipient_address
    )


def transfer(request: PaymentRequest, amount: int, references: tuple[bytes, ...] | None = None) -> Transfer:
    """Return a transfer of `amount` base units, by default bound to the request like a wallet's transaction."""
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
    """Return a transaction that succeeded in block 0, which holds no real payment."""
    return TransactionFacts(
        hash=transaction_hash,
        sender=payer_of(request),
        nonce=None,
        block=Block(number=0, hash=ACTOR, time=now),
        succeeded=True,
        transfers=transfers,
    )


def unmined(request: PaymentRequest, transaction_hash: str, now: datetime, amount: int) -> TransactionFacts:
    """Return a transaction that a node has seen, and whose bytes bind `amount` base units to the request."""
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
    """Return the chain check. Block 0 is final; without `is_deep` at least one confirmation is missing."""
    finality = Finality.parse(request.chain.confirmations)
    needed = finality.confirmations or 1
    if is_deep:
        head = Head(latest=needed - 1, safe=0, finalized=0)
    else:
        head = Head(latest=0 if needed > 1 or finality.tag else -1)
    return ChainCheck(claim_id, Snapshot(head, transactions), finality, now)


def terms(request: PaymentRequest, now: datetime, evidence: Evidence | None = None) -> Terms:
    """Return the request's terms. Without references, the payer's proof binds the transfer by default."""
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
