"""Due payments are selected in turns, at a cost that doesn't grow with one merchant's backlog."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from payments.verification import leasing
from payments.verification.leasing import LOOKUPS
from tests.support.payments.world import make_request

Make = Callable[..., PaymentRequest]
BACKLOG = 5000


def payments_of(request: PaymentRequest, count: int, **columns: Any) -> list[Payment]:
    start = Payment.objects.count()
    return Payment.objects.bulk_create(
        Payment(request=request, chain=request.chain, transaction_hash=f"0x{start + n:064x}", **columns)
        for n in range(count)
    )


@pytest.fixture
def others(other_merchant: Merchant, usdc: Token, request_for: Make) -> PaymentRequest:
    return make_request(other_merchant, usdc, "10", request_for().recipient_address)


def selected(request: PaymentRequest) -> list[str]:
    return LOOKUPS.pick(timezone.now(), 400, request.chain_id)


def test_the_merchant_and_the_chain_of_a_payment_are_filled_in(request_for: Make) -> None:
    request = request_for()
    [payment] = payments_of(request, 1)
    payment.refresh_from_db()
    assert (payment.merchant_id, payment.lookup_chain_id) == (request.merchant_id, request.chain_id)


def test_a_reported_delivery_moves_a_payment_to_the_requests_chain(request_for: Make) -> None:
    request = request_for()
    source = Chain.objects.create(id=4_242, name="Source", chain_type="evm", native_symbol="ETH")
    payment = Payment.objects.create(request=request, chain=source, transaction_hash="0x" + "aa" * 32)
    row = Payment.objects.filter(pk=payment.pk)
    assert row.get().lookup_chain_id == source.pk
    row.update(destination_transaction_hash="0x" + "bb" * 32)
    assert row.get().lookup_chain_id == request.chain_id
    assert row.get().lookup_chain_id == row.get().counted_chain.pk
    row.update(destination_transaction_hash="")
    assert row.get().lookup_chain_id == source.pk


def test_a_backlog_makes_no_batch_long_alone_or_beside_others(
    request_for: Make, others: PaymentRequest
) -> None:
    request = request_for()
    payments_of(request, 400)
    assert len(selected(request)) == 400
    payments_of(request, 1)
    assert len(selected(request)) == 50
    [payment] = payments_of(others, 1)
    ids = selected(request)
    assert len(ids) == 26
    assert payment.pk in ids[:2]


def test_each_chain_with_due_payments_is_a_lane(request_for: Make, others: PaymentRequest) -> None:
    elsewhere = Chain.objects.create(id=4_242, name="Elsewhere", chain_type="evm", native_symbol="ETH")
    [here] = payments_of(others, 1)
    [there] = payments_of(others, 1)
    Payment.objects.filter(pk=there.pk).update(chain=elsewhere, lookup_chain=elsewhere, attempts=2)
    now = timezone.now()
    assert LOOKUPS.pick(now, 400, others.chain_id) == [here.pk]
    assert LOOKUPS.pick(now, 400, elsewhere.pk) == [there.pk]
    assert (
        set(LOOKUPS.lanes(now)) == set(leasing.chains_with_open_payments()) == {others.chain_id, elsewhere.pk}
    )
    Payment.objects.update(next_check_at=now + timedelta(hours=1))
    assert LOOKUPS.lanes(now) == []
    assert set(leasing.chains_with_open_payments()) == {others.chain_id, elsewhere.pk}


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "completed", "amount_received": 1, "next_check_at": None},
        {"is_simulated": True},
        {"is_bridging": True},
        {"next_check_at": timezone.now() + timedelta(days=9)},
        {"lease_until": timezone.now() + timedelta(days=9)},
    ],
)
def test_what_is_not_due_is_not_selected(request_for: Make, columns: dict[str, Any]) -> None:
    request = request_for()
    payments_of(request, 1, **columns)
    assert selected(request) == []
    assert LOOKUPS.lanes(timezone.now()) == []


@pytest.mark.parametrize("statement", ["pick", "lanes", "open_lanes"])
def test_the_selection_reads_one_index_and_few_rows(
    request_for: Make, others: PaymentRequest, statement: str
) -> None:
    payments_of(request_for(), BACKLOG)
    payments_of(others, 1)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE payments_payment")
        values = {"now": timezone.now(), "most": 400, "lane": others.chain_id}
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {LOOKUPS.sql[statement]}", values)
        [(plan,)] = cursor.fetchall()
    scans = list(scans_of((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
    assert {scan["Index Name"] for scan in scans} == {"payment_due_in_turns"}
    assert sum(scan["Actual Rows"] * scan["Actual Loops"] for scan in scans) < BACKLOG / 10


def scans_of(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if node.get("Relation Name") == "payments_payment":
        yield node
    for child in node.get("Plans", ()):
        yield from scans_of(child)
