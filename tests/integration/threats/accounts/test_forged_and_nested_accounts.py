"""Forged accounts, accounts inside accounts, and modules: only the call that paid counts."""

from collections.abc import Callable
from typing import Any

import pytest
from eth_account import Account

from chains.families.evm.transactions.accounts import IMPLEMENTATION_SLOT
from payments.models import PaymentRequest
from tests.support.threats.evm_facts import REFERENCE, claims, facts_by, paid, unclaimed
from tests.support.threats.evm_world import (
    ENTRY_POINT,
    USDC_UNIT,
    ZERO_ADDRESS,
    World,
    call_data,
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
    """Return an account with a SimpleAccount's proxy, whose code does something else."""
    account = world.account()
    forged = world.place("ForgedAccount")
    word = "0x" + forged[2:].lower().rjust(64, "0")
    world.chain.rpc("anvil_setStorageAt", account.address, IMPLEMENTATION_SLOT, word)
    world.chain.mine(2)
    return account


@pytest.mark.parametrize("traced", [True, False])
def test_known_proxy_with_foreign_code_claims_no_order(world: World, untraced_url: str, traced: bool) -> None:
    """The operation looks like a payment with the thief's reference. But the code fills a stranger's order."""
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


def test_payment_by_a_paymaster_pays_no_operation(world: World, ask: Ask, either_node: bool) -> None:
    """The paymaster pays with its own tokens during the thief's operation.

    The operation names the amount, but moves nothing.
    """
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


def safe_of(world: World, owner: str) -> RealSafe:
    inner = world.safe()
    swap = call_data(
        "swapOwner(address,address,address)",
        "0x" + "0" * 39 + "1",
        Account.from_key(inner.key).address,
        owner,
    )
    inner.send(inner.execution(inner.address, swap))
    return inner


def test_safe_within_a_safe_pays_by_the_innermost_call(world: World, ask: Ask, either_node: bool) -> None:
    request, thief, outer = ask(), ask(), world.safe()
    inner = safe_of(world, outer.address)
    prevalidated = bytes.fromhex(outer.address[2:]).rjust(32, b"\0") + bytes(32) + b"\1"
    execution = call_data(
        EXECUTION, world.chain.usdc, 0, paying(request), 0, 0, 0, 0, ZERO_ADDRESS, ZERO_ADDRESS, prevalidated
    )
    tail = reference(thief)
    sent = outer.send(outer.execution(inner.address, execution, signature_tail=tail), tail=tail)
    submit_all(sent, thief, request)
    if either_node:
        assert refusal(thief, sent) == "transaction_not_bound"
        assert is_paid(request, sent)
    else:
        assert refusal(thief, sent) == "not_verifiable"
        assert refusal(request, sent) == "not_verifiable"


def test_delegation_within_the_payment_needs_a_trace(world: World, ask: Ask, either_node: bool) -> None:
    """In one transaction that it signs itself, the account delegates and pays. Before the block, it had no code."""
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
