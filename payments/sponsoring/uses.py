"""Connect a payer's authorization with the transaction that used it. Anyone may have sent that transaction.

An authorization has one payment at most. Every transaction that moved its money belongs to this payment.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from chains.client import ChainClient, TransactionFacts
from config.due_work.leases import FREE
from config.due_work.listening import Channel, notify
from payments.models import Authorization, FailureCode, Lookup, Payment, PaymentRequest
from payments.requests.lifecycle import lock_request
from payments.requests.new_payments import create_payment
from payments.requests.transitions import move_payment, note
from payments.sponsoring.terms import rules_of
from payments.verification.outcomes import Failed, failed_columns, failed_lookup
from payments.verification.reopening import GIVEN_UP, reopen
from payments.verification.replacements import continuing_columns

FOUND = "Found on the network by the payer's authorization."
# After these failures, the same transaction can still pay. After any other failure, only another transaction can.
_UNDONE_BY_USE = GIVEN_UP | {
    FailureCode.AUTHORIZATION_EXPIRED,
    FailureCode.AUTHORIZATION_USED,
    FailureCode.TRANSACTION_REVERTED,
}
_SAME = "Another payment has the transaction that used this authorization."
# A signature is valid for 15 minutes: at most 3,600 blocks on the fastest shipped chain.
MAX_BLOCKS = 5_000


def in_searches(
    authorizations: Sequence[Authorization], *, until_block: int
) -> Iterator[list[Authorization]]:
    """Group authorizations that were built at about the same time. One `find_uses` searches for each group.

    One authorization with a wrong `since_block` then doesn't delay the search for the others.
    """
    group: list[Authorization] = []
    for each in sorted(authorizations, key=lambda each: min(each.since_block, until_block)):
        if group and min(each.since_block, until_block) > group[0].since_block + MAX_BLOCKS:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def find_uses(
    client: ChainClient, authorizations: Sequence[Authorization], *, until_block: int
) -> dict[int, tuple[str, bool]]:
    """Map each authorization's id to the transaction that used it: (hash, whether it pays).

    If the chain has a quorum, two nodes must agree. An id is missing if no transaction shows the use: a node may lag
    or lie, or the transaction can't be read yet. Only the blocks are searched in which the signatures were valid,
    and the newest blocks. Raises ChainError.
    """
    reader = client.authorizations
    if reader is None or not authorizations:
        return {}
    by_key = {each.terms.key: each for each in authorizations}
    candidates: dict[tuple[str, str, bytes], frozenset[str]] = {}
    for first, last in _ranges(authorizations, until_block):
        for key, named in reader.find_uses(by_key.keys(), since_block=first, until_block=last).items():
            candidates[key] = candidates.get(key, frozenset()) | named
    if not candidates:
        return {}
    hashes = sorted(set().union(*candidates.values()))
    tokens = {token for token, _, _ in candidates}
    snapshot = client.look_up(hashes, with_finality=False, mentioning=tokens)
    found = {}
    for key, named in candidates.items():
        authorization = by_key[key]
        mined = [
            facts
            for hash_ in sorted(named)
            if (facts := snapshot.transactions.get(hash_)) is not None and facts.block is not None
        ]
        for facts in mined:
            if (pays := moves(authorization, facts)) or _ends(authorization, facts):
                found[authorization.pk] = (facts.hash, pays)
    return found


def _ranges(authorizations: Sequence[Authorization], until_block: int) -> list[tuple[int, int]]:
    """Return the ranges of blocks in which these authorizations may have been used.

    `since_block` may be much too low or too high, if a node lied when it was stored. A use is usually searched soon
    after its block, so the newest blocks are always searched.
    """
    newest = max(until_block - MAX_BLOCKS + 1, 0)
    starts = [each.since_block if each.since_block <= until_block else newest for each in authorizations]
    first, last = min(starts), min(max(starts) + MAX_BLOCKS, newest) - 1
    return [(first, until_block)] if first >= newest else [(first, last), (newest, until_block)]


def _ends(authorization: Authorization, facts: TransactionFacts) -> bool:
    """Whether the mined transaction used or cancelled the authorization."""
    rules = rules_of(authorization.chain)
    return rules is not None and rules.is_ended_by(authorization.terms, facts.mentions)


def moves(authorization: Authorization, facts: TransactionFacts) -> bool:
    """Whether the mined transaction moved the authorization's money to the recipient."""
    token, payer, nonce = authorization.terms.key
    return facts.succeeded and any(
        (t.token, t.sender, t.authorization) == (token, payer, nonce)
        and t.recipient == authorization.recipient
        for t in facts.transfers
    )


