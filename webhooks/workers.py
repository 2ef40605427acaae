"""Run the deliveries of a worker process. `payments.workers` wakes and stops them with its other queues."""

from config.due_work.runner import Runner
from webhooks.dispatch.dispatcher import Dispatcher

DISPATCHER = Dispatcher()


def _send_due(_: None) -> bool:
    """Start sending due deliveries if senders are idle. The dispatcher leases more once a sender is idle again."""
    DISPATCHER.nudge()
    return False


DELIVERIES: Runner[None] = Runner("deliveries", _send_due, lanes=lambda: [None], linger_seconds=30.0)
