"""A missing or wrong setting stops the start, by its name and with what it should be (contract 10)."""

import os
import subprocess
import sys

import pytest

from tests.processes import REPOSITORY


def start(**different: str | None) -> subprocess.CompletedProcess[str]:
    """Run `manage.py check` with the test's environment, changed."""
    environment = {**os.environ}
    for name, value in different.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    command = [sys.executable, "manage.py", "check"]
    return subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", None),
        ("ENCRYPTION_KEYS", None),
        ("ENCRYPTION_KEYS", "too-short"),
        ("ENVIRONMENT", None),
        ("ENVIRONMENT", "prod"),
        ("BASE_URL", "pay.example.com"),
        ("CHECKOUT_URL", None),
        ("DATABASE_URL", None),
        ("REDIS_URL", None),
        ("DEBUG", "perhaps"),
        ("TRUSTED_PROXIES", "the-office"),
        ("RATE_LIMIT_API", "fast"),
        ("RATE_LIMIT_PUBLIC", "0/minute"),
        ("RATE_LIMIT_EXPENSIVE", "20"),
    ],
)
def test_it_is_named(name: str, value: str | None) -> None:
    done = start(**{name: value})
    assert done.returncode != 0
    last_line = done.stderr.strip().splitlines()[-1]
    assert f"{name} is {'missing' if value is None else 'wrong'}" in last_line
    assert value is None or name != "ENCRYPTION_KEYS" or value not in done.stderr


@pytest.mark.parametrize("proxies", ["", "1", "10.0.0.0/8, ::1"])
def test_what_is_right_starts(proxies: str) -> None:
    done = start(TRUSTED_PROXIES=proxies)
    assert done.returncode == 0, done.stderr
