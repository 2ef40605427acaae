"""The local world: `make run`.

`make run` starts these parts, in order:

1. A private PostgreSQL and Redis. If DATABASE_URL or REDIS_URL is set, that server is used instead.
2. Two EVM chains and, if Surfnet has a build for this machine, a Solana chain. Each has test tokens and a routing
   provider's contracts.
3. The data, if it is missing: migrations, the catalogue, an admin user, and a demo merchant with an API key.
4. The processes: the local aggregator (the routing provider), the rate sources, web, worker, beat, events and the demo
   shop.

Ctrl-C stops all parts in reverse order. The state is in .local/world (or WORLD_DIRECTORY). Remove that directory to
start over.
"""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

import requests

from demo.aggregator import server as aggregator
from demo.aggregator.places import HARBOUR_CHAIN_ID, local_places
from demo.commands import Commands
from demo.contracts.accounts import deploy_delegate
from demo.contracts.deploy import ChainRefusal, deploy_local_tokens, renew_local_tokens
from demo.factories import deploy_factories
from demo.services import anvil, postgres, redis, surfnet
from demo.services.process import LOCAL, REPOSITORY, Child, ServiceError, claim, is_free, spawn
from demo.solana.ledger import LAMPORTS_PER_SOL, LedgerRefusal, fund
from demo.solana.mint import MERCHANT, SPONSOR, WALLET, prepare_local_mint
from demo.world_console import red, say, step, summary
from demo.world_env import (
    ADMIN_USER,
    Addresses,
    Memory,
    aggregator_environment,
    database_identity,
    rates_environment,
    reach_loopback_directly,
    shop_environment,
    web_environment,
    write_settings,
)

WORLD = Path(os.environ.get("WORLD_DIRECTORY", LOCAL / "world")).resolve()
LOGS = WORLD / "logs"
SETTINGS = WORLD / "settings.sh"
SHOP_MERCHANT = "Harbour Coffee"
BLOCK_SECONDS = 2.0
MAX_RESTARTS = 3


@dataclass
class Part:
    """A process of the product or of the shop. It works when `answers_at` responds, or when `says` is in its log."""

    name: str
    command: Sequence[str]
    environment: dict[str, str]
    answers_at: str | None = None  # a URL
    says: str | None = None  # a word in its log
    child: Child | None = None
    restarts: int = 0

    @property
    def log(self) -> Path:
        return LOGS / f"{self.name}.log"

    def start(self) -> None:
        """Start the process and wait until it works. Raises ServiceError with the end of its log."""
        written = self.log.stat().st_size if self.log.exists() else 0
        command = [sys.executable, "-m", *self.command]
        self.child = spawn(self.name, command, self.log, env=self.environment, cwd=REPOSITORY)
        self.child.await_ready(partial(self._works, written), 60, "Its log says why:")

    def _works(self, written: int) -> bool:
        if self.says:
            return self.says.encode() in self.log.read_bytes()[written:]
        try:
            return self.answers_at is None or requests.get(self.answers_at, timeout=5).ok
        except requests.RequestException:
            return False


def main() -> int:
    """Run the world until it is stopped. Return the exit status."""
    # A process that a shell started in the background ignores SIGINT by default.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)
    running: list[Child] = []
    reach_loopback_directly()
    status = 0
    with _only_one():
        try:
            _start_and_watch(running)
        except KeyboardInterrupt:
            say()
        except (ServiceError, ChainRefusal, LedgerRefusal, OSError) as error:
            say(f"\n{red('The local world stopped.')} {error}")
            status = 1
        _stop(running)
    return status


def _start_and_watch(running: list[Child]) -> None:
    say("Starting the local world")
    _clear_logs()
    memory = Memory(WORLD / "secrets.env")
    _check_settings(memory)
    at = _start_services(running)
    environment = web_environment(memory, at)
    write_settings(memory, at, SETTINGS)
    _set_up(memory, at, environment)
    parts = _parts(memory, at, environment)
    for part in parts:
        with step(f"Starting {part.name}"):
            part.start()
            running.append(_child(part))
    _tell(memory, at)
    _watch(running, parts)


