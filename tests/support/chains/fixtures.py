"""A chain of its own for the tests that rewrite history, and odd tokens on the shared one."""

from collections.abc import Iterator

import pytest

from demo.contracts import deploy
from demo.services import anvil
from tests.chain import LocalChain


@pytest.fixture(scope="session")
def own_chain() -> Iterator[LocalChain]:
    """A second chain, with another id, whose blocks a test may take back."""
    running = anvil.start(chain_id=31338, slots_in_an_epoch=1)
    try:
        yield LocalChain.prepare(running.url, running.chain_id)
    finally:
        running.stop()


@pytest.fixture
def reorganised_chain() -> Iterator[LocalChain]:
    """A chain of this test's own, long enough that what is undone never reaches the tokens' deployment."""
    running = anvil.start()
    try:
        own = LocalChain.prepare(running.url, running.chain_id)
        own.mine(100)
        yield own
    finally:
        running.stop()


@pytest.fixture(scope="session")
def fee_token(local_chain: LocalChain) -> str:
    """A token that keeps 1 % of each transfer; the payer has some."""
    return _token(local_chain, "FeeToken", "FEE")


@pytest.fixture(scope="session")
def look_alike(local_chain: LocalChain) -> str:
    """A token that calls itself USDC and is not."""
    return _token(local_chain, "TestToken", "USDC")


def _token(chain: LocalChain, artifact: str, symbol: str) -> str:
    token = deploy.deploy_token(
        chain.url, artifact=artifact, name="USD Coin", symbol=symbol, decimals=6, deployer_key=chain.payer_key
    )
    deploy.mint(chain.url, token, chain.payer, 10**12, key=chain.payer_key)
    return token
