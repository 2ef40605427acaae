"""Starts the private PostgreSQL and Redis that the tests run on, before Django reads its settings.

`DATABASE_URL` and `REDIS_URL` in the environment are used instead, where they are set.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
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
    # All tests call from one address; those of the limits set their own.
    "RATE_LIMIT_API": "off",
    "RATE_LIMIT_PUBLIC": "off",
    "RATE_LIMIT_EXPENSIVE": "off",
}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests() -> Iterator[None]:
    """Set the environment, unless the caller did."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    home = Path(tempfile.mkdtemp(prefix="quittance-tests-"))
    if "DATABASE_URL" not in os.environ:
        os.environ["DATABASE_URL"] = postgres.start(home / "postgres", durable=False).url
    if "REDIS_URL" not in os.environ:
        os.environ["REDIS_URL"] = redis.start(None).url
    return (yield)
