"""Each block is searched for transfers to shown addresses.

A transfer from any sender becomes a payment of the request.
"""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.utils import timezone

from payments.discovery.deposits import MAX_FOUND_PAYMENTS, search_for_deposits
from payments.discovery.search_pass import searched_again
from payments.models import DepositAddress, DiscoveryCursor, Payment, PaymentRequest, WaitingArrival
from tests.support.nodes.log_nodes import LogNode, LogNodes
from tests.support.payments.deposits import KnownTransactions, give_address, moved
from tests.support.payments.world import Clock, look, submit
from tests.verifying import discover_due

Make = Callable[..., PaymentRequest]
AMOUNT = 10_000_000


def search(chain: KnownTransactions, clock: Clock | None = None) -> int:
    clock = clock or Clock()
    clock.forward(seconds=10)
    return discover_due(client=chain.of, now=clock)


def test_transfer_to_shown_address_is_found_and_credited(request_for: Make) -> None:
    request, chain = request_for(), KnownTransactions()
    sent = chain.add(1, moved(request, AMOUNT, give_address(request, 1)))
    assert search(chain) == 1
    payment = Payment.objects.get()
    assert (payment.request, payment.transaction_hash, payment.submitted_publicly) == (request, sent, False)
    look(Clock(), chain.of)
    request.refresh_from_db()
    assert (request.status, request.payments.get().bound_by) == ("completed", "address")


def test_found_payment_is_returned_to_who_submits_its_hash(request_for: Make) -> None:
    request, chain = request_for(), KnownTransactions()
    sent = chain.add(1, moved(request, AMOUNT, give_address(request, 1)))
    search(chain)
    assert submit(request, sent) == Payment.objects.get()


def test_submitted_payment_is_not_found_again(request_for: Make) -> None:
    request, chain = request_for(), KnownTransactions()
    sent = chain.add(1, moved(request, AMOUNT, give_address(request, 1)))
    payment = submit(request, sent)
    search(chain)
    assert Payment.objects.get() == payment


@pytest.mark.parametrize("status", ["expired", "cancelled", "completed"])
def test_transfers_after_the_end_are_found(request_for: Make, status: str) -> None:
    request, chain = request_for(), KnownTransactions()
    chain.add(1, moved(request, AMOUNT, give_address(request, 1)))
    PaymentRequest.objects.filter(pk=request.pk).update(status=status, amount_paid=AMOUNT)
    assert search(chain) == 1


def test_several_transfers_of_one_transaction_are_one_payment(request_for: Make) -> None:
    request, chain = request_for(), KnownTransactions()
    address = give_address(request, 1)
    chain.add(1, moved(request, 4_000_000, address, "0"), moved(request, 6_000_000, address, "3"))
    search(chain)
    look(Clock(), chain.of)
    assert Payment.objects.get().amount_received == AMOUNT


def test_payout_to_many_addresses_is_one_payment_for_each(request_for: Make) -> None:
    requests, chain = [request_for() for _ in range(5)], KnownTransactions()
    rows = [
        moved(each, AMOUNT, give_address(each, number), str(number)) for number, each in enumerate(requests)
    ]
    chain.add(1, *rows)
    assert search(chain) == 5
    clock = Clock()
    for _ in requests:
        look(clock, chain.of)
        clock.forward(seconds=30)
    assert set(PaymentRequest.objects.values_list("status", "amount_paid")) == {("completed", AMOUNT)}


def test_transfer_of_a_thousandth_of_the_amount_is_a_payment(request_for: Make) -> None:
    request, chain = request_for(), KnownTransactions()
    sent = chain.add(1, moved(request, AMOUNT // 1000, give_address(request, 1)))
    assert search(chain) == 1
    payment = Payment.objects.get()
    assert (payment.transaction_hash, payment.status) == (sent, "pending")


def test_thirty_payments_of_a_request_are_found(request_for: Make) -> None:
    request, chain = request_for(), KnownTransactions(finalized=0)
    address = give_address(request, 1)
    for number in range(MAX_FOUND_PAYMENTS + 5):
        chain.add(number, moved(request, 100_000, address))
    assert search(chain) == MAX_FOUND_PAYMENTS
    clock = Clock()
    assert search(chain, clock) == 0
    found = set(Payment.objects.values_list("transaction_hash", flat=True))
    waiting = set(WaitingArrival.objects.values_list("transaction_hash", flat=True))
    assert (len(waiting), found & waiting, found | waiting) == (5, set(), chain.facts.keys())
    left = min(waiting)
    assert submit(request, left).transaction_hash == left


def test_transaction_that_no_second_node_confirms_is_found_later(request_for: Make) -> None:
    request, chain, clock = request_for(), KnownTransactions(), Clock()
    sent = chain.add(1, moved(request, AMOUNT, give_address(request, 1)))
    chain.unconfirmed.add(sent)
    assert search(chain, clock) == 0
    assert not Payment.objects.exists()
    chain.unconfirmed.clear()
    assert search(chain, clock) == 1


def test_cursor_stays_before_blocks_that_may_change(request_for: Make) -> None:
    request, chain, clock = request_for(), KnownTransactions(height=500), Clock()
    give_address(request, 1)
    search(chain, clock)
    position = 501 - searched_again(request.chain)
    assert DiscoveryCursor.objects.get().deposits_next_block == position
    chain.height = 600
    search(chain, clock)
    assert chain.searches[-1] == (position, 600)


def test_search_continues_where_the_last_one_stopped(request_for: Make) -> None:
    request, clock = request_for(), Clock()
    chain = KnownTransactions(height=500, blocks_at_once=200)
    give_address(request, 1)
    for _ in range(3):
        search(chain, clock)
    assert chain.searches == [(0, 199), (200, 399), (400, 500)]


def test_chain_without_addresses_is_not_searched(request_for: Make) -> None:
    request, chain = request_for(), KnownTransactions()
    give_address(request, 1)
    DepositAddress.objects.update(next_block=5)
    search(chain)
    assert chain.searches == []


@pytest.mark.parametrize("liar", [LogNode(height=600), LogNode(height=100, is_down=True)])
def test_one_node_moves_no_cursor_beyond_the_real_head(request_for: Make, liar: LogNode) -> None:
    request = request_for()
    give_address(request, 1)
    client = LogNodes([liar, LogNode(), LogNode()]).client()
    now, claim_id = timezone.now(), uuid4()
    cursor = DiscoveryCursor.objects.create(
        chain=request.chain, claim_id=claim_id, deposits_next_block=50, deposits_searched_at=now
    )
    search_for_deposits(request.chain, client, claim_id=claim_id, now=now)
    cursor.refresh_from_db()
    assert cursor.deposits_next_block == 101 - searched_again(request.chain)
