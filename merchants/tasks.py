"""What Celery nudges."""

from celery import shared_task

from merchants.keys.idempotency import purge_expired


@shared_task
def purge_idempotency_keys() -> int:
    """Delete some of the idempotency keys that are over a day old."""
    return purge_expired()
