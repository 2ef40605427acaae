"""A rejection is final only in a final block. If a reorganisation makes the payment valid, it is credited."""

from collections.abc import Callable

import pytest
from eth_account import Account

from chains.models import Chain
from config.api.errors import ApiError
from demo.contracts import deploy
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from payments.requests.lifecycle import cancel_request, covering_payment
from payments.submission.hashes import retry_payment
from payments.submission.merchant_acceptance import accept_payment
from payments.verification.finality import CHECKS_BEFORE_ALERT
from tests.chain import USDC_UNIT, LocalChain
from tests.support.payments.world import Clock, look, look_until_decided, submit, unsigned
from tests.verifying import check_finality
from webhooks.models import Event

Make = Callable[..., PaymentRequest]
AMOUNT = 6 * USDC_UNIT


@pytest.fixture
def local_chain(reorganised_chain: LocalChain) -> LocalChain:
    return reorganised_chain


class Reverted:
    """A payment that reverts because its payer lacks tokens. Once the payer has them, it can be mined again."""

    def __init__(self, chain: LocalChain, request: PaymentRequest) -> None:
        self.chain, self.request = chain, request
        self.payer = Account.create()
        chain.rpc("anvil_setBalance", self.payer.address, hex(10**18))
        self.raw = "0x" + chain.sign(unsigned(chain, request), self.payer.key.hex()).hex()
        self.hash = chain.send_raw(self.raw)

    def undo(self, blocks: int) -> None:
        """Undo the blocks with the transaction, and drop it."""
        self.chain.reorganise(blocks)
        self.chain.rpc("anvil_dropTransaction", self.hash)
        assert self.chain.rpc("eth_getTransactionByHash", self.hash) is None

    def succeed(self) -> None:
        """Give the payer tokens; mine the same transaction again."""
        deploy.mint(self.chain.url, self.chain.usdc, self.payer.address, AMOUNT)
        assert self.chain.send_raw(self.raw) == self.hash


@pytest.fixture
def request_(request_for: Make) -> PaymentRequest:
    return request_for("6")


@pytest.fixture
def reverted(request_: PaymentRequest, local_chain: LocalChain) -> Reverted:
    return Reverted(local_chain, request_)


def failed(reverted: Reverted, clock: Clock) -> Payment:
    payment = look_until_decided(submit(reverted.request, reverted.hash), clock)
    assert (payment.status, payment.failure_code) == ("failed", "transaction_reverted")
    return payment


def at_finality(clock: Clock) -> None:
    clock.forward(minutes=3)
    assert check_finality(now=clock) == 1


def is_credited(payment: Payment, clock: Clock) -> None:
    look_until_decided(payment, clock)
    payment.request.refresh_from_db()
    assert (payment.status, payment.amount_received) == ("completed", AMOUNT)
    assert (payment.request.status, payment.request.amount_paid) == ("completed", AMOUNT)
    assert ConsumedTransfer.objects.count() == 1
    assert Event.objects.filter(type="payment.succeeded").count() == 1


@pytest.mark.usefixtures("each_kind")
def test_the_finality_check_alone_credits_it(reverted: Reverted) -> None:
    clock = Clock()
    payment = failed(reverted, clock)
    reverted.undo(1)
    reverted.succeed()
    at_finality(clock)
    payment.refresh_from_db()
    assert (payment.status, payment.retries, payment.lookup.finality_check_at) == ("pending", 0, None)
    assert "reorganised" in Transition.objects.latest("id").reason
    is_credited(payment, clock)


@pytest.mark.usefixtures("each_kind")
def test_a_retry_credits_it(reverted: Reverted) -> None:
    clock = Clock()
    payment = failed(reverted, clock)
    reverted.undo(1)
    reverted.succeed()
    is_credited(retry_payment(payment, actor="test"), clock)


@pytest.mark.usefixtures("each_kind")
def test_submitting_it_again_credits_it(reverted: Reverted) -> None:
    clock = Clock()
    failed(reverted, clock)
    reverted.undo(1)
    reverted.succeed()
    is_credited(submit(reverted.request, reverted.hash), clock)