def _check_settings(memory: Memory) -> None:
    """If a setting from outside is invalid, exit as the product does, before anything is started."""
    here = "http://127.0.0.1:8000"
    database = os.environ.get("DATABASE_URL") or "postgresql:///quittance"
    broker = os.environ.get("REDIS_URL") or "redis://127.0.0.1"
    at = Addresses(here, here, here, here, here, here, here, here, database, broker)
    command = [sys.executable, "-c", "from config.environment import load_or_exit; load_or_exit()"]
    status = subprocess.run(command, cwd=REPOSITORY, env=web_environment(memory, at)).returncode
    if status:
        sys.exit(status)


def _stop(running: list[Child]) -> None:
    """Stop the latest processes first, because they depend on earlier processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if not running:
        return
    say("Stopping…")
    for child in reversed(running):
        child.stop()
    say("Stopped. `make run` takes it up again where it was.")


def _start_services(running: list[Child]) -> Addresses:
    """Start the back-ends.

    Add each back-end to `running` as soon as it runs, so that it is stopped if a later one fails to start.
    """
    database, broker = os.environ.get("DATABASE_URL"), os.environ.get("REDIS_URL")
    if not database:
        with step("Starting PostgreSQL"):
            server = postgres.start(WORLD / "postgres")
            running.append(server.child)
            database = server.url
    if not broker:
        with step("Starting Redis"):
            cache = redis.start(WORLD / "redis")
            running.append(cache.child)
            broker = cache.url
    anvil.install()
    with step("Starting the local chains"):
        chain = _start_chain(running, anvil.CHAIN_ID, 8545, "chain")
        harbour = _start_chain(running, HARBOUR_CHAIN_ID, 8546, "harbour")
    solana = _start_solana(running)
    with step("Stocking the local aggregator"):
        aggregator.prepare(local_places(chain, harbour, solana))
    web = _port("web", 8000)
    shop = _port("shop", 8001)
    routing = _port("aggregator", 8002)
    events = _port("events", 8003)
    rates = _port("rates", 8004)
    return Addresses(
        web=f"http://127.0.0.1:{web}",
        shop=f"http://127.0.0.1:{shop}",
        aggregator=f"http://127.0.0.1:{routing}/v1",
        events=f"http://127.0.0.1:{events}",
        rates=f"http://127.0.0.1:{rates}",
        chain=chain,
        harbour=harbour,
        solana=solana,
        database=database,
        redis=broker,
    )


def _start_chain(running: list[Child], chain_id: int, port: int, name: str) -> str:
    """Start an EVM chain with the test tokens, from its saved state. Return its URL."""
    chain = anvil.start(
        chain_id=chain_id,
        port=_port(name, port),
        block_time=BLOCK_SECONDS,
        # Deposit addresses work only after the factory's block is finalized. With this setting, that is two blocks
        # later.
        slots_in_an_epoch=1,
        state=WORLD / name / "state.json",
        extra_args=["--quiet"],
    )
    running.append(chain.child)
    if not deploy_local_tokens(chain.url, anvil.WALLET_ADDRESS):
        renew_local_tokens(chain.url)
    deploy_delegate(chain.url)
    return chain.url


def _start_solana(running: list[Child]) -> str | None:
    """Start the Solana chain. Return None if this machine can't run it."""
    try:
        with step("Starting the local Solana chain"):
            chain = surfnet.start(port=_port("Solana chain", 8899), log=LOGS / "surfnet.log")
            running.append(chain.child)
            prepare_local_mint(chain.url, WALLET.pubkey())
            fund(chain.url, MERCHANT.pubkey(), LAMPORTS_PER_SOL)  # for the network fees of refunds
            fund(chain.url, SPONSOR.pubkey(), 10 * LAMPORTS_PER_SOL)
    except ServiceError as error:
        say(f"    The local world goes without Solana. {error}")
        return None
    return chain.url


def _set_up(memory: Memory, at: Addresses, environment: dict[str, str]) -> None:
    """Migrate and fill the database.

    Rows are created only once for each database: `memory` records which ones exist.
    """
    identity = database_identity(at.database)
    if memory.get("DATABASE") != identity:
        memory.forget("ADMIN_CREATED", "MERCHANT_ID", "API_KEY", "EMBEDDED_AT", "BRANDED_AT", "DEPOSITS_AT")
        memory["DATABASE"] = identity
    with Commands(environment) as manage:
        _migrate_and_fill(memory, at, manage)


