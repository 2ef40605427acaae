"""Check the worker and beat processes, by their heartbeats and by pinging the workers."""

from collections.abc import Iterator

from django.conf import settings
from kombu.exceptions import KombuError
from redis import RedisError

from config.beat import heartbeat
from config.doctor.finding import Finding, failed, fine
from config.health import heartbeat_age

_PING_SECONDS = 2.0


def check() -> Iterator[Finding]:
    workers = _workers()
    if workers is None:
        # The processes may be running. Without Redis, that can't be checked, and advice to start them would mislead.
        advice = "Repair Redis first (see the check `redis`), then run doctor again."
        yield failed("worker and beat", "not checked, because Redis does not respond", advice)
        return
    worked = heartbeat_age()
    if not workers:
        advice = (
            "Start the Procfile's worker. If it stops, read its log. No payment is verified without a worker."
        )
        yield failed("worker", "no worker responds", advice)
    elif worked is None:
        summary = f"{workers} respond, but none has finished a task in the last minute"
        yield failed(
            "worker", summary, "Read the workers' logs: either beat sends no tasks, or each task fails."
        )
    else:
        yield fine("worker", f"{workers} respond; the last task finished {worked:.0f} s ago")
    sent = heartbeat.age(settings.REDIS_URL)
    if sent is None:
        advice = "Start the Procfile's beat. Without it, payments without a notification wait."
        yield failed("beat", "has sent no task in the last minute", advice)
    else:
        yield fine("beat", f"last sent a task {sent:.0f} s ago")


def _workers() -> int | None:
    """Return how many workers respond, or None without Redis."""
    from config.celery import app  # only this function needs Celery

    try:
        with app.connection_for_write() as connection:
            # Without this setting, Celery would retry a dead broker for minutes.
            connection.ensure_connection(max_retries=1, timeout=_PING_SECONDS)
            return len(app.control.ping(timeout=_PING_SECONDS, connection=connection))
    except (KombuError, RedisError, OSError):
        return None
