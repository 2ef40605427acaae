"""A sped-up transaction is the same payment, by sender, nonce and effect. A cancelled one fails as replaced."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chains.families import get_client
from chains.models import Chain
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from payments.submission.hashes import sight_for_merchant, submit_for_merchant, submit_hash
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.rows import new_payment
from tests.support.payments.world import Clock, look, look_until_decided, submit, unsigned
from webhooks.models import Event

Make = Callable[..., PaymentRequest]


@pytest.fixture
def not_mining(local_chain: LocalChain) -> Iterator[None]:
    local_chain.rpc("evm_setAutomine", False)
    yield
    local_chain.rpc("evm_setAutomine", True)
    local_chain.mine()


class WithoutNonces:
    """A chain whose nodes lack the method that finds a transaction by its nonce."""

    def __init__(self, chain: Chain) -> None:
        self._client = get_client(chain)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transaction_of_nonce(self, sender: str, nonce: int) -> None:
        return None


def without_nonces(chain: Chain) -> Any:
    return WithoutNonces(chain)


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


def is_one_payment(request: PaymentRequest, payment: Payment, slow: str, fast: str) -> None:
    """Check that the payment continues with the faster transaction, and that nothing failed."""
    payment.refresh_from_db()
    request.refresh_from_db()
    assert (payment.status, payment.transaction_hash) == ("completed", fast)
    assert payment.replaced_hashes == [slow]
    assert (request.status, request.amount_paid) == ("completed", request.amount)
    assert Payment.objects.count() == ConsumedTransfer.objects.count() == 1
    assert not Event.objects.filter(type="payment.failed").exists()
    assert Transition.objects.filter(payment=payment, reason__contains=fast).count() == 1
    again, is_new = submit_hash(request, chain=request.chain, transaction_hash=slow, actor="checkout")
    assert (again.pk, is_new) == (payment.pk, False)
    answer = Api().get(f"/api/public/payment-requests/{request.id}").json()
    assert answer["payments"][0]["replaced_hashes"] == [slow]


@pytest.mark.usefixtures("each_kind", "not_mining")
def test_sped_up_payment_is_found_by_its_nonce(request_for: Make, local_chain: LocalChain) -> None:
    request, clock = request_for(), Clock()
    payment = waiting_in_the_pool(request, local_chain, clock)
    slow = payment.transaction_hash
    fast = next_in_line(local_chain, payment, unsigned(local_chain, request))
    local_chain.mine()
    look_until_decided(payment, clock)
    is_one_payment(request, payment, slow, fast)


@pytest.mark.usefixtures("not_mining")
@pytest.mark.parametrize("is_mined", [True, False])
def test_sped_up_payment_continues_with_the_submitted_hash(
    request_for: Make, local_chain: LocalChain, is_mined: bool
) -> None:
    request, clock = request_for(), Clock()
    payment = waiting_in_the_pool(request, local_chain, clock)
    slow = payment.transaction_hash
    fast = next_in_line(local_chain, payment, unsigned(local_chain, request))
    if is_mined:
        local_chain.mine()
    same, is_new = submit_hash(request, chain=request.chain, transaction_hash=fast, actor="checkout")
    assert (same.pk, same.transaction_hash, is_new) == (payment.pk, fast, False)
    local_chain.mine()
    look_until_decided(payment, clock)
    is_one_payment(request, payment, slow, fast)


@pytest.mark.usefixtures("not_mining")
@pytest.mark.parametrize("by", ["customer", "merchant"])
def test_replaced_payment_continues_with_the_new_hash(
    request_for: Make, local_chain: LocalChain, by: str
) -> None:
    request, clock = request_for(), Clock()
    payment = waiting_in_the_pool(request, local_chain, clock)
    slow = payment.transaction_hash
    fast = next_in_line(local_chain, payment, unsigned(local_chain, request))
    local_chain.mine()
    look_until_decided(payment, clock, client=without_nonces)
    assert payment.failure_code == "transaction_replaced"
    assert payment.attempts >= 4, "the page is given time to submit the other one"
    if by == "merchant":
        sighting = sight_for_merchant(request, request.chain, fast)
        submit_for_merchant(
            request, chain=request.chain, transaction_hash=fast, actor="test", sighting=sighting
        )
    else:
        submit_hash(request, chain=request.chain, transaction_hash=fast, actor="checkout")
    payment.refresh_from_db()
    assert (payment.status, payment.retries) == ("pending", 0)
    look_until_decided(payment, clock)
    Event.objects.filter(type="payment.failed").delete()
    is_one_payment(request, payment, slow, fast)


@pytest.mark.usefixtures("not_mining")
def test_faster_of_two_submitted_hashes_continues_silently(
    request_for: Make, local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    payment = waiting_in_the_pool(request, local_chain, clock)
    fast = next_in_line(local_chain, payment, unsigned(local_chain, request))
    other = new_payment(request=request, chain=request.chain, transaction_hash=fast)
    local_chain.mine()
    look_until_decided(payment, clock, client=without_nonces)
    other.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("failed", "transaction_replaced")
    assert (other.status, other.replaced_hashes) == ("completed", [payment.transaction_hash])
    assert not Event.objects.filter(type="payment.failed").exists()
    assert submit(request, payment.transaction_hash).pk == other.pk


@pytest.mark.usefixtures("not_mining")
def test_same_nonce_of_another_sender_replaces_nothing(request_for: Make, local_chain: LocalChain) -> None:
    request, clock = request_for(), Clock()
    payment = waiting_in_the_pool(request, local_chain, clock)
    Payment.objects.filter(pk=payment.pk).update(from_address="0x" + "11" * 20)
    fast = next_in_line(local_chain, payment, unsigned(local_chain, request))
    other, is_new = submit_hash(request, chain=request.chain, transaction_hash=fast, actor="checkout")
    assert (is_new, other.pk == payment.pk) == (True, False)
    payment.refresh_from_db()
    assert payment.replaced_hashes == []


@pytest.mark.usefixtures("not_mining")
def test_cancelled_transaction_fails_as_replaced(request_for: Make, local_chain: LocalChain) -> None:
    request, clock = request_for(), Clock()
    payment = waiting_in_the_pool(request, local_chain, clock)
    to_oneself = local_chain.unsigned_transfer("", local_chain.payer, 0)
    next_in_line(local_chain, payment, to_oneself)
    local_chain.mine()
    assert look_until_decided(payment, clock).failure_code == "transaction_replaced"
    assert payment.retries_left == 3, "a mistake of ours could still be mended"
    request.refresh_from_db()
    assert (request.status, request.amount_paid, payment.replaced_hashes) == ("active", 0, [])
    assert Event.objects.filter(type="payment.failed").count() == 1


@pytest.mark.usefixtures("not_mining")
def test_dropped_transaction_ends_as_not_found(request_for: Make, local_chain: LocalChain) -> None:
    request, clock = request_for(), Clock()
    payment = waiting_in_the_pool(request, local_chain, clock)
    local_chain.rpc("anvil_dropTransaction", payment.transaction_hash)
    look_until_decided(payment, clock)
    assert (payment.failure_code, payment.attempts) == ("transaction_not_found", 10)
    assert payment.retries_left == 3
