"""Without a transaction, a node shows whether money at a deposit address can reach its recipient."""

from collections.abc import Callable

import pytest

from chains.facts.deposits import DepositProblem
from chains.families.evm.client import EvmClient
from tests.chain import LocalChain
from tests.support.chains.deposits import (
    BURN_GAS,
    REVERT,
    DepositWorld,
    deposit_for,
    new_address,
)

Rehearse = Callable[..., DepositProblem | None]
DELEGATED = "ef0100" + "11" * 20


@pytest.fixture
def rehearse(world: DepositWorld) -> Rehearse:
    # Make the factory's block final.
    world.chain.rpc("anvil_mine", "0x60")
    client = EvmClient([world.chain.url], world.chain.chain_id)

    def rehearse(
        token: str, recipient: str | None = None, amount: int = 10**7, **more: bool
    ) -> DepositProblem | None:
        recipient = recipient or new_address()
        deposit = deposit_for(recipient)
        return client.deposit_problem(deposit, recipient=recipient, token=token, amount=amount, **more)

    return rehearse


@pytest.mark.parametrize("token", ["usdc", "dai"])
@pytest.mark.parametrize("amount", [1, 10**7, 2**200])
def test_usual_token_is_swept_to_a_usual_recipient(
    rehearse: Rehearse, local_chain: LocalChain, token: str, amount: int
) -> None:
    assert rehearse(getattr(local_chain, token), amount=amount) is None


def test_native_coin_is_rehearsed_without_a_token(rehearse: Rehearse, world: DepositWorld) -> None:
    assert rehearse("", amount=10**30) is None
    rejecting = new_address()
    world.chain.rpc("anvil_setCode", rejecting, "0x" + DELEGATED)  # delegated to an account without code
    assert rehearse("", rejecting) is None
    world.chain.rpc("anvil_setCode", rejecting, "0x60006000fd")
    assert rehearse("", rejecting) is DepositProblem.RECIPIENT_IS_CONTRACT


def test_rehearsal_leaves_no_trace_on_the_chain(
    rehearse: Rehearse, world: DepositWorld, local_chain: LocalChain
) -> None:
    height, recipient = local_chain.rpc("eth_blockNumber"), new_address()
    assert rehearse(local_chain.usdc, recipient) is None
    assert local_chain.rpc("eth_blockNumber") == height
    assert local_chain.token_balance(local_chain.usdc, recipient) == world.coins(recipient) == 0


def test_missing_factory_is_noticed(rehearse: Rehearse, local_chain: LocalChain) -> None:
    code = local_chain.rpc("eth_getCode", deposit_for(new_address()).factory, "latest")
    factory = deposit_for(new_address()).factory
    for wrong in ("0x", code + "00"):
        local_chain.rpc("anvil_setCode", factory, wrong)
        local_chain.rpc("anvil_mine", "0x60")
        assert rehearse(local_chain.usdc) is DepositProblem.FACTORY_MISSING
    local_chain.rpc("anvil_setCode", factory, code)
    assert rehearse(local_chain.usdc) is DepositProblem.FACTORY_MISSING  # not finalized yet
    local_chain.rpc("anvil_mine", "0x60")
    assert rehearse(local_chain.usdc) is None


def test_contract_is_no_recipient_but_a_delegated_account_is(
    rehearse: Rehearse, local_chain: LocalChain
) -> None:
    recipient = new_address()
    local_chain.rpc("anvil_setCode", recipient, "0x" + DELEGATED)
    assert rehearse(local_chain.usdc, recipient) is None
    local_chain.rpc("anvil_setCode", recipient, "0x00")
    assert rehearse(local_chain.usdc, recipient) is DepositProblem.RECIPIENT_IS_CONTRACT


def test_confirmed_contract_is_a_recipient_if_it_accepts_all(
    rehearse: Rehearse, local_chain: LocalChain
) -> None:
    recipient = new_address()
    local_chain.rpc("anvil_setCode", recipient, "0x00")
    assert rehearse(local_chain.usdc, recipient, is_confirmed=True) is None
    local_chain.rpc("anvil_setCode", recipient, "0x60006000fd")
    assert rehearse(local_chain.usdc, recipient, is_confirmed=True) is DepositProblem.NOT_SWEPT


@pytest.mark.parametrize("token", ["FeeToken", "ArrivalFeeToken"])
def test_token_that_takes_a_fee_is_not_swept_in_full(
    rehearse: Rehearse, world: DepositWorld, token: str
) -> None:
    assert rehearse(world.place(token, token=True)) is DepositProblem.NOT_SWEPT


@pytest.mark.parametrize("trouble", [REVERT, BURN_GAS])
def test_token_that_fails_is_not_swept(rehearse: Rehearse, world: DepositWorld, trouble: int) -> None:
    token = world.place("TroublesomeToken", token=True)
    assert rehearse(token) is None
    world.make_trouble(token, trouble)
    assert rehearse(token) is DepositProblem.NOT_SWEPT


def test_token_whose_balances_are_nowhere_is_unsupported(rehearse: Rehearse) -> None:
    assert rehearse(new_address()) is DepositProblem.UNSUPPORTED
