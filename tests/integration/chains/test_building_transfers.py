"""A built transfer has its reference after the arguments. It is built only if its simulation succeeds."""

from collections.abc import Callable
from typing import Any

import pytest
from eth_account import Account

from chains.client import ChainError, Refusal, TransferRefused
from chains.families.evm.client import EvmClient
from demo.contracts import deploy
from tests.chain import LocalChain
from tests.fault_proxy import lacking, proxying
from tests.support.chains.faulty_node import Exchange, serving
from tests.support.chains.mining import mined

REFERENCE = bytes(range(16))
HEX_QUANTITIES = {"chainId", "value", "gas", "maxFeePerGas", "maxPriorityFeePerGas"}

Build = Callable[..., dict[str, Any]]


@pytest.fixture
def build(local_chain: LocalChain, client: EvmClient) -> Build:
    def build(**different: Any) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "token": local_chain.usdc,
            "sender": local_chain.payer,
            "recipient": local_chain.recipient,
            "amount": 10_500_000,
            "reference": REFERENCE,
        }
        return client.build_transfer(**{**arguments, **different})

    return build


def test_token_transfer_is_encoded_to_the_last_byte(local_chain: LocalChain, build: Build) -> None:
    transaction = build()
    recipient = local_chain.recipient[2:].lower()
    assert transaction["data"] == (
        "0xa9059cbb"
        + "0" * 24
        + recipient
        + hex(10_500_000)[2:].rjust(64, "0")
        + "000102030405060708090a0b0c0d0e0f"
    )
    assert (transaction["to"], transaction["from"], transaction["value"]) == (
        local_chain.usdc,
        local_chain.payer,
        "0x0",
    )
    assert transaction["chainId"] == "0x7a69"
    assert set(transaction) == {"from", "to", "data"} | HEX_QUANTITIES
    for name in HEX_QUANTITIES:
        assert transaction[name] == hex(int(transaction[name], 16))


def test_native_transfer_has_the_reference_as_data(local_chain: LocalChain, build: Build) -> None:
    transaction = build(token="", amount=10**18)
    assert (transaction["to"], transaction["value"]) == (local_chain.recipient, hex(10**18))
    assert transaction["data"] == "0x000102030405060708090a0b0c0d0e0f"


def test_transfer_without_reference_has_no_extra_bytes(build: Build) -> None:
    assert build(reference=None)["data"].endswith(hex(10_500_000)[2:].rjust(64, "0"))
    assert build(token="", amount=1, reference=None)["data"] == "0x"


@pytest.mark.parametrize("kind", ["token", "native"])
def test_built_transfer_can_be_signed_and_arrives(
    local_chain: LocalChain, build: Build, client: EvmClient, kind: str
) -> None:
    token = {"token": local_chain.usdc, "native": ""}[kind]
    sent = mined(local_chain, local_chain.send(build(token=token, amount=1_000_000)))
    facts = client.look_up([sent], with_finality=False).transactions[sent]
    assert facts is not None
    assert facts.succeeded
    arrived = [t for t in facts.transfers if t.recipient == local_chain.recipient]
    assert [(t.amount, t.references) for t in arrived] == [(1_000_000, (REFERENCE,))]


@pytest.fixture
def poor(local_chain: LocalChain) -> str:
    """A wallet with 5 USDC and no coin for gas."""
    wallet = str(Account.create().address)
    deploy.mint(local_chain.url, local_chain.usdc, wallet, 5_000_000, key=local_chain.payer_key)
    return wallet


def rejection(build: Build, **arguments: Any) -> TransferRefused:
    with pytest.raises(TransferRefused) as error:
        build(**arguments)
    return error.value


def test_too_few_tokens_are_insufficient_funds(build: Build, poor: str) -> None:
    error = rejection(build, sender=poor, amount=5_000_001)
    assert (error.refusal, error.missing) == (Refusal.INSUFFICIENT_FUNDS, 1)


def test_too_little_coin_is_insufficient_funds(build: Build, poor: str) -> None:
    error = rejection(build, token="", sender=poor, amount=10**18)
    assert (error.refusal, error.missing) == (Refusal.INSUFFICIENT_FUNDS, 10**18)


def test_tokens_without_gas_are_insufficient_gas(local_chain: LocalChain, build: Build, poor: str) -> None:
    error = rejection(build, sender=poor, amount=5_000_000)
    assert error.refusal == Refusal.INSUFFICIENT_GAS
    local_chain.rpc("anvil_setBalance", poor, hex(2 * 10**15 + error.missing))
    assert build(sender=poor, amount=5_000_000)["to"] == local_chain.usdc


def test_exact_coin_without_gas_is_insufficient_gas(local_chain: LocalChain, build: Build, poor: str) -> None:
    local_chain.rpc("anvil_setBalance", poor, hex(10**18))
    error = rejection(build, token="", sender=poor, amount=10**18)
    assert error.refusal == Refusal.INSUFFICIENT_GAS
    assert error.missing > 0


