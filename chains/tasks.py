"""Celery tasks."""

from celery import shared_task

from chains import health


@shared_task
def look_at_chains() -> int:
    """Check the nodes of every active chain; return the number of chains."""
    return health.look_at_chains()
