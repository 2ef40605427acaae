"""If a payment's block is reorganised away before completion, it is credited once, after it is mined again."""

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


@pytest.mark.parametrize("depth", [1, 10])
def test_reorganised_payment_counts_once_when_mined_again(
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
    first_block = payment.lookup.block_hash
    assert (payment.status, payment.lookup.confirmations) == (Payment.Status.PROCESSING, depth)

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
    assert payment.lookup.block_hash != first_block
    assert ConsumedTransfer.objects.count() == 1
    assert Event.objects.filter(type="payment.succeeded").count() == 1
