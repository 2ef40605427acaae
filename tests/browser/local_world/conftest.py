"""The local world, started as `make run` does, and Chromium."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.browser.windows import page, troubles
from tests.processes import REPOSITORY, eventually

__all__ = ["page", "troubles"]


@dataclass(frozen=True)
class World:
    shop: str
    api: str
    key: str
    chain: str
    aggregator: str
    rates: str
    settings: Path


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A running local world with its own database, chain and shop."""
    home = tmp_path_factory.mktemp("world")
    printed = home / "printed.txt"
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    with printed.open("wb") as output:
        running = subprocess.Popen(
            [sys.executable, "-m", "demo.world"],
            cwd=REPOSITORY,
            # All test customers share one IP address, so the rate limit is higher.
            env={**kept, "WORLD_DIRECTORY": str(home / "world"), "RATE_LIMIT_EXPENSIVE": "1000/minute"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        eventually(
            lambda: b"Ctrl-C stops" in printed.read_bytes() or running.poll() is not None,
            "the world ran",
            600,
        )
        assert running.poll() is None, printed.read_text()
        yield _read_addresses(printed.read_text())
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(timeout=60)


# Variables that tests/plugin.py sets for the tests' own services. The world starts its own.
_OURS = {
    "DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ENCRYPTION_KEYS", "DEBUG", "ENVIRONMENT", "BASE_URL",
    "CHECKOUT_URL", "ALLOWED_HOSTS", "DATABASE_POOL_SIZE", "LOG_LEVEL", "EMAIL_URL",
}  # fmt: skip


def _read_addresses(text: str) -> World:
    """Read the addresses from what `make run` prints."""

    def after(name: str) -> str:
        match = re.search(rf"^  {name} +(\S+)", text, re.MULTILINE)
        assert match, text
        return match[1]

    settings = re.search(r"manage\.py +\(\. (.+?);", text)
    key = re.search(r"key (quitt_[0-9a-f]{40})", text)
    assert key, text
    assert settings, text
    return World(
        after("Shop"),
        after("API"),
        key[1],
        after("Chain"),
        after("Aggregator"),
        after("Rates"),
        Path(settings[1]),
    )
