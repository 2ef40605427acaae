"""The local chain with the factory of deposit addresses."""

import pytest

from tests.chain import LocalChain
from tests.support.chains.deposits import DepositWorld


@pytest.fixture
def world(local_chain: LocalChain) -> DepositWorld:
    world = DepositWorld(local_chain)
    world.prepare()
    return world
