"""Checks of the worker and beat processes, by their heartbeats and by asking the workers."""

from collections.abc import Iterator

from django.conf import settings
from kombu.exceptions import KombuError
from redis import RedisError

from config.beat import heartbeat
from config.doctor.finding import Finding, failed, fine
from config.health import heartbeat_age

_ANSWER_SECONDS = 2.0


def check() -> Iterator[Finding]:
    """Yield whether a worker works and whether beat sends."""
    workers, worked = _workers(), heartbeat_age()
    if not workers:
        advice = (
            "Start the Procfile's worker; its log says why if it stops. No payment is verified without one."
        )
        yield failed("worker", "no worker answers", advice)
    elif worked is None:
        summary = f"{workers} answer, but none has finished a task in the last minute"
        yield failed(
            "worker", summary, "Read the workers' logs: either beat sends nothing, or each task fails."
        )
    else:
        yield fine("worker", f"{workers} answer; the last task was finished {worked:.0f} s ago")
    sent = heartbeat.age(settings.REDIS_URL)
    if sent is None:
        advice = "Start the Procfile's beat. Without it, payments that no notification announces wait."
        yield failed("beat", "has sent nothing in the last minute", advice)
    else:
        yield fine("beat", f"last sent work {sent:.0f} s ago")


def _workers() -> int:
    """Return how many workers answer; none without Redis."""
    from config.celery import app  # here, since only this needs Celery's application

    try:
        with app.connection_for_write() as connection:
            # Without this, Celery would try to reach a dead broker for minutes.
            connection.ensure_connection(max_retries=1, timeout=_ANSWER_SECONDS)
            return len(app.control.ping(timeout=_ANSWER_SECONDS, connection=connection))
    except (KombuError, RedisError, OSError):
        return 0