@pytest.mark.usefixtures("each_kind")
def test_one_that_is_in_no_block_any_more_is_looked_for_again(reverted: Reverted) -> None:
    clock = Clock()
    payment = failed(reverted, clock)
    reverted.undo(1)
    for _ in range(CHECKS_BEFORE_ALERT):
        payment.refresh_from_db()
        assert payment.status == "failed", "one blank answer is no proof"
        at_finality(clock)
    payment.refresh_from_db()
    assert (payment.status, payment.retries) == ("pending", 0)
    reverted.succeed()
    is_credited(payment, clock)


def test_in_a_final_block_it_stays_and_can_not_be_retried(
    reverted: Reverted, local_chain: LocalChain
) -> None:
    clock = Clock()
    payment = failed(reverted, clock)
    at_finality(clock)
    payment.refresh_from_db()
    assert payment.lookup.finality_check_at is not None, "not final yet"
    local_chain.mine(70)
    at_finality(clock)
    written = Transition.objects.count()
    payment.refresh_from_db()
    assert (payment.status, payment.lookup.finality_check_at, payment.retries_left) == ("failed", None, 0)
    with pytest.raises(ApiError) as refusal:
        retry_payment(payment, actor="test")
    assert refusal.value.problems[0].code == "payment_not_retryable"
    assert submit(reverted.request, reverted.hash).status == "failed"
    assert Transition.objects.count() == written
    assert not ConsumedTransfer.objects.exists()


def test_before_the_depth_it_is_no_failure_and_holds_nothing(
    reverted: Reverted, chain: Chain, request_: PaymentRequest
) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations="3")
    clock = Clock()
    payment = submit(request_, reverted.hash)
    look(clock)
    payment.refresh_from_db()
    assert (payment.status, payment.likely_failure) == ("processing", "transaction_reverted")
    assert "failed on the chain" in payment.status_detail
    assert (payment.is_in_flight, payment.is_bound, payment.lookup.confirmations) == (False, False, 1)
    assert covering_payment(request_, clock()) is None
    assert not Event.objects.exists()
    cancel_request(request_.pk, actor="test")


def test_reorganisation_before_the_depth_fails_no_payment(
    reverted: Reverted, chain: Chain, local_chain: LocalChain
) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations="3")
    clock = Clock()
    payment = submit(reverted.request, reverted.hash)
    look(clock)
    reverted.undo(1)
    clock.forward(seconds=5)
    look(clock)
    payment.refresh_from_db()
    assert (payment.status, payment.likely_failure, payment.lookup.block_number) == ("processing", "", None)
    reverted.succeed()
    local_chain.mine(3)
    is_credited(payment, clock)
    assert not Transition.objects.filter(payment=payment, to_status="failed").exists()
    assert not Event.objects.filter(type="payment.failed").exists()


def test_the_first_block_decides_whether_it_was_paid_in_time(
    request_: PaymentRequest, chain: Chain, local_chain: LocalChain
) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations="2")
    clock = Clock()
    raw = "0x" + local_chain.sign(unsigned(local_chain, request_)).hex()
    payment = submit(request_, local_chain.send_raw(raw))
    look(clock)
    payment.refresh_from_db()
    first = payment.lookup.first_block_time
    assert first is not None
    local_chain.reorganise()
    local_chain.rpc("anvil_dropTransaction", payment.transaction_hash)
    PaymentRequest.objects.filter(pk=request_.pk).update(expires_at=first)
    local_chain.rpc("evm_increaseTime", 3600)
    local_chain.send_raw(raw)
    local_chain.mine(3)
    look_until_decided(payment, clock)
    request_.refresh_from_db()
    assert payment.lookup.block_time is not None
    assert payment.lookup.block_time > request_.expires_at
    assert (payment.lookup.first_block_time, payment.status) == (first, "completed")
    assert (request_.status, request_.paid_late) == ("completed", False)


@pytest.mark.parametrize("code", ["transaction_ambiguous", "not_verifiable"])
def test_merchant_can_accept_an_unbound_transfer(
    request_: PaymentRequest, local_chain: LocalChain, code: str
) -> None:
    clock = Clock()
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, AMOUNT)
    payment = look_until_decided(submit(request_, sent), clock)
    Payment.objects.filter(pk=payment.pk).update(failure_code=code)
    is_credited(accept_payment(payment, reason="the customer showed it", actor="test"), clock)
    payment.refresh_from_db()
    assert (payment.bound_by, payment.retries) == ("manual", 0)
