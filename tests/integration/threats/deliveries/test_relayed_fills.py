"""A relayer fills a stranger's order from the relayer's own account. A reference or a proof can't claim that payment.

The pool spends the relayer's allowance and pays the merchant. So the log's sender is the relayer, who is also
the customer of another request. Anything that the relayer adds to the transaction binds nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from eth_account import Account

from chains.client import Transfer
from chains.families.evm.client import EvmClient
from tests.fault_proxy import proxying
from tests.support.threats.evm_facts import REFERENCE, claims, facts_by, paid, unclaimed
from tests.support.threats.evm_world import ENTRY_POINT, USDC_UNIT, World, call_data, transfer_data
from tests.support.threats.real_accounts import (
    SIMPLE_7702,
    ZERO_ADDRESS,
    execute,
    execute_batch,
    handle_ops,
    hidden,
    unsigned_execution,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
AMOUNT = 10 * USDC_UNIT
NODES = ["with traces", "without traces"]


@pytest.fixture(params=NODES)
def urls(request: pytest.FixtureRequest, world: World, untraced_url: str) -> Iterator[tuple[str, ...]]:
    with proxying(world.chain.url if request.param == NODES[0] else untraced_url) as node:
        yield (node.url,)


def carrying(world: World, amount: int = AMOUNT) -> tuple[str, int, bytes]:
    """Return a call with the relayer's reference, as for the relayer's own request."""
    return (world.chain.usdc, 0, transfer_data(world.chain.recipient, amount, REFERENCE))


def filling(world: World, token: str = "") -> list[tuple[str, int, bytes]]:
    """Return the calls that fill an order for the merchant from the caller's account."""
    token, pool = token or world.chain.usdc, world.place("FillPool")
    fill = call_data("fill(address,address,uint256)", token, world.chain.recipient, AMOUNT)
    return [(token, 0, call_data("approve(address,uint256)", pool, AMOUNT)), (pool, 0, fill)]


def by_a_safe(world: World) -> str:
    safe = world.safe()
    return safe.send(safe.multi_send(*filling(world), carrying(world, 0)))


def by_its_own_batch(world: World) -> str:
    account = world.delegated(world.contracts.delegate(SIMPLE_7702))
    return account.run(execute_batch(*filling(world), carrying(world, 0)))


def by_a_relayed_batch(world: World) -> str:
    account = world.delegated(world.place("OpenBatch"))
    return account.run(execute_batch(*filling(world), carrying(world, 0)), key=world.chain.payer_key)


def safe_execution(world: World) -> bytes:
    token, _, data = carrying(world)
    return unsigned_execution(token, data)


def by_a_forged_safe(world: World, address: str = "") -> str:
    """The forged Safe logs an execution of the signed call, but fills the order."""
    forged = address or world.deploy("Impostor")
    world.fund(forged)
    approve, fill = filling(world)
    for to, _, data in (approve, fill):
        sent = world.call(forged, hidden(safe_execution(world), to, data))
    return sent


def by_a_known_proxy_before_another_code(world: World) -> str:
    proxy = world.contracts.safe_proxy("1.4.1", world.place("Impostor"))
    return by_a_forged_safe(world, proxy)


def by_an_account_that_is_delegated_to_a_forger(world: World) -> str:
    account = world.delegated(world.place("Impostor"))
    for to, _, data in filling(world):
        sent = account.run(hidden(execute_batch(carrying(world)), to, data))
    return sent


def by_a_delegation_switched_within_the_block(world: World) -> str:
    """Before and after the block, the account has known code. In between, it has a forger's."""
    world.place("Impostor")
    account = world.delegated(world.contracts.delegate(SIMPLE_7702))
    approve, (pool, _, fill) = filling(world)
    account.run(execute_batch(approve))
    nonce = int(world.chain.rpc("eth_getTransactionCount", account.address, "latest"), 16)
    batch = hidden(execute_batch(carrying(world)), pool, fill)
    to_forger = account.authorization(world.placed["Impostor"], nonce + 1)
    with one_block(world):
        sent = account.run(batch, authorizationList=[to_forger], maxFeePerGas=2 * 10**11)
        account.delegate_to(SIMPLE_7702, authorization_nonce=nonce + 2)
    code = world.chain.rpc("eth_getCode", account.address, "latest")
    assert code == "0xef0100" + SIMPLE_7702[2:].lower()
    return sent


