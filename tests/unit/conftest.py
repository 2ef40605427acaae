"""Unit tests start no chain and no browser. Their chain is a row of the catalogue, whose node doesn't respond."""

from collections.abc import Iterator
from typing import NoReturn

import pytest
from django.conf import settings
from django.test import override_settings

from demo.contracts import deploy
from tests.chain import LocalChain

_NO_NODE = "http://127.0.0.1:9/"  # RFC 863's port: no server listens there


@pytest.fixture(autouse=True)
def _quick_settings() -> Iterator[None]:
    """Use a fast password hash, and serve static files without `collectstatic`."""
    storages = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    hashers = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]
    with override_settings(STORAGES=storages, PASSWORD_HASHERS=hashers):
        yield


@pytest.fixture(scope="session")
def local_chain() -> LocalChain:
    """The chain's id and addresses. There is no node."""
    return LocalChain(_NO_NODE, 31337, deploy.USDC, deploy.DAI)


@pytest.fixture(scope="session")
def other_local_chain() -> LocalChain:
    """The other chain's id and addresses. There is no node."""
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
