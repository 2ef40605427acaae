"""web3 uses our transport with its limits, fail-over and chain check.

It makes no calls itself and gets only valid results.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from web3 import Web3
from web3.types import RPCEndpoint

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from chains.families.evm.provider import connect
from chains.families.evm.quantities import quantity
from chains.rpc.json_rpc import Identity, JsonRpc
from tests.loopback import Scripted
from tests.support.chains.faulty_node import Behaviour, Exchange, payment_questions, serving

ACCOUNT = Web3.to_checksum_address("0x" + "11" * 20)
Connect = Callable[..., tuple[Web3, list[Scripted]]]


def fixed(result: object) -> Behaviour:
    """Return the same result for every call."""
    return lambda exchange: exchange.results(*[result for _ in exchange.questions])


def rejected(exchange: Exchange) -> None:
    exchange.reply(
        [
            {"id": q["id"], "error": {"code": -32000, "message": "execution reverted"}}
            for q in exchange.questions
        ]
    )


@pytest.fixture
def web3_on() -> Iterator[Connect]:
    with ExitStack() as stack:

        def start(*behaviours: Behaviour, chain_id: int = 31337) -> tuple[Web3, list[Scripted]]:
            nodes = [stack.enter_context(serving(each, chain_id=chain_id)) for each in behaviours]
            identity = Identity(("eth_chainId", []), lambda answer: quantity(answer) == 31337)
            return connect(JsonRpc([node.url for node in nodes], identity)), nodes

        yield start


def test_call_is_one_round_trip_once_the_chain_is_known(web3_on: Connect) -> None:
    web3, (node,) = web3_on(fixed("0x10"))
    assert [web3.eth.block_number, web3.eth.get_balance(ACCOUNT), web3.eth.get_code(ACCOUNT)] == [
        16,
        16,
        b"\x10",
    ]
    assert [[question["method"] for question in exchange.questions] for exchange in node.heard] == [
        ["eth_chainId"], ["eth_blockNumber"], ["eth_getBalance"], ["eth_getCode"],
    ]  # fmt: skip


def test_batch_of_calls_is_one_round_trip(web3_on: Connect) -> None:
    web3, (node,) = web3_on(lambda exchange: exchange.results("0x1", "0x02"))
    with web3.batch_requests() as batch:
        batch.add(web3.eth.get_transaction_count(ACCOUNT, "latest"))
        batch.add(web3.eth.get_balance(ACCOUNT, "latest"))
        assert batch.execute() == [1, 2]
    assert [exchange.asked[0]["params"] for exchange in payment_questions(node)] == [[ACCOUNT, "latest"]]


@pytest.mark.parametrize(
    "said", [None, True, 16, 1.5, "16", "0x", "0x-1", "0xg", " 0x1", "0x1 ", "0x" + "1" * 65, [], {}, ["0x1"]]
)
def test_malformed_number_raises_chain_error(web3_on: Connect, said: object) -> None:
    web3, _ = web3_on(fixed(said))
    for ask in (web3.eth.get_block_number, lambda: web3.eth.get_balance(ACCOUNT)):
        with pytest.raises(ChainError):
            ask()


@pytest.mark.parametrize("said", [None, True, 16, "", "00", "0x0", "0xgg", [], {}])
def test_malformed_code_raises_chain_error(web3_on: Connect, said: object) -> None:
    web3, _ = web3_on(fixed(said))
    with pytest.raises(ChainError):
        web3.eth.get_code(ACCOUNT)


def test_rejected_call_raises_chain_error(web3_on: Connect) -> None:
    web3, _ = web3_on(rejected)
    with pytest.raises(ChainError, match="rejected"):
        _ = web3.eth.block_number


@pytest.mark.parametrize(
    "method", ["eth_call", "eth_getLogs", "eth_sendRawTransaction", "web3_clientVersion"]
)
def test_method_without_a_declared_check_is_not_sent(web3_on: Connect, method: str) -> None:
    web3, (node,) = web3_on(fixed("0x10"))
    with pytest.raises(ValueError, match=method):
        web3.provider.make_request(RPCEndpoint(method), [])
    assert not node.heard


def test_ccip_read_cache_and_middleware_are_off(web3_on: Connect) -> None:
    web3, _ = web3_on(fixed("0x10"))
    assert not web3.provider.global_ccip_read_enabled
    assert not web3.provider.cache_allowed_requests
    assert not list(web3.middleware_onion)


def test_nonces_of_many_senders_take_one_round_trip() -> None:
    counts = {"0x" + "11" * 20: 5, "0x" + "ab" * 20: 7}

    def behave(exchange: Exchange) -> None:
        asked = [question["params"][0].lower() for question in exchange.questions]
        exchange.results(*[hex(counts[sender]) for sender in asked])

    with serving(behave) as node:
        assert EvmClient([node.url], 31337).transaction_counts(list(counts)) == counts
        assert len(payment_questions(node)) == 1
