"""The jobs of a worker process: one batch of each of the product's queues, called as their runners do."""

import random
from collections.abc import Callable
from functools import partial

from django.utils import timezone

from config.due_work import leases
from config.due_work.leases import Lease
from payments.discovery.search import chains_to_search, search_chain
from payments.requests.lifecycle import expire_due
from payments.swaps import deliveries
from payments.verification.engine import verify_due
from payments.verification.finality import FINALITY, check_finality
from payments.verification.leasing import LOOKUPS
from payments.waking.on_new_heads import make_due
from tests.integration.simulation.actors import Actor, Job, current
from tests.integration.simulation.database import Database
from tests.integration.simulation.outside import Nodes, Receiver
from webhooks.dispatch.delivery import attempt
from webhooks.dispatch.dispatcher import Dispatcher, _next

# Selects the queues with work that is due and not leased.
_DUE = """
    SELECT 'verify' WHERE EXISTS (SELECT FROM payments_lookup WHERE next_check_at <= simulated.now() AND {free})
    UNION ALL
    SELECT 'finality' WHERE EXISTS (
        SELECT FROM payments_lookup WHERE finality_check_at <= simulated.now() AND {free}
    )
    UNION ALL
    SELECT 'send' WHERE EXISTS (
        SELECT FROM webhooks_delivery WHERE status = 'pending' AND due_at <= simulated.now() AND {free}
    )
""".format(free="(lease_until IS NULL OR lease_until <= simulated.now())")
# Other work, some of it not due. The worker starts it and finds that another worker has it.
_OTHER = ("verify", "finality", "send", "search", "expire")
_OTHER_SHARE = 0.2
_IDLE_SHARE = 0.8


class Heartbeat:
    """Renews a process' leases when the simulation decides, instead of every few seconds."""

    def keep(self, lease: Lease) -> None:
        actor = current()
        if actor is not None and not lease.is_over:
            actor.leases.append(lease)

    def release(self, lease: Lease) -> None:
        actor = current()
        if actor is not None and lease in actor.leases:
            actor.leases.remove(lease)


def use_simulated_heartbeat() -> None:
    leases._heartbeat = Heartbeat()  # type: ignore[assignment]


def beat(actor: Actor) -> None:
    """Renew this process' leases, as its heartbeat does."""
    for lease in actor.leases:
        if not lease.is_over:
            lease.renew()


class _OneThread(Dispatcher):
    """A dispatcher that does everything in the calling thread: it leases, sends one event after another, and stores."""

    def _start(self) -> None:
        pass

    def run(self) -> int:
        """Send all due events once; return the number of deliveries."""
        count = self.nudge()
        ended = []
        while (claim := _next(self._waiting)) is not None:
            ended.append(self._attempt(claim) if claim.is_held else claim)
        self._store(ended)
        return count


def jobs(nodes: Nodes, receiver: Receiver) -> dict[str, Callable[[], int]]:
    """Return a job for each queue. It works on one batch and returns the batch's size."""

    def send() -> int:
        return _OneThread(4, attempt=partial(attempt, sender=receiver)).run()

    def verify() -> int:
        return sum(verify_due(each, swaps=deliveries, client=nodes) for each in LOOKUPS.lanes(timezone.now()))

    def finality() -> int:
        return sum(check_finality(each, client=nodes) for each in FINALITY.lanes(timezone.now()))

    def search() -> int:
        return sum(search_chain(each, client=nodes) for each in chains_to_search(timezone.now()))

    return {"verify": verify, "finality": finality, "search": search, "send": send, "expire": expire_due}


def new_block(chain_id: int) -> Job:
    """Return the job of a process that sees a new block."""
    return partial(make_due, chain_id)


def due(database: Database) -> list[str]:
    """Return the names of the queues with work that is due and not leased."""
    return sorted(name for (name,) in database.rows(_DUE))


def choose(chance: random.Random, due: list[str]) -> str | None:
    """Return the queue for a worker's next job. If nothing is due, it is often None."""
    if due and chance.random() >= _OTHER_SHARE:
        return chance.choice(due)
    if not due and chance.random() < _IDLE_SHARE:
        return None
    return chance.choice(_OTHER)
