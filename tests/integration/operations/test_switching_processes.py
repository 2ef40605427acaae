"""A kill switch takes effect within a second in each process of several `web`, although each caches the switches."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests

from demo.services.process import free_port
from merchants.models import ApiKey
from payments.models import PaymentRequest
from tests.processes import REPOSITORY, Process, environment, eventually

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = 1.0
_ENOUGH = 40  # calls on new connections, so that all four processes get some


class Deployment:
    """Two `web` with two processes each."""

    def __init__(self, key: str, body: dict[str, Any], urls: list[str]) -> None:
        self._key, self._body, self.urls = key, body, urls

    def create(self, url: str) -> int:
        headers = {"X-API-Key": self._key, "Connection": "close"}
        return requests.post(
            f"{url}/api/payment-requests", json=self._body, headers=headers, timeout=20
        ).status_code

    def every_status(self) -> set[int]:
        return {self.create(self.urls[number % 2]) for number in range(_ENOUGH)}

    def last_status(self, status: int, until: float) -> float:
        """Call until this time; return the start of the last call with this status, or 0."""
        last = 0.0
        while time.monotonic() < until:
            for url in self.urls:
                began = time.monotonic()
                if self.create(url) == status:
                    last = began
        return last


@pytest.fixture
def deployment(
    api_key: tuple[ApiKey, str], order: Callable[..., dict[str, Any]], tmp_path: Path
) -> Iterator[Deployment]:
    with ExitStack() as stack:
        urls = []
        for number in (1, 2):
            port = free_port()
            more = {"PORT": str(port), "WEB_CONCURRENCY": "2", "DATABASE_POOL_SIZE": "8"}
            web = Process(
                tmp_path / f"web{number}.log", "config.server", "--config", "config/gunicorn.py", **more
            )
            stack.callback(web.kill)
            urls.append(f"http://127.0.0.1:{port}")
        running = Deployment(api_key[1], order(), urls)
        eventually(lambda: all(_is_up(url) for url in urls), "both web answer")
        yield running


def _is_up(url: str) -> bool:
    try:
        return requests.get(f"{url}/healthz", timeout=2).status_code == 200
    except requests.RequestException:
        return False


def switch(*arguments: str) -> float:
    """Run the command as operators do; return the time when it ended."""
    subprocess.run(
        [sys.executable, "manage.py", "switch", *arguments],
        cwd=REPOSITORY,
        env=environment(),
        check=True,
        capture_output=True,
    )
    return time.monotonic()


def test_no_process_creates_a_request_a_second_after_the_command(deployment: Deployment) -> None:
    assert deployment.every_status() == {201}
    chain = f"chain:{PaymentRequest.objects.earliest('created_at').chain_id}"
    switched_at = switch("off", chain, "--reason", "an incident")
    last_created = deployment.last_status(201, switched_at + 2 * SECONDS)
    assert last_created - switched_at < SECONDS
    stored = PaymentRequest.objects.count()
    assert deployment.every_status() == {503}
    assert PaymentRequest.objects.count() == stored
    switched_at = switch("on", chain)
    assert deployment.last_status(503, switched_at + 2 * SECONDS) - switched_at < SECONDS
    assert deployment.every_status() == {201}
