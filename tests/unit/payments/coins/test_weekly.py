"""Native coin that arrives long after its request's end is found by a weekly search, and counts once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from chains.client import ChainError
from chains.facts.deposits import CoinsReceived
from chains.models import Token
from payments.deposits.looks import look_again, look_now
from payments.discovery.coins import OWN_BLOCKS, UNREAD_AGAIN, own_search, search_for_coins
from payments.models import DepositAddress, DiscoveryCursor, Payment, PaymentRequest
from payments.submission.hashes import submit_hash
from tests.support.payments.coins import ETHER, CoinChain
from tests.support.payments.deposits import give_address
from tests.support.payments.world import Clock, look
from tests.verifying import check_finality, discover_due
from webhooks.models import Event

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


def leave_search(request: PaymentRequest) -> None:
    """End the request and its year of weekly looks."""
    end_long_ago(request)
    ended = timezone.now() - timedelta(days=500)
    PaymentRequest.objects.filter(pk=request.pk).update(expired_at=ended)
    DepositAddress.objects.update(next_block=50, next_look_at=None)


def submit_to(nodes: CoinChain, request: PaymentRequest, hash_: str) -> None:
    submit_hash(request, chain=request.chain, transaction_hash=hash_, actor="checkout", client=nodes.of)


def is_due(clock: Clock) -> bool:
    return DepositAddress.objects.filter(next_look_at__lte=clock()).exists()


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


@pytest.mark.parametrize("is_mined", [True, False])
def test_submitted_transaction_to_an_old_address_is_credited(
    request_: PaymentRequest, nodes: CoinChain, is_mined: bool
) -> None:
    """The year of weekly looks is over."""
    clock = Clock()
    leave_search(request_)
    hash_ = nodes.pay(request_.deposit_address, ETHER)
    mined = nodes.facts[hash_]
    if not is_mined:
        del nodes.facts[hash_]
    submit_to(nodes, request_, hash_)
    assert is_due(clock) == is_mined
    nodes.facts[hash_] = mined
    for _ in range(3):
        look(clock, nodes.of)
        clock.forward(minutes=2)
        look_again(request_.chain_id, client=nodes.of, now=clock)
        look(clock, nodes.of)
        clock.forward(hours=25)
        check_finality(client=nodes.of, now=clock)
    request_.refresh_from_db()
    assert request_.amount_paid == ETHER
    assert not Event.objects.filter(type="payment.failed").exists()
    assert DepositAddress.objects.get().next_look_at is None


def test_timed_out_transaction_to_an_old_address_fails_once(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    """No node returns the balance until the payment has timed out."""
    clock = Clock()
    leave_search(request_)
    submit_to(nodes, request_, nodes.pay(request_.deposit_address, ETHER))
    look(clock, nodes.of)
    DepositAddress.objects.update(next_look_at=None)
    for _ in range(3):
        clock.forward(hours=25)
        look(clock, nodes.of)
        assert is_due(clock)
        clock.forward(minutes=3)
        check_finality(client=nodes.of, now=clock)
    assert Payment.objects.get().failure_code == "verification_timed_out"
    assert Event.objects.filter(type="payment.failed").count() == 1
    look_again(request_.chain_id, client=nodes.of, now=clock)
    look(clock, nodes.of)
    request_.refresh_from_db()
    assert request_.amount_paid == ETHER


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


@pytest.mark.parametrize("is_alone", [True, False])
def test_coin_of_a_flooded_address_is_credited_in_the_end(
    request_: PaymentRequest, request_for: Make, ether: Token, nodes: CoinChain, is_alone: bool
) -> None:
    other, clock = request_for("1", ether), Clock()
    if not is_alone:
        give_address(other, 2)
    discover_due(client=nodes.of, now=clock)
    start = nodes.mine()
    nodes.pay(request_.deposit_address, ETHER)
    nodes.sweep(request_.deposit_address)
    nodes.flooded = {str(request_.deposit_address)}
    if not is_alone:
        nodes.pay(other.deposit_address, ETHER)
    clock.forward(seconds=10)
    discover_due(client=nodes.of, now=clock)
    assert not request_.payments.exists()
    assert other.payments.exists() != is_alone
    row = DepositAddress.objects.get(pk=request_.pk)
    assert row.next_block == start
    assert row.next_look_at is not None
    assert row.next_look_at <= clock() + UNREAD_AGAIN

    DepositAddress.objects.filter(pk=request_.pk).update(next_look_at=timezone.now())
    look_again(request_.chain_id, client=nodes.of)
    payment = request_.payments.select_related("lookup").get()
    assert (payment.amount, payment.lookup.block_number) == (ETHER, start + 1)


def test_search_for_coin_keeps_the_position_of_tokens(
    request_: PaymentRequest, request_for: Make, nodes: CoinChain
) -> None:
    tokens = request_for()
    give_address(tokens, 2)
    end_long_ago(request_)
    end_long_ago(tokens)
    DepositAddress.objects.update(next_block=50)
    own, position = nodes.coins_received, 0

    def slowly(*args: Any, **named: Any) -> CoinsReceived:
        nonlocal position
        position = DepositAddress.objects.get(pk=tokens.pk).next_block or 0
        DepositAddress.objects.update(claim_id=uuid4())
        return own(*args, **named)

    nodes.coins_received = slowly  # type: ignore[method-assign]
    look_again(request_.chain_id, client=nodes.of)
    assert position > 50
    assert DepositAddress.objects.get(pk=request_.pk).next_block == 50


@pytest.mark.parametrize("states", [128, 100_000])
def test_weekly_search_reads_a_bounded_range_at_a_time(
    request_: PaymentRequest, nodes: CoinChain, states: int
) -> None:
    end_long_ago(request_)
    DepositAddress.objects.update(next_block=50)
    nodes.states, nodes.start = states, timezone.now() - timedelta(seconds=5 * OWN_BLOCKS)
    nodes.height = OWN_BLOCKS // 2
    nodes.pay(request_.deposit_address, ETHER)
    nodes.sweep(request_.deposit_address)
    paid_at = nodes.height - 1
    nodes.mine(3 * OWN_BLOCKS)
    row = DepositAddress.objects.select_related("request__token").get()
    client: Any = nodes
    first = own_search(request_.chain, client, [row], now=timezone.now(), seconds=0)[row.pk]
    assert (first.next_block, first.swept, first.is_whole) == (50 + OWN_BLOCKS, ETHER, False)
    assert all(last - since < OWN_BLOCKS for since, last in nodes.swept_ranges)
    read = [last - since + 1 for since, (last, _) in zip(nodes.first_logs, nodes.reads, strict=True)]
    assert sum(read) < 3 * OWN_BLOCKS
    assert Payment.objects.exists() == (states > OWN_BLOCKS)
    look_again(request_.chain_id, client=nodes.of)
    after = DepositAddress.objects.get()
    assert (after.next_block, after.swept) == (nodes.height + 1, ETHER)
    payment = Payment.objects.select_related("lookup").get()
    assert payment.amount == ETHER
    assert payment.lookup.block_number == paid_at or states < OWN_BLOCKS


def test_search_without_time_continues_at_once(
    request_: PaymentRequest, nodes: CoinChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_long_ago(request_)
    DepositAddress.objects.update(next_block=50)
    nodes.height = 3 * OWN_BLOCKS
    defaults: Any = own_search.__kwdefaults__
    monkeypatch.setitem(defaults, "seconds", 0)
    row = look_weekly(request_, nodes)
    assert row.next_block == 50 + OWN_BLOCKS
    assert row.next_look_at is not None
    assert row.next_look_at <= timezone.now()
    assert row.claim_id is None


def test_addresses_at_several_positions_share_the_later_blocks(
    request_: PaymentRequest, request_for: Make, ether: Token, nodes: CoinChain
) -> None:
    other = request_for("1", ether)
    give_address(other, 2)
    for each, place in ((request_, 50), (other, 70)):
        end_long_ago(each)
        DepositAddress.objects.filter(pk=each.pk).update(next_block=place)
    nodes.pay(request_.deposit_address, ETHER)
    nodes.pay(other.deposit_address, ETHER)
    look_again(request_.chain_id, client=nodes.of)
    assert [number for height, number in nodes.reads if height == nodes.height] == [2]
    assert Payment.objects.count() == 2
    assert set(DepositAddress.objects.values_list("next_block", flat=True)) == {nodes.height + 1}


def test_rate_limit_moves_no_arrival_to_a_later_block(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock, own = Clock(), nodes.coins_received
    discover_due(client=nodes.of, now=clock)
    nodes.pay(request_.deposit_address, ETHER)
    paid_at = nodes.height
    nodes.mine(20)

    def limited(*args: Any, at_block: int, **named: Any) -> CoinsReceived:
        if at_block < nodes.height:
            raise ChainError("the node is limiting our rate")
        return own(*args, at_block=at_block, **named)

    nodes.coins_received = limited  # type: ignore[method-assign]
    clock.forward(seconds=10)
    discover_due(client=nodes.of, now=clock)
    assert not Payment.objects.exists()
    nodes.coins_received = own  # type: ignore[method-assign]
    clock.forward(minutes=10)
    discover_due(client=nodes.of, now=clock)
    assert Payment.objects.select_related("lookup").get().lookup.block_number == paid_at
