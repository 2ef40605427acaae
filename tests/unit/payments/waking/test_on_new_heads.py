"""A new block makes exactly those payments due that wait for one."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from chains.models import Chain, Token
from config.due_work.listening import connect
from merchants.models import Merchant
from payments.models import Payment
from payments.waking import on_new_heads
from payments.waking.on_new_heads import make_due
from tests.processes import eventually
from tests.support.payments.rows import change
from tests.support.payments.world import make_request, submit

pytestmark = pytest.mark.django_db

RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
CHAIN = 4_244


@pytest.fixture
def token(db: None) -> Token:
    chain = Chain.objects.create(id=CHAIN, name="Dead", chain_type="evm", rpc_urls=[], native_symbol="ETH")
    return Token.objects.create(chain=chain, symbol="ETH", name="Ether", decimals=18, contract_address="")


@pytest.fixture
def waiting(merchant: Merchant, token: Token) -> Payment:
    """A payment whose next check is in a minute."""
    payment = submit(make_request(merchant, token, "1", RECIPIENT), "0x" + "1" * 64)
    return changed(payment, next_check_at=timezone.now() + timedelta(minutes=1))


def changed(payment: Payment, **columns: Any) -> Payment:
    change(payment, **columns)
    payment.refresh_from_db()
    return payment


def is_due(payment: Payment) -> bool:
    payment.refresh_from_db()
    return payment.lookup.next_check_at is not None and payment.lookup.next_check_at <= timezone.now()


@pytest.mark.parametrize(
    "columns",
    [{"block_number": 5}, {"seen_at": timezone.now()}],
    ids=["mined", "seen"],
)
def test_what_waits_for_a_block_is_due(waiting: Payment, columns: dict[str, Any]) -> None:
    changed(waiting, **columns)
    assert make_due(CHAIN) == 1
    assert is_due(waiting)


def test_a_hash_that_no_node_knows_keeps_its_few_checks(waiting: Payment) -> None:
    assert make_due(CHAIN) == 0
    assert not is_due(waiting)


def test_leased_payment_is_due_again_after_a_new_block(
    waiting: Payment,
) -> None:
    looked_up_since = timezone.now() - timedelta(seconds=1)
    changed(
        waiting,
        next_check_at=looked_up_since,
        claim_id=uuid.uuid4(),
        lease_until=timezone.now() + timedelta(seconds=9),
    )
    assert make_due(CHAIN) == 1
    waiting.refresh_from_db()
    assert waiting.lookup.next_check_at is not None
    assert waiting.lookup.next_check_at > looked_up_since


def test_what_is_overdue_keeps_its_place(waiting: Payment) -> None:
    overdue_since = timezone.now() - timedelta(seconds=30)
    changed(waiting, block_number=5, next_check_at=overdue_since)
    assert make_due(CHAIN) == 0
    waiting.refresh_from_db()
    assert waiting.lookup.next_check_at == overdue_since


def test_another_chains_block_changes_nothing(waiting: Payment) -> None:
    changed(waiting, block_number=5)
    assert make_due(CHAIN + 1) == 0
    assert not is_due(waiting)


def test_a_swap_that_waits_for_its_provider_stays_with_it(waiting: Payment) -> None:
    changed(waiting, block_number=5, next_check_at=None, next_poll_at=timezone.now() + timedelta(minutes=1))
    assert make_due(CHAIN) == 0
    assert not is_due(waiting)


def test_a_simulated_payment_has_no_chain(waiting: Payment) -> None:
    changed(waiting, block_number=5, is_simulated=True)
    assert make_due(CHAIN) == 0


def test_a_finished_payment_stays_finished(waiting: Payment) -> None:
    changed(waiting, block_number=5, status="failed", failure_code="transaction_reverted", next_check_at=None)
    assert make_due(CHAIN) == 0


@pytest.mark.django_db(transaction=True)
def test_locked_payment_is_due_once_its_worker_commits(
    waiting: Payment, merchant: Merchant, token: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_new_heads, "_MAX_WAITING_MS", 30_000)
    changed(waiting, block_number=5)
    other = submit(make_request(merchant, token, "1", RECIPIENT), "0x" + "2" * 64)
    changed(other, block_number=5, next_check_at=timezone.now() + timedelta(minutes=1))
    with connect() as worker, ThreadPoolExecutor(1) as pool:
        with worker.transaction():
            worker.execute("SELECT FROM payments_lookup WHERE of_payment_id = %s FOR UPDATE", [waiting.pk])
            made = pool.submit(_make_due_in_a_thread)
            eventually(lambda: is_due(other), "the other one is due")
            assert not is_due(waiting)
        assert made.result(timeout=30) == 2
    assert is_due(waiting)


@pytest.mark.django_db(transaction=True)
def test_a_lock_that_lasts_leaves_its_payment_for_the_next_block(waiting: Payment) -> None:
    changed(waiting, block_number=5)
    with connect() as worker, worker.transaction():
        worker.execute("SELECT FROM payments_lookup WHERE of_payment_id = %s FOR UPDATE", [waiting.pk])
        assert make_due(CHAIN) == 0
        assert not is_due(waiting)
    assert make_due(CHAIN) == 1


def _make_due_in_a_thread() -> int:
    try:
        return make_due(CHAIN)
    finally:
        connections.close_all()
