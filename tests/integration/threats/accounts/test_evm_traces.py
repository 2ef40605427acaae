"""Neither a transaction's sender nor a node can misuse traces. Traces are limited, read once, and never verdicts."""

from collections.abc import Sequence
from typing import Any

import pytest
import requests

from chains.client import Discovery, TransactionFacts, Watch
from chains.families.evm.client import EvmClient
from chains.families.evm.transactions.tracing import (
    CONFIRMATIONS,
    PRESUMED_UNABLE_AFTER_FAILURES,
    PRESUMED_UNABLE_AFTER_SECONDS,
)
from chains.models import Token
from payments.models import Payment
from tests.chain import LocalChain
from tests.loopback import Scripted
from tests.support.chains.faulty_node import Exchange, payment_questions, serving
from tests.support.payments.world import Clock, look, make_request, submit
from tests.support.threats.evm_world import USDC_UNIT, Safe, World, transfer_data
from tests.support.threats.real_accounts import RealSafe

pytest_plugins = ["tests.support.threats.evm_fixtures"]
REFERENCE, OTHER = b"r" * 16, b"o" * 16


def frame(sender: str, to: str, value: int = 0, data: str = "0x", **more: Any) -> dict[str, Any]:
    return {"type": "CALL", "from": sender, "to": to, "value": hex(value), "input": data, **more}


class Traces:
    """A node in front of the chain. Tests can make its traces fail."""

    def __init__(self, chain: LocalChain) -> None:
        self.chain = chain
        self.fault: Any = None
        self.broken: set[str] = set()
        self.queried: list[list[str]] = []

    def __call__(self, exchange: Exchange) -> None:
        hashes = [q["params"][0] for q in exchange.questions if q["method"] == "debug_traceTransaction"]
        if hashes:
            self.queried.append(hashes)
        if hashes and self.broken & set(hashes):
            exchange.send(500, b"")
        elif hashes and self.fault:
            answers = [{"id": q["id"], "jsonrpc": "2.0", "error": self.fault} for q in exchange.questions]
            exchange.reply(answers if isinstance(exchange.asked, list) else answers[0])
        else:
            exchange.forward(self.chain.url)


@pytest.fixture
def node(local_chain: LocalChain) -> Any:
    """The node in front of the chain, whose traces tests can make fail."""
    traces = Traces(local_chain)
    with serving(traces) as serving_node:
        yield traces, serving_node


def safe_payment(world: World, safe: RealSafe | Safe, reference: bytes = REFERENCE) -> str:
    data = transfer_data(world.chain.recipient, USDC_UNIT, reference)
    return safe.send(safe.execution(world.chain.usdc, data))


def looked_up(client: EvmClient, *hashes: str) -> list[TransactionFacts]:
    found = client.look_up(hashes, with_finality=False).transactions
    return [facts for hash_ in hashes if (facts := found[hash_]) is not None]


def test_traces_take_one_request_and_are_remembered(world: World, node: tuple[Traces, Scripted]) -> None:
    traces, serving_node = node
    safe = world.safe()
    hashes = [safe_payment(world, safe) for _ in range(5)]
    direct = world.chain.transfer(world.chain.usdc, world.chain.recipient, 1, tail=REFERENCE)
    client = EvmClient([serving_node.url], world.chain.chain_id)
    for _ in range(3):
        facts = looked_up(client, direct, *hashes)
        assert [f.transfers[0].references for f in facts] == [(REFERENCE,)] * 6
        assert all(f.is_complete for f in facts)
    assert traces.queried == [hashes]
    assert len(payment_questions(serving_node)) == 2 * 3 + 1


def test_node_without_traces_is_queried_only_a_few_times(world: World, node: tuple[Traces, Scripted]) -> None:
    traces, serving_node = node
    traces.fault = {"code": -32601, "message": "Method not found"}
    first, second = (safe_payment(world, world.look_alike_safe()) for _ in range(2))
    client = EvmClient([serving_node.url], world.chain.chain_id)
    for sent in (first, second):
        [facts] = looked_up(client, sent)
        assert facts.block is not None
        assert not facts.is_complete
        assert facts.transfers[0].references == (), "its code is not known"
        assert len(traces.queried) == 1 + CONFIRMATIONS
    assert [first] in traces.queried


def test_trace_comes_from_another_node_if_one_has_none(
    world: World, node: tuple[Traces, Scripted], untraced_url: str
) -> None:
    traces, serving_node = node
    [facts] = looked_up(
        EvmClient([untraced_url, serving_node.url], world.chain.chain_id), safe_payment(world, world.safe())
    )
    assert facts.is_complete
    assert len(traces.queried) == 1


