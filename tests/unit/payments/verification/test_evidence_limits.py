"""Credits are limited by an account's gain. Transactions that no node can show are not lost."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chains.client import Block, Head, Snapshot, TransactionFacts, Transfer
from chains.models import ChainStatus
from payments.evaluation.retry_policy import CHECKS_UNTIL_UNREADABLE
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from payments.submission.hashes import retry_payment, submit_hash
from tests.support.payments.world import Clock, look
from tests.threads import at_once
from tests.verifying import check_finality

Make = Callable[..., PaymentRequest]
SENT = "0x" + "ab" * 32
AMOUNT = 10_000_000


@dataclass
class Scripted:
    """A chain that knows one transaction."""

    facts: TransactionFacts | None
    head: int = 100
    finalized: int | None = None

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        known = {wanted: self.facts if wanted == SENT else None for wanted in hashes}
        finalized = self.head if self.finalized is None else self.finalized
        return Snapshot(Head(self.head, finalized=finalized), known)

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        return {}

    def of(self, chain: object) -> Any:
        return self


def facts(*transfers: Transfer, **more: Any) -> TransactionFacts:
    block = Block(100, "0x" + "cd" * 32, timezone.now())
    return TransactionFacts(SENT, "payer", None, block, succeeded=True, transfers=transfers, **more)


def transfer(request: PaymentRequest, slot: str, gain: int | None) -> Transfer:
    return Transfer(
        slot,
        request.token.contract_address,
        "payer",
        request.recipient_address,
        AMOUNT,
        (bytes(request.reference),),
        account="vault",
        gain=gain,
    )


def both_paid(first: PaymentRequest, second: PaymentRequest, gain: int | None) -> Scripted:
    return Scripted(facts(transfer(first, "0", gain), transfer(second, "1", gain)))


def submitted(request: PaymentRequest) -> Payment:
    payment, _ = submit_hash(request, chain=request.chain, transaction_hash=SENT, actor="checkout")
    return payment


@pytest.mark.parametrize(("gain", "credited"), [(AMOUNT + 1, AMOUNT + 1), (None, 2 * AMOUNT)])
def test_credits_of_all_requests_stay_within_the_account_gain(
    request_for: Make, gain: int | None, credited: int
) -> None:
    first, second = request_for(), request_for()
    for request in (first, second):
        submitted(request)
        look(Clock(), both_paid(first, second, gain).of)
    taken = list(ConsumedTransfer.objects.order_by("slot").values_list("account", "amount"))
    assert [account for account, _ in taken] == ["vault", "vault"]
    assert sum(amount for _, amount in taken) == credited
    assert sum(PaymentRequest.objects.values_list("amount_paid", flat=True)) == credited


@pytest.mark.django_db(transaction=True)
def test_and_no_more_when_they_are_credited_at_the_same_moment(request_for: Make) -> None:
    requests = [request_for() for _ in range(8)]
    chain = Scripted(facts(*(transfer(each, str(n), AMOUNT) for n, each in enumerate(requests))))
    for request in requests:
        submitted(request)
    at_once([lambda: look(Clock(), chain.of)] * 8)
    look(Clock(), chain.of)
    assert sum(ConsumedTransfer.objects.values_list("amount", flat=True)) == AMOUNT
    completed = PaymentRequest.objects.filter(status="completed").count()
    assert (completed, Payment.objects.filter(failure_code="transaction_already_used").count()) == (1, 7)


def test_unreadable_transaction_fails_at_depth_and_is_retryable(request_for: Make) -> None:
    request, clock = request_for(), Clock()
    request.chain.confirmations = "3"
    request.chain.save(update_fields=["confirmations"])
    payment = submitted(request)
    chain = Scripted(facts(is_readable=False))
    look(clock, chain.of)
    payment.refresh_from_db()
    assert (payment.status, payment.likely_failure) == ("processing", "not_verifiable")
    chain.head = 102
    clock.forward(minutes=1)
    look(clock, chain.of)
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code, payment.retries_left) == ("failed", "not_verifiable", 3)
    assert not ConsumedTransfer.objects.exists()
    chain.facts = facts(transfer(request, "0", None))
    retry_payment(payment, actor="test")
    clock.forward(minutes=1)
    look(clock, chain.of)
    payment.refresh_from_db()
    assert (payment.status, payment.amount_received) == ("completed", AMOUNT)


def test_transaction_of_unknown_form_fails_after_some_checks(request_for: Make) -> None:
    payment, clock = submitted(request_for()), Clock()
    chain = Scripted(facts(is_readable=False, is_known_form=False))
    for looks in range(1, CHECKS_UNTIL_UNREADABLE + 1):
        look(clock, chain.of)
        payment.refresh_from_db()
        assert (payment.status, payment.unanswered_looks, payment.attempts) == ("processing", looks, 0)
        assert "in an unknown form since" in payment.status_detail
        clock.forward(minutes=5)
    look(clock, chain.of)
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code, payment.retries_left) == ("failed", "not_verifiable", 3)
    assert "in a form that this service can't read" in payment.failure_message
    assert not ConsumedTransfer.objects.exists()


def test_payment_says_since_when_the_tag_has_stopped(request_for: Make) -> None:
    request, clock = request_for(), Clock()
    request.chain.confirmations = "finalized"
    request.chain.save(update_fields=["confirmations"])
    payment = submitted(request)
    chain, since = (
        Scripted(facts(transfer(request, "0", None)), finalized=99),
        clock() - timedelta(minutes=20),
    )
    ChainStatus.objects.create(
        chain=request.chain,
        looked_at=clock(),
        head=100,
        head_since=clock(),
        finality_block=99,
        finality_since=since,
    )
    look(clock, chain.of)
    payment.refresh_from_db()
    assert payment.status == "processing"
    assert payment.status_detail.endswith(f"No new block has been marked since {since:%Y-%m-%d %H:%M} UTC.")
    request.chain.confirmations_fallback = 3
    request.chain.save(update_fields=["confirmations_fallback"])
    chain.head = 102
    clock.forward(minutes=1)
    look(clock, chain.of)
    payment.refresh_from_db()
    assert (payment.status, payment.amount_received) == ("completed", AMOUNT)


def test_form_that_a_node_repairs_in_time_is_paid(request_for: Make) -> None:
    request, clock = request_for(), Clock()
    payment = submitted(request)
    chain = Scripted(facts(is_readable=False, is_known_form=False))
    look(clock, chain.of)
    chain.facts = facts(transfer(request, "0", None))
    clock.forward(minutes=1)
    look(clock, chain.of)
    payment.refresh_from_db()
    assert (payment.status, payment.amount_received, payment.attempts) == ("completed", AMOUNT, 0)


def test_unreadable_transaction_at_finality_is_not_reorged(request_for: Make) -> None:
    request, clock = request_for(), Clock()
    payment = submitted(request)
    paid = facts(transfer(request, "0", None))
    chain = Scripted(paid)
    look(clock, chain.of)
    chain.facts = replace(paid, is_readable=False, transfers=())
    clock.forward(minutes=3)
    assert check_finality(client=chain.of, now=clock) == 1
    payment.refresh_from_db()
    assert (payment.status, payment.reorged, payment.lookup.finality_check_at) == ("completed", False, None)


def test_transfer_larger_than_its_credit_passes_finality(request_for: Make) -> None:
    request, clock = request_for(), Clock()
    payment = submitted(request)
    chain = Scripted(facts(transfer(request, "0", AMOUNT // 2)))
    look(clock, chain.of)
    payment.refresh_from_db()
    assert payment.amount_received == AMOUNT // 2
    clock.forward(minutes=3)
    check_finality(client=chain.of, now=clock)
    payment.refresh_from_db()
    assert (payment.reorged, payment.lookup.finality_check_at) == (False, None)


def test_new_block_clears_likely_failure_and_keeps_first_block(request_for: Make) -> None:
    request, clock = request_for(), Clock()
    request.chain.confirmations = "3"
    request.chain.save(update_fields=["confirmations"])
    payment = submitted(request)
    reverted = replace(facts(), succeeded=False)
    assert reverted.block is not None
    chain = Scripted(reverted)
    look(clock, chain.of)
    later = replace(reverted.block, hash="0x" + "ef" * 32, time=reverted.block.time + timedelta(hours=2))
    chain.facts = replace(facts(transfer(request, "0", None)), block=later)
    clock.forward(minutes=1)
    look(clock, chain.of)
    payment.refresh_from_db()
    assert (payment.likely_failure, payment.is_in_flight, payment.lookup.block_time) == ("", True, later.time)
    assert payment.lookup.first_block_time == reverted.block.time
    assert payment.lookup.first_block_number == 100
