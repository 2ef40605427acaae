"""The service as deployed: the Procfile's processes, PostgreSQL, Redis, a chain and a webhook receiver."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import redis as redis_client
import requests
from cryptography.fernet import Fernet

from demo.commands import Commands
from demo.services import anvil, postgres, redis
from demo.services.process import REPOSITORY, Child, ServiceError, free_port, spawn
from tests.chain import LocalChain
from tests.support.wire import running_wire

PROGRAMS = Path(sys.executable).parent
KILLABLE = ("worker 1", "worker 2", "web", "beat", "PostgreSQL", "Redis")
# Faults other than SIGKILL. Most are over before `make` returns. A second beat, a full disk and wrong clocks
# last.
FLUSH, STALL, SECOND_BEAT, ROLLING = "flushed Redis", "stalled node", "second beat", "rolling restart"
VANISHED = "all connections to PostgreSQL vanished, and none was closed"
VANISHED_REDIS = "all connections to Redis vanished, and none was closed"
FULL_DISK = "full disk under the logs of worker 2 and beat"
CLOCKS, CLOCKS_BACK = "clocks step: worker 1 five minutes ahead, web two behind", "clocks step back"
STALLED_SECONDS = 4.0
_FULL = Path("/dev/full")
_CLOCK = Path(__file__).parent / "clock"
_STEPS = {"worker 1": "300", "web": "-120"}
_STARTS_SECONDS = 240.0
# Platforms send SIGKILL after this time (gunicorn's own grace period is 25 s).
_STOPS_SECONDS = 30.0
# At shutdown, Kombu acknowledges a message from a connection that died with Redis. This fails, and the worker
# exits with status 1. No harm: the message only woke the worker, and its tasks have ended.
_LOST_WITH_REDIS = "in ack_log_error"


class World:
    """All processes of a run.

    Call it from one thread: the kernel kills children when the thread that started them ends.
    """

    def __init__(self, folder: Path, receiver_url: str, code: Path = REPOSITORY) -> None:
        """Run the service from the folder `code`."""
        self._folder = folder
        self._code = code
        self._data = folder / "pg"
        self._children: dict[str, Child] = {}
        self._without_log: set[str] = set()
        self.redis_port, web_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{web_port}"
        self._node = anvil.start(block_time=1, log=folder / "anvil.log")
        self.chain = LocalChain.prepare(self._node.url, self._node.chain_id)
        self.environment = {
            **os.environ,
            "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
            "TMPDIR": str(folder),
            "SECRET_KEY": secrets.token_urlsafe(50),
            "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            "DEBUG": "False",
            "ENVIRONMENT": "staging",
            "BASE_URL": self.url,
            "CHECKOUT_URL": self.url,
            "ALLOWED_HOSTS": "127.0.0.1",
            "ALLOW_HTTP_URLS": "True",
            "WEBHOOK_ALLOW_PRIVATE": "True",
            "ROUTING_PROVIDERS": "off",
            "RATE_LIMIT_API": "off",
            "RATE_LIMIT_PUBLIC": "off",
            "RATE_LIMIT_EXPENSIVE": "off",
            "LOG_LEVEL": "WARNING",
            "DATABASE_POOL_SIZE": "16",
            "EMAIL_URL": "memorymail://",
            "PORT": str(web_port),
            "EVENTS_PORT": str(free_port()),
            "WEB_CONCURRENCY": "2",
            "WORKER_CONCURRENCY": "2",
        }
        # An address of this machine that only this world uses, so that PostgreSQL's port is free on it.
        self._database_address = f"127.100.{web_port >> 8}.{web_port & 255}"
        self._open, self._lasting = ExitStack(), ExitStack()
        # The backends of connections that a demotion left open.
        self.demoted: set[int] = set()
        self._wire = self._open.enter_context(running_wire((self._database_address, 5432)))
        self._redis_wire = self._open.enter_context(running_wire(("127.0.0.1", self.redis_port)))
        self.environment["REDIS_URL"] = f"redis://127.0.0.1:{self._redis_wire.port}/0"
        self._start_back_ends()
        self._procfile = dict(
            line.split(": ", 1) for line in (code / "Procfile").read_text().splitlines() if line
        )
        if code == REPOSITORY:
            with Commands(self.environment) as manage:
                self.key = self._set_up(manage)
        else:  # older versions have other commands
            self.key = self._set_up(self.manage)
        for name in ("web", "worker 1", "worker 2", "beat"):
            self.start(name)
        self.wait_for_web()
        self._configure(receiver_url)

    @property
    def database_url(self) -> str:
        """The direct URL of PostgreSQL, without the wire that the service connects through.

        Restarts don't change it.
        """
        return self._database_url

    def kill(self, *names: str) -> None:
        """Send SIGKILL to these and their children, all at the same moment."""
        for name in names:
            os.killpg(self._children[name].pid, signal.SIGKILL)
        for name in names:
            self._children[name].popen.wait()

    def make(self, fault: str) -> None:
        """Make a fault other than the death of a process."""
        if fault == FLUSH:
            redis_client.Redis(port=self.redis_port).flushall()
        elif fault == STALL:
            # The node is frozen, not dead: its connections stay open, but it sends nothing.
            os.kill(self._node.pid, signal.SIGSTOP)
            time.sleep(STALLED_SECONDS)
            os.kill(self._node.pid, signal.SIGCONT)
        elif fault == SECOND_BEAT:
            self.start("beat 2")
        elif fault == ROLLING:
            for name in ("worker 1", "worker 2", "beat", "web"):
                self.replace(name)
        elif fault == VANISHED:
            self._wire.vanish()
        elif fault == VANISHED_REDIS:
            self._redis_wire.vanish()
        elif fault in (CLOCKS, CLOCKS_BACK):
            for name, seconds in _STEPS.items():
                self._set_clock(name, seconds if fault == CLOCKS else "0")
        elif fault == FULL_DISK:
            self._without_log |= {"worker 2", "beat"}
            for name in sorted(self._without_log):
                self.replace(name)
        else:
            raise ValueError(fault)

    def until_it_stops(self, fault: "AbstractContextManager[None]") -> None:
        """Start a fault that lasts to the end of the run."""
        self._lasting.enter_context(fault)

    def processes(self) -> dict[str, set[int]]:
        """Return the process IDs of each part of the product. A part that has ended has none."""
        shown = subprocess.run(["ps", "-A", "-o", "pgid=,pid="], capture_output=True, text=True, check=True)
        ids = [(int(group), int(pid)) for group, pid in map(str.split, shown.stdout.splitlines())]
        return {
            name: {pid for group, pid in ids if group == child.pid}
            for name, child in self._children.items()
            if name not in ("PostgreSQL", "Redis")
        }

    def log_lines(self, name: str) -> int:
        """Return the number of lines that this part has logged."""
        return len(self._children[name].log.read_text(errors="replace").splitlines())

    def replace(self, name: str) -> None:
        """Stop a process as platforms do: SIGTERM, then SIGKILL after a grace period. Start the next one."""
        child = self._children[name]
        child.popen.terminate()
        try:
            code = child.popen.wait(timeout=_STOPS_SECONDS)
        except subprocess.TimeoutExpired:
            # Rare, on a loaded machine: Celery's own stop hangs in a worker that lost Redis before.
            print(f"{name} had to be killed {_STOPS_SECONDS:g} s after SIGTERM:\n{child.tail(5)}")
            code = -signal.SIGTERM
            self.kill(name)
        if code not in (0, -signal.SIGTERM) and _LOST_WITH_REDIS not in child.tail(60):
            raise ServiceError(f"{name} ended with status {code} after SIGTERM:\n{child.tail(60)}")
        self.start(name)

    def restart(self, *names: str) -> None:
        """Start these again, PostgreSQL and Redis first. Redis starts empty."""
        for name in sorted(names, key=lambda name: name not in ("PostgreSQL", "Redis")):
            self.start(name)

    def lose_database(self) -> None:
        """Delete PostgreSQL's data, as a broken disk does.

        The next start creates an empty database in another folder.
        """
        shutil.rmtree(self._data)
        self._data = self._folder / "pg-restored"

    def ask_to_stop(self, *names: str) -> None:
        """Send SIGTERM, as platforms do; wait until the processes have ended."""
        for name in names:
            os.kill(self._children[name].pid, signal.SIGTERM)
        for name in names:
            self._children[name].popen.wait(timeout=60)

    def run_version(self, code: Path) -> None:
        """From now on, start processes from another folder, and `web` on a new port."""
        port = free_port()
        self._code, self.url = code, f"http://127.0.0.1:{port}"
        self.environment |= {"PORT": str(port)}
        procfile = (code / "Procfile").read_text().splitlines()
        self._procfile = dict(line.split(": ", 1) for line in procfile if line)

    def rename(self, old: str, new: str) -> None:
        """Give a running part another name, so that a second one can start."""
        self._children[new] = self._children.pop(old)

    def start(self, name: str) -> None:
        if name == "PostgreSQL":
            self._children[name] = self._postgres()
        elif name == "Redis":
            self._children[name] = redis.start(None, self.redis_port).child
        else:
            command = self._procfile[name.split()[0]]
            if name.startswith("beat"):
                command += " --pidfile="
            if name == "beat 2":
                command = command.replace("quittance-beat-schedule", "quittance-beat-schedule-2")
            self._children[name] = spawn(
                name,
                ["/bin/sh", "-c", f"exec {command}"],
                _FULL if name in self._without_log else self._folder / f"{name}.log",
                env=self.environment | self._clock_of(name),
                cwd=self._code,
            )

    def _clock_of(self, name: str) -> dict[str, str]:
        """Return the environment variables of a process with a wrong clock."""
        if name not in _STEPS:
            return {}
        file = self._folder / f"{name}.clock"
        if not file.exists():
            self._set_clock(name, "0")
        return {"PYTHONPATH": str(_CLOCK), "CLOCK_FILE": str(file)}

    def _set_clock(self, name: str, seconds: str) -> None:
        (self._folder / f"{name}.clock").write_text(seconds)

    def stop(self) -> None:
        """Kill everything. Output after this is ignored."""
        self._lasting.close()
        for child in self._children.values():
            if child.exit_code is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.popen.wait()
        self._node.stop()
        self._open.close()

    def _start_back_ends(self) -> None:
        self.start("PostgreSQL")
        self.start("Redis")

    def _postgres(self) -> Child:
        """Start PostgreSQL with the existing data.

        Wait while processes of its killed predecessor are still ending.
        """
        deadline = time.monotonic() + _STARTS_SECONDS
        while True:
            try:
                running = postgres.start(self._data, settings={"listen_addresses": self._database_address})
            except ServiceError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                self._database_url = running.url
                self.environment["DATABASE_URL"] = (
                    f"postgresql://postgres@127.0.0.1:{self._wire.port}/quittance"
                )
                return running.child

    def _set_up(self, manage: Callable[..., str]) -> str:
        """Load the chain and create a merchant and a key with the product's commands; return the key."""
        manage("migrate", "--verbosity=0")
        token = {
            "symbol": "USDC",
            "name": "USD Coin",
            "decimals": 6,
            "contract_address": self.chain.usdc,
            "is_active": True,
            "tags": [],
            "trailing_data": True,
        }
        row = {
            "id": self.chain.chain_id,
            "name": "Local Chain",
            "chain_type": "evm",
            "is_active": True,
            "rpc_urls": [self.chain.url],
            "explorer_url": "",
            "native_symbol": "ETH",
            "confirmations": 2,
            "block_time_ms": 1000,
            "routers": {},
            "tokens": [token],
        }
        catalogue = self._folder / "catalogue.json"
        catalogue.write_text(json.dumps({"chains": [row]}))
        manage("load_catalogue", str(catalogue))
        merchant = manage("create_merchant", "Chaos Bakery")
        return manage(
            "create_api_key", merchant, "--permissions", "create_payments,create_refunds,manage_webhooks"
        )

    def _configure(self, receiver_url: str) -> None:
        body: dict[str, Any] = {"url": receiver_url}
        if self._code == REPOSITORY:  # older versions may lack the events of refunds
            body["enabled_events"] = ["payment.succeeded", "refund.completed", "refund.failed"]
        answer = requests.put(
            f"{self.url}/api/webhooks", json=body, headers={"X-API-Key": self.key}, timeout=30
        )
        answer.raise_for_status()
        self.secret = str(answer.json()["secret"])

    def manage(self, *arguments: str) -> str:
        """Run a command of manage.py; return its output. Raises ServiceError."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=self._code,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        if done.returncode:
            raise ServiceError(f"manage.py {arguments[0]} failed.\n{done.stdout}{done.stderr}")
        return done.stdout.strip()

    def wait_for_web(self) -> None:
        self._eventually(self._is_up, "the web process answers")

    def _is_up(self) -> bool:
        try:
            return requests.get(f"{self.url}/healthz", timeout=2).ok
        except requests.RequestException:
            return False

    def _eventually(self, condition: Callable[[], Any], what: str) -> None:
        deadline = time.monotonic() + _STARTS_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise ServiceError(f"within {_STARTS_SECONDS:g} s it did not happen that {what}")
            time.sleep(0.05)
