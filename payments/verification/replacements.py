"""Transactions that a wallet replaced by another with the same nonce: a speed-up goes on, anything else fails.

`effect` decides: it is a digest of what a transaction asks for, without its fees. The sender signed both, so no one
else can replace a payment.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from chains.client import ChainClient, ChainError, Snapshot, TransactionFacts
from chains.models import Chain
from payments.models import FailureCode, Payment, PaymentRequest
from payments.requests.lifecycle import lock_request
from payments.requests.transitions import note_replacement
from payments.verification import outcomes
from payments.verification.reopening import is_given_up, reopen

# How many payments of one look are searched for by their nonces; the others are searched for at their next look.
MOST_SEARCHED = 20
# After so many searches that no node answers the rest is left for the next look.
MOST_UNANSWERED = 3
SPED_UP = "Sped up in the wallet; following the new transaction."


def replaceable(request: PaymentRequest, chain: Chain) -> QuerySet[Payment]:
    """Return the payments of the request that a transaction not known yet may continue."""
    given_up = (FailureCode.TRANSACTION_REPLACED, FailureCode.TRANSACTION_NOT_FOUND)
    return Payment.objects.filter(
        Q(status__in=Payment.OPEN) | Q(status=Payment.Status.FAILED, failure_code__in=given_up),
        request=request,
        chain=chain,
        nonce__isnull=False,
        block_number__isnull=True,
        destination_transaction_hash="",
    ).exclude(effect="")


def continued_by(payments: Iterable[Payment], facts: TransactionFacts | None) -> Payment | None:
    """Return which of these payments the transaction speeds up, an open one first."""
    matching = [each for each in payments if facts is not None and speeds_up(each, facts)]
    return min(matching, key=lambda payment: not payment.is_open, default=None)


def takes_place_of(payment: Payment, facts: TransactionFacts) -> bool:
    """Whether only one of the payment's transaction and this one can be mined."""
    is_same_place = (facts.sender, facts.nonce) == (payment.from_address, payment.nonce)
    return payment.nonce is not None and is_same_place and facts.hash != payment.transaction_hash


def speeds_up(payment: Payment, facts: TransactionFacts) -> bool:
    """Whether this transaction takes the place of the payment's and asks for the same."""
    return takes_place_of(payment, facts) and payment.effect != "" and facts.effect == payment.effect


def continuing_columns(payment: Payment, transaction_hash: str) -> dict[str, Any]:
    """Return the columns of a payment that goes on with another transaction."""
    earlier = [*payment.replaced_hashes, payment.transaction_hash]
    return {
        "transaction_hash": transaction_hash,
        "replaced_hashes": [each for each in earlier if each != transaction_hash],
        "first_block_time": None,
        "first_block_number": None,
    }


@dataclass(frozen=True)
class Replacements:
    """What took the place of payments, by their ids. Of `unsearched` it could not be found out now."""

    found: Mapping[str, TransactionFacts]
    unsearched: frozenset[str]


def find_replacements(
    client: ChainClient, chain: Chain, payments: Sequence[Payment], snapshot: Snapshot
) -> Replacements:
    """Return what took the place of those of the payments that no node knows any more.

    Candidates are the request's other payments, what the payment replaced before, and the nodes' word.
    """
    missing = [payment for payment in payments if _is_missing(payment, snapshot)]
    if not missing:
        return Replacements({}, frozenset())
    candidates = _siblings(missing, chain)
    searched = _searched(client, missing[:MOST_SEARCHED], candidates)
    hashes = sorted(set().union(*(candidates[payment.pk] for payment in searched)))
    try:
        looked_up = client.look_up(hashes, with_finality=False) if hashes else Snapshot(snapshot.head, {})
    except ChainError:
        return Replacements({}, frozenset(payment.pk for payment in missing))
    replacements, unsearched = {}, {payment.pk for payment in missing} - {payment.pk for payment in searched}
    for payment in searched:
        known = [looked_up.transactions.get(each) for each in sorted(candidates[payment.pk])]
        taking = [facts for facts in known if facts is not None and takes_place_of(payment, facts)]
        if taking:
            replacements[payment.pk] = max(taking, key=lambda facts: facts.block is not None)
        elif not candidates[payment.pk].isdisjoint(looked_up.contradicted):
            unsearched.add(payment.pk)
    return Replacements(replacements, frozenset(unsearched))


