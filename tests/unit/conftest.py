"""Unit tests start no chain and no browser: their chain is a row of the catalogue whose node does not answer."""

from typing import Any, NoReturn

import pytest

from demo.contracts import deploy
from tests.chain import LocalChain

_NO_NODE = "http://127.0.0.1:9/"  # the port of RFC 863; nothing listens there


@pytest.fixture(autouse=True)
def _unhashed_static_files(settings: Any) -> None:
    """No `collectstatic` runs before the tests."""
    files = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": files}}


@pytest.fixture(autouse=True)
def _quick_passwords(settings: Any) -> None:
    """Hundreds of passwords are tried here; that each takes a third of a second is Django's to test."""
    hasher = "django.contrib.auth.hashers.MD5PasswordHasher"
    settings.PASSWORD_HASHERS = [hasher, *settings.PASSWORD_HASHERS]


@pytest.fixture(scope="session")
def local_chain() -> LocalChain:
    """The chain's id and addresses, without a node."""
    return LocalChain(_NO_NODE, 31337, deploy.USDC, deploy.DAI)


@pytest.fixture(scope="session")
def other_local_chain() -> LocalChain:
    """The id and addresses of the other chain, without a node."""
    return LocalChain(_NO_NODE, 31338, deploy.USDC, deploy.DAI)


@pytest.fixture(scope="session")
def local_ledger() -> NoReturn:
    """Fail: a test that needs a Solana node is an integration test."""
    pytest.fail("No Solana chain runs for tests/unit; move this test to tests/integration.")


@pytest.fixture(scope="session")
def running_aggregator() -> NoReturn:
    """Fail: a test that needs the aggregator is an integration test."""
    pytest.fail("No aggregator runs for tests/unit; move this test to tests/integration.")


@pytest.fixture(scope="session")
def playwright() -> NoReturn:
    """Fail: a test that needs a browser is a browser test."""
    pytest.fail("No browser runs for tests/unit; move this test to tests/browser.")
