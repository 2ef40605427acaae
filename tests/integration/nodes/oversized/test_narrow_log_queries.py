"""The service detects and remembers a node's limits on log queries.

The node stays healthy, and no payment is lost.
"""

from collections.abc import Callable

import pytest
from eth_utils.address import to_checksum_address

from chains.client import ChainError, Watch
from chains.families.evm.client import EvmClient
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import Fault, FaultProxy, Json
from tests.support.nodes.limits import call_by_call, http_400_beyond, narrow_logs

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
REFERENCE = b"n" * 16
OTHER = to_checksum_address("0x" + "9a" * 20)


@pytest.fixture(autouse=True)
def _far_from_others(local_chain: LocalChain) -> None:
    """Add blocks, so that the search doesn't reach transactions of other tests."""
    local_chain.mine(30)


def watch(chain: LocalChain, reference: bytes = REFERENCE, recipient: str | None = None) -> Watch:
    return Watch(reference, chain.usdc, recipient or chain.recipient)


def head(chain: LocalChain) -> int:
    return int(chain.rpc("eth_blockNumber"), 16)


def log_queries(node: FaultProxy) -> list[Json]:
    return [
        question["params"][0]
        for body in node.bodies
        for question in (body if isinstance(body, list) else [body])
        if question["method"] == "eth_getLogs"
    ]


def discover_all(client: EvmClient, watches: list[Watch], since: int, until: int) -> set[tuple[bytes, str]]:
    """Search from `since` to `until` with as many calls as necessary."""
    found: set[tuple[bytes, str]] = set()
    for _ in range(200):
        discovery = client.discover(watches, since_block=since, until_block=until)
        found |= set(discovery.found)
        assert discovery.next_block > since - 20
        if discovery.next_block > until:
            return found
        since = max(discovery.next_block, since + 1)
    raise AssertionError("the search did not come to its end")


@pytest.mark.parametrize(
    "fault",
    [
        narrow_logs(blocks=10),
        http_400_beyond(10),
    ],
    ids=["10", "HTTP 400 at 10"],
)
def test_rejected_block_range_is_halved_and_remembered(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, fault: Fault
) -> None:
    start = head(local_chain) + 1
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, 5, tail=REFERENCE)
    local_chain.mine(100)
    [node] = nodes_of(1)
    node.break_with(fault)
    client = client_for([node])
    until = head(local_chain)
    assert discover_all(client, [watch(local_chain)], start, until) == {(REFERENCE, sent)}
    assert client.health()[0].state == "answering"
    assert client.health()[0].last_error == ""
    node.bodies.clear()
    client.discover([watch(local_chain)], since_block=until + 1)
    widths = [int(asked["toBlock"], 16) - int(asked["fromBlock"], 16) + 1 for asked in log_queries(node)]
    assert sum(widths) <= 64, "the limit was known"


@pytest.fixture
def one_block(local_chain: LocalChain) -> tuple[int, dict[str, str]]:
    """Mine a block with six tiny transfers to one wallet and a payment to another; return its height and the hashes."""
    local_chain.rpc("evm_setAutomine", False)
    try:
        sent = {
            f"dust {number}": local_chain.send(
                local_chain.unsigned_transfer(local_chain.usdc, OTHER, 1 + number, tail=b"D" * 16)
            )
            for number in range(6)
        }
        sent["payment"] = local_chain.send(
            local_chain.unsigned_transfer(local_chain.usdc, local_chain.recipient, 5, tail=REFERENCE)
        )
        local_chain.mine()
    finally:
        local_chain.rpc("evm_setAutomine", True)
    return head(local_chain), sent


def test_dust_to_one_wallet_hides_no_payment_to_another(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, one_block: tuple[int, dict[str, str]]
) -> None:
    block, sent = one_block
    [node] = nodes_of(1)
    node.break_with(narrow_logs(results=4))
    client = client_for([node])
    watches = [watch(local_chain), watch(local_chain, b"D" * 16, OTHER)]
    discovery = client.discover(watches, since_block=block, until_block=block)
    assert discovery.found == ((REFERENCE, sent["payment"]),)
    assert (discovery.next_block, discovery.unreadable) == (block + 1, 1)
    assert client.health()[0].state == "answering"


def test_logs_of_a_limited_node_come_from_another_node(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, one_block: tuple[int, dict[str, str]]
) -> None:
    block, sent = one_block
    limited, other = nodes_of(2)
    limited.break_with(narrow_logs(results=4))
    watches = [watch(local_chain), watch(local_chain, b"D" * 16, OTHER)]
    discovery = client_for([limited, other]).discover(watches, since_block=block, until_block=block)
    assert {hash_ for _, hash_ in discovery.found} == set(sent.values())
    assert discovery.unreadable == 0


@pytest.mark.parametrize(
    "fault",
    [
        fault_proxy.lacking("eth_getLogs"),
        fault_proxy.lacking("eth_getLogs", code=-32005, message="rate limit exceeded"),
        call_by_call(lambda question, _: {"result": {}} if question["method"] == "eth_getLogs" else None),
    ],
    ids=["not offered", "rate", "nonsense"],
)
def test_node_without_log_queries_does_not_move_the_cursor(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, fault: Fault
) -> None:
    """The search may skip a block only if the node shows that it is too large. Otherwise, payments would be lost."""
    start = head(local_chain) + 1
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, 5, tail=REFERENCE)
    broken, sound = nodes_of(2)
    broken.break_with(fault)
    with pytest.raises(ChainError):
        client_for([broken]).discover([watch(local_chain)], since_block=start)
    assert len(log_queries(broken)) <= 2
    discovery = client_for([broken, sound]).discover([watch(local_chain)], since_block=start)
    assert discovery.found == ((REFERENCE, sent),)


def test_discovery_ends_at_the_given_block(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain
) -> None:
    start = head(local_chain) + 1
    first = local_chain.transfer(local_chain.usdc, local_chain.recipient, 5, tail=REFERENCE)
    middle = head(local_chain)
    second = local_chain.transfer(local_chain.usdc, local_chain.recipient, 6, tail=REFERENCE)
    client = client_for(nodes_of(1))
    early = client.discover([watch(local_chain)], since_block=start, until_block=middle)
    late = client.discover([watch(local_chain)], since_block=early.next_block)
    assert (early.found, early.next_block) == (((REFERENCE, first),), middle + 1)
    assert late.found == ((REFERENCE, second),)
    assert late.next_block == client.head() + 1


def test_transactions_beyond_the_limit_wait_for_next_search(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chains.families.evm.search.discovery.MAX_TRANSACTIONS", 3)
    start = head(local_chain) + 1
    sent = [
        local_chain.transfer(local_chain.usdc, local_chain.recipient, 5, tail=REFERENCE) for _ in range(10)
    ]
    client, until = client_for(nodes_of(1)), head(local_chain)
    first = client.discover([watch(local_chain)], since_block=start, until_block=until)
    assert len(first.found) == 3
    found = set(first.found)
    since = first.next_block
    while since <= until:
        later = client.discover([watch(local_chain)], since_block=since, until_block=until)
        assert later.next_block > since
        found |= set(later.found)
        since = later.next_block
    assert found == {(REFERENCE, hash_) for hash_ in sent}
