"""A provider's call is prepared only if the wallet can make it and it spends no more than agreed."""

from collections.abc import Callable
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_account import Account
from eth_utils.crypto import keccak

from chains.client import ChainError, EvmCall, Refusal, SolanaTransaction, Spending, TransferRefused
from chains.families.evm.calls import encode_approval
from chains.families.evm.client import EvmClient
from demo.contracts import deploy
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import proxying
from tests.support.chains.faulty_node import Exchange, serving

AMOUNT = 10_500_000
PAY = "pay(address,address,address,uint256,bytes)"
Prepare = Callable[..., dict[str, Any]]


def data_of(signature: str, *arguments: Any) -> bytes:
    types = signature[signature.index("(") + 1 : -1].split(",")
    return keccak(text=signature)[:4] + encode(types, arguments)


@pytest.fixture(scope="module")
def router(local_chain: LocalChain) -> str:
    """A contract that takes the tokens named in its call."""
    return deploy.deploy_contract(local_chain.url, "Router", key=local_chain.payer_key)


@pytest.fixture
def wallet(local_chain: LocalChain, router: str) -> str:
    """A wallet with 10.5 USDC, 10.5 DAI and some native coin. It has approved much more for the router."""
    account = Account.create()
    local_chain.rpc("anvil_setBalance", account.address, hex(10**17))
    for token in (local_chain.usdc, local_chain.dai):
        deploy.mint(local_chain.url, token, account.address, AMOUNT, key=local_chain.payer_key)
        deploy.send(local_chain.url, account.key.hex(), to=token, data=encode_approval(router, 10**30))
    local_chain.rpc("anvil_setBalance", account.address, hex(10**18))
    return str(account.address)


@pytest.fixture
def paying(local_chain: LocalChain, router: str, wallet: str) -> Callable[..., EvmCall]:
    """Return a function that makes calls which take this amount of the wallet's USDC."""

    def call(amount: int = AMOUNT, *, token: str = local_chain.usdc, **different: Any) -> EvmCall:
        data = data_of(PAY, token, wallet, local_chain.recipient, amount, b"")
        return EvmCall(**{"to": router, "data": data, **different})

    return call


@pytest.fixture
def spending(local_chain: LocalChain) -> Spending:
    return Spending(local_chain.usdc, AMOUNT)


def rejection(client: EvmClient, call: EvmCall, wallet: str, spending: Spending) -> TransferRefused:
    with pytest.raises(TransferRefused) as refused:
        client.prepare(call, sender=wallet, spending=spending)
    return refused.value


Paying = Callable[..., EvmCall]


def test_call_is_unchanged_and_gets_our_gas_and_fees(
    client: EvmClient, local_chain: LocalChain, router: str, wallet: str, paying: Paying, spending: Spending
) -> None:
    transaction = client.prepare(paying(), sender=wallet, spending=spending)
    assert transaction["data"] == "0x" + paying().data.hex()
    assert (transaction["to"], transaction["from"], transaction["value"]) == (router, wallet, "0x0")
    assert transaction["chainId"] == "0x7a69"
    assert set(transaction) == {
        "chainId", "from", "to", "data", "value", "gas", "maxFeePerGas", "maxPriorityFeePerGas",
    }  # fmt: skip
    estimate = int(
        local_chain.rpc("eth_estimateGas", {k: transaction[k] for k in ("from", "to", "data")}), 16
    )
    assert int(transaction["gas"], 16) == estimate * 125 // 100


def test_preparing_takes_two_round_trips(
    local_chain: LocalChain, wallet: str, paying: Paying, spending: Spending
) -> None:
    with proxying(local_chain.url) as node:
        client = EvmClient([node.url], local_chain.chain_id)
        client.prepare(paying(), sender=wallet, spending=spending)
        node.asked.clear()
        client.prepare(paying(), sender=wallet, spending=spending)
        assert node.asked == [
            [
                "eth_getBlockByNumber",
                "eth_maxPriorityFeePerGas",
                "eth_getBalance",
                "eth_call",
                "eth_estimateGas",
            ],
            ["eth_simulateV1"],
        ]


