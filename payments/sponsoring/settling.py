"""Find out on the chain how authorizations ended: they were used, or they expired.

The token's log shows that an authorization was used, even if nothing was submitted here. An authorization is *dead*
if it can't be used any more. Two nodes must report this for the same block. The block must be as deep as the chain
requires. The block's own time must be after the signature's expiry. Our clock doesn't count.

On Solana, only the operator's account can send the payer's transaction. The transaction counts once it is in a
final block. The transaction is dead once two nodes have a final block above `last_valid_height` and don't know the
transaction.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from django.db import transaction
from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.facts.authorizations import AuthorizationStates
from chains.facts.cosigning import CosigningClient, Fate, Pending
from chains.families import get_client
from chains.models import Chain
from config.api.log_context import log_context
from config.due_work import leases
from config.due_work.leases import FREE, Lease
from config.due_work.queue import Queue
from payments.evaluation.retry_policy import LONGEST_WAIT, is_timed_out
from payments.evaluation.verdicts import Finality
from payments.models import Authorization, FailureCode, Lookup, Payment, PaymentRequest, Relay
from payments.requests.events import record_failed
from payments.requests.lifecycle import lock_request
from payments.requests.transitions import move_payment
from payments.sponsoring.passes import settle_cost
from payments.sponsoring.relaying import deep_enough
from payments.sponsoring.uses import attach, find_uses, in_searches
from payments.verification.outcomes import Failed, failed_columns, failed_lookup

logger = logging.getLogger(__name__)

Client = Callable[[Chain], ChainClient]

BATCH = 200
PAUSE = timedelta(seconds=3)
PAUSE_UNSIGNED = timedelta(seconds=30)
PAUSE_DEAD = timedelta(hours=1)
PAUSE_AFTER_FAILURE = timedelta(seconds=15)
# After a check without a result, the pause is the authorization's age divided by this number.
_PART_OF_AGE = 20
LONGEST_PAUSE = timedelta(minutes=5)
CHECKED_FOR = timedelta(days=1)
EXPIRED = "The signed transfer was not sent in time, so it can't be sent any more. Nothing was paid."
USED = "The signed transfer was cancelled, or used for something else. Nothing was paid."
LOST = "The signed transfer was used, but no node returned its transaction within 24 hours. You can retry the payment."
_MESSAGES = {
    FailureCode.AUTHORIZATION_EXPIRED: EXPIRED,
    FailureCode.AUTHORIZATION_USED: USED,
    FailureCode.VERIFICATION_TIMED_OUT: LOST,
}

AUTHORIZATIONS = Queue(
    model=Authorization,
    due="next_check_at",
    owner="merchant_id",
    waiting="next_check_at IS NOT NULL",
    lane="chain_id",
)


def settle_due(
    chain_id: int, *, client: Client = get_client, now: Callable[[], datetime] = timezone.now
) -> int:
    """Check a batch of the chain's due authorizations. Return their number."""
    lease = AUTHORIZATIONS.claim(now(), BATCH, chain_id)
    if not lease.keys:
        return 0
    chain = Chain.objects.get(pk=chain_id)
    with leases.kept(lease), log_context(chain_id=chain_id):
        rows = Authorization.objects.filter(pk__in=lease.keys).select_related("token", "chain", "payment")
        authorizations = list(rows.order_by("token_id", "pk"))
        pauses: dict[int, timedelta] = {}
        # A token whose contract fails must not delay other tokens' authorizations.
        for _, group in groupby(authorizations, key=lambda each: each.token_id):
            of_token = list(group)
            try:
                ended, slow = _settle(chain, client(chain), of_token, lease, now)
                left = [each for each in of_token if each.pk not in ended]
                pauses |= {each.pk: _pause(each, now(), is_slow=each.pk in slow) for each in left}
            except ChainError as error:
                logger.warning("authorizations on %s could not be checked: %s", chain.name, error)
                pauses |= {each.pk: PAUSE_AFTER_FAILURE for each in of_token}
        for pk, pause in pauses.items():
            held = Authorization.objects.filter(pk=pk, claim_id=lease.claim_id)
            held.update(next_check_at=now() + pause, **FREE)
    return len(authorizations)