def attach(
    authorization: Authorization, transaction_hash: str, now: datetime, *, actor: str
) -> tuple[Payment, bool]:
    """Let the authorization's payment follow the transaction that moved its money. Return the payment, and whether it
    is new.

    If there is no payment, one is created. If another payment of the request has the transaction already, that
    payment is returned. A completed payment follows the transaction only if it is `reorged`. The finality check then
    credits the transaction in place of the removed one.
    """
    with transaction.atomic():
        request = lock_request(authorization.request_id)
        stored = Authorization.objects.select_for_update(of=("self",), no_key=True).get(pk=authorization.pk)
        payment = stored.payment
        own = Payment.objects.filter(request=request, chain=stored.chain_id)
        others = own.exclude(pk=payment.pk if payment else None)
        current = others.filter(transaction_hash=transaction_hash).first()
        same = current or others.filter(replaced_hashes__contains=[transaction_hash]).first()
        if payment is None:
            is_new = same is None
            payment = same or create_payment(
                request,
                stored.chain,
                transaction_hash,
                actor=actor,
                seen_at=now,
                submitted_publicly=False,
                route=stored.route,
                from_address=stored.payer,
                bound_by=Payment.BoundBy.AUTHORIZATION,
                token=stored.token,
                amount=stored.amount,
                status_detail=FOUND,
            )
            if same is not None:
                _check_now(same, transaction_hash, now)
            if Authorization.objects.filter(payment=payment).exists():
                return payment, False
            Authorization.objects.filter(pk=stored.pk).update(payment=payment)
            return payment, is_new
        if payment.status == Payment.Status.COMPLETED and not payment.reorged:
            return payment, False
        if same is None or payment.transaction_hash == transaction_hash:
            _follow(payment, transaction_hash, now)
            return payment, False
        if payment.status != Payment.Status.COMPLETED:
            _absorb(payment, same, now)
            same.refresh_from_db()
        _check_now(same, transaction_hash, now)
        return same, False


def may_use_authorization(request: PaymentRequest) -> bool:
    """Whether the request has a payment by authorization. If so, a submitted hash may belong to that payment."""
    return Authorization.objects.filter(request=request, payment__isnull=False).exists()


def payment_by_authorization(request: PaymentRequest, facts: TransactionFacts | None) -> Payment | None:
    """Return the locked request's payment whose authorization moved money in this transaction, or None."""
    if facts is None or facts.block is None:
        return None
    rows = Authorization.objects.filter(request=request, payment__isnull=False)
    for authorization in rows.select_related("token", "chain"):
        if moves(authorization, facts):
            payment, _ = attach(authorization, facts.hash, timezone.now(), actor="checkout")
            return payment
    return None


def follow(payment: Payment, transaction_hash: str, now: datetime) -> None:
    """From now on, look up this transaction for the payment. The request must be locked.

    The payment must be open, reopened afterwards, or completed and `reorged`.
    """
    columns = continuing_columns(payment, transaction_hash)
    columns["replaced_hashes"] = [each for each in columns["replaced_hashes"] if each]
    due = "finality_check_at" if payment.status == Payment.Status.COMPLETED else "next_check_at"
    # Write the lookup first, since workers lock the lookup before the payment.
    Lookup.objects.filter(of_payment=payment).update(
        transaction_hash=transaction_hash,
        first_block_time=None,
        first_block_number=None,
        **{due: now},
        **FREE,
    )
    Payment.objects.filter(pk=payment.pk).update(**columns)
    notify(Channel.PAYMENTS, str(payment.chain_id))


def _follow(payment: Payment, transaction_hash: str, now: datetime) -> None:
    """Let the payment follow this transaction, which moved the money. If the payment failed, verify it again."""
    is_other = payment.transaction_hash != transaction_hash
    if is_other:
        follow(payment, transaction_hash, now)
        note(payment, f"{transaction_hash} used the authorization", actor="sponsoring")
        payment.refresh_from_db()
    if payment.status == Payment.Status.FAILED and (is_other or payment.failure_code in _UNDONE_BY_USE):
        reopen(payment, actor="sponsoring", reason="the authorization was used after all")


def _check_now(payment: Payment, transaction_hash: str, now: datetime) -> None:
    """Verify a payment now, by this transaction. Its hash was submitted before the nodes knew the transaction."""
    if payment.status == Payment.Status.COMPLETED and not payment.reorged:
        return
    _follow(payment, transaction_hash, now)
    if payment.is_open:
        Lookup.objects.filter(of_payment=payment, next_check_at__gt=now).update(next_check_at=now)
        notify(Channel.PAYMENTS, str(payment.chain_id))


def _absorb(payment: Payment, same: Payment, now: datetime) -> None:
    """End the authorization's payment without an event, because the payment `same` already has the transaction."""
    failed = Failed(payment, FailureCode.AUTHORIZATION_USED, _SAME)
    if payment.is_open:
        move_payment(
            payment,
            Payment.Status.FAILED,
            actor="sponsoring",
            reason=f"its transaction is that of {same.pk}",
            **failed_columns(failed, now),
        )
        Lookup.objects.filter(of_payment=payment).update(**failed_lookup(failed, now))
    hashes = [*same.replaced_hashes, *payment.replaced_hashes, payment.own_hash]
    kept = [each for each in dict.fromkeys(hashes) if each and each != same.transaction_hash]
    Payment.objects.filter(pk=same.pk).update(replaced_hashes=kept)
    if not Authorization.objects.filter(payment=same).exists():
        Authorization.objects.filter(payment=payment).update(payment=same)
