"""Store the results of attempts, and the health of endpoints."""

import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from config.database.compiled_query import run
from webhooks.dispatch.http_client import Answer
from webhooks.dispatch.leasing import STATEMENTS, Claim
from webhooks.dispatch.retry_schedule import next_due
from webhooks.endpoints.health import DISABLE_AFTER, DISABLED_REASON
from webhooks.models import Delivery, Endpoint


@dataclass(frozen=True)
class Outcome:
    """The result of an attempt, with the `claim` that leased the delivery."""

    claim: Claim
    answer: Answer
    ended_at: datetime


def store_results(outcomes: Sequence[Outcome]) -> int:
    """Store the results of attempts whose leases are still held. Return how many results were stored.

    After a failed attempt, `retry_schedule` sets the time of the next attempt. A series ends after eight attempts.
    """
    with transaction.atomic():
        made = _attempts_made(outcomes)
        held = [outcome for outcome in outcomes if outcome.claim.delivery_id in made]
        if not held:
            return 0
        results = [_result(outcome, made[outcome.claim.delivery_id]) for outcome in held]
        run(STATEMENTS["store"], [list(column) for column in zip(*results, strict=True)])
        with connection.cursor() as cursor:
            columns = [list(column) for column in zip(*map(_attempt, held), strict=True)]
            # An attempt takes seconds. So attempts that end now are never in partitions older than a day.
            cursor.execute(
                STATEMENTS["complete_attempts"],
                [*columns, min(outcome.ended_at for outcome in held) - timedelta(days=1)],
            )
        _note_endpoints(held)
    return len(held)


def _attempts_made(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Lock the deliveries that still have these leases.

    Return how many attempts each has made in its current series.
    """
    claimed = {(outcome.claim.delivery_id, outcome.claim.claim_id) for outcome in outcomes}
    rows = run(STATEMENTS["held"], [[delivery_id for delivery_id, _ in claimed]]).fetchall()
    return {pk: made for pk, claim_id, made in rows if (pk, claim_id) in claimed}


def _result(outcome: Outcome, made: int) -> tuple[str, str, datetime | None, datetime | None]:
    """Return the delivery's id, its status, the time of the next attempt, and the time when it finished."""
    pk, ended_at = outcome.claim.delivery_id, outcome.ended_at
    if outcome.answer.is_success:
        return pk, Delivery.Status.DELIVERED.value, None, ended_at
    due_at = next_due(made, ended_at, random.random)
    if due_at is None:
        return pk, Delivery.Status.FAILED.value, None, ended_at
    return pk, Delivery.Status.PENDING.value, due_at, None


def _attempt(outcome: Outcome) -> tuple[str, int, int, int | None, str, str]:
    claim, answer = outcome.claim, outcome.answer
    return (
        claim.delivery_id,
        claim.attempt,
        answer.duration_ms,
        answer.status_code,
        answer.error,
        answer.excerpt,
    )


def _note_endpoints(outcomes: Sequence[Outcome]) -> None:
    """Store when each endpoint began to fail, or that it works again. A payment request's own URL doesn't count."""
    by_merchant: dict[uuid.UUID, list[Outcome]] = {}
    for outcome in outcomes:
        if not outcome.claim.is_to_own_url:
            by_merchant.setdefault(outcome.claim.merchant_id, []).append(outcome)
    healthy = {merchant for merchant, its in by_merchant.items() if any(one.answer.is_success for one in its)}
    # Read the endpoints' state again, because an endpoint may have started to fail during the attempt.
    failing = {merchant for (merchant,) in run(STATEMENTS["failing"], [[*healthy]])} if healthy else set()
    for endpoint in _locked(failing, failing=True):
        arrived = max(one.ended_at for one in by_merchant[endpoint.merchant_id] if one.answer.is_success)
        if endpoint.failing_since is not None and endpoint.failing_since <= arrived:
            Endpoint.objects.filter(pk=endpoint.pk).update(failing_since=None, warned_at=None)
    if failed := by_merchant.keys() - healthy:
        for endpoint in _locked(failed, failing=False):
            since = min(one.ended_at for one in by_merchant[endpoint.merchant_id])
            Endpoint.objects.filter(pk=endpoint.pk).update(failing_since=since)
        _disable(failed, max(outcome.ended_at for outcome in outcomes))


def _disable(merchants: set[uuid.UUID], now: datetime) -> None:
    """Disable endpoints that have failed for five days without a success. The merchants of these endpoints get an
    e-mail.
    """
    dead = Endpoint.objects.filter(
        merchant_id__in=merchants, is_enabled=True, failing_since__lte=now - DISABLE_AFTER
    )
    locked = list(dead.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    Endpoint.objects.filter(pk__in=locked).update(
        is_enabled=False, disabled_reason=DISABLED_REASON, warned_at=None, updated_at=now
    )


def _locked(merchants: set[uuid.UUID], *, failing: bool) -> list[Endpoint]:
    """Lock and return the endpoints to change. The order of the locks is fixed, to prevent deadlocks."""
    if not merchants:
        return []
    changing = Endpoint.objects.filter(merchant_id__in=merchants, failing_since__isnull=not failing)
    return list(changing.order_by("pk").select_for_update(no_key=True))