def _pause(authorization: Authorization, now: datetime, *, is_slow: bool) -> timedelta:
    pause = PAUSE_UNSIGNED if authorization.signed_at is None else PAUSE
    if is_slow:
        return min(max((now - authorization.created_at) / _PART_OF_AGE, pause), LONGEST_PAUSE)
    return pause


def _settle(
    chain: Chain,
    client: ChainClient,
    authorizations: Sequence[Authorization],
    lease: Lease,
    now: Callable[[], datetime],
) -> tuple[set[int], set[int]]:
    """Connect used authorizations with their transactions, and end the dead ones.

    Return the ids of those that ended, and of those to check less often. An authorization is checked less often if no
    node returns the transaction that used it, if the search for it failed, or if its result could not be stored.
    """
    reader = client.authorizations
    ended: set[int] = set()
    failed: set[int] = set()
    for each in authorizations:
        with _alone(each, failed):
            if _is_completed(each) and _end(each, None, lease, now()):
                ended.add(each.pk)
    left = [each for each in authorizations if each.pk not in ended | failed]
    if client.cosigning is not None and left:
        return ended | _settle_cosigned(client.cosigning, left, lease, now, failed), failed
    if reader is None or not left:
        return ended, failed
    finality = Finality.parse(chain.confirmations, chain.confirmations_fallback)
    head = client.look_up([], with_finality=finality.tag is not None).head
    keys = [each.terms.key for each in left]
    newest = reader.states(keys, at_block=head.latest)
    used = [each for each in left if newest.used[each.terms.key]]
    found: dict[int, tuple[str, bool]] = {}
    lost: set[int] = set()
    for group in in_searches(used, until_block=head.latest):
        if not any(lease.holds(each.pk) for each in group):
            break  # another worker searches for the rest
        try:
            uses = find_uses(client, group, until_block=head.latest)
        except ChainError as error:
            logger.warning("uses on %s could not be searched for: %s", chain.name, error)
            failed |= {each.pk for each in group}
            continue
        found |= uses
        lost |= {each.pk for each in group} - uses.keys()
    for each in used:
        hash_, pays = found.get(each.pk, ("", False))
        if pays:
            with _alone(each, failed):
                attach(each, hash_, now(), actor="discovery")
    height = deep_enough(head, finality)
    if height is None:
        return ended, lost | failed
    deep = reader.states(keys, at_block=height)
    for each in left:
        fate = _fate(each, deep, found)
        if fate is None and each.pk in lost and _is_timed_out(each, now()):
            fate = _Fate(FailureCode.VERIFICATION_TIMED_OUT)
        if fate is None or each.pk in failed:
            continue
        with _alone(each, failed):
            if _end(each, fate.code, lease, now()):
                ended.add(each.pk)
    return ended, lost | failed


@contextmanager
def _alone(authorization: Authorization, failed: set[int]) -> Iterator[None]:
    """Log an unexpected error and add the authorization to `failed`, so that the other authorizations are settled."""
    ids = {"payment_id": authorization.payment_id, "payment_request_id": authorization.request_id}
    with log_context(**ids):
        try:
            yield
        except ChainError:
            raise
        except Exception:
            logger.exception("the end of a signed transfer could not be stored")
            failed.add(authorization.pk)


def _settle_cosigned(
    reader: CosigningClient,
    authorizations: Sequence[Authorization],
    lease: Lease,
    now: Callable[[], datetime],
    failed: set[int],
) -> set[int]:
    """End authorizations whose transaction is in a final block, and dead ones. Return the ids of those that ended.

    Authorizations whose result could not be stored are added to `failed`.
    """
    relays = Relay.objects.filter(authorization__in=authorizations)
    hashes = {relay.authorization_id: relay.hashes[0] for relay in relays}
    pending = {
        hashes[each.pk]: Pending(bytes(each.transaction or b""), each.last_valid_height or 0)
        for each in authorizations
        if each.pk in hashes
    }
    fates = reader.fates(pending) if pending else {}
    # A transaction that the operator's account has not signed can't be in a block.
    height = reader.height() if len(pending) < len(authorizations) else 0
    ended = set()
    for each in authorizations:
        hash_ = hashes.get(each.pk, "")
        fate = fates.get(hash_)
        if not hash_ and (each.last_valid_height or 0) < height:
            fate = Fate.EXPIRED
        code = FailureCode.AUTHORIZATION_EXPIRED if fate is Fate.EXPIRED else None
        with _alone(each, failed):
            if fate is Fate.LANDED:
                # The transaction decides the payment, even if the payment failed because the transaction seemed dead.
                attach(each, hash_, now(), actor="discovery")
            if fate is not None and _end(each, code, lease, now(), hash_=hash_):
                ended.add(each.pk)
    return ended


