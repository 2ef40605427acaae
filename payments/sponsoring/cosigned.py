"""Send transactions that the payer signs first and the operator's account signs last (Solana).

A transaction can't change once the payer has signed it, and it has no nonce. So it is sent again until it is in a
final block, or until its authorization can't be used any more (`settling`). A node simulates it before each send. If
it would fail, it isn't sent, so it costs nothing.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from chains.client import ChainClient, ChainError, Snapshot
from chains.models import Chain
from config.due_work.leases import Lease
from payments.evaluation.verdicts import Finality
from payments.models import Authorization, FailureCode, GasAccount, Payment, Relay
from payments.sponsoring import terms
from payments.sponsoring.passes import LeaseLost, Pass, pays_what_remains

MAX_WAITING = 64
MAX_RETRIED = 16
_FINAL = Finality.parse("finalized")


class CosignedPass(Pass):
    """One pass: handle an account's transactions, and payers' transactions that wait for the account's signature."""

    def __init__(
        self,
        chain: Chain,
        account: GasAccount,
        lease: Lease,
        client: ChainClient,
        now: Callable[[], datetime],
    ) -> None:
        rules = terms.cosigning_of(chain)
        if rules is None or client.cosigning is None:
            raise ChainError(f"{chain.name} has no transactions with two signatures", permanent=True)
        super().__init__(chain, account, lease, client, now)
        self._rules = rules

    def run(self) -> dict[str, Any]:
        """Do what is due. Return the columns to store in the account. Raises ChainError."""
        waiting = self._end_decided()
        balance = self._client.balances(self._account.address, [""]).get("")
        # Send new transactions first. Only transactions that a node accepted count towards the maximum: otherwise,
        # the others could block all new ones.
        accepted = sum(relay.sent_at is not None and _postponed_at(relay) is None for relay in waiting)
        self._relay_next(waiting, MAX_WAITING - accepted)
        for relay in self._to_send_again(waiting):
            with self._alone(relay.authorization):
                self._send_or_postpone(relay)
        return {"balance": balance, "looked_at": self._now()}

    def _to_send_again(self, waiting: Sequence[Relay]) -> list[Relay]:
        """Return the transactions to send again: all that a node accepted before, and some that no node accepts now.

        A transaction is not sent again if its request was paid in another way.
        """
        useful = [relay for relay in waiting if _is_useful(relay)]
        postponed = {relay.pk: at for relay in useful if (at := _postponed_at(relay)) is not None}
        accepted = [relay for relay in useful if relay.pk not in postponed]
        due = [relay for relay in useful if relay.pk in postponed and self._is_due(relay.authorization)]
        return [*accepted, *sorted(due, key=lambda relay: postponed[relay.pk])[:MAX_RETRIED]]

    def _send_or_postpone(self, relay: Relay) -> None:
        is_accepted, authorization = self._send(relay), relay.authorization
        if authorization is None:
            return
        if not is_accepted:
            self._postpone(authorization)
        elif authorization.postponed_at is not None:
            Authorization.objects.filter(pk=authorization.pk).update(postponed_at=None)

    def _end_decided(self) -> list[Relay]:
        """End transactions that are in final blocks, and store their cost. End those that can't be mined any more.

        Return the transactions that are in no block.
        """
        relays = list(self._under_way())
        if not relays:
            return []
        snapshot = self._client.look_up([relay.hashes[0] for relay in relays], with_finality=True)
        waiting = []
        for relay in relays:
            if not self._is_due(relay.authorization):
                waiting.append(relay)
                continue
            with self._alone(relay.authorization):
                if not self._decide(relay, snapshot):
                    waiting.append(relay)
        return waiting

    def _decide(self, relay: Relay, snapshot: Snapshot) -> bool:
        """End the transaction if it is final or dead. Return False if it is in no block but may still be mined."""
        hash_ = relay.hashes[0]
        facts = snapshot.transactions.get(hash_)
        if facts is not None and facts.block is not None:
            if _FINAL.is_reached(facts, snapshot.head):
                self._end(relay, succeeded=facts.succeeded, fee=facts.network_fee)
            elif not facts.succeeded:
                # Count the failure against the payer now: many more transactions could fail before this one is final.
                Relay.objects.filter(pk=relay.pk, ended_at=None).update(succeeded=False)
            return True
        if hash_ in snapshot.contradicted:
            return True
        if _is_dead(relay) or self._is_lost(relay):
            self._end(relay, succeeded=None, fee=None)
            return True
        return False

    def _is_lost(self, relay: Relay) -> bool:
        """Whether a fork removed the transaction of a decided payment. The finality check reports that payment."""
        is_decided = relay.authorization is None or relay.authorization.ended_at is not None
        return is_decided and self._now() - relay.signed_at > terms.LIFETIME

    def _relay(self, authorization: Authorization) -> bool:
        """Sign, store and send an authorization's transaction. Return False if this account can't sign it."""
        unsigned = bytes(authorization.transaction or b"")
        if self._rules.fee_payer_of(unsigned) != self._account.address:
            return False
        if not self._lease.holds(self._account.pk):
            raise LeaseLost
        relay = self._stored(authorization, unsigned)
        if relay is not None:
            self._send_or_postpone(relay)
        return relay is not None

    def _stored(self, authorization: Authorization, unsigned: bytes) -> Relay | None:
        """Store the signed transaction. Return None if its payment was decided or dropped meanwhile."""
        signed = self._rules.sign(unsigned, self._key)
        with transaction.atomic():
            _, stored = self._locked(authorization)
            if stored is None:
                return None
            relay = Relay.objects.create(
                account=self._account,
                authorization=stored,
                hashes=[signed.hash],
                raw=signed.raw,
                unsigned=signed.unsigned,
                signed_at=self._now(),
            )
            self._point_to(stored, signed.hash)
        return relay


def _is_dead(relay: Relay) -> bool:
    payment: Payment | None = relay.authorization.payment if relay.authorization is not None else None
    return payment is not None and payment.failure_code == FailureCode.AUTHORIZATION_EXPIRED


def _postponed_at(relay: Relay) -> datetime | None:
    return relay.authorization.postponed_at if relay.authorization is not None else None


def _is_useful(relay: Relay) -> bool:
    """Whether it still makes sense to send the transaction.

    Sending makes sense if the transaction pays the unpaid rest. It also makes sense if the transaction's payment
    is decided, because a fork may have removed the transaction.
    """
    authorization = relay.authorization
    if authorization is None or authorization.payment is None or not authorization.payment.is_open:
        return True
    return pays_what_remains(authorization, authorization.request)
