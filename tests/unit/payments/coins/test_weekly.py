"""Native coin that arrives long after its request's end is found by a weekly search, and counts once."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from chains.models import Token
from payments.deposits.looks import look_again, look_now
from payments.discovery.coins import search_for_coins
from payments.models import DepositAddress, DiscoveryCursor, Payment, PaymentRequest
from tests.support.payments.coins import ETHER, CoinChain
from tests.support.payments.deposits import give_address
from tests.support.payments.world import Clock, look
from tests.verifying import discover_due

Make = Callable[..., PaymentRequest]


@pytest.fixture
def nodes() -> CoinChain:
    return CoinChain()


@pytest.fixture
def request_(request_for: Make, ether: Token) -> PaymentRequest:
    request = request_for("1", ether)
    give_address(request, 1)
    return request


def end_long_ago(request: PaymentRequest) -> None:
    ended = timezone.now() - timedelta(days=31)
    PaymentRequest.objects.filter(pk=request.pk).update(status="expired", expired_at=ended, expires_at=ended)
    DepositAddress.objects.filter(pk=request.pk).update(next_look_at=timezone.now())


def look_weekly(request: PaymentRequest, nodes: CoinChain) -> DepositAddress:
    DepositAddress.objects.update(next_look_at=timezone.now())
    look_again(request.chain_id, client=nodes.of)
    return DepositAddress.objects.get()


def test_coin_is_found_weekly_after_the_address_left_the_search(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER // 4)
    clock.forward(seconds=10)
    assert discover_due(client=nodes.of, now=clock) == 1
    look(clock, nodes.of)
    nodes.sweep(request_.deposit_address)
    end_long_ago(request_)
    row = look_weekly(request_, nodes)
    # The sweep came after the block up to which the chain is searched. So the address's own check finds it.
    position = DiscoveryCursor.objects.get().coins_next_block
    assert (row.next_block, row.swept) == (position, 0)
    clock.forward(seconds=10)
    assert discover_due(client=nodes.of, now=clock) == 0
    assert DepositAddress.objects.get().swept == 0

    nodes.pay(request_.deposit_address, ETHER // 2)
    nodes.sweep(request_.deposit_address)
    nodes.mine(5)
    row = look_weekly(request_, nodes)
    assert (row.next_block, row.swept) == (nodes.height + 1, 3 * ETHER // 4)
    look(clock, nodes.of)
    assert sorted(Payment.objects.values_list("amount_received", flat=True)) == [ETHER // 4, ETHER // 2]
    look_weekly(request_, nodes)
    request_.refresh_from_db()
    assert (Payment.objects.count(), request_.amount_paid) == (2, 3 * ETHER // 4)


def test_look_on_request_finds_coin_without_moving_the_search(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    nodes.pay(request_.deposit_address, ETHER)
    found = look_now(request_, client=nodes.of)
    assert (found.found, found.is_whole) == (1, True)
    assert look_now(request_, client=nodes.of).found == 0
    assert not DiscoveryCursor.objects.exists()
    look(Clock(), nodes.of)
    request_.refresh_from_db()
    assert (request_.status, request_.amount_paid) == ("completed", ETHER)


def test_small_arrival_of_a_weekly_address_is_due_again_soon(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    end_long_ago(request_)
    DepositAddress.objects.update(next_block=50)
    nodes.finalized = nodes.height
    nodes.pay(request_.deposit_address, 1)
    row = look_weekly(request_, nodes)
    assert row.next_look_at is not None
    assert row.next_look_at < timezone.now() + timedelta(hours=2)
    nodes.finalized = nodes.mine(5)
    row = look_weekly(request_, nodes)
    assert (Payment.objects.get().amount, row.waiting_block) == (1, None)


def test_search_that_lost_its_lease_stores_no_sweeps_twice(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    nodes.pay(request_.deposit_address, ETHER)
    nodes.sweep(request_.deposit_address)
    clock.forward(seconds=10)
    discover_due(client=nodes.of, now=clock)
    assert DepositAddress.objects.get().swept == ETHER
    cursor = DiscoveryCursor.objects.get()
    search_for_coins(request_.chain, nodes, claim_id=request_.pk, now=clock())
    assert DepositAddress.objects.get().swept == ETHER
    assert DiscoveryCursor.objects.get().coins_next_block == cursor.coins_next_block


def test_address_that_no_node_can_read_delays_no_other(
    request_: PaymentRequest, request_for: Make, ether: Token, nodes: CoinChain
) -> None:
    other, clock = request_for("1", ether), Clock()
    give_address(other, 2)
    nodes.pay(request_.deposit_address, ETHER // 2)
    clock.forward(seconds=10)
    discover_due(client=nodes.of, now=clock)
    flooded = nodes.mine()
    nodes.sweep(request_.deposit_address)
    nodes.unreadable = {str(request_.deposit_address)}
    nodes.pay(other.deposit_address, ETHER)
    for _ in range(2):
        clock.forward(seconds=10)
        discover_due(client=nodes.of, now=clock)
        DepositAddress.objects.filter(pk=request_.pk).update(next_look_at=timezone.now())
        look_again(request_.chain_id, client=nodes.of)
    assert DiscoveryCursor.objects.get().coins_next_block == nodes.height + 1
    assert other.payments.get().amount == ETHER
    row = DepositAddress.objects.get(pk=request_.pk)
    assert (row.next_block, row.swept) == (flooded, 0)

    nodes.unreadable = set()
    nodes.pay(request_.deposit_address, ETHER // 2)
    DepositAddress.objects.filter(pk=request_.pk).update(next_look_at=timezone.now())
    look_again(request_.chain_id, client=nodes.of)
    row.refresh_from_db()
    assert (row.next_block, row.swept) == (nodes.height + 1, ETHER // 2)
    assert row.next_look_at is not None
    assert row.next_look_at < timezone.now() + timedelta(minutes=6)
    for is_searching in (True, False):
        clock.forward(seconds=10)
        discover_due(client=nodes.of, now=clock)
        DiscoveryCursor.objects.update(claim_id=uuid4() if is_searching else None)
        DepositAddress.objects.filter(pk=request_.pk).update(next_look_at=timezone.now())
        look_again(request_.chain_id, client=nodes.of)
        row.refresh_from_db()
        assert (row.next_block is None, row.swept) == (not is_searching, ETHER // 2)
    assert [each.amount for each in request_.payments.all()] == [ETHER // 2, ETHER // 2]
