"""Celery tasks."""

from celery import shared_task

from chains import health


@shared_task
def check_chains() -> int:
    """Check the nodes of every active chain; return the number of chains."""
    return health.check_chains()
