"""Poll routing providers for the status of swaps in progress.

1. Lease a batch of one provider's due swaps, and renew the lease while working, as in `payments.verification.leasing`.
2. Poll one swap after the other, outside any transaction. `payments.swaps.status` interprets each response.
3. Store each result in a transaction of its own, if the claim id is unchanged (`payments.verification.storing`).

A provider's status never credits a payment. If the status reports a delivery, `payments.verification.engine` looks up
the reported transaction in a batch with the chain's other payments.
"""

import logging
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.utils import timezone

from chains.client import ChainClient
from chains.families import get_client
from chains.models import Chain
from config.api.log_context import log_context
from config.due_work import leases
from config.due_work.leases import Lease
from config.due_work.queue import Queue
from config.tracing.recording import traced
from payments.evaluation import retry_policy
from payments.models import Payment, Swap
from payments.providers.base import ProviderDown, RoutingProvider, SwapStatus
from payments.providers.registry import get_provider, provider_name
from payments.swaps import outcomes as swap_outcomes
from payments.swaps.redelivery import follow_again
from payments.swaps.status import (
    Delivered,
    Ended,
    Journey,
    UnderWay,
    Unproved,
    pause_seconds,
    read_status,
)
from payments.verification.outcomes import Failed, Postponed
from payments.verification.storing import store

logger = logging.getLogger(__name__)

BATCH = 20
# A worker starts no more calls of a batch after this time. The lease can be renewed for much longer.
TURN_SECONDS = 25.0
# After this many calls in a row without a response, the batch's other swaps are postponed.
MAX_UNANSWERED = 2
COOLDOWN = timedelta(seconds=10)
# Of a merchant's swaps, those with fewer unconfirmed deliveries come first.
SWAPS = Queue(
    model=Swap,
    due="next_poll_at",
    owner="(SELECT merchant_id FROM payments_lookup WHERE of_payment_id = payments_swap.payment_id)",
    lane="provider",
    order="attempts, next_poll_at",
)

Client = Callable[[Chain], ChainClient]
Provider = Callable[[str], RoutingProvider]
Clock = Callable[[], datetime]


def follow_provider(
    key: str,
    *,
    provider: Provider = get_provider,
    client: Client = get_client,
    now: Clock = timezone.now,
) -> int:
    """Poll one provider for a batch of its due swaps. Return the number of swaps."""
    lease = SWAPS.claim(now(), BATCH, key)
    request = ("payment__request__chain", "payment__request__token")
    related = ("payment__chain", "payment__quote", "payment__lookup", "delivery")
    swaps = Swap.objects.filter(pk__in=lease.keys).order_by("next_poll_at")
    payments = [swap.payment for swap in swaps.select_related(*request, *related)]
    with leases.kept(lease):
        _ask(key, payments, lease, provider, client, now)
    return len(payments)


def _ask(
    key: str, payments: Sequence[Payment], lease: Lease, provider: Provider, client: Client, now: Clock
) -> None:
    until = time.monotonic() + TURN_SECONDS
    unanswered = 0
    for payment in payments:
        if not lease.holds(payment.pk):
            logger.warning("lost the lease of payment %s before its provider was polled", payment.pk)
            continue
        if unanswered >= MAX_UNANSWERED or time.monotonic() > until:
            later = now() + COOLDOWN if unanswered >= MAX_UNANSWERED else now()
            store([Postponed(payment, None, None, swap={"next_poll_at": later})], lease.claim_id, now())
            continue
        with (
            log_context(payment_id=payment.pk, payment_request_id=payment.request_id),
            traced("follow swap"),
        ):
            try:
                is_answered = _follow(key, payment, lease.claim_id, provider, client, now)
                unanswered = 0 if is_answered else unanswered + 1
            except Exception:
                # The failure of one swap must not delay the others. Postpone the swap: it times out after a
                # day.
                logger.exception("the swap of payment %s could not be followed", payment.pk)
                store([_silent(key, payment, None, now())], lease.claim_id, now())


def _follow(
    key: str, payment: Payment, claim_id: uuid.UUID, provider: Provider, client: Client, now: Clock
) -> bool:
    """Poll the status of a swap and store the outcome. Return True if the provider gave a usable response."""
    if payment.quote is None:
        raise ValueError("a swap in progress has a quote")
    try:
        status = _provider(key, provider).status(payment.quote.tracking, payment.own_hash)
    except ProviderDown as error:
        if payment.status == Payment.Status.COMPLETED:
            follow_again(payment, None, claim_id, client, now())
            return False
        store([_silent(key, payment, error.retry_after, now())], claim_id, now())
        return False
    if payment.status == Payment.Status.COMPLETED:
        progress = read_status(status, _journey(payment))
        delivered = progress if isinstance(progress, Delivered) else None
        follow_again(payment, delivered, claim_id, client, now())
        return True
    store([_outcome(payment, status, now())], claim_id, now())
    return True


def _silent(key: str, payment: Payment, retry_after: float | None, now: datetime) -> Failed | Postponed:
    pause = retry_policy.pause_after_no_answer(payment.unanswered_looks, retry_after)
    return swap_outcomes.silent(payment, provider_name(key), next_check=now + pause, now=now)


def _provider(key: str, provider: Provider) -> RoutingProvider:
    try:
        return provider(key)
    except KeyError as error:
        raise ProviderDown(f"there is no provider {key!r}") from error


def _outcome(payment: Payment, status: SwapStatus, now: datetime) -> Failed | Postponed:
    journey = _journey(payment)
    match progress := read_status(status, journey):
        case UnderWay():
            next_check = now + timedelta(seconds=pause_seconds(payment.swap.polls, status.retry_after))
            return swap_outcomes.under_way(
                payment, progress, status, journey.provider, next_check=next_check, now=now
            )
        case Delivered():
            return swap_outcomes.reported(payment, progress, status, journey.provider)
        case Unproved():
            return swap_outcomes.unproved(payment, progress, now, status=status)
        case Ended():
            return swap_outcomes.ended(payment, progress, status)


def _journey(payment: Payment) -> Journey:
    chain = payment.request.chain
    return Journey(
        provider=provider_name(payment.swap.provider),
        from_chain=payment.chain.name,
        to_chain=chain.name,
        chain_id=chain.pk,
        chain_type=chain.chain_type,
        symbol=payment.request.token.symbol,
        token=payment.request.token.contract_address,
        recipient=payment.request.recipient_address,
    )
