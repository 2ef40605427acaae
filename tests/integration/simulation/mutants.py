"""Defects that the simulator must find. Each replaces one function of the product."""

import uuid
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from django.db import connection, transaction

from payments.models import Lookup, Payment
from payments.verification import storing
from payments.verification.consumption import Consumption, store_credits
from webhooks.events import NewEvent, record_events


def claim_guard() -> None:
    """Store results without checking the claim, so that a worker without a lease can store them too."""

    def lock_held(ids: Collection[str], claim_id: uuid.UUID) -> dict[str, datetime | None]:
        rows = Lookup.of(ids).select_for_update(no_key=True).order_by("pk")
        held = dict(rows.values_list("of_payment_id", "next_check_at"))
        verified = Payment.objects.filter(pk__in=held, status=Payment.Status.PROCESSING)
        payments = verified.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True)
        return {pk: held[pk] for pk in payments}

    storing.lock_held = lock_held


def consumption_outside() -> None:
    """Consume transfers after the commit of the transaction that credits them."""

    def after(consumptions: Sequence[Consumption]) -> None:
        transaction.on_commit(lambda: store_credits(consumptions))

    storing.store_credits = after


def event_outside() -> None:
    """Record events after the commit of the change that they describe."""

    def record(new: Sequence[NewEvent]) -> None:
        with transaction.atomic():
            record_events(new)

    storing.record_events = lambda new: transaction.on_commit(lambda: record(new))


def lock_order() -> None:
    """Lock two objects in an order that differs between workers."""
    lock_held = storing.lock_held

    def lock_both(ids: Collection[str], claim_id: uuid.UUID) -> dict[str, datetime | None]:
        for key in (1, 2) if claim_id.int % 2 else (2, 1):
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])
        return lock_held(ids, claim_id)

    storing.lock_held = lock_both


MUTANTS: dict[str, Callable[[], None]] = {
    each.__name__: each for each in (claim_guard, consumption_outside, event_outside, lock_order)
}
