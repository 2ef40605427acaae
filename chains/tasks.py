"""What Celery nudges."""

from celery import shared_task

from chains import health


@shared_task
def look_at_chains() -> int:
    """Ask the nodes how far they are."""
    return health.look_at_chains()
