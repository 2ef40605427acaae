"""Every payment is found, however many requests are searched for. No merchant waits for another's requests.

`SEQUENCES=2000` tries that many sequences of steps (default 30).
"""

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chains.client import ChainError, SearchLimits, Watch
from merchants.models import Merchant
from payments.models import DiscoveryCursor, MerchantCursor, Payment, PaymentRequest
from tests.support.payments.fake_search import BY_BLOCK, BY_WATCH, FakeChain, down, model_token, watch_many
from tests.support.payments.world import Clock
from tests.verifying import discover_due

pytestmark = pytest.mark.django_db


def passes(chain: FakeChain, clock: Clock, count: int) -> list[int]:
    """Make this many passes, each when it is due; return the number of payments that each found."""
    found = []
    for _ in range(count):
        clock.forward(seconds=10)
        found.append(discover_due(client=chain, now=clock))
    return found


def settled(chain: FakeChain) -> int:
    """Return a cursor's position after a complete search: before the blocks that are searched again."""
    return max(chain.height + 1 - 20, 0)


def test_other_merchants_newer_requests_do_not_hide_a_payment(
    merchant: Merchant, other_merchant: Merchant
) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock)
    [ours] = watch_many(merchant, token)
    watch_many(other_merchant, token, 5001)
    passes(chain, clock, 1)
    sent = chain.pay(ours)
    passes(chain, clock, 1)
    assert list(Payment.objects.values_list("request", "transaction_hash")) == [(ours.pk, sent)]


def test_cursor_moves_only_after_all_requests_are_searched(
    merchant: Merchant, other_merchant: Merchant
) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock, replace(BY_BLOCK, watches=10, searches=1))
    many = watch_many(merchant, token, 35)
    sent = [chain.pay(request) for request in many]
    chain.mine(20)
    assert passes(chain, clock, 4) == [10, 10, 10, 5]
    assert set(Payment.objects.values_list("transaction_hash", flat=True)) == set(sent)
    assert {search.since_block for search in chain.searches} == {0}
    assert MerchantCursor.objects.get().next_block == settled(chain)


def test_unindexed_blocks_are_searched_again_after_two_passes(
    merchant: Merchant,
) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock, replace(BY_BLOCK, watches=2, searches=1), hidden=20)
    requests = watch_many(merchant, token, 3)
    sent = [chain.pay(request) for request in requests]
    assert passes(chain, clock, 1) == [0], "the first requests are searched for, and nothing is indexed yet"
    chain.hidden, chain.limits = 0, replace(chain.limits, searches=20)
    chain.mine(40)
    passes(chain, clock, 3)
    assert set(Payment.objects.values_list("transaction_hash", flat=True)) == set(sent)


def test_a_merchant_with_very_many_requests_delays_only_itself(
    merchant: Merchant, other_merchant: Merchant
) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock, replace(BY_BLOCK, watches=10, searches=1))
    watch_many(other_merchant, token, 1000)
    passes(chain, clock, 5)
    [ours] = watch_many(merchant, token)
    chain.pay(ours)
    assert sum(passes(chain, clock, 2)) == 1
    chain.pay(ours)
    assert sum(passes(chain, clock, 2)) == 1


def test_merchants_whose_ranges_coincide_share_one_search(
    merchant: Merchant, other_merchant: Merchant
) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock)
    watch_many(merchant, token, 3)
    watch_many(other_merchant, token, 4)
    for _ in range(3):
        chain.mine(5)
        passes(chain, clock, 1)
    assert [len(search.references) for search in chain.searches] == [7, 7, 7]
    assert [search.next_block for search in chain.searches] == [6, 11, 16]


def test_merchant_far_behind_catches_up_without_delaying_others(
    merchant: Merchant, other_merchant: Merchant
) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock, replace(BY_BLOCK, searches=4), blocks_at_once=50)
    [theirs] = watch_many(other_merchant, token, created_at=clock())
    lost = chain.pay(theirs)
    chain.mine(1000)
    DiscoveryCursor.objects.create(chain=token.chain, next_block=settled(chain), searched_at=clock())
    MerchantCursor.objects.create(
        chain=token.chain, merchant=other_merchant, next_block=0, searched_at=clock()
    )
    [ours] = watch_many(merchant, token)
    found = []
    for _ in range(8):
        found.append(chain.pay(ours))
        passes(chain, clock, 1)
        assert set(Payment.objects.filter(request=ours).values_list("transaction_hash", flat=True)) == set(
            found
        )
    assert Payment.objects.filter(request=theirs, transaction_hash=lost).exists()
    assert {cursor.next_block for cursor in MerchantCursor.objects.all()} == {settled(chain)}


