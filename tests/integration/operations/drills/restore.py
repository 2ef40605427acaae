"""`make restore-drill`: lose the database after the last dump, restore it, and find the payments since then on
the chain.

The service runs as deployed. `deploy/backup/backup.sh` makes the dump, encrypted if `age` is installed. Prints
what was lost, what came back by itself, and how long each step took. Exit status 1 if money was lost or counted
twice.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psycopg
import requests

from demo.services import postgres
from demo.services.process import REPOSITORY
from tests.integration.chaos.customers import UNITS, Crowd, Customer
from tests.integration.chaos.world import World
from tests.support.webhooks.receiver import running_receiver

NOT_ENCRYPTED = (
    "The dump was NOT encrypted: age and age-keygen are not installed, so the drill did not try decryption. "
    "Install age and run it again."
)
RECOVERED_WITHIN_SECONDS = 180.0
_PROCESSES = ("web", "worker 1", "worker 2", "beat")


@dataclass
class Figures:
    """The drill's results. Durations are in seconds."""

    paid_before_dump: int = 0
    paid_after_dump: int = 0
    of_those_completed_before_failure: int = 0
    recovered_from_chain: int = 0
    requests_made_after_dump_and_lost: int = 0
    is_encrypted: bool = False
    dump_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    @contextmanager
    def timing(self, step: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[step] = round(time.monotonic() - began, 2)


def drill(folder: Path, each: int) -> Figures:
    """Run the drill with this many customers of each kind."""
    with running_receiver() as receiver:
        world = World(folder, receiver.url)
        try:
            return _drill(world, folder, each)
        finally:
            world.stop()


def _drill(world: World, folder: Path, each: int) -> Figures:
    figures = Figures(paid_before_dump=each, paid_after_dump=2 * each, requests_made_after_dump_and_lost=each)
    crowd = Crowd(world.url, world.key, world.chain, 4 * each, late=0)
    crowd.find_token()
    before, submitted, unsubmitted, afterwards = (
        crowd.customers[place * each : (place + 1) * each] for place in range(4)
    )
    for customer in [*before, *submitted, *unsubmitted]:
        crowd.order(customer)
    for customer in before:
        crowd.send(customer)
        crowd.submit(customer)
    wait_until(lambda: _completed(world, before) == each, "payments before the dump are completed")
    key = _key(folder)
    with figures.timing("dump"):
        dump = _dump(world, folder, key)
    figures.is_encrypted, figures.dump_bytes = dump.suffix == ".age", dump.stat().st_size
    # After the dump, some customers pay and submit. Some pay and close the page at once. Others create their
    # first request.
    for customer in [*submitted, *unsubmitted]:
        crowd.send(customer)
    for customer in submitted:
        crowd.submit(customer)
    for customer in afterwards:
        crowd.order(customer)
    wait_until(lambda: _completed(world, submitted) == each, "submitted payments are completed")
    figures.of_those_completed_before_failure = _completed(world, [*submitted, *unsubmitted])
    world.kill("PostgreSQL", "Redis", *_PROCESSES)
    failed_at = time.monotonic()
    world.lose_database()
    world.restart("PostgreSQL", "Redis")
    with figures.timing("restore"):
        _restore(world, dump, key)
    with figures.timing("start"):
        world.manage("doctor", "--only", "database", "--only", "secrets", "--only", "partitions")
        world.restart(*_PROCESSES)
        world.wait_for_web()
    with figures.timing("recover from the chain"):
        wait_until(
            lambda: _completed(world, [*submitted, *unsubmitted]) == 2 * each,
            "payments after the dump are found on the chain",
        )
    figures.seconds["failure until all is recovered"] = round(time.monotonic() - failed_at, 2)
    figures.recovered_from_chain = _completed(world, [*submitted, *unsubmitted])
    figures.faults = [*_faults(world, [*before, *submitted, *unsubmitted], afterwards)]
    return figures


def _completed(world: World, customers: list[Customer]) -> int:
    return sum(_status(world, customer) == "completed" for customer in customers)


def _status(world: World, customer: Customer) -> str | None:
    url = f"{world.url}/api/payment-requests/{customer.request_id}"
    answer = requests.get(url, headers={"X-API-Key": world.key}, timeout=20)
    return str(answer.json()["status"]) if answer.status_code == 200 else None


def _faults(world: World, paid: list[Customer], lost: list[Customer]) -> Iterator[str]:
    """Yield the errors: money that isn't counted or is counted twice, and requests that no customer created."""
    with psycopg.connect(world.database_url) as database:
        credited = dict(
            database.execute("SELECT id::text, amount_paid FROM payments_paymentrequest").fetchall()
        )
        consumed = database.execute("SELECT count(*), sum(amount) FROM payments_consumedtransfer").fetchone()
    for customer in paid:
        if credited.get(customer.request_id) != UNITS:
            yield f"{customer.request_id} was credited {credited.get(customer.request_id)}"
    on_chain = world.chain.token_balance(world.chain.usdc, world.chain.recipient)
    if consumed != (len(paid), on_chain):
        yield f"{consumed} transfers and units were consumed, but {len(paid)} customers paid {on_chain}"
    for customer in lost:
        if customer.request_id in credited:
            yield f"{customer.request_id} was made after the dump, but exists"


def _key(folder: Path) -> Path | None:
    if shutil.which("age") is None or shutil.which("age-keygen") is None:
        return None
    key = folder / "backup-key.txt"
    subprocess.run(["age-keygen", "--output", str(key)], check=True, capture_output=True)
    return key


def _dump(world: World, folder: Path, key: Path | None) -> Path:
    backups = folder / "backups"
    backups.mkdir()
    programs = postgres.program("pg_dump").parent
    if key is None:
        file = backups / "quittance.dump"
        command = [str(programs / "pg_dump"), "--format=custom", f"--file={file}", world.database_url]
        subprocess.run(command, check=True)
        return file
    recipient = subprocess.run(["age-keygen", "-y", str(key)], check=True, capture_output=True, text=True)
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "DATABASE_URL": world.database_url,
        "BACKUP_FOLDER": str(backups),
        "BACKUP_RECIPIENT": recipient.stdout.strip(),
    }
    script = REPOSITORY / "deploy/backup/backup.sh"
    subprocess.run([str(script)], env=environment, check=True, capture_output=True)
    (file,) = backups.iterdir()
    return file


