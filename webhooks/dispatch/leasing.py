"""Lease due deliveries. A lease ensures that only one worker at a time sends a delivery.

A lease is stored in the delivery's row (`config.due_work.leases`). Each lease is for one attempt. If the worker dies,
the lease expires. The next worker repeats the attempt at once, or later if the attempt before was lost too. Deliveries
are leased in batches, because a separate statement for a delivery would cost more than sending the delivery.
"""

import random
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import F

from config.database.compiled_query import CompiledQuery, run
from config.due_work.leases import DURATION, FREE, Lease
from config.due_work.statements import read_statements
from merchants.models import Merchant
from webhooks.dispatch.retry_schedule import MAX_ATTEMPTS, next_due
from webhooks.endpoints.configuration import ensure_secret, signing_secrets
from webhooks.models import Attempt, Delivery, Endpoint

MAX_IN_FLIGHT_PER_MERCHANT = 5
MAX_SLOW_IN_FLIGHT_PER_MERCHANT = 1
# So long, a due retry of the slow lane lets first attempts go before it.
RETRY_PATIENCE = timedelta(minutes=5)
_SPARE = 32  # read more candidates than needed, because another worker may lease some of them first
_WORKER_LOST = "The worker ended before the attempt did."


@dataclass(frozen=True)
class Claim:
    """A leased attempt, with all data that it needs.

    The secrets are decrypted later, so if a secret can't be decrypted, only this attempt fails. `is_slow` is True if
    the delivery is in the slow lane. `is_to_own_url` is True if the delivery goes to a payment request's own URL.
    """

    delivery_id: str
    lease: Lease = field(repr=False)
    attempt: int
    event_id: str
    type: str
    url: str
    merchant_id: uuid.UUID
    secrets: list[bytes] = field(repr=False)
    body: bytes = field(repr=False)
    is_slow: bool = False
    is_to_own_url: bool = False
    due_at: datetime | None = None

    @property
    def claim_id(self) -> uuid.UUID:
        return self.lease.claim_id

    @property
    def is_held(self) -> bool:
        return self.lease.holds(self.delivery_id)


STATEMENTS = read_statements(Path(__file__).with_name("deliveries.sql"))
_those_of: CompiledQuery[Endpoint] = CompiledQuery(
    lambda merchants: Endpoint.objects.order_by().extra(where=["merchant_id = ANY(%s)"], params=[merchants]),
    merchants=[uuid.UUID(int=1)],
)


def claim_due(
    *,
    limit: int,
    now: datetime,
    slow_limit: int | None = None,
    slow_endpoints: Sequence[uuid.UUID] = (),
    slow_own_urls: Sequence[uuid.UUID] = (),
) -> list[Claim]:
    """Lease up to `limit` due deliveries. Merchants take turns. The caller renews the lease.

    At most `slow_limit` of the deliveries (default: `limit`) are from the slow lane. A delivery is in the slow lane if
    it is a retry, if it goes to an endpoint that is failing or whose merchant is in `slow_endpoints`, or if it goes to
    a payment request's own URL and its merchant is in `slow_own_urls`. A merchant has at most five deliveries in
    flight, one of them from the slow lane. So a slow receiver delays only its own merchant. If two workers lease at the
    same time, they can exceed these limits slightly. If an endpoint is disabled or has no URL, its deliveries wait.
    """
    if limit < 1:
        return []
    asked_at = time.monotonic()
    values: dict[str, Any] = {
        "now": now,
        "limit": limit,
        "slow_limit": limit if slow_limit is None else max(slow_limit, 0),
        "spare": _SPARE,
        "cap": MAX_IN_FLIGHT_PER_MERCHANT,
        "slow_cap": MAX_SLOW_IN_FLIGHT_PER_MERCHANT,
        "patience_began": now - RETRY_PATIENCE,
        "slow_endpoints": list(slow_endpoints),
        "slow_own_urls": list(slow_own_urls),
        "claim_id": (claim_id := uuid.uuid4()),
        "duration": DURATION,
    }
    with transaction.atomic():
        rows = run(STATEMENTS["claim"], values).fetchall()
        if not rows:
            return []
        bodies = dict(run(STATEMENTS["bodies"], [[row[6] for row in rows if row[10] is None]]).fetchall())
        # A delivery without a body should not exist. Give it up, so that it doesn't block the others.
        unsent = _postponed([row for row in rows if row[11]], now)
        rows = [(*row[:10], row[10] if row[10] is not None else bodies.get(row[6])) for row in rows]
        unsent |= {row[2]: None for row in rows if row[10] is None}
        _put_back(unsent, now)
        rows = [row for row in rows if row[2] not in unsent]
        lease = Lease(Delivery, claim_id, [row[2] for row in rows], asked_at=asked_at)
        return _claims(rows, lease, now)


