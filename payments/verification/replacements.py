"""Handle transactions that a wallet replaced by another one with the same nonce.

If the wallet only sped the transaction up, the payment follows the new one. After any other replacement, the payment
fails. A speed-up has the same `effect`: a digest of the transaction without its fees. The sender signs both
transactions, so only the sender can replace a payment.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from chains.client import ChainClient, ChainError, Snapshot, TransactionFacts
from chains.models import Chain
from config.due_work.leases import FREE
from payments.coins.recording import attach, difference_with
from payments.models import FailureCode, Lookup, Payment, PaymentRequest
from payments.requests.transitions import move_payment, note
from payments.verification.outcomes import DECIDED, Failed, failed_columns, failed_lookup
from payments.verification.reopening import is_given_up, reopen

# One check searches for the replacements of at most this many payments. The others wait for the next check.
MAX_SEARCHED = 20
# After this many searches without a response, the other payments wait for the next check.
MAX_UNANSWERED = 3
SPED_UP = "Sped up in the wallet; following the new transaction."
_SEEN_AT_ADDRESS = "What the transaction sent to the deposit address is credited as {}."
_REPLACED = "The wallet sent another transaction in its place."


def replaceable(request: PaymentRequest, chain: Chain) -> QuerySet[Payment]:
    """Return the request's payments whose transaction can be sped up."""
    given_up = (FailureCode.TRANSACTION_REPLACED, FailureCode.TRANSACTION_NOT_FOUND)
    return Payment.objects.filter(
        Q(status__in=Payment.OPEN) | Q(status=Payment.Status.FAILED, failure_code__in=given_up),
        request=request,
        chain=chain,
        nonce__isnull=False,
        lookup__block_number__isnull=True,
    ).exclude(effect="")


def continued_by(payments: Iterable[Payment], facts: TransactionFacts | None) -> Payment | None:
    """Return the payment that this transaction speeds up. An open payment comes first."""
    matching = [each for each in payments if facts is not None and speeds_up(each, facts)]
    return min(matching, key=lambda payment: not payment.is_open, default=None)


def shares_nonce(payment: Payment, facts: TransactionFacts) -> bool:
    """Whether this is another transaction with the payment's sender and nonce. Only one of them can be mined."""
    is_same_place = (facts.sender, facts.nonce) == (payment.from_address, payment.nonce)
    return payment.nonce is not None and is_same_place and facts.hash != payment.transaction_hash


def speeds_up(payment: Payment, facts: TransactionFacts) -> bool:
    """Whether this transaction replaces the payment's own and has the same effect."""
    return shares_nonce(payment, facts) and payment.effect != "" and facts.effect == payment.effect


def continuing_columns(payment: Payment, transaction_hash: str) -> dict[str, Any]:
    earlier = [*payment.replaced_hashes, payment.transaction_hash]
    return {
        "transaction_hash": transaction_hash,
        "replaced_hashes": [each for each in earlier if each != transaction_hash],
    }


def continue_lookup(payment: Payment, transaction_hash: str) -> None:
    Lookup.objects.filter(of_payment=payment).update(
        transaction_hash=transaction_hash, first_block_time=None, first_block_number=None
    )


@dataclass(frozen=True)
class Replacements:
    """The transactions that replaced others, by payment id, and the ids of payments whose search was not completed."""

    by_payment: Mapping[str, TransactionFacts]
    unsearched: frozenset[str]


def find_replacements(
    client: ChainClient, chain: Chain, lookups: Sequence[Lookup], snapshot: Snapshot
) -> Replacements:
    """Find out which transactions replaced those that no node knows any more.

    Three sources are checked: the request's other payments, the payment's earlier hashes, and the transactions
    that nodes return for the payment's nonce.
    """
    missing = [lookup.payment for lookup in lookups if _is_missing(lookup, snapshot)]
    if not missing:
        return Replacements({}, frozenset())
    candidates = _sibling_hashes(missing, chain)
    searched = _search_by_nonce(client, missing[:MAX_SEARCHED], candidates)
    hashes = sorted(set().union(*(candidates[payment.pk] for payment in searched)))
    try:
        looked_up = client.look_up(hashes, with_finality=False) if hashes else Snapshot(snapshot.head, {})
    except ChainError:
        return Replacements({}, frozenset(payment.pk for payment in missing))
    replacements, unsearched = {}, {payment.pk for payment in missing} - {payment.pk for payment in searched}
    for payment in searched:
        candidate_facts = [looked_up.transactions.get(hash_) for hash_ in sorted(candidates[payment.pk])]
        replacing = [facts for facts in candidate_facts if facts is not None and shares_nonce(payment, facts)]
        if replacing:
            replacements[payment.pk] = max(replacing, key=lambda facts: facts.block is not None)
        elif not candidates[payment.pk].isdisjoint(looked_up.contradicted):
            unsearched.add(payment.pk)
    return Replacements(replacements, frozenset(unsearched))


