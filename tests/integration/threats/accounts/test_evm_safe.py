"""What a Safe pays is bound by the reference in the call that its owners signed, and by no byte around it."""

from collections.abc import Callable

import pytest

from chains.models import Chain, Token
from payments.models import ConsumedTransfer, PaymentRequest
from tests.support.threats.evm_world import (
    UNPROVED,
    USDC_UNIT,
    World,
    call_data,
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


def test_a_safe_pays_with_the_reference_in_its_signed_call(world: World, ask: Ask, either_node: bool) -> None:
    request, safe = ask(), world.safe()
    data = transfer_data(request.recipient_address, AMOUNT, reference(request))
    sent = safe.send(safe.execution(world.chain.usdc, data))
    assert is_paid(request, sent)


def test_a_multi_send_pays_two_requests_and_never_three(world: World, ask: Ask, either_node: bool) -> None:
    first, second, third, safe = ask(), ask(), ask(), world.safe()
    pays = [
        (world.chain.usdc, 0, transfer_data(request.recipient_address, AMOUNT, reference(request)))
        for request in (first, second)
    ]
    sent = safe.send(safe.multi_send(*pays))
    submit_all(sent, third, first, second)
    assert refusal(third, sent) == "transaction_not_bound"
    assert is_paid(first, sent)
    assert is_paid(second, sent)
    slots = set(ConsumedTransfer.objects.values_list("slot", flat=True))
    assert len(slots) == ConsumedTransfer.objects.count() == 2


def test_of_a_multi_send_each_request_gets_what_its_own_call_paid(
    world: World, ask: Ask, either_node: bool
) -> None:
    dear, cheap, safe = ask("9"), ask("1"), world.safe()
    pays = [
        (world.chain.usdc, 0, transfer_data(request.recipient_address, request.amount, reference(request)))
        for request in (cheap, dear)
    ]
    sent = safe.send(safe.multi_send(*pays))
    submit_all(sent, dear, cheap)
    assert is_paid(dear, sent)
    assert is_paid(cheap, sent)
    assert (dear.amount_paid, cheap.amount_paid) == (9 * USDC_UNIT, USDC_UNIT)


def test_two_transfers_with_one_reference_are_both_counted_for_it(
    world: World, ask: Ask, either_node: bool
) -> None:
    request, other, safe = ask(), ask(), world.safe()
    half = transfer_data(request.recipient_address, AMOUNT // 2, reference(request))
    sent = safe.send(safe.multi_send((world.chain.usdc, 0, half), (world.chain.usdc, 0, half)))
    submit_all(sent, other, request)
    assert is_paid(request, sent)
    assert request.amount_paid == AMOUNT
    assert refusal(other, sent) == "transaction_not_bound"


@pytest.mark.parametrize("place", ["behind the outer call", "in the signature's padding"])
def test_bytes_that_the_owners_did_not_sign_bind_nothing(
    world: World, ask: Ask, either_node: bool, place: str
) -> None:
    thief, safe = ask(), world.safe()
    data = transfer_data(thief.recipient_address, AMOUNT)
    if place == "behind the outer call":
        sent = safe.send(safe.execution(world.chain.usdc, data), tail=reference(thief))
    else:
        sent = safe.send(safe.execution(world.chain.usdc, data, signature_tail=reference(thief)))
    assert refusal(thief, sent) in (UNPROVED if not either_node else ("transaction_not_bound",))


def test_a_stranger_who_adds_his_reference_does_not_get_the_payers(
    world: World, ask: Ask, either_node: bool
) -> None:
    payers, thief, safe = ask(), ask(), world.safe()
    data = transfer_data(payers.recipient_address, AMOUNT, reference(payers))
    execution = safe.execution(world.chain.usdc, data, signature_tail=reference(thief))
    sent = safe.send(execution, tail=reference(thief))
    assert refusal(thief, sent) == "transaction_not_bound"
    assert is_paid(payers, sent)


def test_the_carrying_call_has_to_pay_the_recipient_itself(world: World, ask: Ask, either_node: bool) -> None:
    request, safe = ask(), world.safe()
    elsewhere = "0x" + "77" * 20
    sent = safe.send(
        safe.multi_send(
            (world.chain.usdc, 0, transfer_data(elsewhere, AMOUNT, reference(request))),
            (world.chain.usdc, 0, transfer_data(request.recipient_address, AMOUNT)),
        )
    )
    assert refusal(request, sent) in (UNPROVED if not either_node else ("transaction_not_bound",))


def test_a_reference_on_another_tokens_transfer_binds_nothing(
    world: World, ask: Ask, either_node: bool
) -> None:
    request, safe = ask(), world.safe()
    other = world.token("TestToken")
    world.call(other, call_data("mint(address,uint256)", safe.address, AMOUNT))
    sent = safe.send(
        safe.multi_send(
            (other, 0, transfer_data(request.recipient_address, AMOUNT, reference(request))),
            (world.chain.usdc, 0, transfer_data(request.recipient_address, AMOUNT)),
        )
    )
    assert refusal(request, sent) in (UNPROVED if not either_node else ("transaction_not_bound",))


def test_an_execution_that_failed_inside_pays_nothing(world: World, ask: Ask, either_node: bool) -> None:
    request, safe = ask(), world.safe()
    beyond = transfer_data(request.recipient_address, 10**15, reference(request))
    sent = safe.send(safe.execution(world.chain.usdc, beyond, safe_gas=100_000))
    assert refusal(request, sent) == "wrong_amount"


def test_native_coin_of_a_safe_is_seen_in_the_trace(world: World, ask: Ask, ether: Token) -> None:
    request, safe = ask("0.01", ether), world.safe()
    sent = safe.send(safe.execution(request.recipient_address, reference(request), value=10**16))
    assert is_paid(request, sent)
    assert ConsumedTransfer.objects.get().slot == "0.0.0"  # through the proxy's code, then the call


def test_native_coin_of_a_safe_is_not_verifiable_without_a_trace(
    world: World, ask: Ask, ether: Token, without_traces: Chain
) -> None:
    request, safe = ask("0.01", ether), world.safe()
    sent = safe.send(safe.execution(request.recipient_address, reference(request), value=10**16))
    assert refusal(request, sent) == "not_verifiable"


def test_native_coin_around_a_safe_is_bound_by_the_inner_call_alone(
    world: World, ask: Ask, ether: Token
) -> None:
    thief, safe = ask("0.01", ether), world.safe()
    execution = safe.execution(thief.recipient_address, b"", value=10**16, signature_tail=reference(thief))
    assert refusal(thief, safe.send(execution, tail=reference(thief))) == "transaction_not_bound"