def _searched(
    client: ChainClient, missing: Sequence[Payment], candidates: dict[str, set[str]]
) -> list[Payment]:
    """Add what the nodes name to the candidates; return the payments for which they could be asked."""
    searched: list[Payment] = []
    unanswered = 0
    for payment in missing:
        candidates[payment.pk] |= set(payment.replaced_hashes)
        try:
            named = client.transaction_of_nonce(payment.from_address, payment.nonce or 0)
        except ChainError:
            unanswered += 1
            if unanswered == MOST_UNANSWERED:
                break
            continue
        candidates[payment.pk] |= {named} if named else set()
        searched.append(payment)
    return searched


def _is_missing(payment: Payment, snapshot: Snapshot) -> bool:
    was_seen = payment.nonce is not None and payment.effect != "" and payment.attempts >= 1
    is_unknown = (
        payment.transaction_hash not in snapshot.contradicted
        and snapshot.transactions.get(payment.transaction_hash) is None
    )
    return was_seen and is_unknown and not payment.has_delivery


def _siblings(missing: Sequence[Payment], chain: Chain) -> dict[str, set[str]]:
    """Return the hashes of the other payments of the same requests that share sender and nonce. One query."""
    candidates: dict[str, set[str]] = defaultdict(set)
    requests = {payment.request_id for payment in missing}
    others = Payment.objects.filter(request__in=requests, chain=chain, nonce__isnull=False)
    rows = list(others.values_list("request_id", "from_address", "nonce", "transaction_hash"))
    for payment in missing:
        place = (payment.request_id, payment.from_address, payment.nonce)
        own = payment.transaction_hash
        candidates[payment.pk] = {each for *where, each in rows if tuple(where) == place and each != own}
    return candidates


def follow_replacement(
    payment: Payment, claim_id: uuid.UUID, replacement: TransactionFacts, now: datetime
) -> None:
    """Write what a replacement with the same effect means: the payment goes on with it.

    Where another payment of the request has that transaction already, that one goes on, and this one fails without an
    event. If the other one was given up, it is verified again: its transaction is there after all.
    """
    with transaction.atomic():
        request = lock_request(payment.request_id)
        same = Payment.objects.filter(
            request=request, chain=payment.chain, transaction_hash=replacement.hash
        ).first()
        if same is not None:
            if outcomes.fail_as_replaced(payment, request, claim_id, now, is_silent=True):
                _add_replaced(same, payment)
                if is_given_up(same):
                    reopen(same, actor="verification", reason=f"took the place of {payment.transaction_hash}")
            return
        held = Payment.objects.filter(pk=payment.pk, claim_id=claim_id, status=Payment.Status.PROCESSING)
        if held.update(**continuing_columns(payment, replacement.hash), **_at_once(now)):
            note_replacement(payment, replacement.hash, actor="verification")


def follow_submitted(payment: Payment, transaction_hash: str, now: datetime, *, actor: str) -> None:
    """Let an open payment of the locked request go on with the transaction that was submitted for it."""
    columns = continuing_columns(payment, transaction_hash)
    Payment.objects.filter(pk=payment.pk).update(**columns, **_at_once(now))
    note_replacement(payment, transaction_hash, actor=actor)
    payment.refresh_from_db()


def _at_once(now: datetime) -> dict[str, Any]:
    """Return the columns that take a look under way its claim, and have the new transaction looked up now."""
    return {
        "attempts": 0,
        "next_check_at": now,
        "claim_id": None,
        "lease_until": None,
        "status_detail": SPED_UP,
    }


def _add_replaced(payment: Payment, replaced: Payment) -> None:
    earlier = [*payment.replaced_hashes, *replaced.replaced_hashes, replaced.transaction_hash]
    hashes = [each for each in dict.fromkeys(earlier) if each != payment.transaction_hash]
    Payment.objects.filter(pk=payment.pk).update(replaced_hashes=hashes)
