"""The facts of a transaction include the calls and logs of the requested contracts."""

from collections.abc import Callable
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from chains.client import Mention, TransactionFacts
from chains.families.evm.client import EvmClient
from demo.contracts import deploy
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.support.chains.mining import mined
from tests.support.nodes.networks import nodes_before

ID = bytes(range(100, 132))
TRANSFER = keccak(text="Transfer(address,address,uint256)")
RUN = "run((address,uint256,bytes,bool)[])"


@pytest.fixture(scope="module")
def batch(local_chain: LocalChain) -> str:
    """A contract that makes any calls for its caller."""
    return deploy.deploy_contract(local_chain.url, "BatchPayer", key=local_chain.payer_key)


@pytest.fixture(scope="module")
def crier(local_chain: LocalChain) -> str:
    """A contract that logs the first 32 bytes of its input under one topic. It does nothing else."""
    address = "0xC0DE000000000000000000000000000000000c1E"
    local_chain.rpc("anvil_setCode", address, "0x5f355f52607760205fa100")
    return deploy.to_checksum_address(address)


def running(*calls: tuple[str, int, bytes]) -> bytes:
    return keccak(text=RUN)[:4] + encode(
        ["(address,uint256,bytes,bool)[]"], [[(*call, False) for call in calls]]
    )


@pytest.fixture
def call(local_chain: LocalChain) -> Callable[..., str]:
    """Return a function that signs a call, waits until it is mined and returns its hash."""

    def call(to: str, data: bytes, gas: int = 500_000) -> str:
        unsigned = local_chain.unsigned_transfer("", to, 0, tail=data, gas=gas)
        return mined(local_chain, local_chain.send(unsigned))

    return call


Call = Callable[..., str]


def facts_of(client: EvmClient, sent: str, *mentioning: str) -> TransactionFacts:
    facts = client.look_up([sent], with_finality=False, mentioning=mentioning).transactions[sent]
    assert facts is not None
    assert facts.block is not None
    return facts


def test_signed_call_and_its_log_are_mentioned(client: EvmClient, call: Call, crier: str) -> None:
    data = ID + b" and more"
    sent = call(crier, data)
    called = Mention(crier, data)
    logged = Mention(crier, (0x77).to_bytes(32) + ID, is_log=True)
    assert facts_of(client, sent, crier).mentions == (called, logged)
    assert facts_of(client, sent, crier.lower(), crier).mentions == (called, logged), "however it is spelled"


def test_other_contracts_are_not_mentioned(
    client: EvmClient, local_chain: LocalChain, call: Call, crier: str
) -> None:
    sent = call(crier, ID)
    assert facts_of(client, sent).mentions == ()
    assert facts_of(client, sent, local_chain.usdc).mentions == ()


def test_inner_call_and_its_log_are_mentioned(client: EvmClient, call: Call, crier: str, batch: str) -> None:
    """A smart wallet's own swap is an inner call. Everything inside that call belongs to the swap."""
    sent = call(batch, running((crier, 0, ID)))
    logged = Mention(crier, (0x77).to_bytes(32) + ID, is_log=True)
    assert facts_of(client, sent, crier).mentions == (Mention(crier, ID), logged)
    assert [mention.is_log for mention in facts_of(client, sent, batch).mentions] == [False]


def test_logs_are_mentioned_in_the_order_of_the_receipt(
    client: EvmClient, local_chain: LocalChain, call: Call, crier: str, batch: str
) -> None:
    deploy.mint(local_chain.url, local_chain.usdc, batch, 1, key=local_chain.payer_key)
    transfer = keccak(text="transfer(address,uint256)")[:4] + encode(
        ["address", "uint256"], [local_chain.recipient, 1]
    )
    other = bytes(32)
    sent = call(batch, running((crier, 0, ID), (local_chain.usdc, 0, transfer), (crier, 0, other)))
    facts = facts_of(client, sent, local_chain.usdc, crier)
    logs = [mention for mention in facts.mentions if mention.is_log]
    assert [(mention.contract, mention.data[-32:]) for mention in logs] == [
        (crier, ID),
        (local_chain.usdc, (1).to_bytes(32)),
        (crier, other),
    ]
    assert logs[1].data[:32] == TRANSFER
    assert [transfer.amount for transfer in facts.transfers] == [1], "what it asks for changes nothing else"


def test_failed_call_is_mentioned_without_logs(
    client: EvmClient, local_chain: LocalChain, call: Call, batch: str, crier: str
) -> None:
    data = running((crier, 0, ID), (local_chain.usdc, 0, b"none of its functions"))
    sent = call(batch, data)
    facts = facts_of(client, sent, batch, crier)
    assert not facts.succeeded
    assert facts.mentions == (Mention(batch, data),)


def test_unmined_transaction_mentions_its_own_call(
    client: EvmClient, local_chain: LocalChain, crier: str
) -> None:
    local_chain.rpc("evm_setAutomine", False)
    try:
        unsigned = local_chain.unsigned_transfer("", crier, 0, tail=ID)
        sent = local_chain.send(unsigned)
        facts = client.look_up([sent], with_finality=False, mentioning=[crier]).transactions[sent]
        assert facts is not None
        assert (facts.block, facts.mentions) == (None, (Mention(crier, ID),))
    finally:
        local_chain.rpc("evm_setAutomine", True)
        local_chain.mine()


def test_created_contract_is_not_mentioned(client: EvmClient, local_chain: LocalChain, crier: str) -> None:
    unsigned = {**local_chain.unsigned_transfer("", crier, 0, gas=100_000), "data": "0x00"}
    del unsigned["to"]
    sent = mined(local_chain, local_chain.send(unsigned))
    assert facts_of(client, sent, crier).mentions == ()


def with_a_log_more(crier: str) -> fault_proxy.Fault:
    """Return a fault: the node adds a log of the contract with another id."""

    def forge(receipt: dict[str, Any]) -> dict[str, Any]:
        log = {**receipt["logs"][-1], "address": crier, "data": "0x" + "66" * 32}
        return {**receipt, "logs": [*receipt["logs"], log]}

    return fault_proxy.forged_receipts(forge)


def client_of(chain: LocalChain, nodes: list[FaultProxy]) -> EvmClient:
    return EvmClient([node.url for node in nodes], chain.chain_id)


def test_log_of_one_node_of_three_is_not_mentioned(local_chain: LocalChain, call: Call, crier: str) -> None:
    sent = call(crier, ID)
    with nodes_before(local_chain, 3) as nodes:
        nodes[0].break_with(with_a_log_more(crier))
        client = client_of(local_chain, nodes)
        mentions = facts_of(client, sent, crier).mentions
        assert [mention.data[-32:] for mention in mentions] == [ID, ID]
        assert [node.state.value for node in client.health()] == ["contradicted", "answering", "answering"]
