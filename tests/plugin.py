"""Start a private PostgreSQL and Redis for the tests before Django reads its settings.

If `DATABASE_URL` and `REDIS_URL` are set, the tests use those servers instead. Parallel test processes (`pytest
-n`) each have their own pair, because tests flush, stop and fill them. A run writes all its files to a folder
that is removed at the end, including those of chains and browsers. If a run was killed, the next run removes
its folder.
"""

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.reports import TestReport
from cryptography.fernet import Fernet

from demo.services import redis
from demo.services.process import stop_all
from tests import migrated

SETTINGS = {
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
    # No test calls a real provider. Tests of swaps set their own.
    "ROUTING_PROVIDERS": "off",
    "ROUTING_QUOTE_LIMIT": "off",
    # All tests call from one address. Tests of the limits set their own.
    "RATE_LIMIT_API": "off",
    "RATE_LIMIT_PUBLIC": "off",
    "RATE_LIMIT_EXPENSIVE": "off",
}
_STARTED = "QUITTANCE_TESTS_STARTED"
_FOLDERS = "QUITTANCE_TESTS_FOLDERS"
_FOLDER = re.compile(r"quittance-tests-([0-9]+)-\w+")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests() -> Iterator[None]:
    """Set the environment variables that the caller did not set."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    home = _home()
    # Ignore the servers that the parent process started: they belong to the parent.
    ours = set(os.environ.get(_STARTED, "").split()) if "PYTEST_XDIST_WORKER" in os.environ else set()
    if "DATABASE_URL" not in os.environ or "DATABASE_URL" in ours:
        os.environ["DATABASE_URL"] = migrated.start(home / "postgres").url
        ours.add("DATABASE_URL")
    if "REDIS_URL" not in os.environ or "REDIS_URL" in ours:
        os.environ["REDIS_URL"] = redis.start(None).url
        ours.add("REDIS_URL")
    os.environ[_STARTED] = " ".join(sorted(ours))
    return (yield)


def has_own_database() -> bool:
    """Whether this process started the server in DATABASE_URL."""
    return "DATABASE_URL" in os.environ[_STARTED].split()


def _home() -> Path:
    """Create this process' folder and use it for temporary files. Its name is short because it contains sockets."""
    folders = Path(os.environ.setdefault(_FOLDERS, tempfile.gettempdir()))
    for folder in folders.iterdir():
        named = _FOLDER.fullmatch(folder.name)
        if named and not Path("/proc", named[1]).exists() and Path("/proc").exists():
            shutil.rmtree(folder, ignore_errors=True)
    home = Path(tempfile.mkdtemp(prefix=f"quittance-tests-{os.getpid()}-", dir=folders))
    (home / "t").mkdir()
    os.environ["TMPDIR"] = tempfile.tempdir = str(home / "t")
    atexit.register(_leave, home)
    return home


def _leave(home: Path) -> None:
    stop_all()
    shutil.rmtree(home, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[TestReport]:
    """Replace halves of surrogate pairs in reports. Some tests log them, and test processes can't exchange them."""
    report: TestReport = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report