@contextmanager
def one_block(world: World) -> Iterator[None]:
    """Mine all transactions sent inside the `with` in one block."""
    world.chain.rpc("evm_setAutomine", False)
    try:
        yield
    finally:
        world.chain.mine()
        world.chain.rpc("evm_setAutomine", True)


FILLS: list[Callable[[World], str]] = [
    by_a_safe,
    by_its_own_batch,
    by_a_relayed_batch,
    by_a_forged_safe,
    by_a_known_proxy_before_another_code,
    by_an_account_that_is_delegated_to_a_forger,
    by_a_delegation_switched_within_the_block,
]


@pytest.mark.parametrize("fill", FILLS, ids=lambda fill: fill.__name__)
def test_filled_order_is_claimed_by_no_reference_or_proof(
    world: World, urls: tuple[str, ...], fill: Callable[[World], str]
) -> None:
    sent = fill(world)
    assert world.succeeded(sent)
    facts = facts_by(world.chain, sent, *urls)
    assert facts.block is not None
    moved = filled(paid(facts, world.chain.recipient, world.chain.usdc))
    assert claims(moved) == unclaimed()
    assert facts.is_complete or not is_traced(urls), "what is not proved is not denied either"


def is_traced(urls: tuple[str, ...]) -> bool:
    return EvmClient(urls, 31337).can_prove_internal_transfers()


def filled(transfers: list[Transfer]) -> list[Transfer]:
    return [transfer for transfer in transfers if transfer.amount == AMOUNT]


@pytest.fixture
def lenient(world: World) -> str:
    """A token that returns false if the balance is too small."""
    return world.token("LenientToken")


def test_paymaster_supplies_no_log_for_a_failed_transfer(
    world: World, urls: tuple[str, ...], lenient: str
) -> None:
    account, paymaster = world.account(), world.deploy("MeddlingPaymaster")
    world.call(paymaster, call_data("deposit(address)", world.entry_point()), value=10**17)
    pull = call_data("transferFrom(address,address,uint256)", account.address, world.chain.recipient, AMOUNT)
    for to, data in (
        (lenient, call_data("mint(address,uint256)", account.address, AMOUNT)),
        (lenient, pull),
    ):
        world.call(paymaster, call_data("load(address,bytes)", to, data))
    approve = execute(lenient, 0, call_data("approve(address,uint256)", paymaster, AMOUNT))
    assert world.succeeded(world.call(ENTRY_POINT, handle_ops(account.operation(approve))))
    pay = execute(lenient, 0, transfer_data(world.chain.recipient, AMOUNT, REFERENCE))
    sent = world.call(ENTRY_POINT, handle_ops(account.operation(pay, paymaster=paymaster)))
    facts = facts_by(world.chain, sent, *urls)
    assert claims(paid(facts, world.chain.recipient, lenient)) == unclaimed()


def test_module_supplies_no_log_for_a_failed_transfer(
    world: World, urls: tuple[str, ...], lenient: str
) -> None:
    """The module's call to the token comes from the Safe itself, but has no reference."""
    safe, module, minter = world.safe(), world.deploy("Accomplice"), world.deploy("Accomplice")
    safe.send(safe.execution(safe.address, call_data("enableModule(address)", module)))
    world.call(
        minter,
        call_data("load(address,bytes)", lenient, call_data("mint(address,uint256)", safe.address, AMOUNT)),
    )
    move = call_data(
        "execTransactionFromModule(address,uint256,bytes,uint8)",
        lenient,
        0,
        transfer_data(world.chain.recipient, AMOUNT),
        0,
    )
    world.call(module, call_data("load(address,bytes)", safe.address, move))
    batch = safe.multi_send(
        (lenient, 0, transfer_data(world.chain.recipient, AMOUNT, REFERENCE)),
        (minter, 0, b"mint"),
        (module, 0, b"move"),
    )
    facts = facts_by(world.chain, safe.send(batch), *urls)
    [moved] = paid(facts, world.chain.recipient, lenient)
    assert (moved.amount, moved.references) == (AMOUNT, ())


