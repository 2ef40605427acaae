"""A node that lags or lies decides nothing about a sponsored transaction."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chains.client import ChainError
from chains.facts.authorizations import Sent
from chains.facts.cosigning import Fate, Pending
from chains.families import get_client
from chains.families.solana.cosigning.client import CosigningReader
from chains.models import Chain
from payments.models import Authorization, Payment, Relay
from tests.fault_proxy import Exchange, Fault, FaultProxy, forged, proxying, server_error
from tests.support.payments.cosigning import CosigningWorld
from tests.support.solana.ledger import LocalLedger
from tests.verifying import relay_due

FAR = 10**9


def missing(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "value": [None for _ in result["value"]]}


def old(result: dict[str, Any]) -> dict[str, Any]:
    return {"context": {**result["context"], "slot": 1}, "value": [None for _ in result["value"]]}


def transaction_with(blockhash: Hash) -> bytes:
    message = MessageV0.try_compile(Keypair().pubkey(), [], [], blockhash)
    return bytes(VersionedTransaction.populate(message, [Signature.default()]))


OLD = Pending(transaction_with(Hash.default()), 1)
UNKNOWN = forged("getSignatureStatuses", missing)
LAGGING = forged("getSignatureStatuses", old)


def rejecting(message: str, code: int = -32002) -> Fault:
    """Return a fault: the node rejects each transaction that is sent to it."""

    def fault(exchange: Exchange) -> None:
        exchange.reply(
            [
                {"jsonrpc": "2.0", "id": question["id"], "error": {"code": code, "message": message}}
                if question["method"] == "sendTransaction"
                else truth
                for question, truth in zip(exchange.questions, exchange.truth(), strict=True)
            ]
        )

    return fault


@pytest.fixture
def nodes(world: CosigningWorld, local_ledger: LocalLedger) -> Iterator[list[FaultProxy]]:
    """Three nodes of the cluster. Tests can set faults on each."""
    with ExitStack() as stack:
        three = [stack.enter_context(proxying(local_ledger.url)) for _ in range(3)]
        Chain.objects.filter(pk=world.row.pk).update(rpc_urls=[node.url for node in three])
        world.row.refresh_from_db()
        yield three


def reader(world: CosigningWorld) -> CosigningReader:
    cosigning = get_client(world.row).cosigning
    assert isinstance(cosigning, CosigningReader)
    return cosigning


@pytest.fixture
def landed(world: CosigningWorld) -> str:
    """Return the signature of a transaction in a final block."""
    return world.ledger.finalize(world.ledger.send(world.ledger.coin_move(world.payer_address, 10**6)))


def test_fate_is_known_once_a_block_above_the_height_is_final(world: CosigningWorld, landed: str) -> None:
    dead, open_ = (str(Signature.new_unique()) for _ in range(2))
    fates = reader(world).fates({landed: OLD, dead: OLD, open_: replace(OLD, last_valid_height=FAR)})
    assert fates == {landed: Fate.LANDED, dead: Fate.EXPIRED}


def test_transaction_whose_blockhash_is_valid_is_not_dead(world: CosigningWorld) -> None:
    """One node reported the transaction's last valid block height, which may be too low."""
    world.build(world.route(world.request()))
    built = bytes(world.authorization().transaction or b"")
    hash_ = str(Signature.new_unique())
    assert reader(world).fates({hash_: Pending(built, 1)}) == {}


def test_one_node_of_three_declares_no_transaction_dead(
    world: CosigningWorld, nodes: list[FaultProxy], landed: str
) -> None:
    for node in nodes:
        node.break_with(UNKNOWN)
        assert reader(world).fates({landed: OLD}) == {landed: Fate.LANDED}
        node.heal()


def test_node_with_state_before_its_final_block_is_ignored(
    world: CosigningWorld, nodes: list[FaultProxy], landed: str
) -> None:
    """One URL can lead to several nodes. One that lags lacks transactions that landed."""
    nodes[0].break_with(LAGGING)
    assert reader(world).fates({landed: OLD}) == {landed: Fate.LANDED}
    for node in nodes:
        node.break_with(LAGGING)
    with pytest.raises(ChainError, match="older than its newest final block"):
        reader(world).fates({landed: OLD})


