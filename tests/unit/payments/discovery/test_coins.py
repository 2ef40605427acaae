"""Native coin is credited by the deposit address' balance, once, from any sender and after any sweep."""

import json
from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from chains.models import Chain, Token
from payments.discovery.coins import search_for_coins
from payments.discovery.deposits import MAX_FOUND_PAYMENTS
from payments.discovery.grouping import PERIOD
from payments.models import ConsumedTransfer, DepositAddress, DiscoveryCursor, Lookup, Payment, PaymentRequest
from payments.requests.lifecycle import expire_due
from tests.support.payments.coins import ETHER, CoinChain
from tests.support.payments.deposits import give_address
from tests.support.payments.world import Clock, look
from tests.verifying import check_finality, discover_due
from webhooks.models import Event

Make = Callable[..., PaymentRequest]
DEPTH = 3


@pytest.fixture
def nodes(chain: Chain) -> CoinChain:
    Chain.objects.filter(pk=chain.pk).update(confirmations=str(DEPTH))
    return CoinChain(finalized=0)


@pytest.fixture
def request_(request_for: Make, ether: Token, nodes: CoinChain) -> PaymentRequest:
    request = request_for("1", ether)
    give_address(request, 1)
    request.chain.refresh_from_db()
    return request


def search(nodes: CoinChain, clock: Clock, **ahead: float) -> int:
    clock.forward(**(ahead or {"seconds": 10}))
    return discover_due(client=nodes.of, now=clock)


def verify(nodes: CoinChain, clock: Clock, times: int = 3) -> None:
    for _ in range(times):
        clock.forward(seconds=3)
        look(clock, nodes.of)


def settle(nodes: CoinChain, clock: Clock) -> None:
    """Find the coin that arrived; verify it at the required depth."""
    search(nodes, clock)
    nodes.mine(DEPTH)
    verify(nodes, clock)


def finish(nodes: CoinChain, clock: Clock) -> None:
    """Make the chain final; check the finality of the credited payments."""
    nodes.finalized = nodes.height
    for _ in range(4):
        clock.forward(minutes=3)
        check_finality(client=nodes.of, now=clock)


def paid(request: PaymentRequest) -> tuple[str, int]:
    request.refresh_from_db()
    return request.status, request.amount_paid


def amounts(request: PaymentRequest) -> list[tuple[int | None, str, int | None]]:
    rows = request.payments.order_by("deposit_sequence")
    return [(each.deposit_sequence, each.status, each.amount_received) for each in rows]


