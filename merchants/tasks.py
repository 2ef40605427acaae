"""Celery tasks."""

from celery import shared_task

from merchants.keys.idempotency import purge_expired
from merchants.mail.sending import MAILING


@shared_task
def purge_idempotency_keys() -> int:
    """Delete expired idempotency keys, up to a limit per run."""
    return purge_expired()


@shared_task
def wake_mails() -> int:
    return MAILING.nudge()