@pytest.mark.parametrize("has_cursor", [True, False])
def test_search_after_idle_time_starts_at_oldest_request(merchant: Merchant, has_cursor: bool) -> None:
    token, clock = model_token(), Clock()
    clock.forward(days=-1)
    chain = FakeChain(clock, blocks_at_once=10)
    if has_cursor:
        DiscoveryCursor.objects.create(chain=token.chain, next_block=0, due_at=clock())
    chain.mine(40_000)
    clock.forward(days=1)
    [request] = watch_many(merchant, token, created_at=clock())
    chain.pay(request)
    assert discover_due(client=chain, now=clock) == 1
    assert len(chain.searches) == 1


def test_search_begins_early_enough_without_block_times(merchant: Merchant) -> None:
    token, clock = model_token(), Clock()

    class Forgetful(FakeChain):
        def block_at(self, moment: object) -> int:
            raise ChainError("missing block")

    chain = Forgetful(clock)
    chain.mine(1_000_000)
    [request] = watch_many(merchant, token, created_at=clock())
    chain.pay(request)
    clock.forward(minutes=2)
    chain.mine(60)  # one block every two seconds, as in the catalogue
    assert discover_due(client=chain, now=clock) == 1
    assert len(chain.searches) == 1


def test_a_failing_chain_keeps_the_place(merchant: Merchant) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock)
    [request] = watch_many(merchant, token)
    passes(chain, clock, 1)
    before = MerchantCursor.objects.values("next_block", "searched_at").get()
    chain.pay(request)
    chain.before_search = down
    assert passes(chain, clock, 5) == [0] * 5
    assert MerchantCursor.objects.values("next_block", "searched_at").get() == before
    chain.before_search = lambda watches: None
    assert passes(chain, clock, 1) == [1]


def test_payment_within_a_day_of_expiry_is_found_after_outage(merchant: Merchant) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock)
    [request] = watch_many(merchant, token)
    passes(chain, clock, 1)
    chain.before_search = down
    PaymentRequest.objects.update(status="expired", expired_at=clock())
    sent = chain.pay(request)
    for _ in range(10):
        clock.forward(hours=10)
        assert discover_due(client=chain, now=clock) == 0
    chain.before_search = lambda watches: None
    clock.forward(hours=1)
    assert discover_due(client=chain, now=clock) == 1
    assert Payment.objects.get().transaction_hash == sent
    assert passes(chain, clock, 1) == [0]
    assert not MerchantCursor.objects.exists()


def test_one_merchants_failing_search_does_not_stop_the_others(
    merchant: Merchant, other_merchant: Merchant
) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock)
    others = [other_merchant, *(Merchant.objects.create(name=f"Shop {n}") for n in range(20))]
    [poison] = watch_many(merchant, token)
    requests = [watch_many(other, token)[0] for other in others]

    def refuse(watches: Sequence[Watch]) -> None:
        if any(watch.reference == bytes(poison.reference) for watch in watches):
            raise ChainError("answer too large")

    chain.before_search = refuse
    for request in requests:
        chain.pay(request)
    assert sum(passes(chain, clock, 3)) == len(requests)
    place = MerchantCursor.objects.get(merchant=merchant)
    assert (place.next_block, place.searched_at, place.is_alone) == (None, None, True)
    passes(chain, clock, 1)
    chain.searches.clear()
    passes(chain, clock, 1)
    assert [len(search.references) for search in chain.searches] == [len(requests)]
    chain.before_search = lambda watches: None
    sent = chain.pay(poison)
    passes(chain, clock, 1)
    assert Payment.objects.get(request=poison).transaction_hash == sent
    assert not MerchantCursor.objects.filter(is_alone=True).exists()


