"""A sped-up or cancelled transaction is recognised by its sender's nonce (T-11); a dropped one is just not there."""

from collections.abc import Callable, Iterator

import pytest

from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.payments.world import Clock, look, look_until_decided, submit, unsigned

Make = Callable[..., PaymentRequest]


@pytest.fixture
def not_mining(local_chain: LocalChain) -> Iterator[None]:
    local_chain.rpc("evm_setAutomine", False)
    yield
    local_chain.rpc("evm_setAutomine", True)
    local_chain.mine()


def waiting_in_the_pool(request: PaymentRequest, chain: LocalChain, clock: Clock) -> Payment:
    payment = submit(request, chain.send(unsigned(chain, request)))
    look(clock)
    payment.refresh_from_db()
    assert payment.nonce is not None
    clock.forward(seconds=2)
    return payment


def next_in_line(chain: LocalChain, payment: Payment, transaction: dict[str, object]) -> str:
    """Send another transaction with the same nonce and a higher fee."""
    from eth_account import Account

    fields = {name: value for name, value in transaction.items() if name != "from"}
    fields |= {"nonce": payment.nonce, "maxFeePerGas": 2 * 10**11, "maxPriorityFeePerGas": 2 * 10**10}
    raw = Account.sign_transaction(fields, chain.payer_key).raw_transaction
    return str(chain.rpc("eth_sendRawTransaction", "0x" + raw.hex().removeprefix("0x")))


@pytest.mark.usefixtures("not_mining")
def test_a_sped_up_payment_fails_as_replaced_and_the_replacement_counts(
    request_for: Make, local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    payment = waiting_in_the_pool(request, local_chain, clock)
    faster = next_in_line(local_chain, payment, unsigned(local_chain, request))
    local_chain.mine()
    assert look_until_decided(payment, clock).failure_code == "transaction_replaced"
    assert payment.retries_left == 3, "a mistake of ours could still be mended"
    assert look_until_decided(submit(request, faster), clock).status == Payment.Status.COMPLETED
    request.refresh_from_db()
    assert request.status == "completed"


@pytest.mark.usefixtures("not_mining")
def test_a_cancelled_payment_fails_as_replaced(request_for: Make, local_chain: LocalChain) -> None:
    request, clock = request_for(), Clock()
    payment = waiting_in_the_pool(request, local_chain, clock)
    to_oneself = local_chain.unsigned_transfer("", local_chain.payer, 0)
    next_in_line(local_chain, payment, to_oneself)
    local_chain.mine()
    assert look_until_decided(payment, clock).failure_code == "transaction_replaced"
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("active", 0)


@pytest.mark.usefixtures("not_mining")
def test_a_dropped_payment_is_looked_for_and_then_not_found(
    request_for: Make, local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    payment = waiting_in_the_pool(request, local_chain, clock)
    local_chain.rpc("anvil_dropTransaction", payment.transaction_hash)
    look_until_decided(payment, clock)
    assert (payment.failure_code, payment.attempts) == ("transaction_not_found", 10)
    assert payment.retries_left == 3
