"""The client reports the transactions that are on the chain now.

It needs few requests, and ignores replaced blocks.
"""

import pytest

from chains.client import Block, ChainError
from chains.families.evm.client import EvmClient
from tests.chain import LocalChain
from tests.support.chains.faulty_node import Exchange, payment_questions, serving
from tests.support.chains.mining import mined as in_a_block

UNKNOWN = "0x" + "ab" * 32


def test_mined_and_unknown_transactions_in_one_lookup(local_chain: LocalChain, client: EvmClient) -> None:
    mined = in_a_block(
        local_chain, local_chain.transfer(local_chain.usdc, local_chain.recipient, 5_000_000, tail=b"r" * 16)
    )
    snapshot = client.look_up([mined, UNKNOWN], with_finality=False)
    assert snapshot.transactions[UNKNOWN] is None
    facts = snapshot.transactions[mined]
    assert facts is not None
    assert (facts.hash, facts.sender, facts.succeeded) == (mined, local_chain.payer, True)
    receipt = local_chain.rpc("eth_getTransactionReceipt", mined)
    block = local_chain.rpc("eth_getBlockByHash", receipt["blockHash"], False)
    assert isinstance(facts.block, Block)
    assert (facts.block.number, facts.block.hash) == (int(receipt["blockNumber"], 16), receipt["blockHash"])
    assert facts.block.time.timestamp() == int(block["timestamp"], 16)
    assert snapshot.head.latest >= facts.block.number
    assert (snapshot.head.safe, snapshot.head.finalized) == (None, None)


def test_safe_and_finalized_blocks_trail_the_head(own_chain: LocalChain) -> None:
    own_chain.mine(10)
    head = EvmClient([own_chain.url], own_chain.chain_id).look_up([], with_finality=True).head
    assert head.safe is not None
    assert head.finalized is not None
    assert head.finalized < head.safe < head.latest


def test_block_tag_unknown_to_the_node_stays_unknown(local_chain: LocalChain) -> None:
    def old_node(exchange: Exchange) -> None:
        answers = []
        for question in exchange.questions:
            if question["params"][:1] in (["safe"], ["finalized"]):
                error = {"code": -32602, "message": "unknown block tag"}
                answers.append({"id": question["id"], "error": error})
            else:
                result = local_chain.rpc(question["method"], *question["params"])
                answers.append({"id": question["id"], "result": result})
        exchange.reply(answers)

    with serving(old_node) as node:
        head = EvmClient([node.url], 31337).look_up([UNKNOWN], with_finality=True).head
    assert (head.safe, head.finalized) == (None, None)
    assert head.latest > 0


def test_pending_transaction_is_known_and_proves_nothing(own_chain: LocalChain) -> None:
    client = EvmClient([own_chain.url], own_chain.chain_id)
    own_chain.rpc("evm_setAutomine", False)
    try:
        pending = own_chain.transfer(own_chain.usdc, own_chain.recipient, 1)
        facts = client.look_up([pending], with_finality=False).transactions[pending]
        assert facts is not None
        assert (facts.sender, facts.block, facts.succeeded, facts.transfers) == (
            own_chain.payer,
            None,
            False,
            (),
        )
        nonce = int(own_chain.rpc("eth_getTransactionCount", own_chain.payer, "latest"), 16)
        assert facts.nonce == nonce
        own_chain.mine()
        mined = client.look_up([pending], with_finality=False).transactions[pending]
        assert mined is not None
        assert mined.block is not None
    finally:
        own_chain.rpc("evm_setAutomine", True)


def test_hundred_transactions_take_three_requests(own_chain: LocalChain) -> None:
    own_chain.rpc("evm_setAutomine", False)
    try:
        hashes = [own_chain.transfer(own_chain.usdc, own_chain.recipient, units) for units in range(1, 101)]
        own_chain.mine()
    finally:
        own_chain.rpc("evm_setAutomine", True)
    with serving(lambda exchange: exchange.forward(own_chain.url), chain_id=own_chain.chain_id) as counting:
        client = EvmClient([counting.url], own_chain.chain_id)
        snapshot = client.look_up(hashes, with_finality=True)
        assert len(payment_questions(counting)) <= 3
        assert len(counting.heard) - len(payment_questions(counting)) == 1
        client.look_up(hashes[:1], with_finality=True)
        assert len(counting.heard) <= 1 + 3 + 2
    facts = [snapshot.transactions[hash_] for hash_ in hashes]
    assert [fact.transfers[0].amount for fact in facts if fact] == list(range(1, 101))


def test_block_reorganised_between_two_queries_is_discarded(own_chain: LocalChain) -> None:
    own_chain.mine(2)
    mined = in_a_block(own_chain, own_chain.transfer(own_chain.usdc, own_chain.recipient, 7))

    def reorganising(exchange: Exchange) -> None:
        exchange.forward(own_chain.url)
        if exchange.questions[0]["method"] == "eth_getTransactionByHash":
            own_chain.reorganise()

    with serving(reorganising, chain_id=own_chain.chain_id) as node:
        facts = (
            EvmClient([node.url], own_chain.chain_id)
            .look_up([mined], with_finality=False)
            .transactions[mined]
        )
    assert facts is not None
    assert (facts.block, facts.succeeded, facts.transfers) == (None, False, ())


def test_receipt_of_another_transaction_is_rejected(local_chain: LocalChain) -> None:
    asked = in_a_block(local_chain, local_chain.transfer(local_chain.usdc, local_chain.recipient, 1))
    other = in_a_block(local_chain, local_chain.transfer(local_chain.usdc, local_chain.recipient, 10**12))

    def liar(exchange: Exchange) -> None:
        exchange.results(
            *[
                local_chain.rpc(question["method"], *[other if p == asked else p for p in question["params"]])
                for question in exchange.questions
            ]
        )

    with serving(liar) as node, pytest.raises(ChainError, match="another transaction"):
        EvmClient([node.url], 31337).look_up([asked], with_finality=False)
    with serving(liar) as node:
        honest = EvmClient([node.url, local_chain.url], 31337).look_up([asked], with_finality=False)
    facts = honest.transactions[asked]
    assert facts is not None
    assert facts.transfers[0].amount == 1
