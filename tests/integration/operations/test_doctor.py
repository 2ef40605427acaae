"""`manage.py doctor` on a set-up as in production: a proxy with TLS, web, worker and beat, each a process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from chains.models import Chain, Token
from config.beat import heartbeat
from config.health import heartbeat_age
from demo.services.process import free_port
from tests.processes import REPOSITORY, Process, beat, environment, eventually, worker
from tests.support.operations.tls_proxy import make_certificate, tls_proxy

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def production(chain: Chain, usdc: Token, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a running deployment behind a proxy with TLS; the test starts workers and beat itself."""
    certificate, port = make_certificate(tmp_path / "proxy.pem", 90), free_port()
    with tls_proxy(f"http://127.0.0.1:{port}", certificate) as url:
        shared = {
            "BASE_URL": url,
            "CHECKOUT_URL": url,
            "TRUSTED_PROXIES": "1",
            "PORT": str(port),
            "WEB_CONCURRENCY": "2",
            "SSL_CERT_FILE": str(certificate),
            "DATABASE_POOL_SIZE": "16",
        }
        command = ("config.server", "--config", "config/gunicorn.py")
        web = Process(tmp_path / "web.log", *command, **shared)
        try:
            eventually(lambda: _answers(f"http://127.0.0.1:{port}/healthz"), "web answers")
            yield shared
        finally:
            web.kill()


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=2).status_code == 200
    except requests.RequestException:
        return False


def doctor(shared: dict[str, str]) -> tuple[int, dict[str, dict[str, str]]]:
    """Run it as operators do; return its exit code, and what it found of each check by subject."""
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        cwd=REPOSITORY,
        env=environment(**shared),
        capture_output=True,
        text=True,
        timeout=120,
    )
    found: dict[str, dict[str, str]] = {}
    for each in json.loads(done.stdout)["findings"]:
        found.setdefault(each["check"], {})[each["subject"]] = each["level"]
    return done.returncode, found


def test_it_is_green_with_all_processes_and_names_each_that_is_missing(
    production: dict[str, str], tmp_path: Path
) -> None:
    code, found = doctor(production)
    assert (code, found["processes"]) == (1, {"worker": "failed", "beat": "failed"})
    working = [worker(tmp_path / f"worker{number}.log", **production) for number in (1, 2)]
    ticking = beat(tmp_path / "beat.log")
    try:
        eventually(lambda: heartbeat_age() is not None, "a worker has finished a task")
        eventually(lambda: heartbeat.age(os.environ["REDIS_URL"]) is not None, "beat has sent work")
        code, found = doctor(production)
        failures = {
            subject: level for each in found.values() for subject, level in each.items() if level == "failed"
        }
        assert (code, failures) == (0, {})
        assert found["processes"] == {"worker": "ok", "beat": "ok"}
        assert found["outside"]["BASE_URL"] == "ok"
        for each in working:
            each.kill()
        code, found = doctor(production)
        assert (code, found["processes"]) == (1, {"worker": "failed", "beat": "ok"})
    finally:
        ticking.kill()
        for each in working:
            each.kill()
