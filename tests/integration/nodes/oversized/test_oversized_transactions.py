"""A receipt or trace that is too large for a batch is queried alone, and delays no other payment."""

from collections.abc import Callable

import pytest

from chains.client import Snapshot, TransactionFacts, Watch
from chains.families.evm.client import EvmClient
from chains.families.evm.transactions import oversized, trace_results
from chains.models import Chain, Token
from chains.rpc import json_rpc, transport
from merchants.models import Merchant
from payments.models import Payment
from tests.chain import LocalChain
from tests.fault_proxy import Exchange, FaultProxy
from tests.processes import eventually
from tests.support.nodes.fixtures import NodeTime
from tests.support.nodes.networks import client_of, nodes_before
from tests.support.nodes.oversized import Shouter
from tests.support.payments.world import Clock, look, make_request, pay, submit

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]
REFERENCE = b"L" * 16
RECEIPT = "eth_getTransactionReceipt"


@pytest.fixture(scope="module")
def shouter(local_chain: LocalChain) -> Shouter:
    return Shouter.place(local_chain)


@pytest.fixture
def small_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit a batch's response to 64 kB, which is about 160 logs."""
    monkeypatch.setattr(json_rpc, "MAX_ORDINARY_BYTES", 64 * 1024)


def until_read(client: EvmClient, *hashes: str, **more: bool) -> Snapshot:
    """Look up until every transaction is read."""
    last: list[Snapshot] = []

    def is_read() -> bool:
        last[:] = [client.look_up(hashes, with_finality=False)]
        return not last[0].contradicted

    eventually(is_read, "every transaction was read", 60)
    return last[0]


def only(snapshot: Snapshot, hash_: str) -> TransactionFacts:
    facts = snapshot.transactions[hash_]
    assert facts is not None
    return facts


def batched_receipts(node: FaultProxy, hash_: str) -> int:
    """Return the number of batches that queried the receipt."""
    return sum(
        isinstance(body, list) and any(q["method"] == RECEIPT and q["params"] == [hash_] for q in body)
        for body in node.bodies
    )


@pytest.mark.usefixtures("small_responses")
def test_oversized_payments_and_those_beside_them_complete(
    merchant: Merchant, usdc: Token, chain: Chain, local_chain: LocalChain, shouter: Shouter
) -> None:
    clock = Clock()
    requests = [make_request(merchant, usdc, "1", local_chain.recipient) for _ in range(12)]
    oversized = requests[::4]
    payments = {}
    for request in requests:
        if request in oversized:
            sent = shouter.pay(400, local_chain.recipient, 1_000_000, bytes(request.reference))
        else:
            sent = pay(local_chain, request)
        payments[request.pk] = submit(request, sent)
    with nodes_before(local_chain, 1) as [node]:
        client = client_of([node], chain.id, clock)
        look(clock, lambda _: client)
        completed = set(Payment.objects.filter(status="completed").values_list("request_id", flat=True))
        assert completed >= {request.pk for request in requests if request not in oversized}, (
            "at the first look"
        )

        def all_are_completed() -> bool:
            clock.forward(seconds=30)
            look(clock, lambda _: client)
            return Payment.objects.filter(status="completed").count() == 12

        eventually(all_are_completed, "the oversized ones completed too", 60)
        assert client.health()[0].state == "answering"
    assert not Payment.objects.exclude(lookup__attempts=0).exists()


def test_transaction_of_36_000_logs_is_read_completely(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, shouter: Shouter
) -> None:
    sent = shouter.pay(36_000, local_chain.recipient, 5, REFERENCE)
    plain = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    [node] = nodes_of(1)
    client = client_for([node])
    first = client.look_up([sent, plain], with_finality=False)
    assert first.contradicted == {sent}
    assert only(first, plain).block is not None
    facts = only(until_read(client, sent, plain), sent)
    assert facts.is_complete
    assert facts.is_readable
    [transfer] = facts.transfers
    assert (transfer.slot, transfer.amount, transfer.references) == ("36000", 5, (REFERENCE,))
    assert client.health()[0].state == "answering"


