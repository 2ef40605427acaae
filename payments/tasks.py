"""The periodic Celery tasks. Running one twice, late or not at all is safe: the database decides what is due."""

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
    """Return this process's poller, created on first use because threads don't survive a fork."""
    return SwapPoller()


@shared_task
def verify_due() -> int:
    """Verify the due payments."""
    return engine.verify_due(swaps=deliveries)


@shared_task
def follow_swaps() -> int:
    """Start polling the routing providers for due swaps."""
    return _poller().nudge()


@shared_task
def check_finality() -> int:
    """Check the finality of completed and failed payments."""
    return finality.check_finality()


@shared_task
def discover_due() -> int:
    """Search for payments whose hash was never submitted."""
    return search.discover_due()


@shared_task
def expire_due() -> int:
    """Expire the requests whose time is over."""
    return lifecycle.expire_due()


@shared_task
def keep_token_lists() -> None:
    """Start refreshing token lists that will soon expire."""
    token_list.keep_fresh()


@shared_task
def keep_figures() -> int:
    """Update the daily statistics of days that changed."""
    return daily.update_statistics()
