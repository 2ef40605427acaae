"""Following swaps under way: their providers are asked what became of them, and where to look for the delivery.

1. Claim: a provider's due swaps, some at a time, under a lease and a heartbeat as in `payments.verification.leasing`.
2. Ask: outside any transaction, one swap after the other; each answer is read by `payments.swaps.status`, pure.
3. Write: one transaction for each, guarded by the claim id.

What a provider says credits nothing. A delivery that it names is looked up by `payments.verification.engine`, with the
other payments of that chain.
"""

import logging
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from config import leases
from config.leases import Lease
from payments.models import Payment
from payments.providers.base import ProviderDown, RoutingProvider, SwapStatus
from payments.providers.registry import get_provider, provider_name
from payments.swaps import outcomes as swap_outcomes
from payments.swaps.status import (
    Delivered,
    Ended,
    Journey,
    UnderWay,
    Unproved,
    pause_seconds,
    read_status,
)
from payments.verification import retry_policy
from payments.verification.leasing import at_the_provider, claim, due_payments

logger = logging.getLogger(__name__)

BATCH = 20
# No call begins after this long in one turn, well within the time for which a lease is renewed.
TURN_SECONDS = 25.0
# A provider that gave no answer so many times in a row is not asked about the others of the turn, for a while.
SILENCES = 2
REST = timedelta(seconds=10)

Provider = Callable[[str], RoutingProvider]
Clock = Callable[[], datetime]


def follow_swaps(*, provider: Provider = get_provider, now: Clock = timezone.now) -> int:
    """Ask each provider about its due swaps, one provider after the other; return how many were claimed."""
    return sum(follow_provider(key, provider=provider, now=now) for key in providers_with_due_swaps(now()))


def providers_with_due_swaps(now: datetime) -> list[str]:
    """Return the keys of the providers that are to be asked about a swap now."""
    return sorted(set(_due(now).order_by().values_list("provider", flat=True)))


def follow_provider(key: str, *, provider: Provider = get_provider, now: Clock = timezone.now) -> int:
    """Ask one provider about some of its due swaps; return how many were claimed."""
    lease, payments = claim(_due(now()).filter(provider=key), BATCH)
    if payments:
        with leases.kept(lease):
            _ask(key, payments, lease, provider, now)
    return len(payments)


def _due(now: datetime) -> QuerySet[Payment]:
    return due_payments(now).filter(at_the_provider())


def _ask(key: str, payments: Sequence[Payment], lease: Lease, provider: Provider, now: Clock) -> None:
    claim_id = lease.claim_id
    until = time.monotonic() + TURN_SECONDS
    silences = 0
    for payment in payments:
        if not lease.holds(payment.pk):
            logger.warning("lost the lease of payment %s before its provider was asked", payment.pk)
            continue
        if silences >= SILENCES:
            swap_outcomes.put_off(payment, claim_id, now() + REST)
            continue
        if time.monotonic() > until:
            swap_outcomes.put_off(payment, claim_id, now())
            continue
        try:
            silences = 0 if _follow(key, payment, claim_id, provider, now) else silences + 1
        except Exception:
            # One swap's trouble must not keep the others waiting, nor last longer than a day.
            logger.exception("the swap of payment %s could not be followed", payment.pk)
            pause = retry_policy.before_asking_again(payment.unanswered_looks, None)
            next_look = now() + pause
            swap_outcomes.keep_silent(payment, claim_id, provider_name(key), next_look=next_look, now=now())


def _follow(key: str, payment: Payment, claim_id: uuid.UUID, provider: Provider, now: Clock) -> bool:
    """Ask about one swap and write what follows; return whether the provider gave a usable answer."""
    if payment.quote is None:
        raise ValueError("a swap under way has a quote")
    try:
        status = _provider(key, provider).status(payment.quote.tracking, payment.transaction_hash)
    except ProviderDown as error:
        pause = retry_policy.before_asking_again(payment.unanswered_looks, error.retry_after)
        swap_outcomes.keep_silent(payment, claim_id, provider_name(key), next_look=now() + pause, now=now())
        return False
    _write(payment, status, claim_id, now())
    return True


def _provider(key: str, provider: Provider) -> RoutingProvider:
    try:
        return provider(key)
    except KeyError as error:
        raise ProviderDown(f"there is no provider {key!r}") from error


def _write(payment: Payment, status: SwapStatus, claim_id: uuid.UUID, now: datetime) -> None:
    journey = _journey(payment)
    match word := read_status(status, journey):
        case UnderWay():
            pause = pause_seconds(payment.bridge_looks, status.retry_after)
            swap_outcomes.keep_following(
                payment,
                claim_id,
                word,
                status,
                journey.provider,
                next_look=now + timedelta(seconds=pause),
                now=now,
            )
        case Delivered():
            swap_outcomes.look_for_delivery(payment, claim_id, word, status, journey.provider, now)
        case Unproved():
            swap_outcomes.reject_delivery(payment, claim_id, word, now, status=status)
        case Ended():
            swap_outcomes.end(payment, claim_id, word, status, now)


def _journey(payment: Payment) -> Journey:
    chain = payment.request.chain
    return Journey(
        provider=provider_name(payment.provider),
        from_chain=payment.chain.name,
        to_chain=chain.name,
        chain_id=chain.pk,
        chain_type=chain.chain_type,
        symbol=payment.request.token.symbol,
        token=payment.request.token.contract_address,
        recipient=payment.request.recipient_address,
    )
