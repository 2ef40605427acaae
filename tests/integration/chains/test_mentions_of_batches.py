"""Without traces, a batch's calls are mentioned if the account that made them runs listed code."""

import pytest

from chains.client import Mention, TransactionFacts
from chains.families.evm.client import EvmClient
from tests.support.threats.evm_world import World, call_data
from tests.support.threats.real_accounts import (
    METAMASK_7702,
    SIMPLE_7702,
    execute_batch,
    execute_by_mode,
    hidden,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
ID = bytes(range(100, 132))
SILENT = "0xC0dE000000000000000000000000000000000C2e"
"""A contract that accepts every call and logs nothing."""


@pytest.fixture
def router(world: World) -> str:
    world.chain.rpc("anvil_setCode", SILENT, "0x00")
    return SILENT


def mentions(world: World, url: str, sent: str, router: str) -> TransactionFacts:
    assert world.succeeded(sent)
    client = EvmClient([url], world.chain.chain_id)
    client.look_up([sent], with_finality=False)  # watches no contract: no evidence to reuse
    facts = client.look_up([sent], with_finality=False, mentioning=[router]).transactions[sent]
    assert facts is not None
    return facts


def approve(world: World, router: str) -> tuple[str, int, bytes]:
    return world.chain.usdc, 0, call_data("approve(address,uint256)", router, 5)


@pytest.mark.parametrize("node", ["with traces", "without traces"])
@pytest.mark.parametrize(
    ("delegate", "encode"), [(SIMPLE_7702, execute_batch), (METAMASK_7702, execute_by_mode)]
)
def test_call_of_a_listed_account_is_mentioned(
    world: World, untraced_url: str, router: str, delegate: str, encode: type, node: str
) -> None:
    account = world.delegated(world.contracts.delegate(delegate))
    sent = account.run(encode(approve(world, router), (router, 0, ID + b" and more")))
    url = world.chain.url if node == "with traces" else untraced_url
    facts = mentions(world, url, sent, router)
    assert facts.mentions == (Mention(router, ID + b" and more"),)
    assert all(not transfer.within for transfer in facts.transfers)


def test_call_of_unknown_code_is_not_mentioned(world: World, untraced_url: str, router: str) -> None:
    account = world.delegated(world.place("OpenBatch"))
    sent = account.run(execute_batch(approve(world, router), (router, 0, ID)))
    assert mentions(world, untraced_url, sent, router).mentions == ()


def test_call_that_a_forger_did_not_make_is_not_mentioned(
    world: World, untraced_url: str, router: str
) -> None:
    account = world.delegated(world.place("Impostor"))
    token, _, data = approve(world, router)
    sent = account.run(hidden(execute_batch((router, 0, ID)), token, data))
    for url in (world.chain.url, untraced_url):
        assert mentions(world, url, sent, router).mentions == ()


def test_call_beside_another_of_the_account_proves_nothing(
    world: World, untraced_url: str, router: str
) -> None:
    """Between the two transactions, the account's delegation could have changed."""
    account = world.delegated(world.contracts.delegate(SIMPLE_7702))
    world.chain.rpc("evm_setAutomine", False)
    try:
        sent = account.run(execute_batch((router, 0, ID)))
        account.run(b"", to=world.chain.recipient)
        world.chain.mine()
    finally:
        world.chain.rpc("evm_setAutomine", True)
    assert mentions(world, untraced_url, sent, router).mentions == ()
