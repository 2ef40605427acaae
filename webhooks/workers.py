"""The dispatcher of a worker process. `payments.workers` wakes and stops the dispatcher, and its own queues."""

from config.due_work.runner import Runner
from webhooks.dispatch.dispatcher import Dispatcher

DISPATCHER = Dispatcher()


def _send_due(_: None) -> bool:
    """Start sending due deliveries if the dispatcher has idle threads.

    When a thread becomes idle, the dispatcher leases more deliveries by itself.
    """
    DISPATCHER.nudge()
    return False


DELIVERIES: Runner[None] = Runner("deliveries", _send_due, lanes=lambda: [None], linger_seconds=30.0)
