"""Accounts that look like known ones, accounts within accounts, and modules: only the call that paid is believed."""

from collections.abc import Callable
from typing import Any

import pytest
from eth_account import Account

from chains.families.evm.transactions.accounts import IMPLEMENTATION_SLOT
from payments.models import PaymentRequest
from tests.support.threats.evm_facts import REFERENCE, claims, facts_by, paid, unclaimed
from tests.support.threats.evm_world import (
    ENTRY_POINT,
    NOBODY,
    USDC_UNIT,
    World,
    call_data,
    decide,
    handle_ops,
    is_paid,
    refusal,
    submit_all,
    transfer_data,
)
from tests.support.threats.real_accounts import (
    SIMPLE_7702,
    RealAccount,
    RealSafe,
    execute,
    execute_batch,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
AMOUNT = 10 * USDC_UNIT
EXECUTION = "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)"


def reference(request: PaymentRequest) -> bytes:
    return bytes(request.reference)


def paying(request: PaymentRequest, amount: int = AMOUNT) -> bytes:
    return transfer_data(request.recipient_address, amount, reference(request))


def forged_account(world: World) -> RealAccount:
    """Return an account whose proxy is a SimpleAccount's, before code that does something else."""
    account = world.account()
    forged = world.place("ForgedAccount")
    word = "0x" + forged[2:].lower().rjust(64, "0")
    world.chain.rpc("anvil_setStorageAt", account.address, IMPLEMENTATION_SLOT, word)
    world.chain.mine(2)
    return account


@pytest.mark.parametrize("traced", [True, False])
def test_a_known_proxy_before_foreign_code_does_not_claim_a_strangers_order(
    world: World, untraced_url: str, traced: bool
) -> None:
    """The operation asks for a payment with the thief's reference; the code fills a stranger's order instead."""
    account, pool = forged_account(world), world.place("FillPool")
    fill = call_data("fill(address,address,uint256)", world.chain.usdc, world.chain.recipient, AMOUNT)
    approve = call_data("approve(address,uint256)", pool, AMOUNT)
    pay = execute(world.chain.usdc, 0, transfer_data(world.chain.recipient, AMOUNT, REFERENCE))
    for to, data in ((world.chain.usdc, approve), (pool, fill)):
        world.call(account.address, call_data("load(address,bytes)", to, data))
        sent = world.call(ENTRY_POINT, handle_ops(account.operation(pay)))
        assert world.succeeded(sent)
    facts = facts_by(world.chain, sent, world.chain.url if traced else untraced_url)
    moved = paid(facts, world.chain.recipient, world.chain.usdc)
    assert [t.amount for t in moved] == [AMOUNT]
    assert claims(moved) == unclaimed()


def test_a_known_proxy_before_foreign_code_pays_where_the_call_is_seen(
    world: World, ask: Ask, either_node: bool
) -> None:
    request, account = ask(), forged_account(world)
    world.call(account.address, call_data("load(address,bytes)", world.chain.usdc, paying(request)))
    pay = execute(world.chain.usdc, 0, paying(request))
    sent = world.call(ENTRY_POINT, handle_ops(account.operation(pay)))
    if either_node:
        assert is_paid(request, sent)
    else:
        assert refusal(request, sent) == "not_verifiable"


def test_a_paymaster_that_pays_the_merchant_pays_no_operations_request(
    world: World, ask: Ask, either_node: bool
) -> None:
    """It moves its own tokens within the bounds of the thief's operation, which names as much and moves nothing."""
    thief, account, paymaster = ask(), world.account(), world.deploy("MeddlingPaymaster")
    world.fund(paymaster)
    world.call(paymaster, call_data("deposit(address)", world.entry_point()), value=10**17)
    pay = transfer_data(thief.recipient_address, AMOUNT)
    world.call(paymaster, call_data("load(address,bytes)", world.chain.usdc, pay))
    nothing = execute(world.chain.usdc, 0, paying(thief, 0))
    sent = world.call(ENTRY_POINT, handle_ops(account.operation(nothing, paymaster=paymaster)))
    assert world.succeeded(sent)
    expected = "transaction_not_bound" if either_node else "not_verifiable"
    assert refusal(thief, sent) == expected


def with_module(world: World, data: bytes) -> tuple[RealSafe, str]:
    """Return a Safe, and its module that has the Safe make this call of USDC for any caller."""
    safe, module = world.safe(), world.deploy("Accomplice")
    safe.send(safe.execution(safe.address, call_data("enableModule(address)", module)))
    move = call_data("execTransactionFromModule(address,uint256,bytes,uint8)", world.chain.usdc, 0, data, 0)
    world.call(module, call_data("load(address,bytes)", safe.address, move))
    return safe, module


@pytest.mark.parametrize("carries", [True, False])
def test_a_module_pays_by_the_reference_in_the_call_that_it_has_the_safe_make(
    world: World, ask: Ask, either_node: bool, carries: bool
) -> None:
    """No owner signed it; what is appended to the module's own call binds nothing."""
    request = ask()
    data = paying(request) if carries else transfer_data(request.recipient_address, AMOUNT)
    _, module = with_module(world, data)
    sent = world.call(module, paying(request) + reference(request))
    assert world.succeeded(sent)
    if either_node and carries:
        assert is_paid(request, sent)
    else:
        assert refusal(request, sent) == ("transaction_not_bound" if either_node else "not_verifiable")


def safe_of(world: World, owner: str) -> RealSafe:
    """Return a Safe that another Safe owns."""
    inner = world.safe()
    swap = call_data(
        "swapOwner(address,address,address)",
        "0x" + "0" * 39 + "1",
        Account.from_key(inner.key).address,
        owner,
    )
    inner.send(inner.execution(inner.address, swap))
    return inner


@pytest.mark.parametrize("thief_relays", [True, False])
def test_a_safe_within_a_safe_pays_by_the_innermost_call(
    world: World, ask: Ask, either_node: bool, thief_relays: bool
) -> None:
    request, thief, outer = ask(), ask(), world.safe()
    inner = safe_of(world, outer.address)
    prevalidated = bytes.fromhex(outer.address[2:]).rjust(32, b"\0") + bytes(32) + b"\1"
    execution = call_data(
        EXECUTION, world.chain.usdc, 0, paying(request), 0, 0, 0, 0, NOBODY, NOBODY, prevalidated
    )
    tail = reference(thief) if thief_relays else b""
    sent = outer.send(outer.execution(inner.address, execution, signature_tail=tail), tail=tail)
    submit_all(sent, thief, request)
    if either_node:
        assert refusal(thief, sent) == "transaction_not_bound"
        assert is_paid(request, sent)
    else:
        assert refusal(thief, sent) == "not_verifiable"
        assert refusal(request, sent) == "not_verifiable"


def test_a_strangers_reference_inside_a_multi_send_takes_its_own_call_alone(
    world: World, ask: Ask, either_node: bool
) -> None:
    thief, safe = ask(), world.safe()
    usdc, recipient = world.chain.usdc, thief.recipient_address
    sent = safe.send(
        safe.multi_send(
            (usdc, 0, transfer_data(recipient, AMOUNT)),
            (usdc, 0, transfer_data(recipient, 1, reference(thief))),
        )
    )
    assert decide(thief, sent).amount_received == 1


def test_a_delegation_within_the_payment_is_known_by_a_trace_alone(
    world: World, ask: Ask, either_node: bool
) -> None:
    """The account delegates and pays in one transaction that it signs itself: before the block it had no code."""
    request, key = ask(), world.stranger()
    delegate = world.contracts.delegate(SIMPLE_7702)
    account = Account.from_key(key)
    nonce = int(world.chain.rpc("eth_getTransactionCount", account.address, "latest"), 16)
    terms: dict[str, Any] = {"chainId": world.chain.chain_id, "address": delegate, "nonce": nonce + 1}
    authorization = account.sign_authorization(terms)
    batch = execute_batch((world.chain.usdc, 0, paying(request)))
    sent = world.contracts.send(account.address, batch, key=key, authorizationList=[authorization])
    assert world.succeeded(sent)
    if either_node:
        assert is_paid(request, sent)
    else:
        assert refusal(request, sent) == "not_verifiable"


@pytest.mark.parametrize("relayed", [True, False])
def test_a_delegate_of_unknown_code_pays_where_the_call_is_seen(
    world: World, ask: Ask, either_node: bool, relayed: bool
) -> None:
    request, account = ask(), world.delegated(world.place("OpenBatch"))
    batch = execute_batch((world.chain.usdc, 0, paying(request)))
    sent = account.run(batch, key=world.chain.payer_key if relayed else "")
    if either_node:
        assert is_paid(request, sent)
    else:
        assert refusal(request, sent) == "not_verifiable"


def test_a_relayer_who_runs_a_delegated_accounts_batch_adds_nothing_to_it(
    world: World, ask: Ask, either_node: bool
) -> None:
    """The relayer's reference stands behind the batch, and in a call beside it."""
    payers, thief, account = ask(), ask(), world.delegated(world.place("OpenBatch"))
    batch = execute_batch((world.chain.usdc, 0, paying(payers)), (world.chain.usdc, 0, paying(thief, 0)))
    sent = account.run(batch + reference(thief), key=world.chain.payer_key)
    submit_all(sent, thief, payers)
    if either_node:
        assert refusal(thief, sent) == "transaction_not_bound"
        assert is_paid(payers, sent)
    else:
        assert refusal(thief, sent) == "not_verifiable"
