"""Nudges. What is due stands in the database."""

from functools import cache

from celery import shared_task
from celery.signals import worker_process_shutdown
from django.utils import timezone

from webhooks import retention
from webhooks.dispatch.dispatcher import Courier
from webhooks.endpoints import health


@cache
def _courier() -> Courier:
    """Return this process's courier, made in the process that uses it (threads do not survive a fork)."""
    return Courier()


@shared_task
def deliver_due() -> int:
    """Begin the deliveries that are due now."""
    return _courier().nudge()


@shared_task
def tell_merchants() -> int:
    """Mail those whose endpoint fails, or was switched off."""
    return health.tell_merchants()


@shared_task
def purge_old() -> int:
    """Remove some of the events and deliveries that are over 30 days old."""
    return retention.purge(timezone.now())


@worker_process_shutdown.connect
def _finish(**_: object) -> None:
    _courier().finish()