def test_after_an_outage_many_merchants_share_searches_again(merchant: Merchant) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock, before_search=down)
    for number in range(30):
        watch_many(Merchant.objects.create(name=f"Shop {number}"), token)
    passes(chain, clock, 10)
    assert not MerchantCursor.objects.filter(is_alone=True).exists()
    chain.before_search = lambda watches: None
    passes(chain, clock, 1)
    assert sum(len(search.references) for search in chain.searches) == 30
    passes(chain, clock, 1)
    chain.searches.clear()
    passes(chain, clock, 1)
    assert [len(search.references) for search in chain.searches] == [30]


def test_watches_that_are_looked_up_one_by_one_take_turns(
    merchant: Merchant, other_merchant: Merchant
) -> None:
    token, clock = model_token("solana"), Clock()
    chain = FakeChain(clock, replace(BY_WATCH, watches=10))
    [ours] = watch_many(merchant, token)
    theirs = watch_many(other_merchant, token, 95)
    sent = {chain.pay(request) for request in [ours, *theirs]}
    assert sum(passes(chain, clock, 2)) == 11
    assert Payment.objects.filter(request=ours).exists()
    passes(chain, clock, 9 + 10)  # the two merchants take turns
    assert set(Payment.objects.values_list("transaction_hash", flat=True)) == sent


def test_a_cursor_without_anything_to_search_for_is_removed(merchant: Merchant) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock)
    watch_many(merchant, token)
    passes(chain, clock, 1)
    assert MerchantCursor.objects.count() == 1
    PaymentRequest.objects.update(status="completed", completed_at=clock(), amount_paid=10)
    clock.forward(hours=23)
    passes(chain, clock, 1)
    assert MerchantCursor.objects.count() == 1
    clock.forward(hours=2)
    passes(chain, clock, 1)  # during the remaining hour of the day
    passes(chain, clock, 1)
    assert not MerchantCursor.objects.exists()
    searches = len(chain.searches)
    passes(chain, clock, 1)
    assert len(chain.searches) == searches


def test_the_old_cursors_place_is_where_a_merchant_begins(merchant: Merchant) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock)
    [request] = watch_many(merchant, token)
    chain.pay(request)
    chain.mine(100)
    chain.pay(request)
    DiscoveryCursor.objects.create(chain=token.chain, next_block=60, due_at=clock())
    assert discover_due(client=chain, now=clock) == 1
    assert chain.searches[0].since_block == 40


def test_head_of_a_single_node_moves_no_cursor_past_search(
    merchant: Merchant,
) -> None:
    token, clock = model_token(), Clock()

    class Boastful(FakeChain):
        def head(self) -> int:
            return self.height + 500

    chain = Boastful(clock)
    chain.mine(100)
    watch_many(merchant, token)
    passes(chain, clock, 3)
    assert MerchantCursor.objects.get().next_block == chain.height + 1
    assert DiscoveryCursor.objects.get().next_block == chain.height + 1


def test_searches_cut_short_in_newest_blocks_still_progress(merchant: Merchant) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock, replace(BY_BLOCK, searches=1), blocks_at_once=3)
    [request] = watch_many(merchant, token)
    passes(chain, clock, 1)
    chain.mine(19)
    sent = chain.pay(request)
    for _ in range(12):
        chain.mine(2)
        passes(chain, clock, 1)
    assert Payment.objects.get().transaction_hash == sent


def test_it_is_logged_when_the_passes_cannot_keep_up(
    merchant: Merchant, caplog: pytest.LogCaptureFixture
) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock, replace(BY_BLOCK, watches=10, searches=1))
    with caplog.at_level(logging.WARNING):
        watch_many(merchant, token)
        passes(chain, clock, 1)
        assert "can't keep up" not in caplog.text
        watch_many(merchant, token, 500)
        passes(chain, clock, 20)
    assert "can't keep up: 1 merchants are left" in caplog.text


def test_metrics_show_watched_requests_and_slowest_merchant_lag(
    merchant: Merchant, other_merchant: Merchant, client: Client
) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock, replace(BY_BLOCK, watches=10))
    watch_many(merchant, token, 3)
    watch_many(other_merchant, token, 30)
    passes(chain, clock, 1)
    MerchantCursor.objects.filter(merchant=other_merchant).update(
        searched_at=timezone.now() - timedelta(minutes=5), created_at=timezone.now() - timedelta(hours=1)
    )
    text = client.get("/metrics").content.decode()
    assert 'quittance_discovery_watches{chain="1"} 33.0' in text
    lag = re.search(r'quittance_discovery_lag_seconds{chain="1"} ([\d.]+)', text)
    assert lag is not None
    assert 300 <= float(lag[1]) < 600


