"""Nudges. What is due stands in the database."""

from functools import cache

from celery import shared_task
from celery.signals import worker_process_shutdown

from webhooks.courier import Courier


@cache
def _courier() -> Courier:
    """Return this process's courier, made in the process that uses it (threads do not survive a fork)."""
    return Courier()


@shared_task
def deliver_due() -> int:
    """Begin the deliveries that are due now."""
    return _courier().nudge()


@worker_process_shutdown.connect
def _finish(**_: object) -> None:
    _courier().finish()