def _migrate_and_fill(memory: Memory, at: Addresses, manage: Commands) -> None:
    with step("Bringing the database up to date"):
        manage("migrate", "--verbosity=0")
        manage("load_catalogue", "demo/catalogue.json")
        if at.solana:
            manage("load_catalogue", "demo/solana/catalogue.json")
    if memory.get("ADMIN_CREATED") is None:
        with step("Making the admin user"):
            _make_admin(memory, manage)
    if memory.get("API_KEY") is None:
        with step(f"Making the merchant {SHOP_MERCHANT!r} and its API key"):
            memory["MERCHANT_ID"] = memory.get("MERCHANT_ID") or manage("create_merchant", SHOP_MERCHANT)
            permissions = "create_payments,create_refunds,manage_webhooks"
            merchant = memory["MERCHANT_ID"]
            memory["API_KEY"] = manage(
                "create_api_key", merchant, "--permissions", permissions, "--name", "demo shop"
            )
    if memory.get("BRANDED_AT") != at.shop:
        with step("Giving the checkout the shop's logo and colours"):
            logo = f"{at.shop}/static/icon.svg"
            colours = ("--accent-colour", "#c8451f", "--background-colour", "#f6f1e7")
            manage(
                "set_merchant", memory["MERCHANT_ID"], "--logo-url", logo, *colours, "--order-number", "on"
            )
            memory["BRANDED_AT"] = at.shop
    if memory.get("EMBEDDED_AT") != at.shop:
        with step("Registering the shop, which may show the checkout in its own page"):
            manage("set_merchant", memory["MERCHANT_ID"], "--embed-origin", at.shop)
            memory["EMBEDDED_AT"] = at.shop
    if memory.get("DEPOSITS_AT") != memory["MERCHANT_ID"]:
        with step("Switching on deposit addresses"):
            manage("set_merchant", memory["MERCHANT_ID"], "--deposit-addresses", "on")
            memory["DEPOSITS_AT"] = memory["MERCHANT_ID"]
    deploy_factories(manage, {anvil.CHAIN_ID: at.chain, HARBOUR_CHAIN_ID: at.harbour})


def _make_admin(memory: Memory, manage: Commands) -> None:
    given = {
        "DJANGO_SUPERUSER_USERNAME": ADMIN_USER,
        "DJANGO_SUPERUSER_EMAIL": "admin@example.com",
        "DJANGO_SUPERUSER_PASSWORD": memory["ADMIN_PASSWORD"],
    }
    try:
        manage("createsuperuser", "--noinput", environment=given)
    except ServiceError as error:
        if "already taken" not in str(error):
            raise
        memory["ADMIN_PASSWORD"] = "(the one this database already has)"  # noqa: S105 - a remark
    memory["ADMIN_CREATED"] = "yes"


def _parts(memory: Memory, at: Addresses, environment: dict[str, str]) -> list[Part]:
    bind = at.web.removeprefix("http://")
    application = "demo.wsgi" if (REPOSITORY / "demo" / "wsgi.py").exists() else "config.wsgi"
    web = ["gunicorn", f"{application}:application", "--config", "config/gunicorn.py", "--bind", bind]
    web += ["--workers", "2", "--threads", "8", "--graceful-timeout", "5"]
    celery = ["celery", "-A", "config"]
    worker = [*celery, "worker", "--loglevel", "INFO", "--concurrency", "2"]
    worker += ["--without-gossip", "--without-mingle"]
    beat = [
        "celery",
        "-A",
        "config.beat",
        "beat",
        "--loglevel",
        "INFO",
        "--schedule",
        str(WORLD / "beat-schedule"),
        "--pidfile",
        "",
    ]
    events = [
        "uvicorn",
        "config.server.asgi:application",
        "--workers",
        "1",
        "--port",
        at.events.rsplit(":", 1)[1],
    ]
    events += ["--no-access-log", "--no-proxy-headers", "--timeout-graceful-shutdown", "3"]
    routing = aggregator_environment(at)
    return [
        Part("aggregator", ["demo.aggregator"], routing, answers_at=f"{at.aggregator}/chains"),
        Part("rates", ["demo.rates"], rates_environment(at), answers_at=f"{at.rates}/switches"),
        Part("web", web, environment, answers_at=f"{at.web}/healthz"),
        Part("worker", worker, environment, says=" ready."),
        Part("beat", beat, environment, says=" is starting."),
        Part("events", events, environment, answers_at=f"{at.events}/healthz"),
        Part("shop", ["demo.shop"], shop_environment(memory, at, WORLD), answers_at=f"{at.shop}/"),
    ]


