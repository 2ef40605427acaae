"""The web process and a worker as in production, with their logs, metrics, Sentry errors and traces."""

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests
from cryptography.fernet import Fernet
from django.conf import settings

from demo.services.process import free_port
from tests.processes import Process, eventually, worker
from tests.support.observe.collector import Collector, running_collector
from tests.support.observe.sentry import Sentry, running_sentry


@dataclass
class Deployment:
    """Both processes, and the secrets in their environment variables."""

    folder: Path
    sentry: Sentry
    collector: Collector
    processes: dict[str, Process] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    url: str = ""
    worker_port: int = 0
    node_url: str = ""

    @property
    def logs(self) -> dict[str, str]:
        """Each process' log so far."""
        return {name: (self.folder / f"{name}.log").read_text() for name in ("web", "worker")}

    def metrics(self) -> str:
        """The metrics of both processes, as Prometheus reads them."""
        token = {"Authorization": f"Bearer {self.secrets['METRICS_TOKEN']}"}
        web = requests.get(f"{self.url}/metrics", headers=token, timeout=30)
        worker = requests.get(f"http://127.0.0.1:{self.worker_port}/metrics", headers=token, timeout=30)
        assert (web.status_code, worker.status_code) == (200, 200)
        return web.text + worker.text


@pytest.fixture
def deployment(transactional_db: None, tmp_path: Path) -> Iterator[Deployment]:
    """Run web and worker with their own secrets, at the most detailed log level."""
    with running_sentry() as sentry, running_collector() as collector:
        made = Deployment(tmp_path, sentry, collector, worker_port=free_port())
        made.secrets = {
            "SECRET_KEY": secrets.token_urlsafe(50),
            "METRICS_TOKEN": secrets.token_urlsafe(24),
            "LIFI_API_KEY": secrets.token_urlsafe(24),
            "key of the collector": secrets.token_urlsafe(24),
            # The database has secrets that were encrypted with the tests' key.
            "ENCRYPTION_KEYS": Fernet.generate_key().decode() + "," + ",".join(settings.ENCRYPTION_KEYS),
            "node path": secrets.token_hex(16),
            "node password": secrets.token_hex(16),
            "node parameter": secrets.token_hex(16),
        }
        node = (
            f"http://operator:{made.secrets['node password']}@127.0.0.1:{free_port()}"
            f"/v2/{made.secrets['node path']}?apikey={made.secrets['node parameter']}"
        )
        port = free_port()
        made.url = f"http://127.0.0.1:{port}"
        environment = {
            **{name: value for name, value in made.secrets.items() if re.fullmatch(r"[A-Z_]+", name)},
            "BASE_RPC_URL": node,
            "SENTRY_DSN": sentry.dsn,
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer%20{made.secrets['key of the collector']}",
            "PORT": str(port),
            "WEB_CONCURRENCY": "1",
            "BASE_URL": made.url,
            "CHECKOUT_URL": made.url,
            "LOG_LEVEL": "DEBUG",
            "LOG_FORMAT": "json",
            "WORKER_METRICS_PORT": str(made.worker_port),
        }
        web = Process(tmp_path / "web.log", "gunicorn", "--config", "config/gunicorn.py", **environment)
        made.processes = {"web": web, "worker": worker(tmp_path / "worker.log", **environment)}
        try:
            eventually(lambda: _is_up(f"{made.url}/healthz"), "the web process is up")
            eventually(lambda: _is_up(f"http://127.0.0.1:{made.worker_port}/nothing"), "the worker is up")
            yield made
        finally:
            collector.goes_on.set()
            for process in made.processes.values():
                process.kill()


def _is_up(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).status_code in (200, 404)
    except requests.RequestException:
        return False
