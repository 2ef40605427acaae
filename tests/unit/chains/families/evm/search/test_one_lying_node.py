"""One of three nodes hides logs, invents a head, limits its queries or fails. The search still finds each transfer."""

import pytest
from eth_utils.address import to_checksum_address

from chains.client import ChainError, Watch
from chains.facts.proposals import Proposal
from chains.facts.searches import Arrivals
from chains.families.evm.search import discovery, proposals
from chains.families.evm.transactions.signed_calls import EXECUTION_SUCCESS
from tests.support.nodes.log_nodes import LogNode, LogNodes, log

TOKEN, RECIPIENT = to_checksum_address("0x" + "11" * 20), to_checksum_address("0x" + "44" * 20)
REFERENCE = b"r" * 16
HASH = f"0x{1:064x}"
INPUT = "0xa9059cbb" + "00" * 64 + REFERENCE.hex()
LOGS = [log(60, RECIPIENT, 5, token=TOKEN), log(60, RECIPIENT, 5, token=TOKEN)]
ALL = Arrivals(((RECIPIENT, HASH, 10),), 71)


def node(**different: object) -> LogNode:
    return LogNode(**{"logs": LOGS, "inputs": {HASH: INPUT}, **different})  # type: ignore[arg-type]


def arrivals(*nodes: LogNode) -> Arrivals:
    return LogNodes(nodes).client().find_arrivals({RECIPIENT: TOKEN}, since_block=50, until_block=70)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_arrival_that_one_of_three_nodes_hides_is_found(place: int) -> None:
    nodes = [node(), node(), node()]
    nodes[place] = node(logs=[])
    assert arrivals(*nodes) == ALL


def test_third_node_is_not_queried_if_two_answer() -> None:
    nodes = [node(), node(), node()]
    assert arrivals(*nodes) == ALL
    assert [each.requests for each in nodes] == [1, 1, 0]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_search_for_arrivals_continues_without_one_node(place: int) -> None:
    nodes = [node(), node(), node()]
    nodes[place].is_down = True
    assert arrivals(*nodes) == ALL


def test_search_waits_if_two_of_three_nodes_are_down() -> None:
    with pytest.raises(ChainError, match="down"):
        arrivals(node(), node(is_down=True), node(is_down=True))


def test_node_with_a_small_block_limit_does_not_slow_the_others() -> None:
    nodes = [node(max_blocks=3), node(), node()]
    client = LogNodes(nodes).client()
    for _ in range(2):
        requests = nodes[0].requests
        found = client.find_arrivals({RECIPIENT: TOKEN}, since_block=50, until_block=70)
        assert found == ALL
    assert nodes[0].requests == requests


def test_two_nodes_search_the_same_blocks() -> None:
    nodes = [node(max_blocks=3), node(logs=[], max_blocks=7), node(is_down=True)]
    assert arrivals(*nodes) == ALL


def test_block_that_one_node_rejects_is_read_from_two_others() -> None:
    nodes = [node(broken=frozenset({60})), node(logs=[]), node()]
    assert arrivals(*nodes) == ALL


def test_block_that_no_node_returns_does_not_stop_the_search() -> None:
    found = arrivals(*(node(broken=frozenset({60})) for _ in range(3)))
    assert (found.found, found.next_block, found.unreadable) == ((), 71, 1)


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_head_of_one_node_does_not_count(ahead: int) -> None:
    nodes = [node(), node(), node()]
    nodes[ahead].height = 600
    assert LogNodes(nodes).client().head() == 100


def test_head_needs_two_of_three_nodes() -> None:
    assert LogNodes([node(is_down=True), node(), node()]).client().head() == 100
    with pytest.raises(ChainError, match="down"):
        LogNodes([node(is_down=True), node(is_down=True), node()]).client().head()


@pytest.mark.parametrize(
    "liar", [node(logs=[]), node(inputs={}), node(inputs={HASH: "0x"}), node(is_down=True)]
)
def test_reference_that_one_of_three_nodes_hides_is_found(liar: LogNode) -> None:
    rpc = LogNodes([liar, node(), node()])
    search = discovery.Search([Watch(REFERENCE, TOKEN, RECIPIENT)])
    search.run(rpc, 50, 70)  # type: ignore[arg-type]
    assert [*search.candidates(rpc)] == [HASH]  # type: ignore[arg-type]


def test_execution_that_one_of_three_nodes_hides_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = Proposal(id="0x" + "77" * 32, account=RECIPIENT, first_block=50)
    event = {
        "address": RECIPIENT.lower(),
        "blockNumber": hex(60),
        "transactionHash": HASH,
        "topics": ["0x" + EXECUTION_SUCCESS.hex(), proposal.id],
        "data": "0x" + "00" * 32,
    }

    def logs(self: LogNode, filters: dict[str, object]) -> object:
        return [each for each in self.logs if [each["address"]] == [*map(str.lower, filters["address"])]]  # type: ignore[call-overload]

    monkeypatch.setattr(LogNode, "_logs", logs)
    search = proposals.Search([proposal], 70)
    search.run(LogNodes([node(logs=[]), node(logs=[event]), node(logs=[event])]))  # type: ignore[arg-type]
    assert search.candidates == {proposal: [HASH]}
    assert search.next_blocks == {proposal: 71}
