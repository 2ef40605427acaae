"""A wallet's balances of many tokens take few requests. A broken contract affects only its own balance."""

from collections.abc import Callable
from typing import Any

import pytest

from chains.client import ChainError
from chains.families.evm import balances, calls
from chains.families.evm.client import EvmClient
from demo.contracts import deploy
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy, proxying
from tests.support.chains.faulty_node import Exchange, payment_questions, serving

MAX_ROUND_TRIPS = 4
LARGEST = 2**256 - 1
HOSTILE = {
    "nothing": "00",
    "a revert": "5f5ffd",
    "a revert with a word": "60205ffd",
    "an invalid instruction": "fe",
    "a word less one byte": "601f5ff3",
    "two words": "60405ff3",
    "a megabyte": "62100000 5ff3",
    "a revert with a megabyte": "62100000 5ffd",
    "an endless loop": "5b5f56",
    "a write": "60015f55 60205ff3",
    "a farewell": "33ff",
}
ODD = {
    "the largest number": ("5f195f5260205ff3", LARGEST),
    "after much gas": ("5b 62013000 5a 11 5f57 602a5f52 60205ff3", 42),
    "nothing at all": ("60205ff3", 0),
    "nothing, after calls of itself without end": ("5f5f5f5f305afa 60205ff3", 0),
}


def strangers(count: int) -> list[str]:
    """Return addresses without a contract."""
    return ["0x" + (0x10000 + number).to_bytes(20).hex() for number in range(count)]


def place(chain: LocalChain, code: str, number: int) -> str:
    """Put the code at a new address; return the address."""
    address = "0x" + (0xC0DE000000 + number).to_bytes(20).hex()
    chain.rpc("anvil_setCode", address, "0x" + code.replace(" ", ""))
    return address


@pytest.fixture(scope="module")
def hostile(local_chain: LocalChain) -> list[str]:
    return [place(local_chain, code, number) for number, code in enumerate(HOSTILE.values())]


@pytest.fixture(scope="module")
def odd(local_chain: LocalChain) -> dict[str, int]:
    codes = enumerate(ODD.values(), start=1000)
    return {place(local_chain, code, number): balance for number, (code, balance) in codes}


@pytest.fixture
def true(local_chain: LocalChain) -> dict[str, int]:
    held = {
        token: deploy.balance(local_chain.url, token, local_chain.payer)
        for token in (local_chain.usdc, local_chain.dai)
    }
    return {"": int(local_chain.rpc("eth_getBalance", local_chain.payer, "latest"), 16), **held}


def warm(node: FaultProxy) -> EvmClient:
    """Return a client that has checked the node's chain. The node's recorded calls are cleared."""
    client = EvmClient([node.url], 31337)
    client.chain_id()
    node.asked.clear()
    return client


def test_balances_of_tokens_and_the_native_coin(
    local_chain: LocalChain, client: EvmClient, true: dict[str, int]
) -> None:
    assert client.balances(local_chain.payer, list(true)) == true
    assert client.balances(local_chain.payer, [local_chain.usdc]) == {
        local_chain.usdc: true[local_chain.usdc]
    }
    assert client.balances(local_chain.payer, [""]) == {"": true[""]}
    assert client.balances(local_chain.payer, []) == {}
    stranger = strangers(1)[0]
    assert client.balances(stranger, ["", local_chain.usdc]) == {"": 0, local_chain.usdc: 0}


@pytest.mark.parametrize("nonsense", ["0x1234", "0x" + "g" * 40])
def test_malformed_and_repeated_addresses_shift_nothing(
    local_chain: LocalChain, client: EvmClient, true: dict[str, int], nonsense: str
) -> None:
    assert client.balances(local_chain.payer, [nonsense, *true, *true, nonsense]) == true


def test_thousand_tokens_are_read_in_one_request(local_chain: LocalChain, true: dict[str, int]) -> None:
    with proxying(local_chain.url) as node:
        client = warm(node)
        assert client.balances(local_chain.payer, ["", *strangers(997), *list(true)[1:]]) == true
        assert node.asked == [["eth_getBalance", "eth_call", "eth_call"]]


def test_each_part_fits_the_code_size_limits(local_chain: LocalChain) -> None:
    part = strangers(balances.MAX_IN_A_PART)
    assert len(balances.creation_code(local_chain.payer, part)) <= 49_152
    assert 1 + 33 * len(part) <= 24_576


def test_hostile_contracts_affect_only_themselves(
    local_chain: LocalChain, hostile: list[str], odd: dict[str, int], true: dict[str, int]
) -> None:
    among = [token for pair in zip(hostile, strangers(len(hostile)), strict=True) for token in pair]
    with proxying(local_chain.url) as node:
        client = warm(node)
        assert client.balances(local_chain.payer, [*among, *true, *odd, *among]) == {**true, **odd}
        assert node.round_trips == 1


