"""A pass handles a gas account's transactions. This module has the steps that all chains share."""

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from chains.client import ChainClient, ChainError
from chains.facts.authorizations import Sent
from chains.models import Chain
from config.api.log_context import log_context
from config.due_work.leases import Lease
from payments.models import Authorization, GasAccount, Payment, PaymentRequest, Relay
from payments.requests.lifecycle import lock_request
from payments.requests.unsent import drop_unsent
from payments.sponsoring import budgets, metrics, terms
from payments.sponsoring.uses import follow

logger = logging.getLogger(__name__)

PAUSE_POSTPONED = timedelta(seconds=5)
LONGEST_PAUSE_POSTPONED = timedelta(minutes=1)
# The pause is the age of the signature divided by this number, but at least PAUSE_POSTPONED.
_PART_OF_AGE = 20
MAX_WAITING_OF_PAYER = 4
MAX_CONSIDERED = 200
CHANGED = (
    "Another payment arrived before the signed transfer was sent, so it was not sent. Nothing was paid by it."
)


class LeaseLost(Exception):
    """Another worker may have the account's lease."""


def unsent(chain: Chain) -> QuerySet[Authorization]:
    """Return the authorizations that wait for a transaction: their first one, or another one after a failure.

    A signature can be used after its transaction failed in a block, unless the payer signed that whole transaction. A
    new transaction must wait until that block is deep and the cost of the failure is known. Failures bar the payer,
    so there are few such authorizations. A signature can also be used if an unknown transaction used its transaction's
    nonce.
    """
    signed = Authorization.objects.filter(chain=chain, signed_at__isnull=False, ended_at__isnull=True)
    relays = Relay.objects.filter(authorization=OuterRef("pk"))
    has_failed = Q(succeeded=False, fee__isnull=False) | Q(succeeded__isnull=True)
    all_have_failed = ~Exists(relays.exclude(has_failed, ended_at__isnull=False))
    return signed.filter(~Exists(relays) | Q(all_have_failed, transaction__isnull=True))


