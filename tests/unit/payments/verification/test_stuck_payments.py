"""No payment stays open forever. If an abandoned transaction is mined after all, its money counts."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from chains.client import Block, ChainError, Head, Snapshot, TransactionFacts, Transfer
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from payments.submission.hashes import submit_hash
from payments.verification import attempts
from tests.support.payments.rows import new_payment
from tests.support.payments.world import Clock, look, look_until_decided
from tests.verifying import check_finality
from webhooks.models import Event

Make = Callable[..., PaymentRequest]
SLOW, FAST = "0x" + "51" * 32, "0x" + "fa" * 32
LARGEST_NONCE = 2**64 - 2


class Scripted:
    """A chain with invented transactions. Its nodes can't find a transaction by its nonce."""

    def __init__(self) -> None:
        self.transactions: dict[str, TransactionFacts] = {}
        self.head = 100

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        known = {wanted: self.transactions.get(wanted) for wanted in hashes}
        return Snapshot(Head(self.head, finalized=self.head - 64), known)

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        return {}

    def transaction_of_nonce(self, sender: str, nonce: int) -> str | None:
        return None

    def of(self, chain: object) -> Any:
        return self

    def has(self, *known: TransactionFacts) -> None:
        """Set the transactions that the nodes know."""
        self.transactions = {facts.hash: facts for facts in known}


def new_block() -> Block:
    return Block(100, "0x" + "cd" * 32, timezone.now())


def waiting(hash_: str, nonce: int = 7) -> TransactionFacts:
    return TransactionFacts(hash_, "payer", nonce, None, succeeded=False, transfers=(), effect="0xsame")


def mined(hash_: str, request: PaymentRequest) -> TransactionFacts:
    transfer = Transfer(
        "0",
        request.token.contract_address,
        "payer",
        request.recipient_address,
        request.amount,
        (bytes(request.reference),),
    )
    return replace(waiting(hash_), block=new_block(), succeeded=True, transfers=(transfer,))


def submitted(request: PaymentRequest, hash_: str, chain: Scripted) -> Payment:
    payment, _ = submit_hash(
        request, chain=request.chain, transaction_hash=hash_, actor="checkout", client=chain.of
    )
    return payment


def look_again(clock: Clock, chain: Scripted, times: int = 1) -> None:
    for _ in range(times):
        look(clock, chain.of)
        clock.forward(minutes=2)


@pytest.mark.django_db(transaction=True)
def test_a_nonce_that_no_account_reaches_keeps_no_payment_open(request_for: Make) -> None:
    request, chain, clock = request_for(), Scripted(), Clock()
    payment = submitted(request, SLOW, chain)
    chain.has(waiting(SLOW, LARGEST_NONCE))
    look(clock, chain.of)
    payment.refresh_from_db()
    assert (payment.lookup.is_seen, payment.nonce, payment.lookup.claim_id) == (True, None, None)
    chain.has()
    assert look_until_decided(payment, clock, client=chain.of).failure_code == "transaction_not_found"


@pytest.mark.django_db(transaction=True)
def test_payment_with_failing_evaluation_times_out_after_a_day(
    request_for: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, chain, clock = request_for(), Scripted(), Clock()
    payment = submitted(request, SLOW, chain)
    with monkeypatch.context() as patch:
        patch.setattr(attempts, "verdict_of", lambda *_: 1 / 0)
        look(clock, chain.of)
        payment.refresh_from_db()
        assert (payment.status, payment.attempts, payment.lookup.claim_id) == ("processing", 0, None)
        clock.forward(hours=25)
        look(clock, chain.of)
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("failed", "verification_timed_out")
    assert payment.retries_left == 3


def test_replaced_transaction_counts_if_mined_after_all(request_for: Make) -> None:
    request, chain, clock = request_for(), Scripted(), Clock()
    slow = submitted(request, SLOW, chain)
    # The speed-up was submitted before any node had returned the first transaction's nonce.
    fast = submitted(request, FAST, chain)
    chain.has(waiting(SLOW))
    look(clock, chain.of)
    chain.has(waiting(FAST))
    look_again(clock, chain, 3)
    slow.refresh_from_db()
    assert (slow.status, slow.failure_code) == ("failed", "transaction_replaced")
    chain.has(mined(SLOW, request))
    look_again(clock, chain, 4)
    for payment in (slow, fast, request):
        payment.refresh_from_db()
    assert (slow.status, slow.amount_received) == ("completed", request.amount)
    assert (request.status, fast.status, fast.failure_code) == ("completed", "failed", "transaction_replaced")
    assert ConsumedTransfer.objects.count() == 1
    assert not Event.objects.filter(type="payment.failed").exists()
    look_again(clock, chain, 2)
    check_finality(client=chain.of, now=clock)
    assert Payment.objects.filter(status="completed").count() == 1


def test_replacement_is_final_only_at_the_required_depth(request_for: Make) -> None:
    request, chain, clock = request_for(), Scripted(), Clock()
    request.chain.confirmations = "3"
    request.chain.save(update_fields=["confirmations"])
    payment = submitted(request, SLOW, chain)
    chain.has(waiting(SLOW))
    look(clock, chain.of)
    cancelled = replace(waiting(FAST), block=new_block(), succeeded=True, effect="0xother")
    new_payment(request=request, chain=request.chain, transaction_hash=FAST)
    chain.has(cancelled)
    look_again(clock, chain, 4)
    payment.refresh_from_db()
    assert (payment.status, payment.likely_failure) == ("processing", "transaction_replaced")
    assert (payment.is_bound_unmined, payment.is_in_flight) == (False, False)
    chain.has(mined(SLOW, request))
    chain.head = 102
    look_again(clock, chain, 2)
    payment.refresh_from_db()
    assert (payment.status, payment.amount_received) == ("completed", request.amount)


def test_and_then_it_fails(request_for: Make) -> None:
    request, chain, clock = request_for(), Scripted(), Clock()
    request.chain.confirmations = "3"
    request.chain.save(update_fields=["confirmations"])
    payment = submitted(request, SLOW, chain)
    chain.has(waiting(SLOW))
    look(clock, chain.of)
    new_payment(request=request, chain=request.chain, transaction_hash=FAST)
    chain.has(replace(waiting(FAST), block=new_block(), succeeded=True, effect="0xother"))
    look_again(clock, chain, 4)
    payment.refresh_from_db()
    assert payment.is_open
    chain.head = 102
    look_again(clock, chain, 2)
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("failed", "transaction_replaced")
    assert not ConsumedTransfer.objects.exists()


def test_payment_timed_out_in_node_outage_completes_afterwards(request_for: Make) -> None:
    request, chain, clock = request_for(), Scripted(), Clock()
    request.chain.confirmations = "3"
    request.chain.save(update_fields=["confirmations"])
    payment = submitted(request, SLOW, chain)
    chain.has(mined(SLOW, request))
    look(clock, chain.of)
    clock.forward(hours=25)
    look(clock, silent)
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("failed", "verification_timed_out")
    chain.head = 200
    clock.forward(minutes=3)
    check_finality(client=chain.of, now=clock)
    look(clock, chain.of)
    payment.refresh_from_db()
    request.refresh_from_db()
    assert (payment.status, payment.retries, request.status) == ("completed", 0, "completed")


def silent(chain: object) -> Any:
    raise ChainError("no answer")
