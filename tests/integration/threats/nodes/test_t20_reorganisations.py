"""T-20: a block that vanishes below the depth asked for completes nothing; mined again, the payment counts once."""

from collections.abc import Callable

import pytest

from chains.models import Chain
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look, look_until_decided, pay, submit
from webhooks.models import Event


@pytest.fixture
def local_chain(reorganised_chain: LocalChain) -> LocalChain:
    return reorganised_chain


@pytest.mark.parametrize("depth", [1, 2, 10, 64])
def test_before_completion(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, chain: Chain, depth: int
) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations=str(depth + 1))
    request, clock = request_for(), Clock()
    sent = pay(local_chain, request)
    raw = local_chain.rpc("eth_getRawTransactionByHash", sent)
    payment = submit(request, sent)
    if depth > 1:
        local_chain.mine(depth - 1)
    look(clock)
    payment.refresh_from_db()
    first_block = payment.block_hash
    assert (payment.status, payment.confirmations) == (Payment.Status.PROCESSING, depth)

    local_chain.reorganise(depth)
    clock.forward(seconds=5)
    look(clock)
    payment.refresh_from_db()
    assert (payment.status, payment.is_in_flight) == (Payment.Status.PROCESSING, False)
    assert not ConsumedTransfer.objects.exists()

    if local_chain.rpc("eth_getTransactionByHash", sent) is None:
        local_chain.rpc("eth_sendRawTransaction", raw)
    local_chain.mine(depth + 1)
    look_until_decided(payment, clock)
    assert payment.status == Payment.Status.COMPLETED
    assert payment.block_hash != first_block
    assert ConsumedTransfer.objects.count() == 1
    assert Event.objects.filter(type="payment.succeeded").count() == 1


def test_for_good_it_ends_as_not_found_with_nothing_credited(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, chain: Chain
) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations="3")
    request, clock = request_for(), Clock()
    payment = submit(request, pay(local_chain, request))
    look(clock)
    local_chain.reorganise()
    local_chain.rpc("anvil_dropTransaction", payment.transaction_hash)
    local_chain.mine(3)
    look_until_decided(payment, clock)
    request.refresh_from_db()
    assert payment.failure_code in ("transaction_not_found", "transaction_replaced")
    assert (request.status, request.amount_paid) == ("active", 0)
    assert not ConsumedTransfer.objects.exists()
