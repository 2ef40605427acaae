"""Small transfers, and those after 30 payments, are credited together: once an hour, as one payment with one event."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from payments.discovery import grouping
from payments.discovery.deposits import MAX_FOUND_PAYMENTS
from payments.discovery.grouping import FORGOTTEN_AFTER, PAUSE, PERIOD
from payments.models import ConsumedTransfer, DepositAddress, Payment, PaymentRequest, WaitingArrival
from payments.submission.hashes import submit_hash
from tests.support.payments.deposits import KnownTransactions, give_address, moved
from tests.support.payments.world import Clock, look, submit
from tests.verifying import check_finality, discover_due
from webhooks.models import Event

Make = Callable[..., PaymentRequest]
AMOUNT = 10_000_000
SMALL = AMOUNT // 1000 - 1


def search(nodes: KnownTransactions, clock: Clock, **ahead: float) -> int:
    clock.forward(**(ahead or {"seconds": 10}))
    return discover_due(client=nodes.of, now=clock)


def send(request: PaymentRequest, nodes: KnownTransactions, numbers: range, amount: int = SMALL) -> list[str]:
    """Mine one transaction to the request's address per number; return the hashes."""
    assert request.deposit_address
    return [nodes.add(number, moved(request, amount, request.deposit_address)) for number in numbers]


def mine(nodes: KnownTransactions, hash_: str, *, at: datetime) -> None:
    """Move the transaction to a block of this time."""
    facts = nodes.facts[hash_]
    assert facts.block
    nodes.facts[hash_] = replace(facts, block=replace(facts.block, time=at))


@pytest.fixture
def nodes() -> KnownTransactions:
    return KnownTransactions()


@pytest.fixture
def request_(request_for: Make) -> PaymentRequest:
    request = request_for()
    give_address(request, 1)
    return request


def paid(request: PaymentRequest) -> int:
    request.refresh_from_db()
    return request.amount_paid


def test_small_arrivals_are_one_payment_with_one_event(
    request_: PaymentRequest, nodes: KnownTransactions
) -> None:
    hashes = send(request_, nodes, range(1, 6))
    assert search(nodes, Clock()) == 1
    payment = Payment.objects.get()
    assert (payment.status, payment.bound_by, payment.amount_received) == ("completed", "address", 5 * SMALL)
    assert payment.transaction_hash in hashes
    assert paid(request_) == 5 * SMALL
    consumed = set(ConsumedTransfer.objects.values_list("payment", "transaction_hash", "amount"))
    assert consumed == {(payment.pk, each, SMALL) for each in hashes}
    assert list(Event.objects.values_list("type", flat=True)) == ["payment.partially_paid"]
    assert not WaitingArrival.objects.exists()


def test_arrivals_of_the_next_hour_are_the_next_payment(
    request_: PaymentRequest, nodes: KnownTransactions
) -> None:
    clock = Clock()
    send(request_, nodes, range(1, 3))
    search(nodes, clock)
    send(request_, nodes, range(3, 10))
    assert search(nodes, clock) == 0
    assert search(nodes, clock, minutes=30) == 0
    assert paid(request_) == 2 * SMALL
    assert search(nodes, clock, seconds=PERIOD.total_seconds()) == 1
    assert (paid(request_), Payment.objects.count(), Event.objects.count()) == (9 * SMALL, 2, 2)