def test_twenty_merchants_take_as_many_queries_as_two(merchant: Merchant) -> None:
    token, clock = model_token(), Clock()
    chain = FakeChain(clock)

    def queries() -> int:
        passes(chain, clock, 1)
        clock.forward(seconds=10)
        with CaptureQueriesContext(connection) as captured:
            discover_due(client=chain, now=clock)
        return len(captured)

    for number in range(2):
        watch_many(Merchant.objects.create(name=f"Shop {number}"), token)
    few = queries()
    for number in range(20):
        watch_many(Merchant.objects.create(name=f"Other {number}"), token)
    assert queries() == few


ACTIONS = ("request", "pay", "pay", "mine", "idle", "pass", "pass", "pass", "fail", "hide", "end")
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1000), st.booleans()), min_size=15, max_size=50
)


class World:
    """A chain and its merchants, and steps that run in the middle of a search."""

    def __init__(self, limits: SearchLimits, blocks_at_once: int) -> None:
        self.clock = Clock()
        self.token = model_token("evm" if limits.by_block else "solana")
        self.merchants = [Merchant.objects.create(name=f"Shop {number}") for number in range(3)]
        self.requests: list[PaymentRequest] = []
        self.failures = 0
        self.meanwhile: list[tuple[str, int]] = []
        self.chain = FakeChain(self.clock, limits, blocks_at_once, watches_at_once=limits.watches)
        self.chain.before_search = self._before_search

    def step(self, action: str, number: int) -> None:
        if action == "request":
            merchant, count = self.merchants[number % 3], 1 + number % 7
            self.requests += watch_many(merchant, self.token, count, created_at=self.clock())
        elif action == "pay" and self.requests:
            self.chain.pay(self.requests[number % len(self.requests)])
        elif action == "mine":
            self.chain.mine(number % 30)
        elif action == "idle":
            self.clock.forward(seconds=number)
            self.chain.mine(number % 200)
        elif action == "fail":
            self.failures = number % 8
        elif action == "hide":
            self.chain.hidden = number % 20
        elif action == "pass":
            self.clock.forward(seconds=number % 40)
            discover_due(client=self.chain, now=self.clock)
        elif action == "end" and self.requests:
            ended = PaymentRequest.objects.filter(pk=self.requests[number % len(self.requests)].pk)
            ended.update(status="expired", expired_at=self.clock())

    def settle(self) -> None:
        """Search in larger steps until nothing more can be found. Skipped blocks stay skipped."""
        self.chain.limits, self.chain.blocks_at_once = replace(self.chain.limits, searches=100), 1000
        self.failures, self.meanwhile, self.chain.hidden = 0, [], 0
        self.chain.mine(20)
        for _ in range(20):
            self.clock.forward(seconds=60)
            discover_due(client=self.chain, now=self.clock)
            if Payment.objects.count() == len(self.chain.paid):
                break

    def _before_search(self, watches: Sequence[Watch]) -> None:
        meanwhile, self.meanwhile = self.meanwhile, []
        for action, number in meanwhile:
            self.step(action, number)
        if self.failures:
            self.failures -= 1
            down(watches)


@settings(
    max_examples=int(os.environ.get("SEQUENCES", "30")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    steps=STEPS,
    by_block=st.booleans(),
    watches=st.integers(1, 5),
    searches=st.integers(1, 4),
    blocks_at_once=st.integers(1, 15),
)
def test_every_payment_is_found_for_any_load_and_search_budget(
    steps: list[tuple[str, int, bool]], by_block: bool, watches: int, searches: int, blocks_at_once: int
) -> None:
    with transaction.atomic():
        world = World(SearchLimits(by_block, watches, searches), blocks_at_once)
        world.step("request", 6)
        for action, number, is_meanwhile in steps:
            if is_meanwhile and action != "pass":
                world.meanwhile.append((action, number))
            else:
                world.step(action, number)
        world.settle()
        found = Payment.objects.values_list("request__reference", "transaction_hash")
        assert {(bytes(reference), sent) for reference, sent in found} == set(world.chain.paid)
        transaction.set_rollback(True)
