"""`make upgrade-drill`: upgrade a running service from an older version under traffic, and count failed requests.

PREVIOUS names the commit to upgrade from, by default the last release. Both versions run with the installed
packages.

1. The old version runs. Clients create, list, read and open requests all the time, while customers pay.
2. The new version migrates the database. The old version continues on the new schema, as after a rollback of the code.
3. New `web` and worker processes start and get the traffic. The old ones get SIGTERM.

Prints the figures as JSON. Exit status 1 if a request failed or a payment was not completed.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import requests

from demo.services.process import REPOSITORY
from tests.integration.chaos.customers import AMOUNT, UNITS, Crowd
from tests.integration.chaos.world import World
from tests.integration.operations.drills.restore import wait_until
from tests.support.webhooks.receiver import running_receiver

CALLERS = 4
PAYMENTS = 12
SERVED_SECONDS = 5.0
_OLD = ("web", "worker 1", "worker 2", "beat")


@dataclass
class Figures:
    """The drill's results. Durations are in seconds."""

    previous: str
    requests: int = 0
    failed: list[str] = field(default_factory=list)
    slowest_seconds: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    payments: int = 0
    completed: int = 0

    @contextmanager
    def timing(self, step: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[step] = round(time.monotonic() - began, 2)


class Traffic:
    """Clients that call the current URL until they are stopped, with a new connection for each call."""

    def __init__(self, world: World, token: int, figures: Figures) -> None:
        self._world, self._token, self._figures = world, token, figures
        self._url, self._step = world.url, "old version"
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._call) for _ in range(CALLERS)]

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        self._stopping.set()
        for each in self._threads:
            each.join()

    def now(self, step: str, url: str | None = None) -> None:
        """From now on, record failures under this step and send calls to `url`."""
        self._step, self._url = step, url or self._url

    def _call(self) -> None:
        while not self._stopping.is_set():
            created = self._request("POST", "/api/payment-requests", json=self._order())
            self._request("GET", "/api/payment-requests?limit=20")
            if created:
                self._request("GET", f"/api/public/payment-requests/{created['id']}")
                self._request("GET", f"/pay/{created['shortcode']}", is_page=True)
                self._request("POST", f"/api/payment-requests/{created['id']}/cancel", json={})

    def _order(self) -> dict[str, Any]:
        chain = self._world.chain
        return {
            "amount": AMOUNT,
            "token_id": self._token,
            "chain_id": chain.chain_id,
            "recipient_address": chain.recipient,
        }

    def _request(self, method: str, path: str, *, is_page: bool = False, **more: Any) -> Any:
        step, began = self._step, time.monotonic()
        headers = {"X-API-Key": self._world.key, "Connection": "close"}
        try:
            answer = requests.request(method, self._url + path, headers=headers, timeout=30, **more)
            failure = "" if answer.ok else f"{answer.status_code} {answer.text[:200]}"
        except requests.RequestException as error:
            failure = type(error).__name__
        with self._lock:
            self._figures.requests += 1
            self._figures.slowest_seconds = max(
                self._figures.slowest_seconds, round(time.monotonic() - began, 2)
            )
            if failure:
                self._figures.failed.append(f"{step}: {method} {path.partition('?')[0]}: {failure}")
        return None if failure or is_page else answer.json()


def drill(folder: Path, previous: str) -> Figures:
    """Upgrade from the commit `previous` to this working tree."""
    old = folder / "previous"
    old.mkdir()
    archive = subprocess.run(["git", "archive", previous], cwd=REPOSITORY, check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", str(old)], input=archive.stdout, check=True)
    with running_receiver() as receiver:
        world = World(folder, receiver.url, old)
        try:
            return _drill(world, Figures(previous))
        finally:
            world.stop()


def _drill(world: World, figures: Figures) -> Figures:
    crowd = Crowd(world.url, world.key, world.chain, PAYMENTS, late=0)
    token = crowd.find_token()
    for customer in crowd.customers:
        crowd.order(customer)
    traffic = Traffic(world, token, figures)
    traffic.start()
    try:
        for number, customer in enumerate(crowd.customers):
            crowd.send(customer)
            if number % 2:  # discovery finds the others by their references
                crowd.submit(customer)
        world.run_version(REPOSITORY)
        traffic.now("migrating")
        with figures.timing("migrate"):
            world.manage("migrate", "--noinput", "--verbosity", "0")
        traffic.now("old version over the new schema")
        time.sleep(SERVED_SECONDS)
        with figures.timing("start the new version beside the old"):
            for name in _OLD:
                world.rename(name, f"old {name}")
                world.start(name)
            world.wait_for_web()
        traffic.now("new version", world.url)
        with figures.timing("stop the old version"):
            world.ask_to_stop(*(f"old {name}" for name in _OLD))
        time.sleep(SERVED_SECONDS)
    finally:
        traffic.stop()
    wait_until(lambda: _completed(world, crowd) == PAYMENTS, "all payments are completed")
    figures.payments, figures.completed = PAYMENTS, _completed(world, crowd)
    return figures


def _completed(world: World, crowd: Crowd) -> int:
    count = 0
    for customer in crowd.customers:
        url = f"{world.url}/api/payment-requests/{customer.request_id}"
        answer = requests.get(url, headers={"X-API-Key": world.key}, timeout=20).json()
        count += answer["status"] == "completed" and answer["amount_paid"]["raw"] == str(UNITS)
    return count


def last_release() -> str:
    """Return the newest tag. Without tags, return the commit that added the newest release notes."""
    for command in (
        ["git", "describe", "--tags", "--abbrev=0"],
        ["git", "log", "--diff-filter=A", "--max-count=1", "--format=%h", "--", "docs/releases"],
    ):
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip()
    raise SystemExit("There is no release to upgrade from: name a commit in PREVIOUS.")


def main() -> int:
    """Run the drill from PREVIOUS; print its figures as JSON."""
    with tempfile.TemporaryDirectory(prefix="quittance-upgrade-") as name:
        figures = drill(Path(name), os.environ.get("PREVIOUS") or last_release())
    print(json.dumps(asdict(figures), indent=2))
    return 1 if figures.failed or figures.completed < figures.payments else 0


if __name__ == "__main__":
    sys.exit(main())
