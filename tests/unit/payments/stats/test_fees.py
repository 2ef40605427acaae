"""Daily network fees of sponsored payments: the amount that customers saved, and the operator's cost."""

from collections.abc import Callable
from datetime import date, datetime, timedelta

import pytest
from django.utils import timezone

from chains.models import Chain
from merchants.models import Merchant
from payments.models import Authorization, DailyFees, PaymentRequest, Relay
from payments.stats import queries
from payments.stats.daily import update_statistics
from payments.stats.queries import Period
from tests.support.payments.relays import new_authorization, new_relay

pytestmark = pytest.mark.django_db

Requests = Callable[..., PaymentRequest]
NOW = timezone.now().replace(hour=12)
MINUTE = timedelta(minutes=1)


def relay(request: PaymentRequest, status: str = "completed", at: datetime = NOW, **columns: object) -> Relay:
    authorization = new_authorization(request, status=status, block_number=1)
    assert authorization.payment
    hashes = ["0x" + "ff" * 32, authorization.payment.transaction_hash]
    filled = {"succeeded": True, "fee": 10**14, "hashes": hashes, **columns}
    return new_relay(authorization, ended_at=at, **filled)


def count() -> None:
    update_statistics(now=lambda: NOW + MINUTE)


def rows(merchant: Merchant | None) -> list[tuple[int, int, int]]:
    fees = DailyFees.objects.filter(merchant=merchant, day=NOW.date()).order_by("chain")
    return [(each.payments, int(each.saved), int(each.spent)) for each in fees]


def test_fees_count_for_the_merchant_and_for_all(request_for: Requests) -> None:
    request = request_for()
    relay(request)
    relay(request_for(), fee=2 * 10**14 + 1)
    count()
    assert rows(request.merchant) == rows(None) == [(2, 3 * 10**14 + 1, 3 * 10**14 + 1)]


@pytest.mark.parametrize(
    ("status", "columns", "saved", "spent"),
    [
        ("failed", {"succeeded": False}, 0, 10**14),  # it reverted
        ("completed", {"succeeded": False}, 0, 10**14),  # another account's transaction was first
        ("failed", {}, 0, 10**14),  # an empty transaction replaced it
        ("completed", {"hashes": ["0x" + "ff" * 32]}, 0, 10**14),  # replaced, but others sent the transfer
        ("completed", {"succeeded": None, "fee": None}, 0, 0),  # others used its nonce
        ("completed", {"fee": None}, 0, 0),  # the receipt has no fee
    ],
)
def test_only_fees_of_completed_payments_are_saved(
    request_for: Requests, status: str, columns: dict[str, object], saved: int, spent: int
) -> None:
    request = request_for()
    relay(request, status, **columns)
    count()
    [(_, *sums)] = rows(request.merchant)
    assert sums == [saved, spent]


@pytest.mark.parametrize(("succeeded", "counted"), [(True, 2_049_280), (False, 10_000)])
def test_deposit_of_an_opened_account_counts_as_a_fee(
    request_for: Requests, succeeded: bool, counted: int
) -> None:
    request = request_for()
    opened = relay(request, fee=10_000, succeeded=succeeded)
    Authorization.objects.filter(pk=opened.authorization_id).update(deposit=2_039_280)
    count()
    assert rows(None) == [(int(succeeded), counted if succeeded else 0, counted)]


def test_transaction_counts_on_the_day_on_which_it_ended(request_for: Requests) -> None:
    request = request_for()
    relay(request, at=NOW - timedelta(days=1))
    relay(request, at=NOW)
    new_relay(new_authorization(request), fee=10**15)  # under way
    update_statistics(now=lambda: NOW - timedelta(days=1) + MINUTE)
    count()
    count()  # a second count changes nothing
    days = DailyFees.objects.filter(merchant=None).order_by("day").values_list("day", "payments")
    assert list(days) == [(NOW.date() - timedelta(days=1), 1), (NOW.date(), 1)]


def test_period_sums_each_chain_by_itself(
    request_for: Requests, chain: Chain, merchant: Merchant, other_merchant: Merchant
) -> None:
    other = Chain.objects.create(id=8453, name="Base", chain_type="evm", native_symbol="ETH")
    most = 2**256 - 1
    for day, owner, of, saved in (
        (NOW.date(), merchant, chain, most),
        (NOW.date() - timedelta(days=1), merchant, chain, most),
        (NOW.date(), merchant, other, 5),
        (NOW.date(), other_merchant, chain, 1),
        (date(2026, 1, 1), merchant, chain, 1),
    ):
        DailyFees.objects.create(day=day, merchant=owner, chain=of, payments=1, saved=saved, spent=saved + 1)
    found = queries.fees(merchant, Period(NOW.date(), 7))
    assert [(each.chain, each.payments, each.saved, each.spent) for each in found] == [
        (other, 1, 5, 6),
        (chain, 2, 2 * most, 2 * most + 2),
    ]
