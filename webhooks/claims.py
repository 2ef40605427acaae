"""Due deliveries, each held by one worker at a time (contract 9).

A claim is a lease in the row: it counts the attempt, and a worker that dies loses it when the lease ends.
What came of the attempt is written only by whoever still holds the claim.
"""

import random
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Case, Count, F, Q, QuerySet, When, Window
from django.db.models.functions import RowNumber

from webhooks.endpoints import ensure_secret, signing_secrets
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.outbound import Answer
from webhooks.schedule import MAX_ATTEMPTS, next_due

LEASE = timedelta(seconds=60)
MAX_IN_FLIGHT_PER_MERCHANT = 2
_SPARE = 32  # looked at beyond what is wanted: others may be claiming the first ones at this moment
_WORKER_LOST = "The worker ended before the attempt did."


@dataclass(frozen=True)
class Claim:
    """One attempt to make: everything that it needs, read when the delivery was claimed.

    The secrets are encrypted still, so that one that cannot be opened fails its own attempt and no other.
    """

    delivery_id: str
    claim_id: uuid.UUID
    attempt: int
    event_id: str
    type: str
    url: str
    secrets: list[bytes]
    body: bytes


def claim_due(*, limit: int, now: datetime) -> list[Claim]:
    """Claim up to `limit` due deliveries for 60 seconds, taking turns between merchants.

    Deliveries to an endpoint without a URL or disabled are held: they wait as they are. At most two
    deliveries of one merchant are in flight at once, so that a slow receiver keeps only its own merchant
    waiting (two claimers at the same moment can make it a little more).
    """
    if limit < 1:
        return []
    _give_up_lost(now)
    with transaction.atomic():
        candidates = _in_turns(limit + _SPARE, now)
        if not candidates:
            return []
        rows = (
            _claimable(now)
            .filter(pk__in=candidates)
            .select_for_update(skip_locked=True, of=("self",))
            .select_related("event", "merchant", "merchant__webhook_endpoint")
            .order_by(Case(*(When(pk=pk, then=place) for place, pk in enumerate(candidates))))[:limit]
        )
        return [_claim(row, now) for row in rows]


def _claimable(now: datetime) -> QuerySet[Delivery]:
    reachable = ~Q(url_override="") | Q(
        merchant__webhook_endpoint__is_enabled=True, merchant__webhook_endpoint__url__isnull=False
    )
    left = Q(attempts__lt=F("earlier_attempts") + MAX_ATTEMPTS)
    return Delivery.objects.filter(
        reachable, left, _free(now), status=Delivery.Status.PENDING, due_at__lte=now
    )


def _free(now: datetime) -> Q:
    return Q(lease_until__isnull=True) | Q(lease_until__lte=now)


def _in_turns(limit: int, now: datetime) -> list[str]:
    """Return the ids of what may be put in flight: everybody's first, then everybody's second."""
    held = Delivery.objects.filter(status=Delivery.Status.PENDING, lease_until__gt=now).order_by()
    in_flight = dict(held.values_list("merchant").annotate(Count("pk")))
    turn = Window(RowNumber(), partition_by=F("merchant"), order_by=(F("due_at").asc(), F("pk").asc()))
    waiting = (
        _claimable(now)
        .annotate(turn=turn)
        .filter(turn__lte=MAX_IN_FLIGHT_PER_MERCHANT)
        .order_by("turn", "due_at")
        .values_list("pk", "merchant", "turn")
    )
    # Of each merchant with something in flight, at most its few turns are passed over.
    enough = waiting[: limit + MAX_IN_FLIGHT_PER_MERCHANT * len(in_flight)]
    fitting = [
        pk for pk, merchant, turn in enough if turn + in_flight.get(merchant, 0) <= MAX_IN_FLIGHT_PER_MERCHANT
    ]
    return fitting[:limit]


def _claim(delivery: Delivery, now: datetime) -> Claim:
    """Write the claim and the attempt that it counts, and return what the attempt needs."""
    endpoint = _endpoint_of(delivery)
    delivery.claim_id = uuid.uuid4()
    delivery.lease_until = now + LEASE
    delivery.attempts += 1
    delivery.save(update_fields=["claim_id", "lease_until", "attempts"])
    url = delivery.url_override or endpoint.url or ""
    delivery.attempt_set.filter(duration_ms=None).update(error=_WORKER_LOST, duration_ms=0)
    Attempt.objects.create(delivery=delivery, number=delivery.attempts, url=url, started_at=now)
    return Claim(
        delivery_id=delivery.pk,
        claim_id=delivery.claim_id,
        attempt=delivery.attempts,
        event_id=delivery.public_event_id,
        type=delivery.type,
        url=url,
        secrets=signing_secrets(endpoint, now),
        body=delivery.body,
    )


def _endpoint_of(delivery: Delivery) -> Endpoint:
    try:
        return delivery.merchant.webhook_endpoint
    except Endpoint.DoesNotExist:
        return ensure_secret(delivery.merchant)


def settle(claim: Claim, answer: Answer, *, ended_at: datetime) -> bool:
    """Write what came of the attempt; False, and nothing written, if the claim was lost meanwhile.

    A failure is due again after the delay of spec 6.4 from `ended_at`; the eighth of a series is the last.
    """
    with transaction.atomic():
        row = (
            Delivery.objects.select_for_update().filter(pk=claim.delivery_id, claim_id=claim.claim_id).first()
        )
        if row is None:
            return False
        made = row.attempts - row.earlier_attempts
        due_at = None if answer.is_success else next_due(made, ended_at, random.random)
        if answer.is_success:
            row.status = Delivery.Status.DELIVERED
        elif due_at is None:
            row.status = Delivery.Status.FAILED
        row.due_at = due_at
        row.finished_at = ended_at if due_at is None else None
        row.claim_id = row.lease_until = None
        row.save(update_fields=["status", "due_at", "finished_at", "claim_id", "lease_until"])
        row.attempt_set.filter(number=claim.attempt).update(
            duration_ms=answer.duration_ms,
            status_code=answer.status_code,
            error=answer.error,
            response_excerpt=answer.excerpt,
        )
    return True


def _give_up_lost(now: datetime) -> None:
    """Mark as failed what lost its worker during the eighth attempt: there is no ninth."""
    Delivery.objects.filter(
        status=Delivery.Status.PENDING,
        attempts__gte=F("earlier_attempts") + MAX_ATTEMPTS,
        lease_until__lte=now,
    ).update(status=Delivery.Status.FAILED, due_at=None, finished_at=now, claim_id=None, lease_until=None)
