"""A clock for nodes, and nodes in front of the local chain."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from chains.families.evm.client import EvmClient
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy, proxying
from tests.support.nodes.networks import ALLOWANCE


class NodeTime:
    """A clock in seconds, which only tests advance."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> NodeTime:
    return NodeTime()


@pytest.fixture
def nodes_of(local_chain: LocalChain) -> Iterator[Callable[[int], list[FaultProxy]]]:
    """Return a function that starts this many nodes in front of the local chain."""
    with ExitStack() as stack:
        yield lambda count: [stack.enter_context(proxying(local_chain.url)) for _ in range(count)]


@pytest.fixture
def client_for(time: NodeTime) -> Callable[[list[FaultProxy]], EvmClient]:
    """Return a function that makes clients without any knowledge of these nodes."""
    return lambda nodes: EvmClient([node.url for node in nodes], 31337, head_allowance=ALLOWANCE, clock=time)