def test_failed_trace_delays_only_its_own_payment(
    world: World, node: tuple[Traces, Scripted], usdc: Token, merchant: Any
) -> None:
    traces, serving_node = node
    usdc.chain.rpc_urls = [serving_node.url]
    usdc.chain.save()
    requests_ = [make_request(merchant, usdc, "1", world.chain.recipient) for _ in range(3)]
    hostile, other = (safe_payment(world, world.safe(), bytes(r.reference)) for r in requests_[:2])
    plain = world.chain.transfer(
        world.chain.usdc, world.chain.recipient, USDC_UNIT, tail=bytes(requests_[2].reference)
    )
    payments = [submit(r, sent) for r, sent in zip(requests_, (hostile, other, plain), strict=True)]
    traces.broken = {hostile}
    clock = Clock()
    for _ in range(3):
        look(clock)
        clock.forward(seconds=5)
    for payment in payments:
        payment.refresh_from_db()
    waiting, *paid = payments
    assert [payment.status for payment in paid] == [Payment.Status.COMPLETED] * 2
    assert (waiting.status, waiting.attempts) == (Payment.Status.PROCESSING, 0)
    assert [hostile] in traces.queried
    # The node recovers, because a failure is not a refusal. The pause after failures is less than a second,
    # in real time.
    traces.broken = set()
    for _ in range(200):
        look(clock)
        clock.forward(seconds=5)
        waiting.refresh_from_db()
        if not waiting.is_open:
            break
    assert waiting.status == Payment.Status.COMPLETED


def test_node_whose_traces_always_fail_counts_as_untraced(
    world: World, node: tuple[Traces, Scripted]
) -> None:
    traces, serving_node = node
    sent = safe_payment(world, world.look_alike_safe())
    traces.broken = {sent}
    now = [0.0]
    client = EvmClient([serving_node.url], world.chain.chain_id, clock=lambda: now[0])
    for _ in range(PRESUMED_UNABLE_AFTER_FAILURES - 1):
        [facts] = looked_up(client, sent)
        assert facts.block is None
        now[0] += PRESUMED_UNABLE_AFTER_SECONDS
    [facts] = looked_up(client, sent)
    assert facts.block is not None
    assert not facts.is_complete


def test_trace_of_another_transaction_is_discarded(world: World, local_chain: LocalChain) -> None:
    queried, other = (safe_payment(world, world.safe()) for _ in range(2))

    def liar(exchange: Exchange) -> None:
        if exchange.questions[0]["method"] == "debug_traceTransaction":
            exchange.results(
                *[local_chain.rpc(q["method"], other, *q["params"][1:]) for q in exchange.questions]
            )
        else:
            exchange.forward(local_chain.url)

    with serving(liar) as serving_node:
        [facts] = looked_up(EvmClient([serving_node.url], local_chain.chain_id), queried)
    assert facts.block is None


def test_one_of_three_nodes_cannot_invent_an_inner_transfer(world: World, untraced_url: str) -> None:
    """The node invents a call that moves native coin."""
    batch = world.place("BatchPayer")
    sent = world.call(batch, b"", value=7)

    def liar(exchange: Exchange) -> None:
        answers = requests.post(world.chain.url, json=exchange.asked, timeout=30).json()
        if exchange.questions[0]["method"] == "debug_traceTransaction":
            invented = frame(batch, world.chain.recipient, 10**18, "0x" + REFERENCE.hex())
            for answer in answers if isinstance(answers, list) else [answers]:
                answer["result"]["calls"] = [invented]
        exchange.reply(answers)

    honest = untraced_url

    def again(exchange: Exchange) -> None:
        exchange.forward(honest)

    with serving(liar) as lying, serving(again) as second:
        alone = looked_up(EvmClient([lying.url], world.chain.chain_id), sent)
        among = looked_up(EvmClient([lying.url, honest, second.url], world.chain.chain_id), sent)
    assert [t.slot for t in alone[0].transfers] == ["value", "0.0"]
    assert [t.slot for t in among[0].transfers] == ["value"]
    assert not among[0].is_complete


def found_by(client: EvmClient, watches: Sequence[Watch]) -> Discovery:
    return client.discover(watches, since_block=None)


def test_unsubmitted_safe_payment_is_found_by_logs(world: World, node: tuple[Traces, Scripted]) -> None:
    traces, serving_node = node
    safe = world.safe()
    ours, nobodys = safe_payment(world, safe, b"w" * 16), safe_payment(world, safe, OTHER)
    watch = Watch(b"w" * 16, world.chain.usdc, world.chain.recipient)
    found = found_by(EvmClient([serving_node.url], world.chain.chain_id), [watch])
    assert (b"w" * 16, ours) in found.found
    assert traces.queried == [[ours]]  # other transactions need no trace
    assert nobodys not in [hash_ for _, hash_ in found.found]
