"""Accounts with known code can pay without a trace, by the reference in the calls that their owners signed."""

import pytest

from chains.families.evm.client import EvmClient
from tests.fault_proxy import proxying
from tests.support.threats.evm_facts import OTHER, REFERENCE, claims, facts_by, paid
from tests.support.threats.evm_world import USDC_UNIT, World, call_data, transfer_data
from tests.support.threats.real_accounts import (
    METAMASK_7702,
    SIMPLE_7702,
    RealAccount,
    RealSafe,
    execute_batch,
    execute_by_mode,
    handle_ops,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
AMOUNT = 10 * USDC_UNIT


def pay(world: World, reference: bytes = REFERENCE, amount: int = AMOUNT) -> tuple[str, int, bytes]:
    return (world.chain.usdc, 0, transfer_data(world.chain.recipient, amount, reference))


def approval(world: World) -> tuple[str, int, bytes]:
    return (world.chain.usdc, 0, call_data("approve(address,uint256)", world.chain.payer, 5))


def by_safe(world: World, safe: RealSafe) -> str:
    token, _, data = pay(world)
    return safe.send(safe.execution(token, data))


@pytest.mark.parametrize("layer_2", [False, True], ids=["layer 1", "layer 2"])
@pytest.mark.parametrize("version", ["1.3.0", "1.4.1", "1.5.0"])
def test_safe_of_published_code_pays_without_a_trace(
    world: World, untraced_url: str, version: str, layer_2: bool
) -> None:
    sent = by_safe(world, world.safe(version, layer_2=layer_2))
    facts = facts_by(world.chain, sent, untraced_url)
    assert claims(paid(facts, world.chain.recipient, world.chain.usdc)) == [((REFERENCE,), "")]
    assert facts.is_complete


@pytest.mark.parametrize(
    ("version", "library"), [("1.3.0", "MultiSend"), ("1.4.1", "MultiSendCallOnly"), ("1.5.0", "MultiSend")]
)
def test_multi_send_pays_by_the_reference_of_each_call(
    world: World, untraced_url: str, version: str, library: str
) -> None:
    safe = world.safe(version)
    batch = safe.multi_send(approval(world), pay(world), pay(world, OTHER, 3), library=library)
    facts = facts_by(world.chain, safe.send(batch), untraced_url)
    moved = paid(facts, world.chain.recipient, world.chain.usdc)
    assert [(t.references, t.amount, t.claimable) for t in moved] == [
        ((REFERENCE,), AMOUNT, None),
        ((OTHER,), 3, None),
    ]
    assert facts.is_complete


@pytest.mark.parametrize("version", ["0.6", "0.7", "0.8", "0.9"])
def test_batch_in_an_operation_pays_without_a_trace(world: World, untraced_url: str, version: str) -> None:
    account = world.account(version)
    batches = {
        "0.6": ("executeBatch(address[],bytes[])", 1),
        "0.7": ("executeBatch(address[],uint256[],bytes[])", 2),
    }
    token, value, data = pay(world)
    if version in batches:
        signature, arrays = batches[version]
        call = call_data(signature, [token], *[[value]] * (arrays - 1), [data])
    else:
        call = execute_batch((token, value, data))
    sent = bundle(world, account, call)
    facts = facts_by(world.chain, sent, untraced_url)
    assert claims(paid(facts, world.chain.recipient, token)) == [((REFERENCE,), "")]
    assert not facts.is_complete, "its beneficiary was paid by a call that is not seen"


def bundle(world: World, account: RealAccount, call: bytes) -> str:
    sent = world.call(account.entry_point, handle_ops(account.operation(call), version=account.version))
    assert world.succeeded(sent)
    return sent


@pytest.mark.parametrize("delegate", [SIMPLE_7702, METAMASK_7702])
def test_eip_7702_account_pays_by_its_own_batch(world: World, untraced_url: str, delegate: str) -> None:
    account = world.delegated(world.contracts.delegate(delegate))
    batch = execute_batch if delegate == SIMPLE_7702 else execute_by_mode
    sent = account.run(batch(approval(world), pay(world)))
    assert world.succeeded(sent)
    for url in (untraced_url, world.chain.url):
        facts = facts_by(world.chain, sent, url)
        moved = paid(facts, world.chain.recipient, world.chain.usdc)
        assert claims(moved) == [((REFERENCE,), account.address)]
        assert facts.is_complete


def test_eip_7702_account_pays_by_an_operation(world: World, untraced_url: str) -> None:
    delegated = world.delegated(world.contracts.delegate(SIMPLE_7702))
    account = RealAccount(
        world.contracts, delegated.address, delegated.key, world.contracts.entry_point("0.8"), "0.8"
    )
    sent = bundle(world, account, execute_batch(pay(world)))
    facts = facts_by(world.chain, sent, untraced_url)
    assert claims(paid(facts, world.chain.recipient, world.chain.usdc)) == [((REFERENCE,), "")]


def test_three_nodes_agree_whether_they_trace_or_not(world: World, untraced_url: str) -> None:
    account = world.delegated(world.contracts.delegate(SIMPLE_7702))
    sent = account.run(execute_batch(pay(world)))
    with proxying(world.chain.url) as traced, proxying(untraced_url) as untraced:
        for urls in (
            (traced.url, untraced.url, world.chain.url),
            (untraced.url, traced.url, untraced_url),
            (untraced.url, untraced_url, traced.url),
        ):
            facts = facts_by(world.chain, sent, *urls)
            moved = paid(facts, world.chain.recipient, world.chain.usdc)
            assert claims(moved) == [((REFERENCE,), account.address)]
            assert facts.is_complete


def test_evidence_of_accounts_is_read_once_for_all(world: World, untraced_url: str) -> None:
    sent = [by_safe(world, world.safe()) for _ in range(3)]
    with proxying(untraced_url) as node:
        client = EvmClient([node.url], world.chain.chain_id)
        client.look_up([], with_finality=False)
        trips = []
        for _ in range(3):
            node.asked.clear()
            found = client.look_up(sent, with_finality=False).transactions
            assert all(facts is not None and facts.is_complete for facts in found.values())
            trips.append([methods for methods in node.asked if "debug_traceTransaction" not in methods])
    assert [len(queried) for queried in trips[1:]] == [2, 2]
    # Two rounds of calls. In addition: the chain ID per connection, and the block for the tracing probe.
    assert len(trips[0]) <= 2 + 5