@pytest.mark.usefixtures("small_responses")
def test_oversized_hashes_are_remembered_and_read_alone(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, shouter: Shouter
) -> None:
    oversized = [shouter.pay(300, local_chain.recipient, 5, REFERENCE) for _ in range(3)]
    plain = [local_chain.transfer(local_chain.usdc, local_chain.recipient, 1) for _ in range(5)]
    [node] = nodes_of(1)
    client = client_for([node])
    until_read(client, *oversized, *plain)
    node.asked.clear()
    node.bodies.clear()
    snapshot = client.look_up([*plain, *oversized], with_finality=False)
    assert all(only(snapshot, hash_).transfers for hash_ in [*oversized, *plain])
    assert not snapshot.contradicted
    assert not any(batched_receipts(node, hash_) for hash_ in oversized)
    assert node.round_trips == 2, "what was read once is not read again while its block is the same"


@pytest.mark.usefixtures("small_responses")
def test_others_do_not_wait_while_an_oversized_one_is_read(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, shouter: Shouter
) -> None:
    shout = shouter.pay(300, local_chain.recipient, 5, REFERENCE)
    plain = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    [node] = nodes_of(1)
    client = client_for([node])
    with oversized._one_at_a_time:  # as during another oversized read
        for _ in range(3):
            snapshot = client.look_up([shout, plain], with_finality=False)
            assert only(snapshot, plain).block is not None
            assert snapshot.contradicted == {shout}
            assert only(snapshot, shout).block is None
    assert only(until_read(client, shout, plain), shout).transfers


@pytest.mark.usefixtures("small_responses")
def test_transaction_too_large_alone_is_unreadable_in_its_block(
    nodes_of: Nodes,
    client_for: Clients,
    local_chain: LocalChain,
    shouter: Shouter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_rpc, "MAX_STREAMED_BYTES", 100 * 1024)
    oversized = shouter.pay(400, local_chain.recipient, 5, REFERENCE)
    plain = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    receipt = local_chain.rpc(RECEIPT, oversized)
    [node] = nodes_of(1)
    client = client_for([node])
    snapshot = until_read(client, oversized, plain)
    facts = only(snapshot, oversized)
    assert facts.block is not None
    assert (facts.block.hash, facts.is_readable, facts.is_complete) == (receipt["blockHash"], False, False)
    assert facts.transfers == ()
    assert only(snapshot, plain).is_readable
    assert client.health()[0].state == "answering"