def test_height_that_is_not_final_declares_nothing_dead(
    world: CosigningWorld, nodes: list[FaultProxy]
) -> None:
    dead = str(Signature.new_unique())
    for node in nodes:
        node.break_with(forged("getBlockHeight", lambda _: 1))
    assert reader(world).fates({dead: OLD}) == {}


def test_transaction_goes_to_the_next_node_if_one_rejects_it(
    world: CosigningWorld, nodes: list[FaultProxy]
) -> None:
    payment = world.pay(world.request())
    nodes[0].break_with(rejecting("Transaction simulation failed: Blockhash not found"))
    nodes[1].break_with(server_error)
    relay_due(now=world.clock)
    assert Relay.objects.get().sent_at is not None
    for node in nodes:
        node.heal()
    assert world.work_until_decided(payment).status == Payment.Status.COMPLETED


@pytest.mark.parametrize(
    ("fault", "sent"),
    [
        (
            rejecting("Transaction simulation failed: This transaction has already been processed"),
            Sent.ACCEPTED,
        ),
        (rejecting("Transaction simulation failed: Error processing Instruction 2"), Sent.REJECTED),
        (rejecting("Transaction signature verification failure", -32003), Sent.REJECTED),
    ],
)
def test_responses_to_a_transaction_are_understood(
    world: CosigningWorld, nodes: list[FaultProxy], fault: Fault, sent: Sent
) -> None:
    for node in nodes:
        node.break_with(fault)
    assert reader(world).send("AQ==") is sent
    assert reader(world).send("AQ==", to_all=True) is sent


@pytest.mark.parametrize("fault", [server_error, rejecting("Node is behind by 200 slots", -32005)])
def test_nodes_that_take_nothing_are_tried_again(
    world: CosigningWorld, nodes: list[FaultProxy], fault: Fault
) -> None:
    for node in nodes:
        node.break_with(fault)
    with pytest.raises(ChainError):
        reader(world).send("AQ==")


def test_nothing_is_stored_while_no_node_responds(world: CosigningWorld, nodes: list[FaultProxy]) -> None:
    request = world.request()
    route, signed = world.signed(request)
    for node in nodes:
        node.break_with(server_error)
    answer = world.submit(request, route, signed, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "node_unavailable")
    assert not Payment.objects.exists()
    assert Authorization.objects.get().signed_at is None


@pytest.mark.parametrize("height", [1, FAR, 2**64 - 1])
def test_blockhash_of_another_time_is_not_used(
    world: CosigningWorld, nodes: list[FaultProxy], height: int
) -> None:
    """If the last valid height were never reached, the transaction would never count as dead."""

    def wrong(result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "value": {**result["value"], "lastValidBlockHeight": height}}

    route = world.route(world.request())
    nodes[0].break_with(forged("getLatestBlockhash", wrong))
    world.build(route)
    assert 1 < (world.authorization().last_valid_height or 0) < FAR
    Authorization.objects.all().delete()
    for node in nodes:
        node.break_with(forged("getLatestBlockhash", wrong))
    answer = world.post("build-transaction", {"route_id": route}, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "node_unavailable")
    assert not Authorization.objects.exists()


def test_height_that_can_not_be_stored_is_not_used(world: CosigningWorld, nodes: list[FaultProxy]) -> None:
    def wrong(exchange: Exchange) -> None:
        replies = exchange.truth()
        for question, reply in zip(exchange.questions, replies, strict=True):
            if question["method"] == "getLatestBlockhash":
                reply["result"]["value"]["lastValidBlockHeight"] = 2**63 + 150
            elif question["method"] == "getBlockHeight":
                reply["result"] = 2**63
        exchange.reply(replies)

    route = world.route(world.request())
    for node in nodes:
        node.break_with(wrong)
    answer = world.post("build-transaction", {"route_id": route}, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "node_unavailable")
    assert not Authorization.objects.exists()
