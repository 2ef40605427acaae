"""Redis rejects writes, as a replica or with a full disk. No worker ends, and no payment is delayed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from redis import Redis

from demo.services import redis as redis_server
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.processes import Process, beat, eventually, worker
from tests.support.payments.world import pay, submit
from tests.support.webhooks.receiver import running_receiver
from tests.support.wire import running_wire
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Delivery

HEARTBEAT = "quittance:2:worker-heartbeat"  # set after each task
SENT = "quittance:beat-heartbeat"  # set after beat has sent a task


@contextmanager
def running(folder: Path, url: str) -> Iterator[tuple[Process, Process]]:
    processes = (worker(folder / "worker.log", REDIS_URL=url), beat(folder / "beat.log", REDIS_URL=url))
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()


@pytest.mark.django_db(transaction=True)
def test_worker_survives_a_redis_that_rejects_writes(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, merchant: Merchant, tmp_path: Path
) -> None:
    server = redis_server.start(None)
    client = Redis.from_url(server.url)
    with running_receiver() as receiver, running(tmp_path, server.url) as processes:
        configure(merchant, Change(url=receiver.url))
        eventually(lambda: client.exists(HEARTBEAT) == 1, "a task has run")
        client.execute_command("REPLICAOF", "127.0.0.1", "1")
        request = request_for("1")
        submit(request, pay(local_chain, request))
        eventually(lambda: Payment.objects.filter(status="completed").exists(), "the payment was completed")
        eventually(lambda: Delivery.objects.filter(status="delivered").exists(), "the webhook was delivered")
        assert all(process.is_running for process in processes)
        client.execute_command("REPLICAOF", "NO", "ONE")
        client.delete(HEARTBEAT)
        eventually(lambda: client.exists(HEARTBEAT) == 1, "tasks run again")
        assert all(process.is_running for process in processes)
    client.close()
    server.stop()


@pytest.mark.django_db(transaction=True)
def test_worker_and_beat_leave_a_redis_that_became_a_replica(tmp_path: Path) -> None:
    old, new = redis_server.start(None), redis_server.start(None)
    with (
        running_wire(("127.0.0.1", urlsplit(old.url).port or 0)) as wire,
        running(tmp_path, f"redis://127.0.0.1:{wire.port}/0") as processes,
        Redis.from_url(old.url) as replica,
        Redis.from_url(new.url) as primary,
    ):
        eventually(lambda: replica.exists(HEARTBEAT) == 1, "a task has run")
        # Open connections stay open. New ones lead to the new primary.
        wire.upstream = ("127.0.0.1", urlsplit(new.url).port or 0)
        replica.execute_command("REPLICAOF", "127.0.0.1", "1")
        eventually(lambda: primary.exists(SENT) == 1, "beat sends tasks to the new primary")
        primary.delete(HEARTBEAT)
        eventually(lambda: primary.exists(HEARTBEAT) == 1, "tasks run from there")
        assert all(process.is_running for process in processes)
    old.stop()
    new.stop()