def test_advised_gas_counts_if_it_is_reasonably_higher(
    client: EvmClient, wallet: str, paying: Paying, spending: Spending
) -> None:
    def gas(advised: int | None) -> int:
        return int(client.prepare(paying(gas=advised), sender=wallet, spending=spending)["gas"], 16)

    own = gas(None)
    estimate = own * 100 // 125
    assert gas(21_000) == own, "less than the estimate and its margin is no advice"
    assert gas(own + 1000) == own + 1000
    assert abs(gas(29_000_000) - 3 * estimate) < 10, "nobody makes the wallet hold back a whole block's gas"


def test_too_few_tokens_are_insufficient_funds(
    client: EvmClient, local_chain: LocalChain, wallet: str, paying: Paying
) -> None:
    refused = rejection(client, paying(AMOUNT + 7), wallet, Spending(local_chain.usdc, AMOUNT + 7))
    assert (refused.refusal, refused.missing) == (Refusal.INSUFFICIENT_FUNDS, 7)


def test_too_little_coin_is_insufficient_funds(
    client: EvmClient, local_chain: LocalChain, wallet: str
) -> None:
    call = EvmCall(local_chain.recipient, b"", value=2 * 10**18)
    refused = rejection(client, call, wallet, Spending("", 2 * 10**18))
    assert (refused.refusal, refused.missing) == (Refusal.INSUFFICIENT_FUNDS, 10**18)


def test_missing_bridge_fee_is_insufficient_gas(
    client: EvmClient, local_chain: LocalChain, wallet: str
) -> None:
    """The fee in native coin is not part of the amount. Missing coin for it counts as missing gas."""
    call = EvmCall(local_chain.recipient, b"", value=2 * 10**18)
    refused = rejection(client, call, wallet, Spending("", 10**18, extra_native=10**18))
    assert refused.refusal == Refusal.INSUFFICIENT_GAS
    assert refused.missing > 10**18
    local_chain.rpc("anvil_setBalance", wallet, hex(10**18 + refused.missing + 10**14))
    spending = Spending("", 10**18, extra_native=10**18)
    assert client.prepare(call, sender=wallet, spending=spending)["value"] == hex(2 * 10**18)


def test_tokens_without_gas_are_insufficient_gas(
    client: EvmClient, local_chain: LocalChain, wallet: str, paying: Paying, spending: Spending
) -> None:
    local_chain.rpc("anvil_setBalance", wallet, "0x1")
    refused = rejection(client, paying(), wallet, spending)
    assert refused.refusal == Refusal.INSUFFICIENT_GAS
    local_chain.rpc("anvil_setBalance", wallet, hex(1 + refused.missing + 10**14))
    assert client.prepare(paying(), sender=wallet, spending=spending)


def test_call_that_would_revert_is_rejected(
    client: EvmClient, local_chain: LocalChain, router: str, wallet: str, spending: Spending
) -> None:
    refused = rejection(client, EvmCall(router, b"none of these"), wallet, spending)
    assert refused.refusal == Refusal.WOULD_FAIL
    assert refused.note


def test_call_with_another_value_raises_value_error(
    client: EvmClient, local_chain: LocalChain, wallet: str, paying: Paying, spending: Spending
) -> None:
    for call, other in (
        (paying(value=1), spending),
        (EvmCall(local_chain.recipient, b"", value=5), Spending("", 4)),
        (EvmCall(local_chain.recipient, b"", value=5), Spending("", 5, extra_native=1)),
    ):
        for simulate in (True, False):
            with pytest.raises(ValueError, match="wei"):
                client.prepare(call, sender=wallet, spending=other, simulate=simulate)
    with pytest.raises(TypeError):
        client.prepare(SolanaTransaction(b""), sender=wallet, spending=spending)