@pytest.mark.usefixtures("small_responses")
def test_trace_that_is_too_large_is_not_treated_as_missing(
    nodes_of: Nodes,
    client_for: Clients,
    local_chain: LocalChain,
    shouter: Shouter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sender must not be able to choose the rules by making the transaction large."""
    monkeypatch.setattr(trace_results, "MAX_FRAMES", 100)
    oversized = shouter.pay(300, local_chain.recipient, 5, REFERENCE)
    [node] = nodes_of(1)
    facts = only(until_read(client_for([node]), oversized), oversized)
    assert (facts.is_readable, facts.is_complete) == (True, False)
    [transfer] = facts.transfers
    assert (transfer.amount, transfer.references, transfer.made_by) == (5, (), "")


@pytest.mark.usefixtures("small_responses")
def test_three_nodes_agree_on_an_oversized_transaction(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, shouter: Shouter
) -> None:
    oversized = shouter.pay(300, local_chain.recipient, 5, REFERENCE)
    plain = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    nodes = nodes_of(3)
    client = client_for(nodes)
    snapshot = until_read(client, oversized, plain)
    assert only(snapshot, oversized).transfers[0].references == (REFERENCE,)
    assert only(snapshot, plain).block is not None
    assert {health.state for health in client.health()} <= {"answering", "unasked"}


@pytest.mark.usefixtures("small_responses")
def test_oversized_transaction_is_read_again_after_a_reorg(own_chain: LocalChain) -> None:
    shouter = Shouter.place(own_chain)
    oversized = shouter.pay(300, own_chain.recipient, 5, REFERENCE)
    client = EvmClient([own_chain.url], own_chain.chain_id)
    before = only(until_read(client, oversized), oversized)
    raw = own_chain.rpc("eth_getRawTransactionByHash", oversized)
    own_chain.reorganise()
    assert only_unmined(client.look_up([oversized], with_finality=False), oversized)
    own_chain.rpc("evm_increaseTime", 60)
    own_chain.rpc("eth_sendRawTransaction", raw)
    eventually(lambda: own_chain.rpc(RECEIPT, oversized) is not None, "it was mined again", 30)
    after = only(until_read(client, oversized), oversized)
    assert before.block is not None
    assert after.block is not None
    assert after.block.hash == own_chain.rpc(RECEIPT, oversized)["blockHash"] != before.block.hash
    assert after.transfers == before.transfers


def only_unmined(snapshot: Snapshot, hash_: str) -> bool:
    facts = snapshot.transactions[hash_]
    return facts is None or facts.block is None


@pytest.mark.usefixtures("small_responses")
def test_interrupted_read_is_retried_before_it_is_unreadable(
    nodes_of: Nodes,
    client_for: Clients,
    local_chain: LocalChain,
    shouter: Shouter,
    time: NodeTime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "_LARGE_BYTES", 10_000)
    oversized = shouter.pay(300, local_chain.recipient, 5, REFERENCE)
    [node] = nodes_of(1)
    receipts: list[int] = []

    def break_off(exchange: Exchange) -> None:
        if exchange.methods == [RECEIPT]:
            receipts.append(1)
            exchange.send(200, b'{"jsonrpc": "2.0", "id": 1, "result": {"logs": [' + b'"", ' * 5000)
        else:
            exchange.reply(exchange.truth())

    client = client_for([node])
    until_read(client, oversized)
    client._oversized[node.url]._read.clear()
    node.break_with(break_off)
    plain = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    looks: list[Snapshot] = []

    def is_read() -> bool:
        time.now += 30
        looks.append(client.look_up([oversized, plain], with_finality=False))
        return not looks[-1].contradicted

    eventually(is_read, "it was given up", 60)
    assert len(receipts) == 3
    assert not only(looks[-1], oversized).is_readable
    assert all(only(snapshot, plain).is_readable for snapshot in looks)


@pytest.mark.usefixtures("small_responses")
def test_discovery_skips_receipts_of_oversized_strangers(
    nodes_of: Nodes, client_for: Clients, local_chain: LocalChain, shouter: Shouter
) -> None:
    start = int(local_chain.rpc("eth_blockNumber"), 16)
    strangers = [shouter.pay(300, local_chain.recipient, amount, b"S" * 16) for amount in (0, 0, 1, 1)]
    ours = local_chain.transfer(local_chain.usdc, local_chain.recipient, 7, tail=b"W" * 16)
    oversized = shouter.pay(300, local_chain.recipient, 7, b"V" * 16)
    watches = [Watch(ref, local_chain.usdc, local_chain.recipient) for ref in (b"W" * 16, b"V" * 16)]
    [node] = nodes_of(1)
    discovery = client_for([node]).discover(watches, since_block=start + 1)
    assert set(discovery.found) == {(b"W" * 16, ours), (b"V" * 16, oversized)}
    assert discovery.next_block == int(local_chain.rpc("eth_blockNumber"), 16) + 1
    asked = [
        q["params"][0]
        for body in node.bodies
        if isinstance(body, list)
        for q in body
        if q["method"] == RECEIPT
    ]
    assert not set(strangers) & set(asked)
