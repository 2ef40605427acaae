import pytest

from chains.families.evm.client import EvmClient
from tests.chain import LocalChain


@pytest.fixture
def client(local_chain: LocalChain) -> EvmClient:
    return EvmClient([local_chain.url], local_chain.chain_id)
