"""Without a block's state, nothing about an account is proved. A node's failure proves nothing either."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chains.client import Snapshot
from chains.families.evm.client import EvmClient
from tests.fault_proxy import Exchange, FaultProxy, proxying
from tests.support.threats.evm_facts import REFERENCE, claims, paid, unclaimed
from tests.support.threats.evm_world import USDC_UNIT, World, transfer_data

pytest_plugins = ["tests.support.threats.evm_fixtures"]
AMOUNT = 10 * USDC_UNIT
GONE = {"code": -32000, "message": "missing trie node 1234 (path ) state 0xab is not available"}
LIMIT = {"code": -32005, "message": "daily request count exceeded, request rate limited"}


@pytest.fixture
def node(untraced_url: str) -> Iterator[FaultProxy]:
    """A proxy for a node without traces. Tests can set faults on it."""
    with proxying(untraced_url) as proxy:
        yield proxy


@pytest.fixture
def payments(world: World) -> tuple[str, str]:
    """A payment by a Safe, and one by an account without code."""
    safe, usdc, shop = world.safe(), world.chain.usdc, world.chain.recipient
    by_safe = safe.send(safe.execution(usdc, transfer_data(shop, AMOUNT, REFERENCE)))
    return by_safe, world.chain.transfer(usdc, shop, AMOUNT, tail=REFERENCE)


def rejecting(method: str, fault: dict[str, Any]) -> Callable[[Exchange], None]:
    def reply(exchange: Exchange) -> None:
        exchange.reply(
            [
                {"jsonrpc": "2.0", "id": question["id"], "error": fault}
                if question["method"] == method
                else answer
                for question, answer in zip(exchange.questions, exchange.truth(), strict=True)
            ]
        )

    return reply


METHODS = ["eth_getCode", "eth_getTransactionCount", "eth_getStorageAt", "eth_getLogs"]


def look(client: EvmClient, hashes: tuple[str, str]) -> Snapshot:
    return client.look_up(hashes, with_finality=False)


@pytest.mark.parametrize("method", METHODS)
def test_pruned_state_proves_nothing_of_an_account(
    world: World, node: FaultProxy, payments: tuple[str, str], method: str
) -> None:
    node.break_with(rejecting(method, GONE), method)
    client = EvmClient([node.url], world.chain.chain_id)
    by_safe, plain = (look(client, payments).transactions[sent] for sent in payments)
    assert by_safe is not None
    assert plain is not None
    assert by_safe.block is not None
    assert claims(paid(by_safe, world.chain.recipient, world.chain.usdc)) == unclaimed()
    assert not by_safe.is_complete
    assert claims(paid(plain, world.chain.recipient, world.chain.usdc)) == [((REFERENCE,), world.chain.payer)]
    node.heal()
    later = look(client, payments).transactions[payments[0]]
    assert later is not None
    assert later.is_complete, "what was missing once is asked for again"


def test_rate_limited_evidence_delays_no_other_transaction(
    world: World, node: FaultProxy, payments: tuple[str, str]
) -> None:
    node.break_with(rejecting("eth_getLogs", LIMIT), "eth_getLogs")
    client = EvmClient([node.url], world.chain.chain_id)
    snapshot = look(client, payments)
    assert snapshot.contradicted == {payments[0]}, "no usable answer"
    plain = snapshot.transactions[payments[1]]
    assert plain is not None
    assert plain.block is not None
    node.heal()
    healed = look(client, payments).transactions[payments[0]]
    assert healed is not None
    assert healed.is_complete


def test_evidence_of_another_block_is_discarded(
    world: World, node: FaultProxy, payments: tuple[str, str]
) -> None:
    """Between the queries for the receipt and the state, the chain was reorganised."""

    def reorganised(exchange: Exchange) -> None:
        answers = exchange.truth()
        if "eth_getLogs" in exchange.methods:
            for question, answer in zip(exchange.questions, answers, strict=True):
                if question["method"] == "eth_getBlockByNumber":
                    answer["result"]["hash"] = "0x" + "ab" * 32
        exchange.reply(answers)

    node.break_with(reorganised)
    client = EvmClient([node.url], world.chain.chain_id)
    assert look(client, payments).contradicted == {payments[0]}