def test_contracts_that_burn_all_gas_hide_no_other_token(
    local_chain: LocalChain, true: dict[str, int]
) -> None:
    burners = [place(local_chain, HOSTILE["an endless loop"], number) for number in range(2000, 2400)]
    with proxying(local_chain.url) as node:
        client = warm(node)
        assert client.balances(local_chain.payer, [*burners, *true]) == true
        assert 1 < node.round_trips <= MAX_ROUND_TRIPS


def rejecting(chain: LocalChain, code: int, message: str) -> Callable[[Exchange], None]:
    """Return a fault: the node runs no creation code, and does everything else."""

    def reply(exchange: Exchange) -> None:
        fault = {"code": code, "message": message}
        exchange.reply(
            [
                {"id": q["id"], "error": fault}
                if q["method"] == "eth_call" and "to" not in q["params"][0]
                else {"id": q["id"], "result": _result(chain, q)}
                for q in exchange.questions
            ]
        )

    return reply


def _result(chain: LocalChain, question: dict[str, Any]) -> Any:
    try:
        return chain.rpc(question["method"], *question["params"])
    except deploy.ChainRefusal:
        return "0x"


@pytest.mark.parametrize("code", [-32000, 3])
def test_node_without_creation_code_gets_single_calls(
    local_chain: LocalChain, hostile: list[str], odd: dict[str, int], true: dict[str, int], code: int
) -> None:
    passed = [token for token in hostile if token != hostile[list(HOSTILE).index("a write")]]
    with serving(rejecting(local_chain, code, "to is required")) as node:
        client = EvmClient([node.url], 31337)
        asked = [*passed, *strangers(5), *odd, *true]
        assert client.balances(local_chain.payer, asked) == {**true, **odd}
        assert len(payment_questions(node)) == 2


def lying(lie: Any) -> fault_proxy.Fault:
    """Forward everything, but change the results of creation code."""

    def reply(exchange: fault_proxy.Exchange) -> None:
        exchange.reply(
            [
                {**a, "result": lie} if q["method"] == "eth_call" and "to" not in q["params"][0] else a
                for q, a in zip(exchange.questions, exchange.truth(), strict=True)
            ]
        )

    return reply


def test_single_calls_for_thousand_tokens_are_batched(local_chain: LocalChain, true: dict[str, int]) -> None:
    with proxying(local_chain.url) as node:
        node.break_with(fault_proxy.refuse_creation)
        client = warm(node)
        assert client.balances(local_chain.payer, ["", *strangers(997), *list(true)[1:]]) == true
        assert node.round_trips == MAX_ROUND_TRIPS


def test_rate_limited_node_gets_no_single_calls(local_chain: LocalChain, true: dict[str, int]) -> None:
    with serving(rejecting(local_chain, -32005, "limit exceeded")) as node:
        with pytest.raises(ChainError, match="limit exceeded"):
            EvmClient([node.url], 31337).balances(local_chain.payer, list(true))
        assert len(payment_questions(node)) == 1
        both = EvmClient([node.url, local_chain.url], 31337)
        assert both.balances(local_chain.payer, list(true)) == true


SOUND = "01" + "00" * 31 + "2a"


@pytest.mark.parametrize(
    "lie",
    [
        "0x",
        "0x00" + SOUND[2:],
        "0x00" + SOUND + "01",
    ],
    ids=range(3),
)
def test_result_of_another_shape_falls_back_to_calls(
    local_chain: LocalChain, true: dict[str, int], lie: str
) -> None:
    with proxying(local_chain.url) as node:
        node.break_with(lying(lie))
        assert EvmClient([node.url], 31337).balances(local_chain.payer, list(true)) == true


@pytest.mark.parametrize("lie", ["garbage", None], ids=range(2))
def test_malformed_result_raises_chain_error(local_chain: LocalChain, true: dict[str, int], lie: Any) -> None:
    with proxying(local_chain.url) as node:
        node.break_with(lying(lie))
        client = EvmClient([node.url], 31337)
        with pytest.raises(ChainError):
            client.balances(local_chain.payer, list(true))
        assert client.health()[0].state == "failing"
        both = EvmClient([node.url, local_chain.url], 31337)
        assert both.balances(local_chain.payer, list(true)) == true


def test_allowance_is_read_from_the_token(local_chain: LocalChain, client: EvmClient) -> None:
    spender = strangers(1)[0]
    assert client.allowance(local_chain.usdc, local_chain.payer, spender) == 0
    data = calls.encode_approval(spender, 12_345)
    deploy.send(local_chain.url, local_chain.payer_key, to=local_chain.usdc, data=data)
    assert client.allowance(local_chain.usdc, local_chain.payer, spender) == 12_345
    assert client.allowance("", local_chain.payer, spender) == LARGEST, "native coin needs no approval"
    with pytest.raises(ChainError):
        client.allowance(spender, local_chain.payer, spender)
