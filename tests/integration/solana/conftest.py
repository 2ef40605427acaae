import pytest

from chains.client import ChainClient
from chains.families import get_client
from chains.models import Chain


@pytest.fixture
def client(solana: Chain) -> ChainClient:
    return get_client(solana)
