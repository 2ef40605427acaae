"""Merchants take turns when due payments are selected. The cost doesn't grow with one merchant's backlog."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Lookup, Payment, PaymentRequest
from payments.verification import leasing
from payments.verification.leasing import LOOKUPS
from tests.support.payments.rows import change, new_payments
from tests.support.payments.world import make_request, submit

Make = Callable[..., PaymentRequest]
BACKLOG = 5000


def payments_of(request: PaymentRequest, count: int, **columns: Any) -> list[Payment]:
    start = Payment.objects.count()
    place = {"request": request, "chain": request.chain}
    return new_payments({**place, "transaction_hash": f"0x{start + n:064x}", **columns} for n in range(count))


@pytest.fixture
def others(other_merchant: Merchant, usdc: Token, request_for: Make) -> PaymentRequest:
    return make_request(other_merchant, usdc, "10", request_for().recipient_address)


def picked(chain_id: int) -> list[str]:
    payments = dict(Lookup.objects.values_list("pk", "of_payment"))
    return [payments[key] for key in LOOKUPS.pick(timezone.now(), 400, chain_id)]


def selected(request: PaymentRequest) -> list[str]:
    return picked(request.chain_id)


def test_new_payment_is_looked_up_on_its_chain(request_for: Make) -> None:
    request = request_for()
    payment = submit(request, "0x" + "aa" * 32)
    lookup = Lookup.objects.get(of_payment=payment)
    assert (lookup.merchant_id, lookup.chain_id) == (request.merchant_id, request.chain_id)
    assert (lookup.transaction_hash, lookup.next_check_at is not None) == (payment.transaction_hash, True)


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
    change(there, chain=elsewhere, attempts=2)
    now = timezone.now()
    assert picked(others.chain_id) == [here.pk]
    assert picked(elsewhere.pk) == [there.pk]
    assert (
        set(LOOKUPS.lanes(now)) == set(leasing.chains_with_open_payments()) == {others.chain_id, elsewhere.pk}
    )
    Lookup.objects.update(next_check_at=now + timedelta(hours=1))
    assert LOOKUPS.lanes(now) == []
    assert set(leasing.chains_with_open_payments()) == {others.chain_id, elsewhere.pk}


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "completed", "amount_received": 1, "next_check_at": None},
        {"is_simulated": True},
        {"next_check_at": None},
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
        cursor.execute("ANALYZE payments_lookup")
        values = {"now": timezone.now(), "most": 400, "lane": others.chain_id}
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {LOOKUPS.sql[statement]}", values)
        [(plan,)] = cursor.fetchall()
    scans = list(scans_of((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
    assert {scan["Index Name"] for scan in scans} == {"lookup_due_in_turns"}
    assert sum(scan["Actual Rows"] * scan["Actual Loops"] for scan in scans) < BACKLOG / 10


def scans_of(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if node.get("Relation Name") == "payments_lookup":
        yield node
    for child in node.get("Plans", ()):
        yield from scans_of(child)