def _is_completed(authorization: Authorization) -> bool:
    """Whether the payment is completed. If a reorganisation removed its block, the authorization can be used again."""
    payment = authorization.payment
    return payment is not None and payment.status == Payment.Status.COMPLETED and not payment.reorged


def _is_timed_out(authorization: Authorization, now: datetime) -> bool:
    payment = authorization.payment
    if payment is None:
        return now - authorization.created_at >= LONGEST_WAIT
    return is_timed_out(payment, now)


@dataclass(frozen=True)
class _Fate:
    """How an authorization ended. If `code` is None, the transaction that used it decides its payment."""

    code: FailureCode | None


def _fate(
    authorization: Authorization, deep: AuthorizationStates, found: Mapping[int, tuple[str, bool]]
) -> _Fate | None:
    """Return how the authorization ended. Return None if it didn't, or if its use wasn't found yet."""
    if deep.used[authorization.terms.key]:
        if (use := found.get(authorization.pk)) is None:
            return None
        return _Fate(None if use[1] else FailureCode.AUTHORIZATION_USED)
    is_over = authorization.ends_at is not None and deep.block.time >= authorization.ends_at
    return _Fate(FailureCode.AUTHORIZATION_EXPIRED) if is_over else None


def _end(
    authorization: Authorization,
    code: FailureCode | None,
    lease: Lease,
    now: datetime,
    *,
    hash_: str | None = None,
) -> bool:
    """End the authorization. If there is a code, fail the authorization's open payment. Return False if the lease was
    lost.

    An empty `hash_` means that nothing was sent. In this case, return False also if a worker has stored a transaction
    meanwhile.
    """
    with transaction.atomic():
        request = lock_request(authorization.request_id)
        rows = Authorization.objects.select_for_update(of=("self",), no_key=True)
        stored = rows.filter(pk=authorization.pk, claim_id=lease.claim_id).first()
        if stored is None or (hash_ == "" and Relay.objects.filter(authorization=stored).exists()):
            return False
        if code is not None and stored.payment is not None:
            fail(stored.payment, request, code, now)
        # A dead authorization can come back only by a reorganisation that is deeper than the required depth. While a
        # payment is `reorged`, another such reorganisation may change which transaction used the authorization.
        is_recent = now < stored.created_at + CHECKED_FOR
        is_reorged = stored.payment is not None and stored.payment.reorged
        is_unsure = is_reorged or code == FailureCode.AUTHORIZATION_EXPIRED
        may_return = is_unsure and hash_ != "" and is_recent
        Authorization.objects.filter(pk=stored.pk).update(
            ended_at=stored.ended_at or now, next_check_at=now + PAUSE_DEAD if may_return else None, **FREE
        )
        settle_cost(stored)
    return True


def fail(
    payment: Payment, request: PaymentRequest, code: FailureCode, now: datetime, message: str = ""
) -> None:
    """Fail the open payment of a dead authorization. The request must be locked."""
    if not payment.is_open:
        return
    failed = Failed(payment, code, message or _MESSAGES[code])
    # Write the lookup first, since workers lock the lookup before the payment.
    Lookup.objects.filter(of_payment=payment).update(**failed_lookup(failed, now))
    columns = failed_columns(failed, now)
    if move_payment(payment, Payment.Status.FAILED, actor="sponsoring", reason=code.value, **columns):
        record_failed(request, payment)