class Pass(ABC):
    """One pass: handle an account's transactions, and the authorizations that wait for a transaction.

    `_key` is the account's private key. `_key` is "" if the operator has replaced the key.
    """

    def __init__(
        self,
        chain: Chain,
        account: GasAccount,
        lease: Lease,
        client: ChainClient,
        now: Callable[[], datetime],
    ) -> None:
        self._chain = chain
        self._account = account
        self._lease = lease
        self._client = client
        self._now = now
        self._key = terms.key_of(chain) if terms.address_of(chain) == account.address else ""

    @abstractmethod
    def _relay(self, authorization: Authorization) -> bool:
        """Store and send a transaction of an authorization. Return False if that is not possible now."""

    def _relay_next(self, waiting: Sequence[Relay], room: int) -> None:
        """Send transactions of at most `room` authorizations.

        Each payer may have only a few unmined transactions, because all of them fail if the payer empties the wallet.
        """
        if not self._key:
            self._hand_over()
            return
        places = Counter(relay.authorization.payer for relay in waiting if relay.authorization is not None)
        full = [payer for payer, taken in places.items() if taken >= MAX_WAITING_OF_PAYER]
        for each in self._next().exclude(payer__in=full)[:MAX_CONSIDERED]:
            if room <= 0:
                return
            if places[each.payer] >= MAX_WAITING_OF_PAYER or not self._is_due(each):
                continue
            room -= 1
            with self._alone(each):
                is_barred = each.day is not None and budgets.is_barred(each.payer, each.day)
                if not is_barred and self._relay(each):
                    places[each.payer] += 1
                else:
                    self._postpone(each)

    def _hand_over(self) -> None:
        """Make the account of the current key due, because this account's key was replaced."""
        successor = budgets.gas_account(self._chain)
        if successor is not None and unsent(self._chain).exists():
            GasAccount.objects.filter(pk=successor.pk, next_look_at=None).update(next_look_at=self._now())

    def _next(self) -> QuerySet[Authorization]:
        """Return the authorizations to send. Postponed ones come last, so that they don't delay the others."""
        first = F("postponed_at").asc(nulls_first=True)
        return unsent(self._chain).order_by(first, "signed_at")

    @contextmanager
    def _alone(self, authorization: Authorization | None) -> Iterator[None]:
        """Log an unexpected error and postpone the authorization, so that the pass goes on with other authorizations.

        If no node sends a usable response, the pass ends. The next pass begins with other authorizations.
        """
        ids = {}
        if authorization is not None:
            ids = {"payment_id": authorization.payment_id, "payment_request_id": authorization.request_id}
        with log_context(**ids):
            try:
                yield
            except LeaseLost:
                raise
            except ChainError:
                self._postpone(authorization)
                raise
            except Exception:
                logger.exception("a signed transfer could not be relayed")
                self._postpone(authorization)

    def _postpone(self, authorization: Authorization | None) -> None:
        if authorization is not None:
            Authorization.objects.filter(pk=authorization.pk).update(postponed_at=self._now())

    def _is_due(self, authorization: Authorization | None) -> bool:
        """Whether the authorization is not postponed any more."""
        if authorization is None or authorization.postponed_at is None:
            return True
        now = self._now()
        age = now - (authorization.signed_at or now)
        pause = min(max(age / _PART_OF_AGE, PAUSE_POSTPONED), LONGEST_PAUSE_POSTPONED)
        return now - authorization.postponed_at >= pause

    def is_waiting(self) -> bool:
        return self._under_way().exists() or unsent(self._chain).exists()

    def _under_way(self) -> QuerySet[Relay]:
        rows = Relay.objects.filter(account=self._account, ended_at__isnull=True)
        related = ("authorization__token", "authorization__payment", "authorization__request")
        return rows.select_related(*related).order_by("nonce")

    def _end(self, relay: Relay, *, succeeded: bool | None, fee: int | None) -> None:
        with transaction.atomic():
            self._require_lease()
            # A transaction that ended before, and was then reorganised away, has a fee. Nodes that lag don't unset it.
            is_lost = succeeded is None and relay.fee is not None
            result = {} if is_lost else {"succeeded": succeeded, "fee": fee}
            Relay.objects.filter(pk=relay.pk).update(ended_at=self._now(), **result)
            if relay.authorization is not None:
                settle_cost(relay.authorization)
        if relay.fee is None:  # else it ended before, and was then reorganised away
            metrics.count_ended(self._chain, succeeded=succeeded, fee=fee)

    def _send(self, relay: Relay) -> bool:
        """Send the stored bytes. Return True if a node may have accepted them."""
        if not self._lease.holds(self._account.pk):
            raise LeaseLost
        # On a repeat, send to all nodes: the first node may not have passed the transaction on.
        sent = self._send_raw(relay.raw, to_all=relay.sent_at is not None)
        if sent is not Sent.REJECTED:
            if relay.sent_at is None and len(relay.hashes) == 1:
                metrics.count_sent(self._chain)
            Relay.objects.filter(pk=relay.pk).update(sent_at=self._now())
            return True
        logger.warning("no node takes %s of %s", relay, self._account)
        return False

    def _send_raw(self, raw: str, *, to_all: bool) -> Sent:
        """Send signed bytes to the nodes. Raises ChainError."""
        reader = self._client.authorizations or self._client.cosigning
        if reader is None:
            raise ChainError(f"{self._chain.name} has no sponsored payments", permanent=True)
        return reader.send(raw, to_all=to_all)

    def _locked(self, authorization: Authorization) -> tuple[PaymentRequest, Authorization | None]:
        """Lock the request, the lease and the authorization.

        Return None as the authorization if its payment was decided or dropped, or if another gas account has stored a
        transaction of it. If another payment has arrived meanwhile, the authorization is dropped here.
        """
        request = lock_request(authorization.request_id)
        self._require_lease()
        rows = unsent(self._chain).select_for_update(of=("self",), no_key=True)
        stored = rows.filter(pk=authorization.pk).first()
        if stored is None:
            return request, None
        if not (pays_what_remains(stored, request) or pays_what_was_removed(stored, request)):
            drop_unsent(request, self._now(), actor="sponsoring", message=CHANGED)
            return request, None
        return request, stored

    def _point_to(self, authorization: Authorization, transaction_hash: str) -> None:
        """Let the payment follow this newest transaction, unless another transaction has used the authorization."""
        payment = Payment.objects.select_related("lookup").get(pk=authorization.payment_id)
        if payment.is_open and payment.lookup.block_number is None:
            follow(payment, transaction_hash, self._now())

    def _require_lease(self) -> None:
        """Lock the account's row until the transaction ends. Raises LeaseLost."""
        held = GasAccount.objects.select_for_update(no_key=True).filter(
            pk=self._account.pk, claim_id=self._lease.claim_id
        )
        if not (self._lease.holds(self._account.pk) and held.exists()):
            raise LeaseLost


def pays_what_remains(authorization: Authorization | None, request: PaymentRequest) -> bool:
    return authorization is not None and request.amount_remaining == authorization.amount


def pays_what_was_removed(authorization: Authorization, request: PaymentRequest) -> bool:
    """Whether a reorganisation removed the authorization's completed payment, and the request still lacks the money."""
    payment = authorization.payment
    if payment is None or payment.status != Payment.Status.COMPLETED or not payment.reorged:
        return False
    return request.amount_counted + authorization.amount <= request.amount


def settle_cost(authorization: Authorization) -> None:
    """Store the authorization's actual cost, once none of its transactions can be mined any more."""
    relays = list(Relay.objects.filter(authorization=authorization))
    if any(relay.succeeded is not None and relay.fee is None for relay in relays):
        return  # the receipt doesn't show the whole fee, so the maximum stays reserved
    if all(relay.ended_at is not None for relay in relays):
        has_opened = authorization.deposit is not None and any(relay.succeeded for relay in relays)
        deposit = authorization.deposit if has_opened else None
        spent = sum(relay.fee or 0 for relay in relays) + (deposit or 0)
        row = Authorization.objects.filter(pk=authorization.pk)
        if relays or row.filter(ended_at__isnull=False).exists():
            row.update(cost=spent, deposit=deposit)