def test_call_without_simulation_keeps_the_advised_gas(
    client: EvmClient, local_chain: LocalChain, wallet: str, paying: Paying
) -> None:
    local_chain.rpc("anvil_setBalance", wallet, "0x0")
    much = Spending(local_chain.usdc, 10**12)
    call = paying(10**12, gas=345_678)
    transaction = client.prepare(call, sender=wallet, spending=much, simulate=False)
    assert transaction["gas"] == hex(345_678)
    assert int(transaction["maxFeePerGas"], 16) > int(transaction["maxPriorityFeePerGas"], 16)
    assert "gas" not in client.prepare(paying(10**12), sender=wallet, spending=much, simulate=False)
    whole_block = client.prepare(
        paying(gas=10**12), sender=wallet, spending=Spending(local_chain.usdc, 1), simulate=False
    )
    assert whole_block["gas"] == local_chain.rpc("eth_getBlockByNumber", "latest", False)["gasLimit"]


def test_call_that_takes_more_tokens_is_rejected(
    client: EvmClient,
    local_chain: LocalChain,
    wallet: str,
    paying: Paying,
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused = rejection(client, paying(), wallet, Spending(local_chain.usdc, AMOUNT - 1))
    assert refused.refusal == Refusal.WOULD_FAIL
    assert f"{AMOUNT} base units" in refused.note
    assert refused.note in caplog.text, "the operator is told; the customer only that it would fail"
    assert local_chain.token_balance(local_chain.usdc, wallet) == AMOUNT


def test_call_that_takes_another_token_is_rejected(
    client: EvmClient, local_chain: LocalChain, wallet: str, paying: Paying
) -> None:
    """The wallet has approved its DAI for the router, but this payment is in native coin."""
    refused = rejection(client, paying(1, token=local_chain.dai), wallet, Spending("", 0))
    assert refused.refusal == Refusal.WOULD_FAIL
    assert local_chain.dai in refused.note


@pytest.fixture(scope="module")
def batch(local_chain: LocalChain) -> str:
    return deploy.deploy_contract(local_chain.url, "BatchPayer", key=local_chain.payer_key)


def test_returned_tokens_are_deducted(
    client: EvmClient, local_chain: LocalChain, wallet: str, router: str, batch: str
) -> None:
    """The call takes 500 and returns 400 in the same transaction, so it spends 100."""
    deploy.mint(local_chain.url, local_chain.usdc, batch, 400, key=local_chain.payer_key)
    take = data_of(PAY, local_chain.usdc, wallet, batch, 500, b"")
    back = data_of("transfer(address,uint256)", wallet, 400)
    data = keccak(text="run((address,uint256,bytes,bool)[])")[:4] + encode(
        ["(address,uint256,bytes,bool)[]"], [[(router, 0, take, False), (local_chain.usdc, 0, back, False)]]
    )
    call = EvmCall(batch, data)
    assert client.prepare(call, sender=wallet, spending=Spending(local_chain.usdc, 100))["to"] == batch
    assert rejection(client, call, wallet, Spending(local_chain.usdc, 99)).refusal == Refusal.WOULD_FAIL


APPROVAL = keccak(text="Approval(address,address,uint256)").hex()


def logging_approval(chain: LocalChain, address: str, owner: str, spender: str, amount: int) -> str:
    """Put code at `address` that logs an approval; return the address of a contract that calls it."""
    words = [hex(amount)[2:].rjust(64, "0"), spender[2:].rjust(64, "0"), owner[2:].rjust(64, "0")]
    push = [f"7f{word}" for word in words]
    # MSTORE(0, amount); LOG3(0, 32, topic, owner, spender). `allowance` returns 100.
    asked = "5f3560e01c63dd62ed3e14"
    code = asked + "60XX57" + push[0] + "5f52" + push[1] + push[2] + "7f" + APPROVAL + "60205fa300"
    place = len(bytes.fromhex(code.replace("XX", "00")))
    code = code.replace("XX", f"{place:02x}") + "5b60645f5260205ff3"
    chain.rpc("anvil_setCode", address, "0x" + code.lower())
    caller = "0x" + "ca" * 19 + address[-2:]
    chain.rpc("anvil_setCode", caller, "0x5f5f5f5f5f73" + address[2:].lower() + "5af100")
    return caller


def test_call_that_raises_an_allowance_is_rejected(
    client: EvmClient, local_chain: LocalChain, wallet: str
) -> None:
    token, nothing = "0x" + "70" * 19 + "01", Spending("", 0)
    caller = logging_approval(local_chain, token, wallet, local_chain.recipient, 101)
    refused = rejection(client, EvmCall(caller, b""), wallet, nothing)
    assert refused.refusal == Refusal.WOULD_FAIL
    assert local_chain.recipient in refused.note
    logging_approval(local_chain, token, wallet, local_chain.recipient, 100)
    assert client.prepare(EvmCall(caller, b""), sender=wallet, spending=nothing), (
        "no more than stands already"
    )
    logging_approval(local_chain, token, local_chain.payer, local_chain.recipient, 101)
    assert client.prepare(EvmCall(caller, b""), sender=wallet, spending=nothing), "another wallet's"


def test_approval_of_the_wallet_itself_is_prepared(
    client: EvmClient, local_chain: LocalChain, wallet: str
) -> None:
    call = EvmCall(local_chain.usdc, encode_approval(local_chain.recipient, AMOUNT))
    nothing = Spending(local_chain.usdc, 0)
    assert client.prepare(call, sender=wallet, spending=nothing)["to"] == local_chain.usdc


@pytest.mark.parametrize(
    "lie", [None, [], [{}], [{"calls": [{"status": "0x1"}]}], [{"calls": [{}, {}]}]], ids=range(5)
)
def test_malformed_simulation_stops_no_payment(
    local_chain: LocalChain, wallet: str, paying: Paying, spending: Spending, lie: Any
) -> None:
    with proxying(local_chain.url) as node:
        node.break_with(fault_proxy.forged("eth_simulateV1", lambda _: lie))
        client = EvmClient([node.url], local_chain.chain_id)
        assert client.prepare(paying(), sender=wallet, spending=spending)["data"]
        assert client.health()[0].state == "answering"


def test_node_without_simulations_is_queried_once(
    local_chain: LocalChain, wallet: str, paying: Paying, spending: Spending
) -> None:
    asked: list[str] = []

    def without(exchange: Exchange) -> None:
        asked.extend(question["method"] for question in exchange.questions)
        if asked[-1] == "eth_simulateV1":
            fault = {"code": -32601, "message": "the method eth_simulateV1 does not exist/is not available"}
            exchange.reply({"id": exchange.asked["id"], "error": fault})
        else:
            exchange.forward(local_chain.url)

    with serving(without) as node:
        client = EvmClient([node.url], local_chain.chain_id)
        for _ in range(3):
            assert client.prepare(paying(), sender=wallet, spending=spending)["data"]
    assert asked.count("eth_simulateV1") == 1


def test_failed_estimate_raises_chain_error(
    local_chain: LocalChain, wallet: str, paying: Paying, spending: Spending
) -> None:
    def limited(exchange: Exchange) -> None:
        if len(exchange.questions) < 2:
            return exchange.forward(local_chain.url)
        answers: list[dict[str, Any]] = [
            {"id": question["id"], "result": local_chain.rpc(question["method"], *question["params"])}
            for question in exchange.questions
        ]
        answers[-1] = {"id": answers[-1]["id"], "error": {"code": -32005, "message": "limit exceeded"}}
        return exchange.reply(answers)

    with serving(limited) as node:
        with pytest.raises(ChainError, match="could not simulate"):
            EvmClient([node.url], 31337).prepare(paying(), sender=wallet, spending=spending)
        both = EvmClient([node.url, local_chain.url], 31337)
        assert both.prepare(paying(), sender=wallet, spending=spending)["data"]
