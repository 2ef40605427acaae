"""The periodic Celery tasks. The database decides what is due."""

from functools import cache

from celery import shared_task
from celery.signals import worker_process_init, worker_process_shutdown
from django.utils import timezone

from config.database.notifications import Channel, Listener
from config.database.waker import Waker
from webhooks.dispatch.dispatcher import Dispatcher
from webhooks.endpoints import health
from webhooks.storage import partitions, retention


@cache
def _dispatcher() -> Dispatcher:
    """Return this process's dispatcher, created in the process that uses it (threads don't survive a fork)."""
    return Dispatcher()


@worker_process_init.connect
def _listen(**_: object) -> None:
    """Start deliveries as soon as their events are committed."""
    waker = Waker("wake-dispatcher", lambda: _dispatcher().nudge())
    waker.start()
    Listener({Channel.DELIVERIES: lambda _: waker.wake()}, on_gap=waker.wake).start()


@shared_task
def deliver_due() -> int:
    """Start the deliveries that are due."""
    return _dispatcher().nudge()


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
    """Make the partitions of the next 60 days, and drop those whose events and deliveries are gone."""
    now = timezone.now()
    partitions.make_ahead(now)
    partitions.drop_unused(now - retention.KEPT)


@worker_process_shutdown.connect
def _finish(**_: object) -> None:
    _dispatcher().finish()
