"""An operation in a bundle pays by the reference in its own signed call. The rest of the bundle doesn't matter."""

from collections.abc import Callable

import pytest

from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.support.threats.evm_world import (
    UNPROVED,
    USDC_UNIT,
    World,
    call_data,
    decide,
    execute,
    handle_ops,
    is_paid,
    refusal,
    submit_all,
    transfer_data,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
AMOUNT = 10 * USDC_UNIT


def reference(request: PaymentRequest) -> bytes:
    return bytes(request.reference)


def unbound(traces: bool) -> tuple[str, ...]:
    """Return the failure codes of an operation's unbound payment, for nodes with or without traces."""
    return ("transaction_not_bound",) if traces else UNPROVED


def bundled(world: World, *operations: tuple[object, ...], tail: bytes = b"", to: str = "") -> str:
    """Send a bundle to the EntryPoint, as a bundler does."""
    sent = world.call(to or world.entry_point(), handle_ops(*operations) + tail)
    assert world.succeeded(sent)
    return sent


def test_operation_pays_by_the_reference_in_its_call(world: World, ask: Ask, either_node: bool) -> None:
    request = ask()
    operation = world.account().paying(
        world.chain.usdc, request.recipient_address, AMOUNT, reference(request)
    )
    assert is_paid(request, bundled(world, operation))


def test_only_one_of_three_operations_is_credited(world: World, ask: Ask, either_node: bool) -> None:
    ours, failed = ask(), ask()
    stranger = world.account().paying(world.chain.usdc, ours.recipient_address, AMOUNT)
    own = world.account().paying(world.chain.usdc, ours.recipient_address, AMOUNT, reference(ours))
    beyond = world.account().paying(world.chain.usdc, ours.recipient_address, 10**15, reference(failed))
    sent = bundled(world, beyond, stranger, own)
    submit_all(sent, failed, ours)
    assert refusal(failed, sent) in unbound(either_node)
    assert is_paid(ours, sent)
    assert ours.amount_paid == AMOUNT
    assert ConsumedTransfer.objects.count() == 1


def test_reference_in_another_operation_claims_nothing(world: World, ask: Ask, either_node: bool) -> None:
    """The thief's operation has the thief's reference in a call that pays nothing.

    The victim's operation has no reference.
    """
    thief = ask()
    victim = world.account().paying(world.chain.usdc, thief.recipient_address, AMOUNT)
    carrying = [
        execute(world.chain.usdc, 0, transfer_data(thief.recipient_address, 0, reference(thief))),
        execute("0x" + "77" * 20, 0, transfer_data(thief.recipient_address, AMOUNT, reference(thief))),
    ]
    for call in carrying:
        sent = bundled(world, world.account().operation(call), victim)
        assert refusal(thief, sent) in (*unbound(either_node), "wrong_amount")
        victim = world.account().paying(world.chain.usdc, thief.recipient_address, AMOUNT)


@pytest.mark.parametrize("place", ["paymaster data", "behind the bundle"])
def test_reference_outside_the_operations_call_binds_nothing(
    world: World, ask: Ask, either_node: bool, place: str
) -> None:
    thief = ask()
    pay = execute(world.chain.usdc, 0, transfer_data(thief.recipient_address, AMOUNT))
    tail = reference(thief)
    if place == "paymaster data":
        paymaster = world.deploy("MeddlingPaymaster")
        world.call(paymaster, call_data("deposit(address)", world.entry_point()), value=10**17)
        operation = world.account().operation(pay, paymaster=paymaster, paymaster_tail=tail)
        sent = bundled(world, operation)
    else:
        sent = bundled(world, world.account().operation(pay), tail=tail)
    assert refusal(thief, sent) in unbound(either_node)


def test_wrapper_with_invented_operations_binds_nothing(world: World, ask: Ask, either_node: bool) -> None:
    """A wrapper runs the victim's real operation, and reports an invented operation of the same account."""
    thief, victim = ask(), world.account()
    genuine = victim.paying(world.chain.usdc, thief.recipient_address, AMOUNT)
    invented = (victim.address, 0, b"",
        execute(world.chain.usdc, 0, transfer_data(thief.recipient_address, AMOUNT, reference(thief))),
        bytes(32), 0, bytes(32), b"", b"")  # fmt: skip
    wrapper = world.deploy("EntryPointWrapper", ["address"], [world.entry_point()])
    world.call(wrapper, call_data("load(bytes)", handle_ops(genuine)))
    assert refusal(thief, bundled(world, invented, to=wrapper)) in unbound(either_node)


def test_unknown_entry_point_needs_a_trace(world: World, ask: Ask, either_node: bool) -> None:
    request = ask()
    other = world.deploy("EntryPointLike")
    operation = world.look_alike_account(other).paying(
        world.chain.usdc, request.recipient_address, AMOUNT, reference(request)
    )
    sent = bundled(world, operation, to=other)
    if either_node:
        assert is_paid(request, sent)
    else:
        assert refusal(request, sent) in UNPROVED


def test_hash_of_a_user_operation_is_no_transaction(world: World, ask: Ask) -> None:
    request = ask()
    operation = world.account().paying(
        world.chain.usdc, request.recipient_address, AMOUNT, reference(request)
    )
    sent = bundled(world, operation)
    event = world.receipt(sent)["logs"][-1]
    payment = decide(request, event["topics"][1])
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "transaction_not_found")
    assert is_paid(request, sent)
