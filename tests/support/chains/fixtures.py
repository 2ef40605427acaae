"""Separate chains for tests that reorganise blocks."""

from collections.abc import Iterator

import pytest

from demo.services import anvil
from tests.chain import LocalChain


@pytest.fixture(scope="session")
def own_chain() -> Iterator[LocalChain]:
    """A second chain, with another id. Tests can undo its blocks."""
    running = anvil.start(chain_id=31338, slots_in_an_epoch=1)
    try:
        yield LocalChain.prepare(running.url, running.chain_id)
    finally:
        running.stop()


@pytest.fixture
def reorganised_chain() -> Iterator[LocalChain]:
    """A chain for one test. It is so long that no reorganisation reaches the tokens' deployment."""
    running = anvil.start()
    try:
        own = LocalChain.prepare(running.url, running.chain_id)
        own.mine(100)
        yield own
    finally:
        running.stop()
