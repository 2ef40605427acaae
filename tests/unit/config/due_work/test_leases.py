"""Leases in rows: who can claim, renew and store, by the database's clock."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from chains.models import Chain, Token
from config.due_work import leases
from config.due_work.leases import DURATION, Heartbeat, Lease
from config.due_work.statements import STATEMENTS, filled_in
from merchants.models import Merchant
from payments.models import DiscoveryCursor, FailureCode, Lookup, MerchantCursor, Payment
from payments.verification.outcomes import Failed, missing
from payments.verification.storing import store
from tests.leases import end_leases
from tests.processes import eventually
from tests.support.payments.fake_search import FakeChain, model_token, watch_many
from tests.support.payments.rows import change
from tests.support.payments.world import Clock, make_request, submit
from tests.threads import at_once
from tests.verifying import claim_due, discover_due

pytestmark = pytest.mark.django_db(transaction=True)
RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"


@pytest.fixture
def token(db: None) -> Token:
    dead = Chain.objects.create(id=4_244, name="Dead", chain_type="evm", rpc_urls=[], native_symbol="ETH")
    return Token.objects.create(chain=dead, symbol="ETH", name="Ether", decimals=18, contract_address="")


@pytest.fixture
def payments(merchant: Merchant, token: Token) -> list[Payment]:
    requests = [make_request(merchant, token, "1", RECIPIENT) for _ in range(6)]
    return [submit(request, f"0x{number:064x}") for number, request in enumerate(requests, 1)]


@pytest.fixture
def heartbeat(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heartbeat]:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.05)
    running = Heartbeat()
    yield running
    eventually(lambda: running._thread is None, "the thread ended by itself")


def lease_until(lookup: Lookup) -> object:
    return Lookup.objects.values_list("lease_until", flat=True).get(pk=lookup.pk)


def renewals(lease: Lease, lookup: Lookup) -> Callable[[], bool]:
    """Return a function that says whether the row's lease was renewed after this call."""
    before = lease_until(lookup)
    return lambda: lease_until(lookup) != before


def test_stuck_payments_are_reclaimed_when_their_leases_end(payments: list[Payment]) -> None:
    first, claimed = claim_due(timezone.now())
    assert len(claimed) == 6
    assert claim_due(timezone.now())[1] == []
    end_leases()
    second, again = claim_due(timezone.now())
    assert {each.pk for each in again} == {each.pk for each in claimed}
    assert set(Payment.objects.values_list("lookup__claim_id", flat=True)) == {second.claim_id}
    # The first worker continues only now.
    now = timezone.now()
    late = [Failed(claimed[0].payment, FailureCode.TRANSACTION_REVERTED, "late"), missing(claimed[1], now)]
    assert store(late, first.claim_id, now) == set()
    assert set(Payment.objects.values_list("lookup__claim_id", "status", "lookup__attempts")) == {
        (second.claim_id, "processing", 0)
    }


def test_locked_row_is_skipped_and_claims_never_overlap(
    payments: list[Payment],
) -> None:
    with transaction.atomic():
        Lookup.objects.select_for_update().get(of_payment=payments[0])
        [(_, others)] = at_once([lambda: claim_due(timezone.now())])
        assert {each.payment_id for each in others} == {each.pk for each in payments[1:]}
    end_leases()
    taken = at_once([lambda: claim_due(timezone.now())] * 8)
    ids = [each.payment_id for _, claimed in taken for each in claimed]
    assert sorted(ids) == sorted(each.pk for each in payments)


def test_a_heartbeat_renews_its_own_rows_and_no_foreign_claim(
    payments: list[Payment], heartbeat: Heartbeat
) -> None:
    lease, claimed = claim_due(timezone.now())
    own, foreign, ended = claimed[:3]
    change(foreign.payment, claim_id=uuid.uuid4())
    change(ended.payment, lease_until=Now() - timedelta(milliseconds=1))
    before = {each.pk: lease_until(each) for each in (foreign, ended)}
    is_renewed = renewals(lease, own)
    heartbeat.keep(lease)
    eventually(is_renewed, "its own row was renewed")
    assert {each.pk: lease_until(each) for each in (foreign, ended)} == before
    heartbeat.release(lease)


def test_a_row_whose_work_is_over_is_renewed_no_more(payments: list[Payment], heartbeat: Heartbeat) -> None:
    lease, claimed = claim_due(timezone.now())
    lease.end(claimed[0].pk)
    before, is_renewed = lease_until(claimed[0]), renewals(lease, claimed[1])
    heartbeat.keep(lease)
    eventually(is_renewed, "the other row was renewed")
    assert lease_until(claimed[0]) == before
    assert not lease.holds(claimed[0].pk)
    heartbeat.release(lease)


