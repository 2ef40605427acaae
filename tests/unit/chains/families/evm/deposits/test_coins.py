"""The native coin that addresses received: their balances in a block, plus everything swept up to that block."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from eth_utils.address import to_checksum_address

from chains.client import ChainError, StateMissing
from chains.facts.deposits import CoinsReceived, ReceiptTime
from chains.facts.failures import SweepsMissing
from chains.families.evm.client import EvmClient
from chains.families.evm.deposits.coins import coins_received, together
from chains.families.evm.deposits.sweeps import SWEPT, KnownReceipts
from chains.rpc.json_rpc import Call, RpcFault, Truncated
from chains.rpc.nodes import LogLimits

FIRST, SECOND = (to_checksum_address(f"0x{number:040x}") for number in (2**100, 2**101))
HASH, OTHER_HASH = "0x" + "aa" * 32, "0x" + "bb" * 32
STATE_IS_GONE = RpcFault(-32000, "missing trie node")


def swept(block: int, forwarder: str, amount: int) -> dict[str, Any]:
    return {
        "address": forwarder.lower(),
        "blockNumber": hex(block),
        "topics": [SWEPT],
        "data": f"0x{amount:064x}",
    }


@dataclass
class Clock:
    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Node:
    """A node whose block 100 has this hash, balances and sweeps. It returns the logs of at most `widest` blocks
    at once.

    It rejects queries for logs with more than `most` results. It has the receipts of its blocks, unless `receipts` is
    false. It takes `slowness` seconds of the clock to send them.

    If `overrides` is false, it ignores state overrides. If it is None, it rejects them.
    """

    hashes: list[str] = field(default_factory=lambda: [HASH])
    balances: dict[str, Any] = field(default_factory=lambda: {FIRST: "0x5", SECOND: "0x0"})
    sweeps: Sequence[dict[str, Any]] = ()
    widest: int = 1000
    most: int = 10_000
    overrides: bool | None = True
    log_limits: LogLimits = field(default_factory=LogLimits)
    calls: list[Call] = field(default_factory=list)
    receipts: bool = True
    clock: "Clock | None" = None
    slowness: float = 0.0
    is_resting: bool = False
    urls: tuple[str, ...] = ("http://node.invalid",)

    def stream(self, call: Call, convert: Callable[[dict[str, Any]], Any], *, seconds: float) -> Any:
        self.calls.append(call)
        if self.clock:
            self.clock.seconds += min(self.slowness, seconds)
            if self.slowness > seconds:
                raise Truncated("the node's response took too long")
        if not self.receipts:
            return RpcFault(-32601, "the method does not exist")
        sent = [log for log in self.sweeps if log["blockNumber"] == call[1][0]]
        block_hash = f"0x{int(call[1][0], 16):064x}"
        return [convert({"logs": [convert(log)], "blockHash": block_hash}) for log in sent]

    def batch(
        self, calls: Sequence[Call], read: Callable[[list[Any]], Any], *, isolating: bool = False
    ) -> Any:
        self.calls += calls
        return read([self._result(*call) for call in calls])

    def _result(self, method: str, arguments: list[Any]) -> Any:
        if method == "eth_getBlockByNumber":
            if arguments[0] != hex(100):
                return {
                    "number": arguments[0],
                    "hash": f"0x{int(arguments[0], 16):064x}",
                    "timestamp": "0x10",
                }
            hash_ = self.hashes[0] if len(self.hashes) == 1 else self.hashes.pop(0)
            return {"number": arguments[0], "hash": hash_, "timestamp": "0x10"} if hash_ else None
        if method == "eth_getBalance":
            return self.balances[arguments[0]]
        if method == "eth_call":
            return self._read_by_code(arguments[0]["data"])
        filters = arguments[0]
        first, last = int(filters["fromBlock"], 16), int(filters["toBlock"], 16)
        if last - first >= self.widest:
            return RpcFault(-32602, "the range is too wide")
        wanted = {each.lower() for each in filters.get("address", ())}
        found = [
            each
            for each in self.sweeps
            if first <= int(each["blockNumber"], 16) <= last and each["address"] in wanted
        ]
        return found if len(found) <= self.most else RpcFault(-32005, "more than 10000 results")

    def _read_by_code(self, data: str) -> Any:
        if not self.overrides:
            return RpcFault(-32602, "too many arguments") if self.overrides is None else "0x"
        read = [data[at : at + 64] for at in range(2, len(data), 64)]
        balances = [self.balances[to_checksum_address("0x" + word[24:])] for word in read]
        faults = [each for each in balances if isinstance(each, RpcFault)]
        return faults[0] if faults else "0x" + "".join(f"{int(each, 16):064x}" for each in balances)


def read(
    node: Node,
    addresses: Sequence[str],
    known: KnownReceipts,
    since: int = 1,
    receipts: ReceiptTime | None = None,
) -> CoinsReceived:
    asked: Any = node
    query = partial(coins_received, since_block=since, at_block=100, known=known, receipts=receipts)
    return together(query(asked, addresses))


def received(
    node: Node, *, since: int = 1, known: KnownReceipts | None = None, has_time: bool = True
) -> dict[str, int]:
    receipts = ReceiptTime(5) if has_time else None
    return dict(read(node, [FIRST, SECOND], known or KnownReceipts(), since, receipts).amounts)


def methods(node: Node) -> Counter[str]:
    return Counter(method for method, _ in node.calls)


def test_balance_and_sweeps_are_received() -> None:
    node = Node(sweeps=[swept(7, FIRST, 30), swept(8, SECOND, 2), swept(100, SECOND, 4)])
    assert received(node) == {FIRST: 35, SECOND: 6}


def test_sweeps_outside_the_range_do_not_count() -> None:
    node = Node(sweeps=[swept(6, FIRST, 30), swept(101, FIRST, 30), swept(50, FIRST, 1)])
    assert received(node, since=7) == {FIRST: 6, SECOND: 0}


def test_balances_are_pinned_to_the_hash_of_the_block() -> None:
    pinned = {"blockHash": HASH, "requireCanonical": True}
    node = Node()
    received(node)
    assert [arguments[1] for method, arguments in node.calls if method == "eth_call"] == [pinned]
    node = Node(overrides=None)
    received(node)
    asked = [arguments for method, arguments in node.calls if method == "eth_getBalance"]
    assert asked == [[FIRST, pinned], [SECOND, pinned]]


def test_ranges_that_the_node_rejects_are_halved() -> None:
    node = Node(sweeps=[swept(block, FIRST, 1) for block in range(1, 101)], widest=10)
    assert received(node) == {FIRST: 105, SECOND: 0}


def test_thousands_of_sweeps_in_a_block_hide_no_other_address() -> None:
    spam = [swept(50, FIRST, 0)] * 20
    node = Node(sweeps=[*spam, swept(50, SECOND, 3), swept(60, FIRST, 2)], most=10)
    assert received(node) == {FIRST: 7, SECOND: 3}


def flooded(**more: Any) -> Node:
    """A node with a real sweep of 10, and 20 sweeps of nothing in the same block."""
    spam = [swept(50, FIRST, 0)] * 20
    return Node(sweeps=[swept(50, FIRST, 10), *spam, swept(50, SECOND, 3)], most=10, **more)


def test_empty_sweeps_hide_no_real_sweep_of_their_block() -> None:
    node, known = flooded(), KnownReceipts()
    assert received(node, known=known) == {FIRST: 15, SECOND: 3}
    assert methods(node)["eth_getLogs"] < 25
    assert received(node, known=known) == {FIRST: 15, SECOND: 3}
    assert methods(node)["eth_getBlockReceipts"] == 1


def test_full_ranges_follow_a_block_with_empty_sweeps() -> None:
    node = flooded(widest=10)
    node.log_limits.blocks.failed(20)
    received(node)
    after = [call[1][0] for call in node.calls if call[0] == "eth_getLogs"][-5:]
    assert {int(each["toBlock"], 16) - int(each["fromBlock"], 16) for each in after} == {9}


def test_sweeps_that_no_one_returns_never_count_as_zero() -> None:
    assert received(flooded(receipts=False)) == {SECOND: 3}
    assert agreed(flooded(receipts=False), Node(), Node()).amounts == {FIRST: 5, SECOND: 0}


def test_nodes_with_other_limits_agree_on_sweeps() -> None:
    assert agreed(flooded(), replace(flooded(), most=1000), Node(hashes=[""])).amounts[FIRST] == 15
    of_two = agreed(flooded(), flooded(receipts=False), Node(hashes=[""]))
    assert (of_two.amounts, of_two.swept) == ({SECOND: 3}, {})


MANY = [to_checksum_address(f"0x{number:040x}") for number in range(2**100, 2**100 + 500)]


SWEPT_PLACES = range(5, 500, 50)


def flooded_often(**more: Any) -> Node:
    """A node with 500 addresses. The first one is flooded in 20 blocks, and has swept 7 in one of them."""
    spam = [swept(block, MANY[0], 0) for block in range(40, 100, 3) for _ in range(20)]
    real = [swept(52, MANY[0], 7), *(swept(37 + place // 10, MANY[place], place) for place in SWEPT_PLACES)]
    return Node(balances=dict.fromkeys(MANY, "0x1"), sweeps=[*spam, *real], most=19, **more)


def test_flooded_address_leaves_the_rest_of_the_read() -> None:
    node = flooded_often(widest=64)
    amounts = read(node, MANY, KnownReceipts(), since=37).amounts
    assert amounts == {each: 1 + place * (place in SWEPT_PLACES) for place, each in enumerate(MANY) if place}
    assert methods(node)["eth_getLogs"] <= 60
    assert methods(node)["eth_getBlockReceipts"] == 0


def test_flooded_blocks_are_found_once() -> None:
    node, known = flooded_often(), KnownReceipts()
    for queries in (500, 60):
        node.calls.clear()
        found = read(node, MANY[:1], known, since=37, receipts=ReceiptTime(5)).amounts
        assert found == {MANY[0]: 8}
        assert methods(node)["eth_getLogs"] < queries


def test_slow_receipts_take_a_bounded_time_of_each_node() -> None:
    clock = Clock()
    slow, fair = flooded_often(clock=clock, slowness=60), flooded_often(clock=clock, slowness=0.1)
    assert agreed(slow, fair, fair, addresses=MANY, clock=clock).amounts[MANY[0]] == 8
    assert clock() < 5 + 2 * 20 * 0.2
    halting = replace(slow, slowness=2)
    assert MANY[0] not in agreed(halting, halting, halting, addresses=MANY, clock=clock).amounts
    assert clock() < 9 + 4 * 5


def test_lone_flooded_address_is_reported_as_such() -> None:
    client = client_of(flooded(), flooded(), flooded())
    with pytest.raises(SweepsMissing):
        client.coins_received([FIRST], since_block=1, at_block=100)
    assert client.coins_received([FIRST, SECOND], since_block=1, at_block=100).amounts == {SECOND: 3}
    fine = client_of(flooded(), Node(), replace(RICH))
    with pytest.raises(ChainError, match="did not agree"):
        fine.coins_received([FIRST], since_block=1, at_block=100)


def test_block_reorganised_meanwhile_is_not_read() -> None:
    with pytest.raises(ChainError, match="block 100 was reorganised"):
        received(Node(hashes=[HASH, OTHER_HASH]))


@pytest.mark.parametrize(
    "node",
    [
        Node(hashes=[""]),
        Node(balances={FIRST: "0x5", SECOND: STATE_IS_GONE}),
        Node(sweeps=[swept(7, FIRST, 30)], widest=0),
        Node(sweeps=[swept(7, FIRST, 30) | {"data": "0x"}]),
    ],
)
def test_node_that_lacks_something_reports_no_amounts(node: Node) -> None:
    with pytest.raises(ChainError):
        received(node)


@dataclass
class Nodes:
    nodes: Sequence[Node]

    @property
    def size(self) -> int:
        return len(self.nodes)

    def each(self) -> Sequence[Node]:
        """Return the nodes that are in no cooldown."""
        return [node for node in self.nodes if not node.is_resting]

    def seconds_until_ready(self) -> float:
        return 1.0


@pytest.mark.parametrize("overrides", [True, False, None])
def test_node_without_state_overrides_reads_each_balance(overrides: bool | None) -> None:
    node = Node(balances={FIRST: "0x7", SECOND: "0x3"}, overrides=overrides)
    assert received(node) == {FIRST: 7, SECOND: 3}
    assert methods(node)["eth_call"] == 1
    assert methods(node)["eth_getBalance"] == (0 if overrides else 2)


def test_ten_thousand_balances_are_read_in_one_round_trip() -> None:
    addresses = [to_checksum_address(f"0x{number:040x}") for number in range(2**100, 2**100 + 10_000)]
    node = Node(balances=dict.fromkeys(addresses, "0x1"))
    assert sum(read(node, addresses, KnownReceipts()).amounts.values()) == 10_000
    assert [method for method, _ in node.calls].count("eth_call") == 10
    assert len(node.calls) <= 10 + 20 + 2  # calls, sweep queries, block before and after


def client_of(*nodes: Node) -> EvmClient:
    client = EvmClient(["http://node.invalid"], 1)
    named = [replace(node, urls=(f"http://{place}.invalid",)) for place, node in enumerate(nodes)]
    client._rpc = Nodes(named)  # type: ignore[assignment]
    return client


def agreed(
    *nodes: Node, addresses: Sequence[str] = (FIRST, SECOND), clock: Clock | None = None
) -> CoinsReceived:
    receipts = ReceiptTime(5, clock or Clock())
    return client_of(*nodes).coins_received(addresses, since_block=1, at_block=100, receipts=receipts)


RICH = Node(balances={FIRST: "0x99", SECOND: "0x0"})


def test_amounts_of_two_nodes_that_agree_count() -> None:
    found = agreed(Node(), replace(RICH), Node())
    assert (found.block.hash, found.amounts) == (HASH, {FIRST: 5, SECOND: 0})


@pytest.mark.parametrize("other", [RICH, Node(hashes=[OTHER_HASH]), Node(hashes=[""])])
def test_amounts_of_one_node_do_not_count(other: Node) -> None:
    found = agreed(Node(), replace(other), Node(balances={FIRST: "0x7", SECOND: "0x0"}))
    assert found.amounts == {SECOND: 0}


def test_nodes_that_agree_on_no_address_report_nothing() -> None:
    with pytest.raises(ChainError, match="did not agree"):
        agreed(Node(), Node(hashes=[OTHER_HASH]), Node(balances={FIRST: "0x7", SECOND: "0x1"}))


def failing(message: str, code: int = -32000) -> Node:
    return Node(balances=dict.fromkeys((FIRST, SECOND), RpcFault(code, message)))


GONE = failing("missing trie node")


@pytest.mark.parametrize(
    "message",
    [
        "missing trie node 51ab (path ) state 0xab is not available, not found",
        "historical state 51ab is not available",
        "required historical state unavailable (reexec=0)",
        "distance to target block exceeds maximum proof window",
        "state at block #7 is pruned",
        "state already pruned",
        "No state available for block 7",
        "old data not available due to pruning",
        "World state unavailable",
        "state not available for block 7",
    ],
)
def test_nodes_that_pruned_the_state_report_it_as_missing(message: str) -> None:
    with pytest.raises(StateMissing):
        agreed(GONE, failing(message), GONE)


@pytest.mark.parametrize(
    "other",
    [
        failing("rate limit exceeded", -32005),
        failing("header not found"),
        failing("execution timeout"),
        failing("project ID request rate exceeded"),
        failing("daily quota reached"),
        failing("upstream unavailable"),
        Node(is_resting=True),
    ],
)
def test_temporary_failure_is_no_missing_state(other: Node) -> None:
    for nodes in ([Node(), other, GONE], [GONE, other, GONE], [other, GONE, GONE]):
        with pytest.raises(ChainError) as raised:
            agreed(*nodes)
        assert not isinstance(raised.value, StateMissing)
