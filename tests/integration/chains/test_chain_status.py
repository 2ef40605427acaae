"""A task checks the chains and stores their status. Pages read the stored status and query no node."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from chains.client import ChainClient
from chains.families.evm.client import EvmClient
from chains.health import STALE_AFTER, Health, check_chains, evaluate, longest_pause
from chains.models import Chain, ChainStatus
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.support.nodes.networks import changed, nodes_before

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def nodes(local_chain: LocalChain) -> Iterator[list[FaultProxy]]:
    with nodes_before(local_chain, 3) as running:
        yield running


def of_each(nodes: list[FaultProxy]) -> Callable[[Chain], list[ChainClient]]:
    clients: list[ChainClient] = [EvmClient([f"{node.url}/v2/secret-key"], 31337) for node in nodes]
    return lambda _: clients


def look(nodes: list[FaultProxy], at: datetime = NOON) -> None:
    assert check_chains(clients=of_each(nodes), now=lambda: at) == 1


def health(chain: Chain, at: datetime = NOON) -> Health:
    return evaluate(chain, ChainStatus.objects.filter(chain=chain).first(), at)


def test_status_has_head_and_host_of_each_node(
    chain: Chain, nodes: list[FaultProxy], local_chain: LocalChain
) -> None:
    assert health(chain) is Health.UNKNOWN
    look(nodes)
    status = ChainStatus.objects.get()
    height = int(local_chain.rpc("eth_blockNumber"), 16)
    assert (status.head, status.head_since, status.looked_at) == (height, NOON, NOON)
    assert status.nodes == [
        {"host": "127.0.0.1", "state": "answering", "head": height, "behind": 0, "error": "", "final": None}
        for _ in nodes
    ]
    assert health(chain) is Health.WORKING


def test_chain_is_impaired_with_a_quorum_and_down_without(chain: Chain, nodes: list[FaultProxy]) -> None:
    nodes[0].break_with(fault_proxy.server_error)
    look(nodes)
    assert health(chain) is Health.IMPAIRED
    (ill, *_) = ChainStatus.objects.get().nodes
    assert (ill["state"], ill["head"], ill["error"]) == ("failing", None, "the node returned HTTP 500")
    nodes[1].break_with(fault_proxy.server_error)
    look(nodes)
    assert health(chain) is Health.DOWN


def test_chain_without_a_new_block_is_stalled(chain: Chain, nodes: list[FaultProxy]) -> None:
    look(nodes)
    later = NOON + longest_pause(chain) + timedelta(seconds=1)
    look(nodes, later)
    assert ChainStatus.objects.get().head_since == NOON
    assert health(chain, later) is Health.STALLED


def test_node_behind_lags_and_one_ahead_is_ignored(
    chain: Chain, nodes: list[FaultProxy], local_chain: LocalChain
) -> None:
    height = int(local_chain.rpc("eth_blockNumber"), 16)
    ahead = fault_proxy.forged("eth_getBlockByNumber", changed(number=hex(height + 1000)))
    nodes[0].break_with(ahead)
    look(nodes)
    status = ChainStatus.objects.get()
    assert status.head == height
    assert [node["behind"] for node in status.nodes] == [0, 0, 0]
    nodes[1].break_with(ahead)
    look(nodes)
    assert [node["state"] for node in ChainStatus.objects.get().nodes] == [
        "answering",
        "answering",
        "lagging",
    ]
    assert health(chain) is Health.IMPAIRED


def test_chain_without_a_recent_check_is_unknown(chain: Chain, nodes: list[FaultProxy]) -> None:
    look(nodes)
    assert health(chain, NOON + STALE_AFTER + timedelta(seconds=1)) is Health.UNKNOWN