def test_transfer_that_would_revert_is_not_built(local_chain: LocalChain, build: Build) -> None:
    error = rejection(build, recipient="0x" + "0" * 40)  # the token rejects the zero address
    assert error.refusal == Refusal.WOULD_FAIL
    assert error.note
    assert rejection(build, token="", recipient=local_chain.usdc, amount=1).refusal == Refusal.WOULD_FAIL


# Code that accepts any call. And an account that delegates to it (EIP-7702), which can still sign.
CONTRACT_WALLET = "0x00"
DELEGATE = "0x00000000000000000000000000000000000c0de5"
DELEGATING_WALLET = "0xef0100" + DELEGATE[2:]


@pytest.fixture(params=[CONTRACT_WALLET, DELEGATING_WALLET], ids=["contract", "delegation"])
def sponsored(local_chain: LocalChain, poor: str, request: pytest.FixtureRequest) -> str:
    """A wallet that has code, 5 USDC and no coin for gas. Another account pays for the gas."""
    local_chain.rpc("anvil_setCode", DELEGATE, CONTRACT_WALLET)
    local_chain.rpc("anvil_setCode", poor, request.param)
    return poor


def test_wallet_with_code_needs_no_coin_for_gas(
    local_chain: LocalChain, build: Build, sponsored: str
) -> None:
    transaction = build(sender=sponsored, amount=5_000_000, reference=None)
    assert (transaction["from"], transaction["to"]) == (sponsored, local_chain.usdc)
    assert all(int(transaction[name], 16) > 0 for name in ("gas", "maxFeePerGas", "maxPriorityFeePerGas"))


def test_wallet_with_code_may_send_its_last_coin(
    local_chain: LocalChain, build: Build, sponsored: str
) -> None:
    local_chain.rpc("anvil_setBalance", sponsored, hex(10**18))
    assert build(token="", sender=sponsored, amount=10**18)["value"] == hex(10**18)


def test_wallet_with_code_still_needs_the_funds(
    local_chain: LocalChain, build: Build, sponsored: str
) -> None:
    assert rejection(build, sender=sponsored, amount=5_000_001).refusal == Refusal.INSUFFICIENT_FUNDS
    assert rejection(build, token="", sender=sponsored, amount=1).refusal == Refusal.INSUFFICIENT_FUNDS
    burned = rejection(build, sender=sponsored, amount=1, recipient="0x" + "0" * 40)
    assert burned.refusal == Refusal.WOULD_FAIL


def test_code_of_the_wallet_costs_no_further_round_trip(local_chain: LocalChain, poor: str) -> None:
    arguments: list[list[str]] = []

    def counted(exchange: Exchange) -> None:
        arguments.append([question["method"] for question in exchange.questions])
        exchange.reply(
            [
                {"id": question["id"], "result": local_chain.rpc(question["method"], *question["params"])}
                for question in exchange.questions
            ]
        )

    with serving(counted) as node:
        EvmClient([node.url], 31337).build_transfer(
            token=local_chain.usdc,
            sender=local_chain.payer,
            recipient=local_chain.recipient,
            amount=1,
            reference=None,
        )
    assert [methods.count("eth_getCode") for methods in arguments if "eth_estimateGas" in methods] == [1]
    assert len(arguments) == 1 or arguments[0] == ["eth_chainId"]


@pytest.mark.parametrize("code", [-32005, -32603])
def test_next_node_simulates_if_one_can_not(local_chain: LocalChain, code: int) -> None:
    def limited(exchange: Exchange) -> None:
        answers: list[dict[str, Any]] = [
            {"id": question["id"], "result": local_chain.rpc(question["method"], *question["params"])}
            for question in exchange.questions
        ]
        answers[-1] = {"id": answers[-1]["id"], "error": {"code": code, "message": "limit exceeded"}}
        exchange.reply(answers)

    arguments: dict[str, Any] = {
        "token": local_chain.usdc, "sender": local_chain.payer, "recipient": local_chain.recipient,
        "amount": 1, "reference": None,
    }  # fmt: skip
    with serving(limited) as node:
        with pytest.raises(ChainError, match="could not simulate"):
            EvmClient([node.url], 31337).build_transfer(**arguments)
        assert (
            EvmClient([node.url, local_chain.url], 31337).build_transfer(**arguments)["to"]
            == local_chain.usdc
        )


@pytest.mark.parametrize(
    "message",
    ["header not found", "upstream down"],
)
def test_failed_simulation_raises_chain_error(local_chain: LocalChain, message: str) -> None:
    with proxying(local_chain.url) as node:
        node.break_with(lacking("eth_estimateGas", code=-32000, message=message))
        with pytest.raises(ChainError, match="could not simulate"):
            EvmClient([node.url], local_chain.chain_id).build_transfer(
                token="", sender=local_chain.payer, recipient=local_chain.recipient, amount=1, reference=None
            )
