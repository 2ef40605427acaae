"""T-10: of a bundle, an operation pays by the reference in its own signed call, whoever else is in the bundle."""

from collections.abc import Callable

import pytest

from chains.models import Chain, Token
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
    """Return why a payment by an operation is not the request's, by a node with traces or without."""
    return ("transaction_not_bound",) if traces else UNPROVED


def bundled(world: World, *operations: tuple[object, ...], tail: bytes = b"", to: str = "") -> str:
    """Send a bundle to the EntryPoint, as a bundler does."""
    sent = world.call(to or world.entry_point(), handle_ops(*operations) + tail)
    assert world.succeeded(sent)
    return sent


def test_an_operation_pays_with_the_reference_in_its_call(world: World, ask: Ask, either_node: bool) -> None:
    request = ask()
    operation = world.account().paying(
        world.chain.usdc, request.recipient_address, AMOUNT, reference(request)
    )
    assert is_paid(request, bundled(world, operation))


def test_a_batch_in_an_operation_pays_two_requests(world: World, ask: Ask, either_node: bool) -> None:
    first, second = ask(), ask("3")
    calls = [transfer_data(r.recipient_address, r.amount, reference(r)) for r in (first, second)]
    batch = call_data("executeBatch(address[],uint256[],bytes[])", [world.chain.usdc] * 2, [], calls)
    sent = bundled(world, world.account().operation(batch))
    submit_all(sent, first, second)
    assert is_paid(first, sent)
    assert is_paid(second, sent)


def test_of_three_operations_only_ours_is_credited(world: World, ask: Ask, either_node: bool) -> None:
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


def test_two_payers_of_one_bundle_each_pay_their_own(world: World, ask: Ask, either_node: bool) -> None:
    first, second = ask(), ask()
    operations = [
        world.account().paying(world.chain.usdc, request.recipient_address, AMOUNT, reference(request))
        for request in (first, second)
    ]
    sent = bundled(world, *operations)
    submit_all(sent, first, second)
    assert is_paid(first, sent)
    assert is_paid(second, sent)


def test_a_strangers_operation_with_our_reference_does_not_get_another_payers_money(
    world: World, ask: Ask, either_node: bool
) -> None:
    """The thief's operation carries his reference, in a call that pays nobody; the victim's carries none."""
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
def test_a_reference_outside_the_operations_call_binds_nothing(
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


def test_a_wrapper_around_the_entry_point_adds_no_reference(
    world: World, ask: Ask, either_node: bool
) -> None:
    payers, thief = ask(), ask()
    wrapper = world.deploy("EntryPointWrapper", ["address"], [world.entry_point()])
    operation = world.account().paying(world.chain.usdc, payers.recipient_address, AMOUNT, reference(payers))
    world.call(wrapper, call_data("load(bytes)", handle_ops(operation) + reference(thief)))
    sent = world.call(wrapper, handle_ops() + reference(thief))
    assert world.succeeded(sent)
    assert refusal(thief, sent) in unbound(either_node)
    # The payer's own reference is known by the trace; without one the wrapper's word is not taken.
    if either_node:
        assert is_paid(payers, sent)
    else:
        assert refusal(payers, sent) in UNPROVED


def test_a_wrapper_that_plays_the_entry_point_names_operations_that_never_ran(
    world: World, ask: Ask, either_node: bool
) -> None:
    """The wrapper runs the victim's real operation and tells of the thief's invented one, for the same account."""
    thief, victim = ask(), world.account()
    genuine = victim.paying(world.chain.usdc, thief.recipient_address, AMOUNT)
    invented = (victim.address, 0, b"",
        execute(world.chain.usdc, 0, transfer_data(thief.recipient_address, AMOUNT, reference(thief))),
        bytes(32), 0, bytes(32), b"", b"")  # fmt: skip
    wrapper = world.deploy("EntryPointWrapper", ["address"], [world.entry_point()])
    world.call(wrapper, call_data("load(bytes)", handle_ops(genuine)))
    assert refusal(thief, bundled(world, invented, to=wrapper)) in unbound(either_node)


def test_an_unknown_entry_point_is_believed_by_its_trace_alone(
    world: World, ask: Ask, either_node: bool
) -> None:
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


def test_native_coin_of_an_operation_is_seen_in_the_trace(world: World, ask: Ask, ether: Token) -> None:
    request = ask("0.01", ether)
    operation = world.account().operation(execute(request.recipient_address, 10**16, reference(request)))
    assert is_paid(request, bundled(world, operation))


def test_native_coin_of_an_operation_is_not_verifiable_without_a_trace(
    world: World, ask: Ask, ether: Token, without_traces: Chain
) -> None:
    request = ask("0.01", ether)
    operation = world.account().operation(execute(request.recipient_address, 10**16, reference(request)))
    assert refusal(request, bundled(world, operation)) == "not_verifiable"


def test_the_hash_of_a_user_operation_is_no_transaction(world: World, ask: Ask) -> None:
    request = ask()
    operation = world.account().paying(
        world.chain.usdc, request.recipient_address, AMOUNT, reference(request)
    )
    sent = bundled(world, operation)
    event = world.receipt(sent)["logs"][-1]
    payment = decide(request, event["topics"][1])
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "transaction_not_found")
    assert is_paid(request, sent)
