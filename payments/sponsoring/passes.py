"""What a pass over an account's transactions has in common on all chains: the lease, storing, sending and the cost."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet

from chains.client import ChainClient, ChainError
from chains.facts.authorizations import Sent
from chains.models import Chain
from config.due_work.leases import Lease
from payments.models import Authorization, GasAccount, Payment, PaymentRequest, Relay
from payments.requests.lifecycle import lock_request
from payments.requests.unsent import drop_unsent
from payments.sponsoring import metrics, terms
from payments.sponsoring.uses import follow

logger = logging.getLogger(__name__)

PAUSE_POSTPONED = timedelta(seconds=5)
CHANGED = (
    "Another payment arrived before the signed transfer was sent, so it was not sent. Nothing was paid by it."
)


class LeaseLost(Exception):
    """Another worker may hold the account."""


def unsent(chain: Chain) -> QuerySet[Authorization]:
    """Return the authorizations that wait for their first transaction."""
    return Authorization.objects.filter(
        chain=chain, signed_at__isnull=False, ended_at__isnull=True, relays__isnull=True
    )


class Pass:
    """One pass over an account's transactions and the authorizations that wait for one.

    `_key` is the account's private key, empty if it was replaced.
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

    def _next(self) -> QuerySet[Authorization]:
        """Return the authorizations to send, new ones first: those that could not be sent must not hold up others."""
        is_due = Q(postponed_at=None) | Q(postponed_at__lte=self._now() - PAUSE_POSTPONED)
        first = F("postponed_at").asc(nulls_first=True)
        return unsent(self._chain).filter(is_due).order_by(first, "signed_at")

    def _postpone(self, authorization: Authorization) -> None:
        Authorization.objects.filter(pk=authorization.pk).update(postponed_at=self._now())

    def is_waiting(self) -> bool:
        return self._under_way().exists() or unsent(self._chain).exists()

    def _under_way(self) -> QuerySet[Relay]:
        rows = Relay.objects.filter(account=self._account, ended_at__isnull=True)
        return rows.select_related("authorization__token", "authorization__payment").order_by("nonce")

    def _end(self, relay: Relay, *, succeeded: bool | None, fee: int | None) -> None:
        with transaction.atomic():
            self._require_lease()
            Relay.objects.filter(pk=relay.pk).update(ended_at=self._now(), succeeded=succeeded, fee=fee)
            if relay.authorization is not None:
                settle_cost(relay.authorization)
        metrics.count_ended(self._chain, succeeded=succeeded, fee=fee)

    def _send(self, relay: Relay) -> None:
        if not self._lease.holds(self._account.pk):
            raise LeaseLost
        # A node that accepted it may not have passed it on.
        sent = self._send_raw(relay.raw, to_all=relay.sent_at is not None)
        if sent is not Sent.REJECTED:
            if relay.sent_at is None and len(relay.hashes) == 1:
                metrics.count_sent(self._chain)
            Relay.objects.filter(pk=relay.pk).update(sent_at=self._now())
        else:
            logger.warning("no node takes %s of %s", relay, self._account)

    def _send_raw(self, raw: str, *, to_all: bool) -> Sent:
        """Send signed bytes to the nodes. Raises ChainError."""
        reader = self._client.authorizations or self._client.cosigning
        if reader is None:
            raise ChainError(f"{self._chain.name} has no sponsored payments", permanent=True)
        return reader.send(raw, to_all=to_all)

    def _locked(self, authorization: Authorization) -> tuple[PaymentRequest, Authorization | None]:
        """Lock the request, the lease and the authorization.

        It is None if its payment was decided or dropped; it is dropped here if another payment has arrived meanwhile.
        """
        request = lock_request(authorization.request_id)
        self._require_lease()
        rows = Authorization.objects.select_for_update(of=("self",), no_key=True)
        stored = rows.filter(pk=authorization.pk, ended_at__isnull=True).first()
        if stored is not None and request.amount_remaining != stored.amount:
            drop_unsent(request, self._now(), actor="sponsoring", message=CHANGED)
            return request, None
        return request, stored

    def _point_to(self, authorization: Authorization, transaction_hash: str) -> None:
        """Let the payment follow the newest transaction, unless another one has used the authorization."""
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


def settle_cost(authorization: Authorization) -> None:
    """Write what the authorization cost, once nothing of it can be mined any more."""
    relays = list(Relay.objects.filter(authorization=authorization))
    if any(relay.succeeded is not None and relay.fee is None for relay in relays):
        return  # the receipt doesn't show all of the fee, so the most that it can be stays reserved
    if all(relay.ended_at is not None for relay in relays):
        has_opened = authorization.deposit is not None and any(relay.succeeded for relay in relays)
        deposit = authorization.deposit if has_opened else None
        spent = sum(relay.fee or 0 for relay in relays) + (deposit or 0)
        row = Authorization.objects.filter(pk=authorization.pk)
        if relays or row.filter(ended_at__isnull=False).exists():
            row.update(cost=spent, deposit=deposit)