def test_coin_is_credited_at_the_required_depth(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    search(nodes, clock)
    nodes.pay(request_.deposit_address, ETHER)
    assert search(nodes, clock) == 1
    payment = Payment.objects.get()
    assert (payment.transaction_hash, payment.bound_by, payment.amount) == (None, "address", ETHER)
    assert (payment.is_in_flight, payment.submitted_publicly) == (True, False)
    verify(nodes, clock)
    assert paid(request_) == ("active", 0)
    nodes.mine(DEPTH - 1)
    verify(nodes, clock)
    assert paid(request_) == ("completed", ETHER)
    credit = ConsumedTransfer.objects.get()
    assert (credit.transaction_hash, credit.slot, credit.amount) == (request_.deposit_address, "1", ETHER)
    event = json.loads(bytes(Event.objects.get(type="payment.succeeded").body))
    assert event["data"]["object"]["transaction_hash"] is None
    assert search(nodes, clock) == 0


@pytest.mark.parametrize("step", ["before it is seen", "before its depth", "after its credit"])
def test_sweep_changes_nothing(request_: PaymentRequest, nodes: CoinChain, step: str) -> None:
    clock = Clock()
    search(nodes, clock)
    nodes.pay(request_.deposit_address, ETHER)
    if step == "before it is seen":
        nodes.sweep(request_.deposit_address)
    search(nodes, clock)
    if step == "before its depth":
        nodes.sweep(request_.deposit_address)
    nodes.mine(DEPTH)
    verify(nodes, clock)
    if step == "after its credit":
        nodes.sweep(request_.deposit_address)
    for _ in range(3):
        nodes.mine(20)
        nodes.finalized = nodes.height - 1
        search(nodes, clock)
        verify(nodes, clock)
    assert (paid(request_), len(amounts(request_))) == (("completed", ETHER), 1)


def test_second_arrival_is_a_payment_of_its_own(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER // 4)
    search(nodes, clock)
    nodes.pay(request_.deposit_address, ETHER // 2)
    search(nodes, clock)
    nodes.mine(DEPTH)
    verify(nodes, clock)
    nodes.sweep(request_.deposit_address)
    nodes.pay(request_.deposit_address, ETHER)
    settle(nodes, clock)
    assert amounts(request_) == [
        (1, "completed", ETHER // 4),
        (2, "completed", ETHER // 2),
        (3, "completed", ETHER),
    ]
    assert paid(request_) == ("completed", 7 * ETHER // 4)
    assert set(ConsumedTransfer.objects.values_list("slot", flat=True)) == {"1", "2", "3"}


def test_arrivals_of_one_pass_are_found_in_their_blocks(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    search(nodes, clock)
    blocks = []
    for amount in (1, 2, 3):
        nodes.pay(request_.deposit_address, amount * ETHER // 10)
        blocks.append(nodes.height)
        nodes.mine(5)
    assert search(nodes, clock) == 3
    found = Lookup.objects.order_by("block_number").values_list("block_number", "of_payment__amount")
    assert list(found) == [(block, n * ETHER // 10) for n, block in enumerate(blocks, 1)]


def test_block_without_state_is_replaced_by_the_first_with_state(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    search(nodes, clock)
    nodes.pay(request_.deposit_address, ETHER)
    nodes.mine(300)
    assert search(nodes, clock) == 1
    assert Lookup.objects.get().block_number == nodes.height - nodes.states + 1
    verify(nodes, clock)
    assert paid(request_) == ("completed", ETHER)


def test_lost_state_after_the_first_sight_changes_nothing(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER)
    search(nodes, clock)
    nodes.states = 0
    nodes.mine(DEPTH)
    verify(nodes, clock)
    assert paid(request_) == ("completed", ETHER)


def test_reorganised_coin_waits_until_it_is_mined_again(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER)
    search(nodes, clock)
    nodes.reorganise(nodes.height)
    verify(nodes, clock, 1)
    payment = Payment.objects.get()
    assert (payment.status, payment.is_in_flight, payment.attempts) == ("processing", False, 1)
    nodes.mine(5)
    nodes.pay(request_.deposit_address, ETHER)
    mined_in = nodes.height
    search(nodes, clock)
    verify(nodes, clock, 1)
    nodes.mine(DEPTH)
    verify(nodes, clock)
    assert paid(request_) == ("completed", ETHER)
    assert amounts(request_) == [(1, "completed", ETHER)]
    # The coin may come from another transaction now, so its time is that of the new block.
    assert Lookup.objects.get().first_block_number == mined_in


def test_coin_that_moves_to_another_block_counts_once(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    for amount in (ETHER // 4, ETHER // 2):
        nodes.pay(request_.deposit_address, amount)
        search(nodes, clock)
    arrivals = list(nodes.arrivals)
    nodes.reorganise(nodes.height - 1)
    nodes.arrivals = [(nodes.height, to, amount) for _, to, amount in arrivals]
    verify(nodes, clock, 1)
    nodes.mine(DEPTH)
    verify(nodes, clock)
    search(nodes, clock)
    verify(nodes, clock)
    assert amounts(request_) == [(1, "completed", ETHER // 4), (2, "completed", ETHER // 2)]
    assert paid(request_) == ("active", 3 * ETHER // 4)


def test_coin_that_never_comes_back_fails_without_credit(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER)
    search(nodes, clock)
    nodes.reorganise(nodes.height)
    for _ in range(14):
        verify(nodes, clock, 1)
        clock.forward(hours=1)
    assert Payment.objects.get().failure_code == "transaction_not_found"
    nodes.pay(request_.deposit_address, ETHER)
    settle(nodes, clock)
    assert amounts(request_) == [(1, "failed", None), (2, "completed", ETHER)]


def test_reorganisation_after_the_credit_flags_the_payment(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER)
    block = nodes.height
    settle(nodes, clock)
    nodes.reorganise(block)
    finish(nodes, clock)
    payment = Payment.objects.get()
    assert (payment.status, payment.reorged) == ("completed", True)
    request_.refresh_from_db()
    assert request_.net == 0
    nodes.pay(request_.deposit_address, ETHER)
    assert search(nodes, clock) == 0
    clock.forward(seconds=1)
    check_finality(client=nodes.of, now=clock)
    payment.refresh_from_db()
    assert payment.reorged
    nodes.mine(DEPTH)
    finish(nodes, clock)
    payment.refresh_from_db()
    request_.refresh_from_db()
    assert (payment.reorged, request_.net, request_.amount_paid) == (False, ETHER, ETHER)


def test_less_than_a_reversed_payment_is_credited_beside_it(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER)
    block = nodes.height
    settle(nodes, clock)
    nodes.reorganise(block)
    finish(nodes, clock)
    nodes.pay(request_.deposit_address, ETHER // 3)
    settle(nodes, clock)
    assert amounts(request_) == [(1, "completed", ETHER), (2, "completed", ETHER // 3)]
    request_.refresh_from_db()
    assert request_.net == ETHER // 3
    finish(nodes, clock)
    assert list(Payment.objects.order_by("deposit_sequence").values_list("reorged", flat=True)) == [
        True,
        False,
    ]


def test_block_of_a_credited_payment_that_was_mined_anew_is_fine(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER)
    settle(nodes, clock)
    kept = list(nodes.arrivals)
    nodes.reorganise(nodes.height - DEPTH)
    nodes.arrivals = kept
    finish(nodes, clock)
    payment = Payment.objects.select_related("lookup").get()
    assert (payment.reorged, payment.lookup.finality_check_at) == (False, None)


def test_swept_coin_is_stored_once_it_is_final(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER)
    settle(nodes, clock)
    nodes.sweep(request_.deposit_address)
    swept = nodes.height
    nodes.mine(5)
    nodes.finalized = swept - 1
    search(nodes, clock)
    assert (DepositAddress.objects.get().swept, DiscoveryCursor.objects.get().coins_next_block) == (0, swept)
    nodes.finalized = swept
    search(nodes, clock)
    assert DepositAddress.objects.get().swept == ETHER
    assert DiscoveryCursor.objects.get().coins_next_block == swept + 1
    nodes.pay(request_.deposit_address, 5)
    PaymentRequest.objects.update(amount=100)
    search(nodes, clock)
    assert nodes.first_logs[-1] == swept + 1
    assert Payment.objects.latest("created_at").amount == 5


@pytest.mark.parametrize("status", ["expired", "cancelled", "completed"])
def test_coin_after_the_end_is_credited(request_: PaymentRequest, nodes: CoinChain, status: str) -> None:
    clock = Clock()
    now = timezone.now()
    PaymentRequest.objects.filter(pk=request_.pk).update(
        status=status,
        expires_at=now - timedelta(minutes=5),
        expired_at=now if status == "expired" else None,
        amount_paid=ETHER if status == "completed" else 0,
    )
    nodes.pay(request_.deposit_address, ETHER)
    settle(nodes, clock)
    request_.refresh_from_db()
    expected = {"expired": "completed", "cancelled": "cancelled", "completed": "completed"}[status]
    assert (request_.status, request_.payments.get().amount_received) == (expected, ETHER)
    assert request_.paid_late == (status == "expired")


def test_coin_seen_in_a_block_holds_its_request(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER)
    search(nodes, clock)
    PaymentRequest.objects.filter(pk=request_.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    expire_due()
    assert paid(request_) == ("active", 0)
    nodes.mine(DEPTH)
    verify(nodes, clock)
    assert paid(request_) == ("completed", ETHER)


def test_small_arrivals_are_credited_together_once_final(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock, small = Clock(), ETHER // 1000 - 1
    nodes.pay(request_.deposit_address, small // 3)
    first = nodes.height
    search(nodes, clock)
    assert (Payment.objects.count(), DepositAddress.objects.get().waiting_block) == (0, first)
    nodes.mine(20)
    search(nodes, clock)
    assert not Payment.objects.exists()
    nodes.finalized = first
    assert search(nodes, clock) == 1
    verify(nodes, clock)
    assert paid(request_) == ("active", small // 3)
    nodes.pay(request_.deposit_address, small // 3)
    nodes.finalized = nodes.mine(DEPTH)
    for _ in range(3):
        assert search(nodes, clock, minutes=15) == 0
    assert search(nodes, clock, seconds=PERIOD.total_seconds()) == 1
    verify(nodes, clock)
    assert paid(request_) == ("active", 2 * (small // 3))
    assert Event.objects.count() == 2


def test_small_arrival_is_credited_with_a_large_one(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, 1)
    search(nodes, clock)
    nodes.pay(request_.deposit_address, ETHER)
    settle(nodes, clock)
    assert amounts(request_) == [(1, "completed", ETHER + 1)]
    assert DepositAddress.objects.get().waiting_block is None


def test_small_arrival_that_was_reorganised_away_is_forgotten(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, 1)
    search(nodes, clock)
    nodes.reorganise(nodes.height)
    nodes.finalized = nodes.mine()
    search(nodes, clock)
    assert (Payment.objects.count(), DepositAddress.objects.get().waiting_block) == (0, None)


def test_arrivals_beyond_thirty_payments_are_credited_together(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    for _ in range(MAX_FOUND_PAYMENTS + 10):
        nodes.pay(request_.deposit_address, ETHER // 100)
        search(nodes, clock)
    for _ in range(2):
        nodes.mine(DEPTH)
        nodes.finalized = nodes.height
        search(nodes, clock, hours=2)
        nodes.mine(DEPTH)
        verify(nodes, clock, 40)
    assert Payment.objects.count() <= MAX_FOUND_PAYMENTS + 2
    assert paid(request_)[1] == (MAX_FOUND_PAYMENTS + 10) * ETHER // 100


def test_ten_thousand_addresses_share_each_reading(request_for: Make, ether: Token, nodes: CoinChain) -> None:
    requests = [request_for("1", ether) for _ in range(20)]
    addresses = [give_address(each, number) for number, each in enumerate(requests)]
    clock = Clock()
    search(nodes, clock)
    for address in addresses[:10]:
        nodes.pay(address, ETHER)
    nodes.reads.clear()
    assert search(nodes, clock) == 10
    assert nodes.reads[0] == (nodes.height, 20)
    assert len(nodes.reads) <= 11
    nodes.reads.clear()
    assert search(nodes, clock) == 0
    assert nodes.reads == [(nodes.height, 20)]


def test_lost_lease_does_not_move_the_position(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER)
    nodes.sweep(request_.deposit_address)
    nodes.finalized = nodes.height
    DiscoveryCursor.objects.create(chain=request_.chain)
    search_for_coins(request_.chain, nodes, claim_id=uuid4(), now=clock())
    assert (DepositAddress.objects.get().swept, DiscoveryCursor.objects.get().coins_next_block) == (0, None)


def test_payments_of_which_a_part_is_left_are_reversed_whole(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER // 2)
    block = nodes.height
    settle(nodes, clock)
    nodes.reorganise(block)
    nodes.pay(request_.deposit_address, ETHER // 5)
    nodes.mine(DEPTH)
    finish(nodes, clock)
    assert Payment.objects.get().reorged
    settle(nodes, clock)
    request_.refresh_from_db()
    assert request_.net == ETHER // 5


def test_arrivals_verified_together_are_credited_in_their_order(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    for part in (4, 8):
        nodes.pay(request_.deposit_address, ETHER // part)
        search(nodes, clock)
    first, second = Payment.objects.order_by("deposit_sequence")
    Lookup.objects.filter(of_payment=first).update(next_check_at=clock())
    Lookup.objects.filter(of_payment=second).update(next_check_at=clock() - timedelta(seconds=1))
    nodes.mine(10)
    clock.forward(seconds=30)
    look(clock, nodes.of)
    assert set(Payment.objects.values_list("status", flat=True)) == {"completed"}
    request_.refresh_from_db()
    assert request_.amount_paid == ETHER // 4 + ETHER // 8
