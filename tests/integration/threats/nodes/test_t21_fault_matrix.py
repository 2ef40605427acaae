"""Whatever one or two of three nodes do, no forged response pays, and no payment is lost.

Each fault goes through the whole engine: a request, a payment on a real chain, its hash, and lookups until it
is decided.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import Fault, FaultProxy, Json
from tests.support.nodes.networks import be_impatient, changed, client_of, nodes_before
from tests.support.payments.world import Clock, look, make_request, pay, submit
from webhooks.models import Event

Status = Payment.Status


@dataclass(frozen=True)
class Scene:
    """The parameters of a fault: the true chain, another chain, and the index of the faulty node."""

    chain: LocalChain
    other: LocalChain
    node: int

    @property
    def head(self) -> int:
        return int(self.chain.rpc("eth_blockNumber"), 16)


def with_logs(change: Callable[[Json], Json]) -> Callable[[Json], Json]:
    return lambda receipt: {**receipt, "logs": [change(log) for log in receipt["logs"]]}


def amount(units: int) -> Callable[[Json], Json]:
    return with_logs(changed(data="0x" + hex(units)[2:].rjust(64, "0")))


def only_for(fault: Fault, *methods: str) -> Fault:
    """Apply the fault only to requests that call one of these methods."""

    def reply(exchange: fault_proxy.Exchange) -> None:
        if set(methods) & set(exchange.methods):
            fault(exchange)
        else:
            exchange.reply(exchange.truth())

    return reply


# Each node's lie is different, because two nodes with the same lie would form a quorum.
FAULTS: dict[str, Callable[[Scene], Fault]] = {
    "429": lambda _: fault_proxy.limiting(7),
    "500": lambda _: fault_proxy.server_error,
    "time-out": lambda _: fault_proxy.hang,
    "100 MB reply": lambda _: fault_proxy.huge,
    "old head": lambda scene: fault_proxy.old_head(scene.head - 100),
    "other chain": lambda scene: fault_proxy.other_chain(scene.other.url),
    "no receipts": lambda _: fault_proxy.forged_receipts(lambda _: {}),
    "null blocks": lambda _: only_for(fault_proxy.null, "eth_getBlockByNumber"),
    "500 for receipts": lambda _: only_for(fault_proxy.server_error, "eth_getTransactionReceipt"),
    "forged block hash": lambda s: fault_proxy.forged_receipts(changed(blockHash=f"0x{s.node:064x}")),
    "forged amount": lambda s: fault_proxy.forged_receipts(amount(10**12 + s.node)),
    "forged sender": lambda s: fault_proxy.forged(
        "eth_getTransactionByHash", lambda t: {**t, "from": "0x" + f"{s.node:040x}"}
    ),
}
# Two nodes with the same one of these lies would form a quorum. A single node doesn't. (A wrong log
# index in the block is harmless, because it isn't the log's place in the transaction.)
LIES_OF_ONE: dict[str, Callable[[Scene], Fault]] = {
    "forged status": lambda _: fault_proxy.forged_receipts(changed(status="0x0")),
    "forged log index": lambda s: fault_proxy.forged_receipts(with_logs(changed(logIndex=hex(90 + s.node)))),
    "no logs": lambda _: fault_proxy.forged_receipts(changed(logs=[])),
    "knows nothing": lambda _: fault_proxy.forgetful,
    "stopped just before": lambda scene: fault_proxy.old_head(scene.head),
}


@pytest.fixture(scope="module")
def nodes(local_chain: LocalChain) -> Iterator[list[FaultProxy]]:
    local_chain.mine(200)
    with nodes_before(local_chain, 3) as started:
        yield started


@pytest.fixture(autouse=True)
def _healthy(
    nodes: list[FaultProxy], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    if request.node.callspec.params["fault"] == "time-out":
        be_impatient(monkeypatch)
    yield
    for node in nodes:
        node.heal()


@dataclass
class World:
    """Three nodes that a worker already knows as healthy, and a request."""

    nodes: list[FaultProxy]
    chain: LocalChain
    other: LocalChain
    request: PaymentRequest
    clock: Clock

    def __post_init__(self) -> None:
        self.client = client_of(self.nodes, self.chain.chain_id, self.clock)
        self.client.look_up([], with_finality=False)

    def break_nodes(self, fault: Callable[[Scene], Fault], faulty: list[int]) -> None:
        for node in faulty:
            self.nodes[node].break_with(fault(Scene(self.chain, self.other, node)))
            self.nodes[node].asked.clear()

    def look(self, payment: Payment, times: int = 1) -> Payment:
        """Run several lookups of the payment, each when it is due."""
        for _ in range(times):
            payment.refresh_from_db()
            if payment.lookup.next_check_at:
                self.clock.forward(
                    seconds=max((payment.lookup.next_check_at - self.clock()).total_seconds(), 0) + 0.01
                )
            look(self.clock, lambda _: self.client)
        payment.refresh_from_db()
        return payment


@pytest.fixture
def world(
    nodes: list[FaultProxy],
    chain: Chain,
    usdc: Token,
    merchant: Merchant,
    local_chain: LocalChain,
    other_local_chain: LocalChain,
) -> World:
    request = make_request(merchant, usdc, "10", local_chain.recipient)
    return World(nodes, local_chain, other_local_chain, request, Clock())


def nothing_was_credited(request: PaymentRequest) -> bool:
    request.refresh_from_db()
    return not ConsumedTransfer.objects.exists() and not Event.objects.exists() and request.amount_paid == 0


def assert_completed(payment: Payment, request: PaymentRequest) -> None:
    request.refresh_from_db()
    assert (payment.status, payment.amount_received) == (Status.COMPLETED, 10_000_000), payment.status_detail
    assert (request.status, request.amount_paid) == (PaymentRequest.Status.COMPLETED, 10_000_000)
    assert ConsumedTransfer.objects.count() == Event.objects.count() == 1


@pytest.mark.parametrize("fault", {**FAULTS, **LIES_OF_ONE}, ids=str)
def test_payment_completes_despite_one_faulty_node_of_three(world: World, fault: str) -> None:
    world.break_nodes({**FAULTS, **LIES_OF_ONE}[fault], [0])
    payment = submit(world.request, pay(world.chain, world.request))
    assert_completed(world.look(payment), world.request)
    assert payment.from_address == world.chain.payer
    assert world.nodes[0].asked


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_payment_waits_for_the_recovery_of_two_faulty_nodes(world: World, fault: str) -> None:
    world.break_nodes(FAULTS[fault], [0, 1])
    payment = submit(world.request, pay(world.chain, world.request))
    world.look(payment, times=3)
    assert (payment.status, payment.attempts) == (Status.PROCESSING, 0), payment.status_detail
    assert nothing_was_credited(world.request)
    assert world.nodes[0].asked
    assert world.nodes[1].asked
    for node in world.nodes:
        node.heal()
    for _ in range(8):
        if world.look(payment).status == Status.COMPLETED:
            break
    assert_completed(payment, world.request)
    assert payment.attempts == 0
