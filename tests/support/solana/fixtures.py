"""Fixtures for the tests of providers' transactions: tokens, and a customer with balances."""

import pytest

from tests.support.solana.ledger import LocalLedger
from tests.support.solana.scene import Mints, Scene, make_mints, make_scene


@pytest.fixture(scope="session")
def mints(local_ledger: LocalLedger) -> Mints:
    """Two tokens other than USDC."""
    return make_mints(local_ledger)


@pytest.fixture
def scene(local_ledger: LocalLedger, mints: Mints) -> Scene:
    return make_scene(local_ledger, mints)
