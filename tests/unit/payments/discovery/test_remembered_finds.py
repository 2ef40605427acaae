"""A search that returns finds again (Solana) makes few payments of unreadable ones, and reopens no dropped one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chains.client import Block, Discovery, Head, Snapshot, TransactionFacts, Watch
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.support.payments.fake_search import BY_WATCH, FakeChain, model_token, watch_many
from tests.support.payments.world import Clock, look_until_decided
from tests.verifying import discover_due
from webhooks.models import Event

pytestmark = pytest.mark.django_db


@dataclass
class RememberingChain(FakeChain):
    """A chain whose search returns all finds again. It can't read any transaction, and lacks the `dropped` ones."""

    doubtful: list[tuple[bytes, str]] = field(default_factory=list)
    dropped: set[str] = field(default_factory=set)

    def discover(
        self, watches: Sequence[Watch], *, since_block: int | None, until_block: int | None = None
    ) -> Discovery:
        found = super().discover(watches, since_block=since_block, until_block=until_block)
        return replace(found, doubtful=tuple(self.doubtful))

    def look_up(self, hashes: Sequence[str], **_: Any) -> Snapshot:
        block = Block(self.height, "hash", self.clock())
        unread = TransactionFacts("", "", None, block, True, (), commitment="finalized", is_readable=False)
        facts = {hash_: None if hash_ in self.dropped else replace(unread, hash=hash_) for hash_ in hashes}
        return Snapshot(Head(self.height, self.height), facts, frozenset())


def searched(chain: RememberingChain, clock: Clock) -> int:
    clock.forward(seconds=10)
    return discover_due(client=chain, now=clock)


def statuses() -> list[tuple[str, str]]:
    return list(Payment.objects.values_list("status", "failure_code"))


def watched_request(merchant: Merchant) -> tuple[PaymentRequest, RememberingChain, Clock]:
    clock = Clock()
    [request] = watch_many(merchant, model_token("solana"))
    return request, RememberingChain(clock, BY_WATCH), clock


def test_unreadable_finds_make_few_payments_and_one_event(merchant: Merchant) -> None:
    request, chain, clock = watched_request(merchant)
    chain.doubtful = [(bytes(request.reference), f"junk {number}") for number in range(60)]
    assert searched(chain, clock) == 5
    for payment in Payment.objects.all():
        look_until_decided(payment, clock, client=chain)
    assert statuses() == [("failed", "not_verifiable")] * 5
    assert Event.objects.filter(type="payment.failed").count() == 1
    with CaptureQueriesContext(connection) as queries:
        assert searched(chain, clock) == 0
    locks = [q["sql"] for q in queries if "FOR NO KEY UPDATE" in q["sql"] and "paymentrequest" in q["sql"]]
    assert locks == []
    assert statuses() == [("failed", "not_verifiable")] * 5


def test_readable_find_is_recorded_beside_unreadable_ones(merchant: Merchant) -> None:
    request, chain, clock = watched_request(merchant)
    chain.doubtful = [(bytes(request.reference), f"junk {number}") for number in range(60)]
    searched(chain, clock)
    paid = chain.pay(request)
    assert searched(chain, clock) == 1
    assert Payment.objects.get(transaction_hash=paid).submitted_publicly is False


def test_dropped_transaction_is_reopened_only_once_it_is_back(merchant: Merchant) -> None:
    request, chain, clock = watched_request(merchant)
    paid = chain.pay(request)
    assert searched(chain, clock) == 1
    chain.dropped.add(paid)
    look_until_decided(Payment.objects.get(), clock, client=chain)
    for _ in range(3):
        assert searched(chain, clock) == 0
    assert statuses() == [("failed", "transaction_not_found")]
    assert Event.objects.filter(type="payment.failed").count() == 1
    chain.dropped.clear()
    assert searched(chain, clock) == 1
    assert statuses() == [("pending", "")]
