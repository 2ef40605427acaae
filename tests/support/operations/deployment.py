"""A deployment as operators make it: a folder with the image's files, `manage.py setup`, and the Procfile.

PostgreSQL, Redis, the proxy with TLS, the processes and the local chain are real. The providers of quotes and
rates and the mail server are simulated locally. Tests can stop `processes` and break `outside`.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import requests

from config.beat import heartbeat
from config.environment.declared import declared
from config.setup import env_file
from demo.commands import Commands
from demo.services import postgres, redis
from demo.services.process import Child, free_port, spawn
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy, proxying
from tests.loopback import Exchange, scripted
from tests.processes import REPOSITORY, eventually
from tests.support.operations import image, tls_proxy
from tests.support.operations.mail_server import running_mail_server
from tests.support.rates.exchanges import running_exchanges
from tests.support.webhooks.receiver import running_receiver

PROCESSES = ("web", "worker 1", "worker 2", "beat", "events")
NODES = ("LOCAL_RPC_URL", "LOCAL_RPC_URL_2", "LOCAL_RPC_URL_3")
_STARTS_SECONDS = 300.0
Found = dict[str, str]


class Deployment:
    """All parts of a deployment.

    The constructor sets it up, `start` starts the Procfile's processes, `stop` ends everything.
    """

    def __init__(self, folder: Path, chain: LocalChain) -> None:
        self.chain = chain
        self.folder = folder / "app"
        self.key = ""
        self.processes: dict[str, Child] = {}
        self.proxy_sets: tls_proxy.Change = tls_proxy.well
        self.provider_status = 200
        self.logs = folder
        self._all = ExitStack()
        self._mail = ExitStack()
        self._hook = ExitStack()
        try:
            self._prepare(folder)
        except BaseException:
            self.stop()
            raise

    def _prepare(self, folder: Path) -> None:
        image.copy_to(self.folder)
        self.database = postgres.start(folder / "pg", durable=False)
        self._all.callback(self.database.stop)
        self.redis = redis.start(None)
        self._all.callback(self.redis.stop)
        self.nodes: list[FaultProxy] = [self._all.enter_context(proxying(self.chain.url)) for _ in NODES]
        self.exchanges = self._all.enter_context(running_exchanges())
        self.receiver = self._hook.enter_context(running_receiver())
        self.certificate = tls_proxy.make_certificate(folder / "proxy.pem", 90)
        self.web_url = f"http://127.0.0.1:{free_port()}"
        self._events_url = f"http://127.0.0.1:{free_port()}"
        proxy = tls_proxy.tls_proxy(
            self.web_url,
            self.certificate,
            lambda headers, client: self.proxy_sets(headers, client),
            streams=self._events_url,
        )
        self.url = self._all.enter_context(proxy)
        (temporary := folder / "tmp").mkdir()
        self.backups = folder / "backups"
        self.backups.mkdir()
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in declared()},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": "",
            "EVENTS_PORT": self._events_url.rpartition(":")[2],
            "HOME": "/nonexistent",  # a service's user has no home
            "TMPDIR": str(temporary),
            "SSL_CERT_FILE": str(self.certificate),
        }
        for name in ("DJANGO_SETTINGS_MODULE", "DJANGO_ALLOW_ASYNC_UNSAFE", "PYTHONDONTWRITEBYTECODE"):
            self.environment.pop(name, None)
        self.set_up = self._set_up(self._all.enter_context(scripted(self._list_tokens, path="/v1")).url)
        assert (self.folder / ".env").exists(), self.set_up.stderr
        self.settings = env_file.read((self.folder / ".env").read_text())

    def _set_up(self, provider: str) -> "subprocess.CompletedProcess[str]":
        """Run `manage.py setup` in the new folder."""
        catalogue = self.logs / "catalogue.json"
        catalogue.write_text(json.dumps({"chains": [self._row()]}))
        flags = {
            "--base-url": self.url,
            "--database-url": self.database.url,
            "--redis-url": self.redis.url,
            "--email-url": f"smtp://127.0.0.1:{self._mail.enter_context(running_mail_server())}",
            "--catalogue": str(catalogue),
        }
        more = {
            "PORT": self.web_url.rpartition(":")[2],
            "EVENTS_URL": self.url,
            "DATABASE_POOL_SIZE": "16",
            "BACKUP_FOLDER": str(self.backups),
            "ALLOW_HTTP_URLS": "True",
            "WEBHOOK_ALLOW_PRIVATE": "True",
            "ROUTING_PROVIDERS": "lifi",
            "LIFI_API_URL": provider,
            "LIFI_API_KEY": "only-for-this-test",
            "RATE_SOURCES": "coinbase,kraken",
            "RATE_URL_COINBASE": self.exchanges.url,
            "RATE_URL_KRAKEN": self.exchanges.url,
            **{name: node.url for name, node in zip(NODES, self.nodes, strict=True)},
        }
        arguments = [f"{name}={value}" for name, value in flags.items()]
        arguments += [f"--set={name}={value}" for name, value in more.items()]
        return self.manage("setup", "--migrate", *arguments)

    def _row(self) -> dict[str, Any]:
        token = {
            "symbol": "USDC",
            "name": "USD Coin",
            "decimals": 6,
            "contract_address": self.chain.usdc,
            "is_active": True,
            "tags": [],
            "trailing_data": True,
            "price_as": "USDC",
        }
        return {
            "id": self.chain.chain_id,
            "name": "Local Chain",
            "chain_type": "evm",
            "is_active": True,
            "rpc_urls": [f"env:{name}" for name in NODES],
            "explorer_url": "",
            "native_symbol": "ETH",
            "confirmations": 1,
            "block_time_ms": 1000,
            "routers": {},
            "tokens": [token],
        }

    def _list_tokens(self, exchange: Exchange) -> None:
        """Respond like LI.FI, which supports only this chain."""
        chain_id = self.chain.chain_id
        token = {"address": self.chain.usdc, "symbol": "USDC", "name": "USD Coin", "decimals": 6}
        tokens = {"tokens": {str(chain_id): [{**token, "chainId": chain_id, "priceUSD": "1"}]}}
        chains = {"chains": [{"id": chain_id, "chainType": "EVM"}]}
        exchange.reply(chains if exchange.path == "/chains" else tokens, self.provider_status)

    def manage(self, *arguments: str, wrapper: Sequence[str] = (), **more: str) -> Any:
        """Run manage.py in the folder with the extra environment variables `more`; return the completed process."""
        return subprocess.run(
            [*wrapper, sys.executable, "manage.py", *arguments],
            cwd=self.folder,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )

    def doctor(self, **options: Any) -> tuple[int, list[Found]]:
        """Run `manage.py doctor`; return its exit code and its findings."""
        done = self.manage("doctor", "--json", **options)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)["findings"]

    def start(self) -> None:
        """Create a merchant and a key, make a backup, start the Procfile's processes, and wait until each works."""
        with Commands({**self.environment, **self.settings}) as manage:
            merchant = manage("create_merchant", "Corner Bakery")
            self.key = manage("create_api_key", merchant, "--permissions", "create_payments,manage_webhooks")
        self._back_up()
        lines = (self.folder / "Procfile").read_text().splitlines()
        commands = dict(line.split(": ", 1) for line in lines if line)
        for name in PROCESSES:
            command = ["/bin/sh", "-c", f"exec {commands[name.split()[0]]}"]
            log = self.logs / f"{name}.log"
            self.processes[name] = spawn(name, command, log, env=self.environment, cwd=self.folder)
        eventually(self._is_ready, "web and a worker answer", _STARTS_SECONDS)
        eventually(self._events_answers, "events answers", _STARTS_SECONDS)
        eventually(lambda: heartbeat.age(self.redis.url) is not None, "beat sends", _STARTS_SECONDS)

    def _back_up(self) -> None:
        """Run the backup recipe's script. Another program replaces `age`, which may not be installed."""
        (programs := self.logs / "bin").mkdir()
        (programs / "age").write_text("#!/bin/sh\nexec cat\n")
        (programs / "age").chmod(0o755)
        path = (str(programs), str(postgres.program("pg_dump").parent), self.environment["PATH"])
        settings = {"BACKUP_RECIPIENT": "age1", "PATH": os.pathsep.join(path)}
        script = REPOSITORY / "deploy/backup/backup.sh"
        environment = {**self.environment, **self.settings, **settings}
        subprocess.run([str(script)], env=environment, check=True, capture_output=True)

    def age_backups(self, days: int) -> None:
        """Make the backups `days` days older."""
        for file in self.backups.iterdir():
            then = file.stat().st_mtime - days * 86_400
            os.utime(file, (then, then))

    def _is_ready(self) -> bool:
        try:
            return requests.get(f"{self.url}/readyz", timeout=5, verify=str(self.certificate)).ok
        except requests.RequestException:
            return False

    def _events_answers(self) -> bool:
        try:
            return requests.get(f"{self._events_url}/healthz", timeout=5).ok
        except requests.RequestException:
            return False

    def stop_processes(self, *names: str) -> None:
        """Kill these processes immediately."""
        for name in names:
            self.processes.pop(name).stop(patience=0)

    def stop_mail_server(self) -> None:
        """Close the mail server's port."""
        self._mail.close()

    def stop_receiver(self) -> None:
        """Close the port of the merchant's endpoint."""
        self._hook.close()

    def stop(self) -> None:
        self.stop_processes(*self.processes)
        for each in (self._hook, self._mail, self._all):
            each.close()


def small_disk() -> Sequence[str] | None:
    """Return a command prefix that limits temporary files to 64 MB, or None if the machine can't do this."""
    script = 'mount -t tmpfs -o size=64m none "$TMPDIR" && exec "$@"'
    own_users = [] if os.geteuid() == 0 else ["--map-root-user"]
    wrapper = ["unshare", "--mount", *own_users, "/bin/sh", "-c", script, "sh"]
    if shutil.which("unshare") is None or subprocess.run([*wrapper, "true"], capture_output=True).returncode:
        return None
    return wrapper
