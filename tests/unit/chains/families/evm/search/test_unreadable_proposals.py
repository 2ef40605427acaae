"""Nodes return only recent logs. The search for proposals in readable blocks continues."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import pytest
from eth_utils.address import to_checksum_address

from chains.client import ChainError
from chains.facts.proposals import Proposal
from chains.families.evm.search.proposals import MAX_RANGES, Search
from chains.families.evm.transactions.signed_calls import EXECUTION_SUCCESS
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault
from tests.support.nodes.log_nodes import LogNode, LogNodes

OLDEST, HEAD = 9_000, 10_000
ACCOUNT = to_checksum_address("0x" + "44" * 20)
HASH = f"0x{1:064x}"


def proposal(number: int, first_block: int) -> Proposal:
    return Proposal(ACCOUNT, f"0x{number:064x}", first_block)


RECENT = proposal(1, 9_990)
LOG = {
    "address": ACCOUNT.lower(),
    "blockNumber": hex(9_995),
    "transactionHash": HASH,
    "topics": ["0x" + EXECUTION_SUCCESS.hex(), RECENT.id],
    "data": "0x" + "00" * 32,
}


@dataclass
class PrunedNode(LogNode):
    """A node that rejects log queries for blocks before `oldest`, and goes down after `max_requests`."""

    logs: Sequence[dict[str, Any]] = (LOG,)
    oldest: int = OLDEST
    max_requests: int = 1_000

    def batch(self, calls: Sequence[Call], *args: Any, **options: Any) -> Any:
        self.is_down |= self.requests >= self.max_requests
        return super().batch(calls, *args, **options)

    def _logs(self, filters: dict[str, Any]) -> Any:
        first, last = int(filters["fromBlock"], 16), int(filters["toBlock"], 16)
        if first < self.oldest:
            return RpcFault(-32000, "old data not available due to pruning")
        of_account = filters.get("address") == [ACCOUNT]
        return [each for each in self.logs if of_account and first <= int(each["blockNumber"], 16) <= last]


def search(proposals: Sequence[Proposal], *nodes: LogNode) -> Search:
    done = Search(proposals, HEAD)
    done.run(cast(JsonRpc, LogNodes(nodes)))
    return done


@pytest.mark.parametrize("first_block", [100, OLDEST - 1], ids=["far", "in the same group"])
def test_proposal_in_pruned_blocks_stops_no_other(first_block: int) -> None:
    old = proposal(2, first_block)
    found = search([old, RECENT], PrunedNode())
    assert found.candidates == {RECENT: [HASH]}
    assert found.next_blocks == {RECENT: HEAD + 1, old: first_block}
    assert found.unreadable == {old}


def test_many_proposals_in_pruned_blocks_stop_no_other() -> None:
    old = [proposal(2 + number, OLDEST - 1 - number) for number in range(2 * MAX_RANGES)]
    found = search([*old, RECENT], PrunedNode())
    assert found.candidates == {RECENT: [HASH]}
    assert found.next_blocks == {RECENT: HEAD + 1} | {each: each.first_block for each in old}


@pytest.mark.parametrize("archival", [0, 1])
def test_another_node_returns_the_pruned_blocks(archival: int) -> None:
    nodes = [PrunedNode(), PrunedNode()]
    nodes[archival] = PrunedNode(oldest=0)
    old = proposal(2, OLDEST - 1)
    found = search([old, RECENT], *nodes)
    assert found.next_blocks == {RECENT: HEAD + 1, old: HEAD + 1}
    assert found.unreadable == set()


@pytest.mark.parametrize("pruned", [0, 1, 2])
def test_two_of_three_nodes_return_the_pruned_blocks(pruned: int) -> None:
    nodes = [PrunedNode(oldest=0), PrunedNode(oldest=0), PrunedNode(oldest=0)]
    nodes[pruned] = PrunedNode()
    old = proposal(2, OLDEST - 1)
    assert search([old, RECENT], *nodes).next_blocks == {RECENT: HEAD + 1, old: HEAD + 1}


@pytest.mark.parametrize("archival", [0, 1, 2])
def test_blocks_of_one_node_of_three_are_not_searched(archival: int) -> None:
    nodes = [PrunedNode(), PrunedNode(), PrunedNode()]
    nodes[archival] = PrunedNode(oldest=0)
    old = proposal(2, OLDEST - 1)
    found = search([old, RECENT], *nodes)
    assert found.next_blocks == {RECENT: HEAD + 1, old: OLDEST - 1}
    assert found.unreadable == {old}


def test_node_that_goes_down_keeps_what_it_searched() -> None:
    old = proposal(2, 100)
    found = search([old, RECENT], PrunedNode(oldest=0, max_requests=1))
    assert found.candidates == {RECENT: [HASH]}
    assert found.next_blocks == {RECENT: HEAD + 1, old: 100}


def test_search_fails_if_the_node_is_down_or_has_no_logs() -> None:
    with pytest.raises(ChainError, match="down"):
        search([RECENT], PrunedNode(is_down=True))
    node = PrunedNode(oldest=HEAD + 1)
    with pytest.raises(ChainError, match="no log query"):
        search([proposal(2, 100), RECENT], node)
    assert node.requests == 3, "the node is not queried for the other proposals"
