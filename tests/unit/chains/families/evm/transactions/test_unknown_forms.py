"""If a node returns a transaction in an unknown format, the transaction is unreadable. It is not the node's fault."""

from typing import Any

import pytest

from chains.client import Snapshot, TransactionFacts
from chains.families.evm.client import EvmClient
from tests.support.chains.faulty_node import CHAIN_ID, Exchange, serving

ODD, PLAIN = "0x" + "0d" * 32, "0x" + "01" * 32
BLOCK = {"number": "0x5", "hash": "0x" + "bb" * 32, "timestamp": "0x6553f100", "transactions": []}
PLACE = {"blockNumber": BLOCK["number"], "blockHash": BLOCK["hash"]}
ACCOUNT = "0x" + "11" * 20
NOT_SUPPORTED = {"error": {"code": -32000, "message": "transaction type not supported"}}


def transaction(hash_: str, **different: Any) -> dict[str, Any]:
    call = {"from": ACCOUNT, "to": "0x" + "22" * 20, "value": "0x0", "input": "0x", "nonce": "0x1"}
    return {"result": {"hash": hash_, "type": "0x2", **call, **PLACE, **different}}


def receipt(hash_: str, **different: Any) -> dict[str, Any]:
    return {"result": {"transactionHash": hash_, "status": "0x1", "logs": [], **PLACE, **different}}


class Node:
    """A node with a plain transaction and another one that the test defines."""

    def __init__(self, odd_transaction: Any, odd_receipt: Any, finalized: Any = None) -> None:
        self.transactions = {PLAIN: transaction(PLAIN), ODD: odd_transaction}
        self.receipts = {PLAIN: receipt(PLAIN, status="0x0"), ODD: odd_receipt}
        self.finalized = finalized or {"result": BLOCK}

    def behave(self, exchange: Exchange) -> None:
        exchange.reply(
            [
                {"jsonrpc": "2.0", "id": question["id"], **self.answer(**question)}
                for question in exchange.questions
            ]
        )

    def answer(self, method: str, params: list[Any], **_: Any) -> dict[str, Any]:
        match method, params:
            case "eth_chainId", _:
                return {"result": hex(CHAIN_ID)}
            case "eth_getTransactionByHash", [hash_]:
                return dict(self.transactions[hash_])
            case "eth_getTransactionReceipt", [hash_]:
                return dict(self.receipts[hash_])
            case "eth_getBlockByNumber", ["finalized", _]:
                return dict(self.finalized)
            case "eth_getBlockByNumber", _:
                return {"result": BLOCK}
        return {"error": {"code": -32601, "message": "the method does not exist"}}


def look_up(node: Node, *hashes: str) -> Snapshot:
    with serving(node.behave, chain_id=CHAIN_ID) as served:
        return EvmClient([served.url], CHAIN_ID).look_up(hashes, with_finality=True)


def facts_of(snapshot: Snapshot, hash_: str) -> TransactionFacts:
    facts = snapshot.transactions[hash_]
    assert facts is not None
    return facts


FORMS = {
    "a type without an input": (transaction(ODD, type="0x7f", input=None), receipt(ODD)),
    "a type without a sender": (transaction(ODD, type="0x7f", **{"from": None}), receipt(ODD)),
    "a nonce of another form": (transaction(ODD, nonce={"key": 1, "sequence": 2}), receipt(ODD)),
    "a status of another form": (transaction(ODD), receipt(ODD, status="success")),
    "logs that are no list": (transaction(ODD), receipt(ODD, logs={})),
    "a type that the node can't decode": (NOT_SUPPORTED, receipt(ODD)),
    "a receipt that the node can't decode": (transaction(ODD, type="0x7f"), NOT_SUPPORTED),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("hashes", [(ODD,), (ODD, PLAIN)])
def test_mined_transaction_of_unknown_form_is_unreadable(form: str, hashes: tuple[str, ...]) -> None:
    snapshot = look_up(Node(*FORMS[form]), *hashes)
    odd = facts_of(snapshot, ODD)
    assert (odd.is_readable, odd.is_known_form, odd.transfers) == (False, False, ())
    assert odd.block is not None
    assert odd.block.hash == BLOCK["hash"]
    assert not snapshot.contradicted
    if PLAIN in hashes:
        plain = facts_of(snapshot, PLAIN)
        assert (plain.is_readable, plain.is_known_form, plain.nonce) == (True, True, 1)


def test_unknown_form_in_another_block_is_not_mined() -> None:
    moved = {"blockHash": "0x" + "cc" * 32}
    odd = facts_of(look_up(Node(transaction(ODD, nonce=None), receipt(ODD, **moved)), ODD), ODD)
    assert (odd.block, odd.is_readable) == (None, True)


def test_unmined_transaction_of_unknown_form_is_pending() -> None:
    unmined = transaction(ODD, type="0x7f", input=None, blockNumber=None, blockHash=None)
    odd = facts_of(look_up(Node(unmined, {"result": None}), ODD), ODD)
    assert (odd.block, odd.sender.lower(), odd.intended) == (None, ACCOUNT, ())


@pytest.mark.parametrize(
    "wrong", [transaction(PLAIN), {"result": "0x"}, {"error": {"code": -32603, "message": "x"}}]
)
def test_result_that_is_not_the_transaction_is_contradicted(wrong: dict[str, Any]) -> None:
    snapshot = look_up(Node(wrong, receipt(ODD)), ODD, PLAIN)
    assert snapshot.contradicted == {ODD}


@pytest.mark.parametrize(
    "tag", [{"result": None}, {"result": {}}, {"result": "0x5"}, {"error": {"code": -32000, "message": "x"}}]
)
def test_failing_tag_is_not_reached_and_fails_no_lookup(tag: dict[str, Any]) -> None:
    snapshot = look_up(Node(transaction(ODD), receipt(ODD), tag), PLAIN)
    assert (snapshot.head.latest, snapshot.head.safe, snapshot.head.finalized) == (5, 5, None)
    assert facts_of(snapshot, PLAIN).block is not None