def test_safe_with_a_guard_proves_nothing_without_a_trace(world: World, untraced_url: str) -> None:
    """A guard's code runs before and after each execution. Anyone could have written it."""
    safe = world.safe("1.3.0")
    guard = world.deploy("Accomplice")
    world.call(guard, call_data("load(address,bytes)", world.chain.recipient, b""))
    token, _, data = carrying(world)
    for set_to, expected in ((guard, unclaimed()), (ZERO_ADDRESS, [((REFERENCE,), "")])):
        safe.send(safe.execution(safe.address, call_data("setGuard(address)", set_to)))
        facts = facts_by(world.chain, safe.send(safe.execution(token, data)), untraced_url)
        assert claims(paid(facts, world.chain.recipient, token)) == expected


def test_safe_with_other_logs_in_the_block_proves_nothing(world: World, untraced_url: str) -> None:
    """The Safe's code or modules may have changed within the block."""
    safe = world.safe()
    token, _, data = carrying(world)
    payment = safe.execution(token, data)
    with one_block(world):
        sent = world.chain.send(unsigned(world, safe.address, payment))
        other = world.chain.send(
            {**unsigned(world, safe.address, b""), "value": 1}
        )  # makes the Safe log what it receives
    assert world.receipt(sent)["blockNumber"] == world.receipt(other)["blockNumber"]
    assert world.succeeded(sent)
    facts = facts_by(world.chain, sent, untraced_url)
    assert claims(paid(facts, world.chain.recipient, token)) == unclaimed()
    assert not facts.is_complete


def unsigned(world: World, to: str, data: bytes) -> dict[str, object]:
    return {
        "chainId": world.chain.chain_id,
        "to": to,
        "value": 0,
        "data": "0x" + data.hex(),
        "gas": 1_000_000,
        "maxFeePerGas": 10**11,
        "maxPriorityFeePerGas": 10**9,
    }


def test_order_filled_by_a_hook_is_not_claimed(world: World, urls: tuple[str, ...]) -> None:
    """The relayer pays one unit with the relayer's reference.

    The token calls the relayer's hook, which has an order filled.
    """
    token, hook, key = world.token("HookToken"), world.deploy("Accomplice"), world.stranger()
    relayer = Account.from_key(key).address
    pull = call_data("transferFrom(address,address,uint256)", relayer, world.chain.recipient, AMOUNT)
    world.call(hook, call_data("load(address,bytes)", token, pull))
    world.call(token, call_data("mint(address,uint256)", relayer, 2 * AMOUNT))
    world.call(token, call_data("approve(address,uint256)", hook, AMOUNT), key=key)
    world.call(token, call_data("setHook(address,bytes)", hook, b"fill"), key=key)
    sent = world.call(token, transfer_data(world.chain.recipient, 1, REFERENCE), key=key)
    facts = facts_by(world.chain, sent, *urls)
    moved = paid(facts, world.chain.recipient, token)
    assert sorted(t.amount for t in moved) == [1, AMOUNT]
    assert claims(filled(moved)) == unclaimed()


def test_interest_logged_in_the_same_call_is_not_claimed(world: World, urls: tuple[str, ...]) -> None:
    """One unit is paid. A billion more appear in the logs: as a mint, and as a transfer from the payer."""
    token = world.token("InterestToken")
    world.call(token, call_data("mint(address,uint256)", world.chain.payer, 1))
    world.call(token, call_data("accrue(uint256)", 10**9))
    sent = world.call(token, transfer_data(world.chain.recipient, 1, REFERENCE))
    moved = paid(facts_by(world.chain, sent, *urls), world.chain.recipient, token)
    assert sum(t.amount for t in moved) == 2 * 10**9 + 1
    claimed = [t.amount if t.claimable is None else t.claimable for t in moved if t.references or t.made_by]
    assert sum(claimed) <= 1