def _restore(world: World, dump: Path, key: Path | None) -> None:
    plain = dump
    if key is not None:
        plain = dump.with_suffix("")
        command = ["age", "--decrypt", "--identity", str(key), "--output", str(plain), str(dump)]
        subprocess.run(command, check=True)
    restore = [postgres.program("pg_restore"), "--no-owner", "--exit-on-error", "--single-transaction"]
    subprocess.run([*restore, f"--dbname={world.database_url}", plain], check=True)
    with psycopg.connect(world.database_url, autocommit=True) as database:
        database.execute("ANALYZE")


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until `condition` holds. Raises TimeoutError."""
    deadline = time.monotonic() + RECOVERED_WITHIN_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"within {RECOVERED_WITHIN_SECONDS:g} s it did not happen that {what}")
        time.sleep(0.1)


def main() -> int:
    """Run the drill with EACH customers of each kind (default 20); print its figures as JSON."""
    with tempfile.TemporaryDirectory(prefix="quittance-restore-") as name:
        figures = drill(Path(name), int(os.environ.get("EACH", "20")))
    print(json.dumps(asdict(figures), indent=2))
    if not figures.is_encrypted:
        print(NOT_ENCRYPTED, file=sys.stderr)
    return 1 if figures.faults or figures.recovered_from_chain < figures.paid_after_dump else 0


if __name__ == "__main__":
    sys.exit(main())
