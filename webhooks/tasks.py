"""The periodic Celery tasks.

A task may run twice, late or not at all. Repeated, late and missing runs are safe, because the database has the due
work.
"""

from celery import shared_task
from django.utils import timezone

from webhooks.endpoints import health
from webhooks.storage import partitions, retention
from webhooks.workers import DELIVERIES


@shared_task
def wake_deliveries() -> int:
    """Wake the dispatcher of this process."""
    return DELIVERIES.nudge()


@shared_task
def tell_merchants() -> int:
    """Send e-mails to merchants whose endpoint is failing or was disabled."""
    return health.notify_merchants()


@shared_task
def purge_old() -> int:
    """Remove events and deliveries that are older than 30 days."""
    return retention.purge_all(timezone.now())


@shared_task
def keep_partitions() -> None:
    """Create the partitions for the next 60 days, and drop those that are no longer needed."""
    now = timezone.now()
    partitions.make_ahead(now)
    partitions.drop_unused(now - retention.KEPT)
