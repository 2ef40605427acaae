"""The search for contracts' logs works with nodes that return few logs, and reads only these contracts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from chains.client import ChainError
from chains.facts.searches import LoggedWords
from chains.families.evm.search.contract_logs import find
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault
from chains.rpc.nodes import LogLimits

ROUTER, OTHER = "0x" + "11" * 20, "0x" + "22" * 20
WORD = bytes(range(32))
PREFIX = WORD[:8].ljust(32, b"\0")


def log(
    block: int, *, topics: Sequence[bytes] = (), data: bytes = b"", contract: str = ROUTER
) -> dict[str, Any]:
    return {
        "address": contract,
        "blockNumber": hex(block),
        "transactionHash": f"0x{block:064x}",
        "topics": ["0x" + topic.hex() for topic in topics],
        "data": "0x" + data.hex(),
    }


@dataclass
class Node:
    """A node with these logs. It rejects queries with more than `most` results, or for blocks in `broken`."""

    logs: Sequence[dict[str, Any]] = ()
    most: int = 10_000
    broken: frozenset[int] = frozenset()
    is_down: bool = False
    log_limits: LogLimits = field(default_factory=LogLimits)
    ranges: list[tuple[int, int]] = field(default_factory=list)

    def batch(self, calls: Sequence[Call], _: Any, *, isolating: bool) -> list[Any]:
        assert isolating
        if self.is_down:
            raise ChainError("the node is down")
        [(_method, [filters])] = calls
        first, last = int(filters["fromBlock"], 16), int(filters["toBlock"], 16)
        if filters["topics"]:  # this query has no results
            return [[]]
        self.ranges.append((first, last))
        found = [each for each in self.logs if first <= int(each["blockNumber"], 16) <= last]
        is_refused = len(found) > self.most or self.broken & set(range(first, last + 1))
        return [RpcFault(-32005, "query returned more than 10000 results") if is_refused else found]


@dataclass
class Nodes:
    nodes: Sequence[Node]

    @property
    def size(self) -> int:
        return len(self.nodes)

    def each(self) -> Iterator[Node]:
        yield from self.nodes

    def seconds_until_ready(self) -> float:
        return 0.0


def search(*nodes: Node, first: int = 1, last: int = 50) -> LoggedWords:
    return find(cast(JsonRpc, Nodes(nodes)), {WORD, PREFIX}, {ROUTER}, first, last)


def test_words_are_found_in_topics_and_data() -> None:
    node = Node(
        [
            log(3, topics=[b"\7" * 32, WORD]),
            log(4, topics=[b"\7" * 32], data=b"\1" * 32 + WORD),
            log(5, data=PREFIX),
            log(6, data=b"\1" + WORD + b"\1" * 31),  # the id is not aligned to a word
        ]
    )
    found = search(node)
    assert found.found == ((WORD, f"0x{3:064x}"), (WORD, f"0x{4:064x}"), (PREFIX, f"0x{5:064x}"))
    assert found.next_block == 51


def test_ranges_with_too_many_logs_are_halved() -> None:
    node = Node([log(block, data=WORD) for block in range(1, 51)], most=7)
    found = search(node)
    assert [hash_ for _, hash_ in found.found] == [f"0x{block:064x}" for block in range(1, 51)]
    assert found.next_block == 51
    assert node.log_limits.blocks.size == LogLimits().blocks.size


def test_block_that_one_node_lacks_is_read_from_another() -> None:
    logs = [log(block, data=WORD) for block in (20, 30)]
    found = search(Node(logs, broken=frozenset({20})), Node(logs))
    assert (len(found.found), found.next_block) == (2, 51)


def test_block_that_no_node_returns_is_skipped() -> None:
    logs = [log(block, data=WORD) for block in (10, 20, 30)]
    nodes = [Node(logs, broken=frozenset({20})) for _ in range(2)]
    found = search(*nodes)
    assert ([hash_ for _, hash_ in found.found], found.next_block) == ([f"0x{10:064x}"], 21)
    assert search(*nodes, first=found.next_block).next_block == 51


def test_nodes_that_are_down_find_nothing() -> None:
    with pytest.raises(ChainError, match="down"):
        search(Node(is_down=True))
    assert search(Node(is_down=True), Node([log(3, data=WORD)])).next_block == 51


@pytest.mark.parametrize("place", [0, 1, 2])
def test_logs_that_one_of_three_nodes_hides_are_found(place: int) -> None:
    nodes = [Node([log(3, data=WORD)]) for _ in range(3)]
    nodes[place] = Node()
    assert search(*nodes).found == ((WORD, f"0x{3:064x}"),)


def test_search_of_three_nodes_continues_without_one() -> None:
    sound = [Node([log(3, data=WORD)]) for _ in range(2)]
    assert search(Node(is_down=True), *sound) == LoggedWords(((WORD, f"0x{3:064x}"),), 51)
    with pytest.raises(ChainError, match="down"):
        search(sound[0], Node(is_down=True), Node(is_down=True))


def test_block_that_one_of_three_nodes_returns_is_passed() -> None:
    logs = [log(20, data=WORD)]
    limited = [Node(logs, broken=frozenset({20})) for _ in range(2)]
    found = search(limited[0], Node(logs), limited[1])
    assert found == LoggedWords(((WORD, f"0x{20:064x}"),), 21)


@pytest.mark.parametrize(
    "wrong", [log(3, data=WORD, contract=OTHER), log(60, data=WORD), {"topics": None}, "a log"]
)
def test_logs_that_were_not_requested_are_rejected(wrong: Any) -> None:
    class Lying(Node):
        def batch(self, calls: Sequence[Call], _: Any, *, isolating: bool) -> list[Any]:
            return [[wrong]]

    with pytest.raises(ChainError):
        search(Lying())
