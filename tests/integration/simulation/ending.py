"""The end of a history: without further faults, all processes work until nothing is due."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta

from config.api.errors import ApiError
from payments.models import Payment
from payments.submission.hashes import retry_payment
from tests.integration.properties.ledger import FINALITY
from tests.integration.simulation.database import Database
from tests.integration.simulation.environment import CLOCK
from tests.integration.simulation.outside import Nodes, Receiver
from tests.integration.simulation.scheduler import Trace

_ROUNDS = 80
_BATCHES = 20
_RETRIES = 2
# The time at which all waiting work is due.
_NEXT = """
    SELECT max(at) FROM (
        SELECT greatest(
            least(next_check_at, CASE WHEN payment.reorged THEN NULL ELSE finality_check_at END), lease_until
        )
        FROM payments_lookup lookup JOIN payments_payment payment ON payment.id = lookup.of_payment_id
        UNION ALL
        SELECT greatest(due_at, lease_until) FROM webhooks_delivery WHERE status = 'pending'
    ) AS due (at)
"""


class Unfinished(Exception):
    """Work is still due after many rounds without faults."""


def come_to_rest(
    nodes: Nodes,
    receiver: Receiver,
    jobs: Mapping[str, Callable[[], int]],
    database: Database,
    trace: Trace,
) -> None:
    """Make the chain final and finish all work. Raises Unfinished if work remains after many rounds."""
    receiver.failing = 0.0
    nodes.rebroadcast_all()
    # Now all leases of killed processes have ended, and a waiting search is due.
    CLOCK.forward(timedelta(minutes=2))
    for _ in range(FINALITY + 1):
        CLOCK.forward(timedelta(seconds=12))
        nodes.mine()
    for turn in range(_ROUNDS):
        database.tell_time()
        for name in jobs if turn == 0 else ("verify", "finality", "send"):
            _work_off(name, jobs[name])
        if _retry_failed(nodes):
            continue
        [(due,)] = database.rows(_NEXT)
        if due is None:
            trace.note("at rest")
            return
        CLOCK.forward(max(due - CLOCK.time, timedelta(seconds=1)))
    raise Unfinished(f"something is still due after {_ROUNDS} rounds")


def _work_off(name: str, job: Callable[[], int]) -> None:
    for _ in range(_BATCHES):
        if not job():
            return
    raise Unfinished(f"{name} has more work after {_BATCHES} batches")


def _retry_failed(nodes: Nodes) -> int:
    """Have merchants retry failed payments whose transaction is on the chain; return their number."""
    count = 0
    failed = Payment.objects.filter(status=Payment.Status.FAILED, retries__lt=_RETRIES).order_by("pk")
    for payment in failed:
        if nodes.sent[payment.transaction_hash].is_mined:
            with suppress(ApiError):
                retry_payment(payment, actor="api")
                count += 1
    return count
