"""Starts the private PostgreSQL and Redis that the tests run on, before Django reads its settings.

`DATABASE_URL` and `REDIS_URL` in the environment are used instead, where they are set. Of several test processes side
by side (`pytest -n`) each has a pair of its own: they flush, stop and fill them.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.reports import TestReport
from cryptography.fernet import Fernet

from demo.services import postgres, redis

_SETTINGS = {
    "SECRET_KEY": "only-for-tests-" + "0123456789" * 5,
    "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
    "DEBUG": "false",
    "ENVIRONMENT": "staging",
    "BASE_URL": "http://testserver",
    "CHECKOUT_URL": "http://testserver",
    "ALLOWED_HOSTS": "*",
    "ALLOW_HTTP_URLS": "true",
    "WEBHOOK_ALLOW_PRIVATE": "true",
    "EMAIL_URL": "memorymail://",
    "DATABASE_POOL_SIZE": "220",
    "LOG_LEVEL": "WARNING",
    # No test asks a provider of the real world; those of swaps have one of their own.
    "ROUTING_PROVIDERS": "off",
    "ROUTING_QUOTE_LIMIT": "off",
    # All tests call from one address; those of the limits set their own.
    "RATE_LIMIT_API": "off",
    "RATE_LIMIT_PUBLIC": "off",
    "RATE_LIMIT_EXPENSIVE": "off",
}
_STARTED = "QUITTANCE_TESTS_STARTED"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests() -> Iterator[None]:
    """Set the environment, unless the caller did."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    home = Path(tempfile.mkdtemp(prefix="quittance-tests-"))
    # What the process that started this one set is that one's own pair.
    ours = set(os.environ.get(_STARTED, "").split()) if "PYTEST_XDIST_WORKER" in os.environ else set()
    if "DATABASE_URL" not in os.environ or "DATABASE_URL" in ours:
        os.environ["DATABASE_URL"] = postgres.start(home / "postgres", durable=False).url
        ours.add("DATABASE_URL")
    if "REDIS_URL" not in os.environ or "REDIS_URL" in ours:
        os.environ["REDIS_URL"] = redis.start(None).url
        ours.add("REDIS_URL")
    os.environ[_STARTED] = " ".join(sorted(ours))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[TestReport]:
    """Keep halves of surrogate pairs, which some tests log, from breaking what test processes tell each other."""
    report: TestReport = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report
