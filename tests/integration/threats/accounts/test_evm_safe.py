"""A Safe's payment is bound by the reference in the call that its owners signed, and by no other bytes."""

from collections.abc import Callable

import pytest

from payments.models import ConsumedTransfer, PaymentRequest
from tests.support.threats.evm_world import (
    UNPROVED,
    USDC_UNIT,
    World,
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


def test_safe_pays_by_the_reference_in_its_signed_call(world: World, ask: Ask, either_node: bool) -> None:
    request, safe = ask(), world.safe()
    data = transfer_data(request.recipient_address, AMOUNT, reference(request))
    sent = safe.send(safe.execution(world.chain.usdc, data))
    assert is_paid(request, sent)


def test_multi_send_pays_two_requests_and_never_three(world: World, ask: Ask, either_node: bool) -> None:
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
