"""What Celery nudges. Each task is safe to run twice, late or never: the database says what is due."""

from functools import cache

from celery import shared_task

from payments.discovery import search
from payments.providers import token_list
from payments.requests import lifecycle
from payments.stats import daily
from payments.swaps import deliveries
from payments.swaps.poller import SwapPoller
from payments.verification import engine, finality


@cache
def _poller() -> SwapPoller:
    """Return this process's poller, made in the process that uses them (threads do not survive a fork)."""
    return SwapPoller()


@shared_task
def verify_due() -> int:
    """Look at the due payments."""
    return engine.verify_due(swaps=deliveries)


@shared_task
def follow_swaps() -> int:
    """Begin to ask the routing providers about the swaps that are due."""
    return _poller().nudge()


@shared_task
def check_finality() -> int:
    """Look once more at completed payments."""
    return finality.check_finality()


@shared_task
def discover_due() -> int:
    """Search for payments that nobody submitted."""
    return search.discover_due()


@shared_task
def expire_due() -> int:
    """Expire the requests whose time is over."""
    return lifecycle.expire_due()


@shared_task
def keep_token_lists() -> None:
    """Begin to ask the routing providers for token lists that will soon be old."""
    token_list.keep_fresh()


@shared_task
def keep_figures() -> int:
    """Bring the daily figures up to what changed."""
    return daily.keep_up()