def test_row_being_written_delays_no_other_lease_renewal(
    payments: list[Payment], heartbeat: Heartbeat
) -> None:
    lease, claimed = claim_due(timezone.now())
    with transaction.atomic():
        change(claimed[0].payment, attempts=1)
        before = lease_until(claimed[1])
        heartbeat.keep(lease)
        eventually(lambda: at_once([lambda: lease_until(claimed[1])]) != [before], "the other was renewed")
    heartbeat.release(lease)


def test_lease_ends_on_time_while_database_is_unreachable(
    payments: list[Payment], monkeypatch: pytest.MonkeyPatch, heartbeat: Heartbeat
) -> None:
    tries = []

    def unreachable(self: Lease) -> None:
        tries.append(self)
        raise OperationalError("the server is away")

    lease, claimed = claim_due(timezone.now())
    assert lease.holds(claimed[0].pk)
    monkeypatch.setattr(Lease, "renew", unreachable)
    heartbeat.keep(lease)
    eventually(lambda: len(tries) > 2, "the heartbeat goes on trying")
    now = time.monotonic()
    monkeypatch.setattr(leases.time, "monotonic", lambda: now + DURATION.total_seconds())
    assert not lease.holds(claimed[0].pk)
    heartbeat.release(lease)


@pytest.mark.parametrize("minutes", [-10, 10])
def test_wrong_worker_clock_neither_steals_nor_extends_a_lease(payments: list[Payment], minutes: int) -> None:
    clock = Clock()
    change(Payment.objects, next_check_at=clock() - timedelta(minutes=11))
    claim_due(clock())
    clock.forward(minutes=minutes)
    assert claim_due(clock())[1] == []
    end_leases()
    assert len(claim_due(clock())[1]) == 6
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(lease_until - now()) FROM payments_lookup")
        assert cursor.fetchone()[0] <= DURATION


def test_work_that_hangs_for_a_minute_is_renewed_no_more(
    payments: list[Payment], monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, _ = claim_due(timezone.now())
    assert not lease.is_over
    now = time.monotonic()
    monkeypatch.setattr(leases.time, "monotonic", lambda: now + leases.LONGEST.total_seconds())
    assert lease.is_over


def test_search_without_lease_keeps_cursor_and_new_lease(
    merchant: Merchant,
) -> None:
    clock, foreign = Clock(), uuid.uuid4()
    chain = FakeChain(clock)
    [request] = watch_many(merchant, model_token())
    sent = chain.pay(request)

    def taken_over(_: object) -> None:
        end_leases()
        DiscoveryCursor.objects.update(claim_id=foreign, lease_until=Now() + DURATION)

    chain.before_search = taken_over
    discover_due(client=chain, now=clock)
    cursor = DiscoveryCursor.objects.get()
    assert (cursor.claim_id, cursor.searched_at, cursor.next_block) == (foreign, None, None)
    assert MerchantCursor.objects.get().next_block is None
    # A found payment is stored immediately. If another worker finds it again, it is still stored once.
    assert list(Payment.objects.values_list("transaction_hash", flat=True)) == [sent]
    chain.before_search = lambda _: None
    clock.forward(seconds=60)
    assert discover_due(client=chain, now=clock) == 0
    assert len(chain.searches) == 1, "the other worker holds the chain"
    end_leases()
    discover_due(client=chain, now=clock)
    assert MerchantCursor.objects.get().searched_at is not None


def test_renewal_finds_rows_by_key_without_sequential_scan(payments: list[Payment]) -> None:
    """The statement works with PgBouncer in transaction mode. Its cost doesn't depend on the number of payments."""
    lease, claimed = claim_due(timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        try:
            values = {"keys": [each.pk for each in claimed], "claim_id": lease.claim_id, "duration": DURATION}
            cursor.execute("EXPLAIN " + filled_in(STATEMENTS["renew"], Lookup), values)
            plan = "\n".join(row[0] for row in cursor.fetchall())
        finally:
            cursor.execute("RESET enable_seqscan")
    assert "Index" in plan
    assert "Seq Scan" not in plan


def test_failed_heartbeat_restarts_with_the_next_lease(
    payments: list[Payment], monkeypatch: pytest.MonkeyPatch, heartbeat: Heartbeat
) -> None:
    def no_more_threads(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    lease, claimed = claim_due(timezone.now())
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_more_threads)
        with pytest.raises(RuntimeError):
            heartbeat.keep(lease)
    is_renewed = renewals(lease, claimed[0])
    heartbeat.keep(lease)
    eventually(is_renewed, "the row was renewed")
    heartbeat.release(lease)