def test_arrivals_beyond_thirty_payments_are_credited_together(
    request_: PaymentRequest, nodes: KnownTransactions
) -> None:
    clock = Clock()
    send(request_, nodes, range(1, 501), AMOUNT // 100)
    assert search(nodes, clock) == MAX_FOUND_PAYMENTS + 1
    for _ in range(MAX_FOUND_PAYMENTS):
        look(clock, nodes.of)
        clock.forward(seconds=30)
    assert Payment.objects.filter(status="completed").count() == MAX_FOUND_PAYMENTS + 1
    assert (paid(request_), ConsumedTransfer.objects.count()) == (5 * AMOUNT, 500)


def test_group_that_covers_the_amount_completes_the_request(
    request_: PaymentRequest, nodes: KnownTransactions
) -> None:
    PaymentRequest.objects.filter(pk=request_.pk).update(amount_paid=AMOUNT - 3 * SMALL)
    send(request_, nodes, range(1, 4))
    search(nodes, Clock())
    request_.refresh_from_db()
    assert (request_.status, request_.paid_late) == ("completed", False)
    assert Event.objects.filter(type="payment.succeeded").count() == 1


@pytest.mark.parametrize("price", [None, {"amount": "10", "currency": "USD"}])
@pytest.mark.parametrize("late", [60, 200])
def test_late_dust_makes_no_arrival_in_time_late(
    request_: PaymentRequest, nodes: KnownTransactions, price: dict[str, str] | None, late: int
) -> None:
    clock = Clock()
    rows = PaymentRequest.objects.filter(pk=request_.pk)
    rows.update(amount_paid=AMOUNT - SMALL, price=price)
    mine(nodes, *send(request_, nodes, range(1, 2)), at=request_.expires_at - timedelta(seconds=60))
    [dust] = send(request_, nodes, range(2, 3), 1)
    mine(nodes, dust, at=request_.expires_at + timedelta(seconds=late))
    assert search(nodes, clock) == 1
    request_.refresh_from_db()
    assert (request_.status, request_.paid_late, request_.amount_paid) == ("completed", False, AMOUNT)
    assert not Payment.objects.get().after_price
    assert WaitingArrival.objects.get().transaction_hash == dust
    assert search(nodes, clock, seconds=PERIOD.total_seconds()) == 1
    assert (paid(request_), request_.paid_late, WaitingArrival.objects.exists()) == (AMOUNT + 1, False, False)


def test_transactions_that_are_not_final_wait(request_: PaymentRequest, nodes: KnownTransactions) -> None:
    clock = Clock()
    [first, *_] = send(request_, nodes, range(1, 4))
    nodes.finalized = nodes.height - 1
    assert search(nodes, clock) == 0
    assert (WaitingArrival.objects.count(), Payment.objects.count()) == (3, 0)
    del nodes.facts[first]  # a reorganisation removes it
    nodes.finalized = None
    assert search(nodes, clock, seconds=PAUSE.total_seconds()) == 1
    assert paid(request_) == 2 * SMALL
    assert WaitingArrival.objects.get().transaction_hash == first
    search(nodes, clock, seconds=(FORGOTTEN_AFTER + timedelta(hours=1)).total_seconds())
    assert (paid(request_), WaitingArrival.objects.exists()) == (2 * SMALL, False)


def test_arrivals_in_blocks_searched_again_count_once(
    request_: PaymentRequest, nodes: KnownTransactions
) -> None:
    clock = Clock()
    send(request_, nodes, range(1, 6))
    for _ in range(3):
        search(nodes, clock, hours=2)
    assert (paid(request_), Payment.objects.count()) == (5 * SMALL, 1)


def test_submitted_hash_of_a_group_is_answered_with_its_payment(
    request_: PaymentRequest, nodes: KnownTransactions
) -> None:
    hashes = send(request_, nodes, range(1, 6))
    search(nodes, Clock())
    assert {submit(request_, each) for each in hashes} == {Payment.objects.get()}


def test_waiting_hash_that_is_submitted_counts_once(
    request_: PaymentRequest, nodes: KnownTransactions
) -> None:
    clock = Clock()
    nodes.finalized = 0
    hashes = send(request_, nodes, range(1, 6))
    search(nodes, clock)
    submit(request_, hashes[2])
    nodes.finalized = None
    look(clock, nodes.of)
    search(nodes, clock, seconds=PAUSE.total_seconds())
    assert (paid(request_), Payment.objects.count()) == (5 * SMALL, 2)
    assert ConsumedTransfer.objects.count() == 5


def test_transaction_that_no_second_node_confirms_waits(
    request_: PaymentRequest, nodes: KnownTransactions
) -> None:
    clock = Clock()
    nodes.unconfirmed = set(send(request_, nodes, range(1, 2)))
    assert (search(nodes, clock), WaitingArrival.objects.count()) == (0, 1)
    nodes.unconfirmed.clear()
    assert search(nodes, clock, seconds=PAUSE.total_seconds()) == 1


def test_groups_of_two_requests_are_two_payments(
    request_: PaymentRequest, request_for: Make, nodes: KnownTransactions
) -> None:
    other = request_for()
    give_address(other, 2)
    send(request_, nodes, range(1, 3))
    send(other, nodes, range(3, 6))
    assert search(nodes, Clock()) == 2
    assert (paid(request_), paid(other)) == (2 * SMALL, 3 * SMALL)
    assert DepositAddress.objects.filter(grouped_at=None).count() == 0


def test_payout_with_grouped_part_can_pay_another_request(
    request_: PaymentRequest, request_for: Make, nodes: KnownTransactions
) -> None:
    other = request_for()
    assert request_.deposit_address
    to_other = moved(other, AMOUNT, other.recipient_address, "1", references=(bytes(other.reference),))
    hash_ = nodes.add(1, moved(request_, SMALL, request_.deposit_address), to_other)
    search(nodes, Clock())
    submit_hash(other, chain=other.chain, transaction_hash=hash_, actor="checkout", client=nodes.of)
    look(Clock(), nodes.of)
    assert (paid(request_), paid(other)) == (SMALL, AMOUNT)


def test_group_waits_an_hour_after_the_last_one_whatever_is_due(
    request_: PaymentRequest, nodes: KnownTransactions
) -> None:
    clock = Clock()
    send(request_, nodes, range(1, 3))
    search(nodes, clock)
    send(request_, nodes, range(3, 5))
    nodes.finalized = 0
    search(nodes, clock)
    WaitingArrival.objects.update(due_at=clock())
    nodes.finalized = None
    assert search(nodes, clock) == 0
    grouped_at = DepositAddress.objects.get().grouped_at
    assert grouped_at is not None
    assert set(WaitingArrival.objects.values_list("due_at", flat=True)) == {grouped_at + PERIOD}


def test_dust_keeps_no_large_arrival_waiting(
    request_: PaymentRequest, nodes: KnownTransactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "MAX_IN_A_GROUP", 5)
    clock = Clock()
    send(request_, nodes, range(1, MAX_FOUND_PAYMENTS + 1), AMOUNT // 1000)
    send(request_, nodes, range(100, 130), 1)
    search(nodes, clock)
    send(request_, nodes, range(200, 230), 1)
    send(request_, nodes, range(300, 301), AMOUNT)
    search(nodes, clock)
    assert paid(request_) == 5
    search(nodes, clock, seconds=PERIOD.total_seconds())
    assert paid(request_) == 5 + AMOUNT + 4


def test_invented_arrivals_keep_no_real_one_waiting(
    request_: PaymentRequest, nodes: KnownTransactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "MAX_IN_A_GROUP", 5)
    clock = Clock()
    nodes.unconfirmed = set(send(request_, nodes, range(1, 13)))
    send(request_, nodes, range(100, 101), 1)
    for _ in range(3):
        search(nodes, clock, seconds=PAUSE.total_seconds())
    assert paid(request_) == 1


def test_waiting_arrival_reopens_its_payment_that_was_not_found(
    request_: PaymentRequest, nodes: KnownTransactions
) -> None:
    clock = Clock()
    nodes.finalized = 0
    [hash_] = send(request_, nodes, range(1, 2))
    search(nodes, clock)
    payment = submit(request_, hash_)
    Payment.objects.filter(pk=payment.pk).update(status="failed", failure_code="transaction_not_found")
    nodes.finalized = None
    search(nodes, clock, seconds=PAUSE.total_seconds())
    look(clock, nodes.of)
    payment.refresh_from_db()
    assert (payment.status, paid(request_), Payment.objects.count()) == ("completed", SMALL, 1)


def test_group_of_final_transactions_is_never_flagged(
    request_: PaymentRequest, nodes: KnownTransactions
) -> None:
    clock = Clock()
    send(request_, nodes, range(1, 3))
    send(request_, nodes, range(3, 4), 1)
    search(nodes, clock)
    for _ in range(5):
        clock.forward(minutes=10)
        check_finality(client=nodes.of, now=clock)
    assert (paid(request_), request_.amount_reorged) == (2 * SMALL + 1, 0)
    assert not Payment.objects.get().reorged