def _claims(rows: Sequence[tuple[Any, ...]], lease: Lease, now: datetime) -> list[Claim]:
    """Store an attempt for each leased delivery. Return the attempts with their data."""
    if not rows:
        return []
    rows = sorted(rows, key=lambda row: row[:2])
    endpoints = _endpoints({row[3] for row in rows})
    claims = []
    for _, due_at, delivery_id, merchant_id, attempt, _, event_id, type_, url, is_slow, body in rows:
        endpoint = endpoints[merchant_id]
        claims.append(
            Claim(
                delivery_id=delivery_id,
                lease=lease,
                attempt=attempt,
                event_id=event_id,
                type=type_,
                url=url or endpoint.url or "",
                merchant_id=merchant_id,
                secrets=signing_secrets(endpoint, now),
                body=bytes(body),
                is_slow=is_slow,
                is_to_own_url=bool(url),
                due_at=due_at,
            )
        )
    again = [claim.delivery_id for claim in claims if claim.attempt > 1]
    if again:
        lost = Attempt.objects.filter(delivery_id__in=again, duration_ms=None)
        lost.update(error=_WORKER_LOST, duration_ms=0)
    _write_attempts(claims, now)
    return claims


def _endpoints(merchants: set[uuid.UUID]) -> dict[uuid.UUID, Endpoint]:
    """Return the merchants' endpoints.

    If an endpoint is missing, create it, because its secret signs the request.
    """
    endpoints = {endpoint.merchant_id: endpoint for endpoint in _those_of.rows(merchants=[*merchants])}
    if missing := merchants - endpoints.keys():
        for merchant in Merchant.objects.filter(pk__in=missing):
            endpoints[merchant.pk] = ensure_secret(merchant)
    return endpoints


def _write_attempts(claims: Sequence[Claim], now: datetime) -> None:
    run(
        STATEMENTS["begin_attempts"],
        [
            now,
            [claim.delivery_id for claim in claims],
            [claim.attempt for claim in claims],
            [claim.url for claim in claims],
        ],
    )


def release(claims: Sequence[Claim]) -> None:
    """Release the leases of attempts that did not start.

    The deliveries are due as before, and no attempt is counted.
    """
    with transaction.atomic():
        # Lock the rows in the same order as workers that store results do, to prevent deadlocks.
        run(STATEMENTS["held"], [[claim.delivery_id for claim in claims]])
        for claim in claims:
            held = Delivery.objects.filter(pk=claim.delivery_id, claim_id=claim.claim_id)
            if held.update(attempts=F("attempts") - 1, **FREE):
                Attempt.objects.filter(delivery_id=claim.delivery_id, number=claim.attempt).delete()
            claim.lease.end(claim.delivery_id)


def _postponed(abandoned: Sequence[tuple[Any, ...]], now: datetime) -> dict[str, datetime | None]:
    """Return the deliveries whose worker died and that must wait, with the time of their next attempt.

    The first lost attempt is repeated at once, so that a killed worker delays no delivery. If the attempt before was
    lost too, the workers may be crashing all the time. Then the delivery waits as after a failed attempt, so that the
    crashes don't use up all of its attempts. The time is None after the last attempt of a series.
    """
    keys = [row[2] for row in abandoned]
    lost = (
        Attempt.objects.filter(delivery_id__in=keys, error=_WORKER_LOST) if keys else Attempt.objects.none()
    )
    numbers = set(lost.values_list("delivery_id", "number"))
    postponed: dict[str, datetime | None] = {}
    for row in abandoned:
        delivery_id, number, made = row[2], row[4] - 1, row[5] - 1
        if made >= MAX_ATTEMPTS or (made > 1 and (delivery_id, number - 1) in numbers):
            postponed[delivery_id] = next_due(made, now, random.random)
    return postponed


def _put_back(unsent: Mapping[str, datetime | None], now: datetime) -> None:
    """Release leased deliveries without an attempt. They are due at these times; those without a time have failed."""
    if not unsent:
        return
    Attempt.objects.filter(delivery_id__in=unsent, duration_ms=None).update(error=_WORKER_LOST, duration_ms=0)
    results = [
        (pk, Delivery.Status.PENDING.value, due_at, None)
        if due_at is not None
        else (pk, Delivery.Status.FAILED.value, None, now)
        for pk, due_at in unsent.items()
    ]
    run(STATEMENTS["store"], [list(column) for column in zip(*results, strict=True)])
    Delivery.objects.filter(pk__in=unsent).update(attempts=F("attempts") - 1)