def _watch(running: list[Child], parts: list[Part]) -> None:
    """If a process of the product dies, restart it.

    If a service such as PostgreSQL dies, stop the world. Never returns.
    """
    while True:
        time.sleep(0.5)
        for place, child in enumerate(running):
            if child.exit_code is None:
                continue
            why = f"{child.name} ended by itself (exit status {child.exit_code}). The end of {child.log}:"
            part = next((part for part in parts if part.child is child), None)
            if part is None or part.restarts >= MAX_RESTARTS:
                raise ServiceError(f"{why}\n{child.tail()}")
            say(f"\n{red(why)}\n{child.tail()}\nStarting {part.name} again…")
            part.restarts += 1
            part.start()
            running[place] = _child(part)


def _tell(memory: Memory, at: Addresses) -> None:
    rows = [
        ("Shop", at.shop),
        ("Admin", f"{at.web}/admin/  (user {ADMIN_USER}, password {memory['ADMIN_PASSWORD']})"),
        ("API", f"{at.web}  (key {memory['API_KEY']})"),
        ("Reference", f"{at.web}/api/docs"),
        (
            "Chain",
            f"{at.chain}  (chain id {anvil.CHAIN_ID}; the demo wallet holds test ETH, USDC, DAI and USDT)",
        ),
        (
            "Harbour Chain",
            f"{at.harbour}  (chain id {HARBOUR_CHAIN_ID}; the demo wallet holds the same there)",
        ),
        ("Solana", _solana_row(at)),
        (
            "Aggregator",
            f"{at.aggregator}  (speaks LI.FI's interface, and really moves tokens between these chains)",
        ),
        (
            "Rates",
            f"{at.rates}/switches  (Coinbase's and Kraken's last trades, and price feeds on the first chain)",
        ),
        (
            "Exchange",
            ".venv/bin/python -m demo.exchange ADDRESS AMOUNT TOKEN  (pays a deposit address from a hot wallet)",
        ),
        ("Documentation", "README.md and docs/"),
        ("manage.py", f"(. {_short(SETTINGS)}; .venv/bin/python manage.py help)"),
        ("Logs", f"{LOGS}/, {WORLD}/*/*.log"),
    ]
    summary(
        "Quittance runs. Buy something in the shop:", rows, "Ctrl-C stops everything; what was made stays."
    )


def _short(path: Path) -> str:
    """Return the path relative to the repository's folder."""
    return str(path.relative_to(REPOSITORY)) if path.is_relative_to(REPOSITORY) else str(path)


def _solana_row(at: Addresses) -> str:
    if not at.solana:
        return "not on this machine (see above)"
    return f"{at.solana}  (chain id {surfnet.CHAIN_ID}; starts fresh each time; the demo wallet holds SOL and USDC)"


def _port(what: str, wanted: int) -> int:
    """Return a port, and reserve it: some servers start long after their port is chosen, and another world must not use
    it.
    """
    port = next(port for port in range(wanted, wanted + 100) if is_free(port) and claim(port))
    if port != wanted:
        say(f"    Port {wanted} is busy: the {what} takes {port}.")
    return port


@contextmanager
def _only_one() -> Iterator[None]:
    """Allow only one world for each directory. Two would damage each other's chain and database."""
    WORLD.mkdir(parents=True, exist_ok=True)
    with (WORLD / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("The local world already runs from this directory: use that one, or stop it first.")
        yield


def _clear_logs() -> None:
    LOGS.mkdir(parents=True, exist_ok=True)
    for log in LOGS.glob("*.log"):
        log.unlink()


def _child(part: Part) -> Child:
    if part.child is None:
        raise ServiceError(f"{part.name} was not started.")
    return part.child


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the interface of a signal handler
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
