"""The periodic Celery tasks. Running one twice, late or not at all is safe: the database decides what is due."""

from celery import shared_task
from django.utils import timezone

from webhooks.endpoints import health
from webhooks.storage import partitions, retention
from webhooks.workers import DELIVERIES


@shared_task
def wake_deliveries() -> int:
    """Wake this process's dispatcher, which sends the due deliveries."""
    return DELIVERIES.nudge()


@shared_task
def tell_merchants() -> int:
    """E-mail merchants whose endpoint is failing or was disabled."""
    return health.notify_merchants()


@shared_task
def purge_old() -> int:
    """Remove events and deliveries that are older than 30 days."""
    return retention.purge_all(timezone.now())


@shared_task
def keep_partitions() -> None:
    """Create the partitions for the next 60 days, and drop those whose events and deliveries were removed."""
    now = timezone.now()
    partitions.make_ahead(now)
    partitions.drop_unused(now - retention.KEPT)
