"""What Celery nudges. Each task is safe to run twice, late or never: the database says what is due."""

from functools import cache

from celery import shared_task

from payments import discovery, figures, finality, requests, verification
from payments.routing import token_list
from payments.swaps.followers import Followers


@cache
def _followers() -> Followers:
    """Return this process's followers, made in the process that uses them (threads do not survive a fork)."""
    return Followers()


@shared_task
def verify_due() -> int:
    """Look at the due payments."""
    return verification.verify_due()


@shared_task
def follow_swaps() -> int:
    """Begin to ask the routing providers about the swaps that are due."""
    return _followers().nudge()


@shared_task
def check_finality() -> int:
    """Look once more at completed payments."""
    return finality.check_finality()


@shared_task
def discover_due() -> int:
    """Search for payments that nobody submitted."""
    return discovery.discover_due()


@shared_task
def expire_due() -> int:
    """Expire the requests whose time is over."""
    return requests.expire_due()


@shared_task
def keep_token_lists() -> None:
    """Begin to ask the routing providers for token lists that will soon be old."""
    token_list.keep_fresh()


@shared_task
def keep_figures() -> int:
    """Bring the daily figures up to what changed."""
    return figures.keep_up()
