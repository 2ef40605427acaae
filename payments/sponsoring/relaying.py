"""Send signed transfers from the operator's gas account on each chain.

Only one worker at a time leases the account's row. So no nonce is left out, and none is used for two transfers:

1. The worker stores the next nonce, the signed bytes and the payment's hash in one database transaction.
2. Then it sends the bytes. If it crashes, another worker sends the same bytes.
3. If the transaction is not mined in time, the worker signs it again with higher fees, and stores it before sending
   it. If the authorization can't be used any more, an empty transaction with the same nonce is sent instead. The
   empty transaction is sent at once if the request was paid in another way before the transfer was first sent.

A transaction ends when its nonce was used in a block that is as deep as the chain requires. If the transaction
failed, or another one used its nonce, a new one is sent for its authorization. This happens only if a simulation
succeeds, the budget has room and the payer is not barred. If a deep reorganisation removes a transaction that ended,
the same bytes are sent again.

Solana has no nonces. There, the account only adds its signature to the payer's transaction (see `cosigned`).
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Sum, Value
from django.db.models.functions import Greatest
from django.utils import timezone

from chains.client import ChainClient, ChainError, Head, Snapshot, Spending, TransferRefused
from chains.facts.authorizations import SignedTransaction
from chains.families import get_client
from chains.fields import BaseUnitsField
from chains.models import Chain
from config.api.log_context import log_context
from config.due_work import leases
from config.due_work.leases import FREE, Lease
from config.due_work.queue import Queue
from payments.evaluation.verdicts import Finality
from payments.models import Authorization, GasAccount, Payment, PaymentRequest, Relay
from payments.requests.lifecycle import lock_request
from payments.sponsoring import budgets, terms
from payments.sponsoring.cosigned import CosignedPass
from payments.sponsoring.passes import LeaseLost, Pass, pays_what_remains, pays_what_was_removed, unsent

logger = logging.getLogger(__name__)

Client = Callable[[Chain], ChainClient]

PAUSE = timedelta(seconds=2)
PAUSE_AFTER_FAILURE = timedelta(seconds=15)
# Nodes accept only a few unmined transactions from one account.
MAX_WAITING = 16
SENT_AGAIN_AFTER = timedelta(seconds=10)
STUCK_AFTER = timedelta(seconds=30)
STUCK_BLOCKS = 3

GAS_ACCOUNTS = Queue(
    model=GasAccount,
    due="next_look_at",
    owner="chain_id",
    waiting="next_look_at IS NOT NULL",
    lane="chain_id",
)


def relay_due(
    chain_id: int, *, client: Client = get_client, now: Callable[[], datetime] = timezone.now
) -> int:
    """Send what is due on this chain. Return how many accounts were due."""
    lease = GAS_ACCOUNTS.claim(now(), 1, chain_id)
    if not lease.keys:
        return 0
    chain = Chain.objects.get(pk=chain_id)
    with leases.kept(lease), log_context(chain_id=chain_id):
        account = GasAccount.objects.get(pk=lease.keys[0])
        pause: timedelta | None = PAUSE_AFTER_FAILURE
        columns: dict[str, Any] = {}
        try:
            chain_client = client(chain)
            has_nonces = chain_client.cosigning is None
            work = (_Pass if has_nonces else CosignedPass)(chain, account, lease, chain_client, now)
            columns = work.run()
            pause = PAUSE if work.is_waiting() else None
        except ChainError as error:
            logger.warning("nothing could be relayed on %s: %s", chain.name, error)
        except LeaseLost:
            return 1
        next_look = None if pause is None else now() + pause
        with transaction.atomic():
            held = GasAccount.objects.select_for_update(no_key=True).filter(
                pk=account.pk, claim_id=lease.claim_id
            )
            if held.exists():
                # A new authorization may have made the account due again meanwhile.
                if next_look is None and unsent(chain).exists():
                    next_look = now()
                GasAccount.objects.filter(pk=account.pk).update(**columns, next_look_at=next_look, **FREE)
    return 1


class _Pass(Pass):
    """One pass on a chain with nonces."""

    def __init__(
        self,
        chain: Chain,
        account: GasAccount,
        lease: Lease,
        client: ChainClient,
        now: Callable[[], datetime],
    ) -> None:
        rules, reader = terms.rules_of(chain), client.authorizations
        if rules is None or reader is None:
            raise ChainError(f"{chain.name} has no transfers by signature", permanent=True)
        super().__init__(chain, account, lease, client, now)
        self._rules, self._reader = rules, reader
        self._mined = 0

    def run(self) -> dict[str, Any]:
        """Do what is due. Return the columns to store in the account. Raises ChainError."""
        mined = self._client.transaction_counts([self._account.address])[self._account.address]
        self._mined = mined
        self._reopen_removed(mined)
        self._end_mined(mined)
        balance = self._client.balances(self._account.address, [""]).get("")
        waiting = [relay for relay in self._under_way() if _place(relay) >= mined]
        for relay in waiting:
            if self._is_due(relay.authorization):
                with self._alone(relay.authorization):
                    self._push(relay)
        self._relay_next(waiting, MAX_WAITING - len(waiting))
        return {"balance": balance, "looked_at": self._now()}

    def _reopen_removed(self, mined: int) -> None:
        """Reopen ended transactions that a reorganisation removed. They are sent again, because nodes mine no later
        nonce without them.

        Each one's maximum cost is reserved again, even if the budget has no room: without it, no replacement with
        higher fees could be signed. Each one waits as if it were signed now, because nodes may lag.

        A node that lags reports too low a number of mined transactions. So a transaction that is in a block stays
        ended. `fee` stays stored, so that the transaction is counted once when it ends again.
        """
        ended = Relay.objects.filter(account=self._account, ended_at__isnull=False, nonce__gte=mined)
        relays = list(ended.select_related("authorization").order_by("nonce")[:MAX_WAITING])
        if not relays:
            return
        snapshot = self._client.look_up(
            sorted({hash_ for relay in relays for hash_ in relay.hashes}), with_finality=False
        )
        removed = [relay for relay in relays if not _may_be_mined(relay, snapshot)]
        costs = [
            self._rules.max_cost(each.unsigned) + self._reader.data_fee(each.unsigned) for each in removed
        ]
        with transaction.atomic():
            self._require_lease()
            rows = Relay.objects.filter(pk__in=[relay.pk for relay in removed])
            rows.update(ended_at=None, signed_at=self._now())
            for relay, cost in zip(removed, costs, strict=True):
                if relay.authorization is not None:
                    reserved = Value(_spent(relay.authorization) + cost, BaseUnitsField())
                    stored = Authorization.objects.filter(pk=relay.authorization.pk)
                    stored.update(cost=Greatest("cost", reserved))
        for relay in removed:
            logger.warning("nonce %d of %s was reorganised away", relay.nonce, self._account)

    # --- mined transactions -----------------------------------------------------------------------------------------

    def _end_mined(self, mined: int) -> None:
        """End transactions whose nonce was used in a block that is deep enough. Store their cost."""
        past = [relay for relay in self._under_way() if _place(relay) < mined]
        used = [relay for relay in past if self._is_due(relay.authorization)]
        if not used:
            return
        finality = Finality.parse(self._chain.confirmations, self._chain.confirmations_fallback)
        hashes = sorted({hash_ for relay in used for hash_ in relay.hashes})
        snapshot = self._client.look_up(hashes, with_finality=finality.tag is not None)
        for relay in used:
            with self._alone(relay.authorization):
                self._end_used(relay, snapshot, finality)

    def _end_used(self, relay: Relay, snapshot: Snapshot, finality: Finality) -> None:
        facts = [snapshot.transactions.get(hash_) for hash_ in relay.hashes]
        done = next((each for each in facts if each is not None and each.block is not None), None)
        if done is not None and finality.is_reached(done, snapshot.head):
            self._end(relay, succeeded=done.succeeded, fee=done.network_fee)
            if not done.succeeded:
                self._postpone(relay.authorization)
        elif done is not None and not done.succeeded:
            # Count the failure against the payer now: many more transactions could fail before this one is deep
            # enough.
            Relay.objects.filter(pk=relay.pk, ended_at=None).update(succeeded=False)
        elif done is None and not snapshot.contradicted.intersection(relay.hashes):
            self._end_foreign(relay, snapshot.head, finality)

    def _end_foreign(self, relay: Relay, head: Head, finality: Finality) -> None:
        """End a transaction whose nonce was used by an unknown transaction.

        Wait first, because nodes may still find our own transaction: a worker may have sent it, and crashed before
        storing `sent_at`. If the transfer is still needed, wait only until the nonce was used in a block that is deep
        enough. Then the transfer is sent with another nonce before the signature expires. For example, a failover of
        the database may have lost the transaction that used this nonce.
        """
        waited = self._now() - relay.signed_at
        authorization = relay.authorization
        is_needed = authorization is not None and self._is_needed(relay, authorization.request)
        is_lost = is_needed and waited > STUCK_AFTER and self._is_used_for_good(relay, head, finality)
        if is_lost or waited > terms.LIFETIME:
            logger.error("nonce %d of %s was used by others with its key", relay.nonce, self._account)
            self._end(relay, succeeded=None, fee=None)

    def _is_used_for_good(self, relay: Relay, head: Head, finality: Finality) -> bool:
        """Whether the nonce was used in a block that is deep enough. False if no node can tell."""
        height = deep_enough(head, finality)
        if height is None:
            return False
        try:
            return self._reader.used_nonces(self._account.address, at_block=height) > _place(relay)
        except ChainError:
            return False

    # --- waiting transactions ---------------------------------------------------------------------------------------

    def _push(self, relay: Relay) -> None:
        """Send the transaction again. If it waits too long, raise its fees first.

        If it was never sent and is not needed any more, send an empty transaction in its place.
        """
        now = self._now()
        if self._must_not_be_sent(relay):
            relay = self._signed_again(relay) if self._key else relay
            if not self._must_not_be_sent(relay):
                self._send(relay)
            return
        block_time = timedelta(milliseconds=self._chain.block_time_ms)
        # A transaction that no node accepts counts as stuck too: its fees may be too low.
        is_stuck = now - relay.signed_at >= max(STUCK_AFTER, STUCK_BLOCKS * block_time)
        if is_stuck and self._key:
            relay = self._signed_again(relay)
        if relay.sent_at is None or now - relay.sent_at >= SENT_AGAIN_AFTER:
            self._send(relay)

    def _signed_again(self, relay: Relay) -> Relay:
        """Store the transaction with higher fees.

        An empty transaction replaces it if the authorization can't be used any more or no longer pays the unpaid
        rest. An empty transaction also replaces it if the budget has no room for the fees, and others wait for this
        nonce.

        The fees are raised only if they are too low. Otherwise the chain or the nodes are slow, and higher fees
        don't help.
        """
        authorization = relay.authorization
        empty = self._client.prepare(
            self._rules.empty_call(self._account.address),
            sender=self._account.address,
            spending=Spending("", 0),
            simulate=False,
        )
        if not isinstance(empty, dict):
            raise TypeError("a gas account's transaction is an object")
        if self._rules.is_ample(relay.unsigned, empty) and not self._must_not_be_sent(relay):
            return relay
        fees = _fees(relay.unsigned)
        raised = [self._rules.raised({**call, **fees}, empty) for call in (relay.unsigned, empty)]
        costs = [self._rules.max_cost(each) + self._reader.data_fee(each) for each in raised]
        with transaction.atomic():
            request = lock_request(authorization.request_id) if authorization is not None else None
            self._require_lease()
            is_needed = request is not None and self._is_needed(relay, request)
            may_be_empty = not is_needed or self._holds_up_others(relay)
            possible = list(zip(raised, costs, strict=True))[0 if is_needed else 1 : 2 if may_be_empty else 1]
            fits = partial(self._reserve, authorization, request)
            unsigned = next((each for each, cost in possible if fits(cost)), None)
            if unsigned is None:
                return relay
            signed = self._rules.sign(unsigned, _place(relay), self._key)
            if signed.hash in relay.hashes:
                return relay
            relay.hashes = [*relay.hashes, signed.hash]
            relay.raw, relay.unsigned, relay.signed_at, relay.sent_at = (
                signed.raw,
                unsigned,
                self._now(),
                None,
            )
            relay.save(update_fields=["hashes", "raw", "unsigned", "signed_at", "sent_at"])
            if authorization is not None and unsigned["to"] != empty["to"]:
                self._point_to(authorization, signed.hash)
        return relay

    def _must_not_be_sent(self, relay: Relay) -> bool:
        """Whether the transfer is not needed any more, and no node has accepted it yet."""
        authorization = relay.authorization
        is_empty = relay.unsigned.get("to") == self._account.address
        is_needed = authorization is not None and self._is_needed(relay, authorization.request)
        return relay.sent_at is None and not is_empty and not is_needed

    def _is_needed(self, relay: Relay, request: PaymentRequest) -> bool:
        """Whether the transfer pays the unpaid rest, or money that a reorganisation removed.

        The transfer may have completed its payment before the reorganisation. Until the finality check finds out, the
        payment is not `reorged`.
        """
        authorization = relay.authorization
        if authorization is None:
            return False
        if authorization.ended_at is None and pays_what_remains(authorization, request):
            return True
        payment, ends_at = authorization.payment, authorization.ends_at
        is_valid = ends_at is not None and ends_at > self._now()
        if payment is None or payment.status != Payment.Status.COMPLETED or not is_valid:
            return False
        is_unnoticed = not payment.reorged and payment.own_hash in relay.hashes
        return is_unnoticed or pays_what_was_removed(authorization, request)

    def _holds_up_others(self, relay: Relay) -> bool:
        later = Relay.objects.filter(account=self._account, ended_at__isnull=True, nonce__gt=relay.nonce)
        return later.exists() or unsent(self._chain).exists()

    def _reserve(
        self, authorization: Authorization | None, request: PaymentRequest | None, cost: int
    ) -> bool:
        """Reserve the cost of one more transaction, unless enough is reserved already. Return False if the budget has
        no room.
        """
        if authorization is None or request is None:
            return True
        stored = Authorization.objects.get(pk=authorization.pk)
        cost += _spent(stored)
        if cost <= (stored.cost or 0):
            return True
        if stored.day is None or not budgets.may_reserve(request, cost, stored.day, besides=stored.pk):
            return False
        Authorization.objects.filter(pk=stored.pk).update(cost=cost)
        return True

    # --- new transactions -------------------------------------------------------------------------------------------

    def _relay(self, authorization: Authorization) -> bool:
        """Store and send a transaction of an authorization. Return False if it would fail or cost too much now."""
        if authorization.ends_at is None or authorization.ends_at <= self._now():
            return False
        if not self._lease.holds(self._account.pk):
            raise LeaseLost
        call = self._rules.transfer_call(authorization.terms, bytes(authorization.signature or b""))
        try:
            unsigned = self._client.prepare(call, sender=self._account.address, spending=Spending("", 0))
        except TransferRefused as refusal:
            # The payer may have moved the money, or the account lacks coin. The transfer is tried again until the
            # authorization ends.
            logger.warning("authorization %d is not sent: %s", authorization.pk, refusal)
            return False
        if not isinstance(unsigned, dict) or int(unsigned["gas"], 16) > terms.MAX_GAS:
            return False
        relay = self._stored(authorization, unsigned, self._reader.data_fee(unsigned))
        if relay is not None:
            self._send(relay)
        return relay is not None

    def _stored(self, authorization: Authorization, unsigned: dict[str, Any], data_fee: int) -> Relay | None:
        """Store the transaction with the next nonce. Return None if its payment was decided or dropped meanwhile."""
        with transaction.atomic():
            request, stored = self._locked(authorization)
            if stored is None or stored.day is None:
                return None
            reserved, spent = stored.cost or 0, _spent(stored)
            cost = max(spent + self._rules.max_cost(unsigned) + data_fee, reserved)
            if cost > reserved and not budgets.may_reserve(request, cost, stored.day, besides=stored.pk):
                # The budget has no room for more, so limit the fees to the reserved cost. If that is too little,
                # don't send the transaction: it would delay every later nonce.
                capped = self._rules.capped(unsigned, reserved - spent - data_fee)
                if capped is None:
                    return None
                unsigned, cost = capped, reserved
            account = GasAccount.objects.get(pk=self._account.pk)
            nonce = max(account.next_nonce or 0, self._mined)
            signed: SignedTransaction = self._rules.sign(unsigned, nonce, self._key)
            relay = Relay.objects.create(
                account=account,
                nonce=nonce,
                authorization=stored,
                hashes=[signed.hash],
                raw=signed.raw,
                unsigned=unsigned,
                signed_at=self._now(),
            )
            GasAccount.objects.filter(pk=account.pk).update(next_nonce=nonce + 1)
            Authorization.objects.filter(pk=stored.pk).update(cost=cost)
            self._point_to(stored, signed.hash)
        return relay


def _place(relay: Relay) -> int:
    if relay.nonce is None:
        raise TypeError("a gas account's transaction has a nonce")
    return relay.nonce


def _may_be_mined(relay: Relay, snapshot: Snapshot) -> bool:
    facts = [snapshot.transactions.get(hash_) for hash_ in relay.hashes]
    is_mined = any(each is not None and each.block is not None for each in facts)
    return is_mined or not snapshot.contradicted.isdisjoint(relay.hashes)


def _spent(authorization: Authorization) -> int:
    """Return the total cost of the authorization's earlier, failed transactions."""
    ended = Relay.objects.filter(authorization=authorization, ended_at__isnull=False)
    return int(ended.aggregate(total=Sum("fee"))["total"] or 0)


def _fees(unsigned: dict[str, Any]) -> dict[str, Any]:
    names = ("gasPrice", "maxFeePerGas", "maxPriorityFeePerGas")
    return {name: unsigned[name] for name in names if name in unsigned}


def deep_enough(head: Head, finality: Finality) -> int | None:
    """Return the height of the newest block that is as deep as the chain requires, or None."""
    if finality.confirmations is not None:
        return max(head.latest - finality.confirmations + 1, 0)
    return head.tagged(finality.tag or "finalized")