def _search_by_nonce(
    client: ChainClient, missing: Sequence[Payment], candidates: dict[str, set[str]]
) -> list[Payment]:
    """Add the transactions with the payments' nonces to `candidates`.

    Return the payments that were searched successfully.
    """
    searched: list[Payment] = []
    unanswered = 0
    for payment in missing:
        candidates[payment.pk] |= set(payment.replaced_hashes)
        try:
            named = client.transaction_of_nonce(payment.from_address, payment.nonce or 0)
        except ChainError:
            unanswered += 1
            if unanswered == MAX_UNANSWERED:
                break
            continue
        candidates[payment.pk] |= {named} if named else set()
        searched.append(payment)
    return searched


def _is_missing(lookup: Lookup, snapshot: Snapshot) -> bool:
    payment = lookup.payment
    was_seen = payment.nonce is not None and payment.effect != "" and payment.attempts >= 1
    is_unknown = (
        lookup.transaction_hash not in snapshot.contradicted
        and snapshot.transactions.get(lookup.transaction_hash) is None
    )
    return was_seen and is_unknown and not lookup.is_delivery


def _sibling_hashes(missing: Sequence[Payment], chain: Chain) -> dict[str, set[str]]:
    """Return the hashes of the request's other payments with the same sender and nonce. Makes one query."""
    candidates: dict[str, set[str]] = defaultdict(set)
    requests = {payment.request_id for payment in missing}
    others = Payment.objects.filter(request__in=requests, chain=chain, nonce__isnull=False)
    rows = list(others.values_list("request_id", "from_address", "nonce", "transaction_hash"))
    for payment in missing:
        place = (payment.request_id, payment.from_address, payment.nonce)
        own = payment.transaction_hash
        candidates[payment.pk] = {
            each for *where, each in rows if each and tuple(where) == place and each != own
        }
    return candidates


def follow(
    payment: Payment,
    request: PaymentRequest,
    replacement: TransactionFacts,
    now: datetime,
) -> None:
    """Continue the payment with a replacement that has the same effect. The payment and the request must be locked.

    If another payment of the request already has that transaction, this payment fails without an event. The other
    payment may have failed because its transaction was missing or replaced, or because no result came in time. Then
    the other payment is verified again, since the transaction exists.
    """
    same = Payment.objects.filter(
        request=request, chain=payment.chain, transaction_hash=replacement.hash
    ).first()
    if same is None:
        open_one = Payment.objects.filter(pk=payment.pk, status=Payment.Status.PROCESSING)
        if open_one.update(**continuing_columns(payment, replacement.hash), status_detail=SPED_UP):
            _follow_now(payment, replacement.hash, now)
            _note_replacement(payment, replacement.hash, actor="verification")
        return
    code = FailureCode.TRANSACTION_REPLACED
    failed = Failed(payment, code, _REPLACED)
    columns = failed_columns(failed, now)
    if move_payment(payment, Payment.Status.FAILED, actor="verification", reason=code.value, **columns):
        Lookup.objects.filter(of_payment=payment).update(**failed_lookup(failed, now))
        add_replaced(same, payment)
        if is_given_up(same):
            reopen(same, actor="verification", reason=f"took the place of {payment.transaction_hash}")


def join_difference(
    payment: Payment, request: PaymentRequest, facts: TransactionFacts, now: datetime
) -> None:
    """Fail the payment without an event, because another payment has its coin. The payment must be locked.

    That other payment was found by the deposit address's balance. The transaction is stored in that payment, as the
    one that sent the coin.
    """
    difference = difference_with(request, facts)
    if difference is None:
        Lookup.objects.filter(of_payment=payment).update(next_check_at=now, **FREE)
        return
    code = FailureCode.TRANSACTION_ALREADY_USED
    failed = Failed(payment, code, _SEEN_AT_ADDRESS.format(difference.pk), columns={"transaction_hash": None})
    columns = failed_columns(failed, now)
    if move_payment(payment, Payment.Status.FAILED, actor="verification", reason=code.value, **columns):
        Lookup.objects.filter(of_payment=payment).update(**DECIDED)
        attach(difference, facts, actor="verification")


def follow_submitted(payment: Payment, transaction_hash: str, now: datetime, *, actor: str) -> None:
    """Continue an open payment with the submitted transaction. The request must be locked."""
    columns = continuing_columns(payment, transaction_hash)
    # Write the lookup first, since workers lock the lookup before the payment.
    _follow_now(payment, transaction_hash, now)
    Payment.objects.filter(pk=payment.pk).update(**columns, status_detail=SPED_UP)
    _note_replacement(payment, transaction_hash, actor=actor)
    payment.refresh_from_db()


def _note_replacement(payment: Payment, transaction_hash: str, *, actor: str) -> None:
    note(payment, f"replaced by {transaction_hash} with the same effect", actor=actor)


def _follow_now(payment: Payment, transaction_hash: str, now: datetime) -> None:
    """Look up the new transaction now, and end the lease of a running check."""
    continue_lookup(payment, transaction_hash)
    Lookup.objects.filter(of_payment=payment).update(
        attempts=0, next_check_at=now, claim_id=None, lease_until=None
    )


def add_replaced(payment: Payment, replaced: Payment) -> None:
    """Add the hashes of `replaced`, which this payment continues."""
    earlier = [*payment.replaced_hashes, *replaced.replaced_hashes, replaced.transaction_hash]
    hashes = [each for each in dict.fromkeys(earlier) if each != payment.transaction_hash]
    Payment.objects.filter(pk=payment.pk).update(replaced_hashes=hashes)
