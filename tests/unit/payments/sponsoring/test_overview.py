"""The waiting payments on each chain, and the remaining budget."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from chains.models import Chain
from payments.models import GasAccount, PaymentRequest, Relay
from payments.sponsoring.overview import Sponsoring, overview, stuck_relays
from tests.support.payments.relays import SPONSOR, new_authorization, new_relay

pytestmark = pytest.mark.django_db

NOW = timezone.now()
LONG_AGO = NOW - timedelta(minutes=20)
Requests = Callable[..., PaymentRequest]


def of(chain: Chain, now: datetime = NOW) -> Sponsoring:
    [row] = [each for each in overview(now) if each.chain == chain]
    return row


def test_signature_without_a_transaction_is_unsent(sponsored: Chain, request_for: Requests) -> None:
    new_authorization(request_for(), signed_at=LONG_AGO)
    row = of(sponsored)
    assert (row.unsent.number, row.unsent.seconds(NOW), row.unmined.number) == (1, 1200, 0)


def test_transaction_in_no_block_is_unmined(sponsored: Chain, request_for: Requests) -> None:
    new_relay(new_authorization(request_for()), created_at=LONG_AGO)
    row = of(sponsored)
    assert (row.unsent.number, row.unmined.number, row.unmined.seconds(NOW)) == (0, 1, 1200)
    assert [each.nonce for each in stuck_relays(sponsored, NOW)] == [0]


@pytest.mark.parametrize(
    ("status", "block", "is_unmined"),
    [("processing", 7, False), ("completed", 7, False), ("failed", None, True), ("processing", None, True)],
)
def test_mined_transaction_waits_for_depth_only(
    sponsored: Chain, request_for: Requests, status: str, block: int | None, is_unmined: bool
) -> None:
    new_relay(new_authorization(request_for(), status=status, block_number=block), created_at=LONG_AGO)
    assert of(sponsored).unmined.number == is_unmined
    assert stuck_relays(sponsored, NOW).exists() is is_unmined


def test_ended_transaction_waits_for_nothing(sponsored: Chain, request_for: Requests) -> None:
    new_relay(new_authorization(request_for(), status="failed"), created_at=LONG_AGO, ended_at=NOW)
    assert of(sponsored).unmined.number == 0


def test_transaction_is_stuck_after_five_minutes(sponsored: Chain, request_for: Requests) -> None:
    relay = new_relay(new_authorization(request_for()))
    assert not stuck_relays(sponsored, relay.created_at + timedelta(minutes=5)).exists()
    assert stuck_relays(sponsored, relay.created_at + timedelta(minutes=5, seconds=1)).exists()


def test_waiting_work_shows_after_sponsoring_was_switched_off(
    sponsored: Chain, request_for: Requests, settings: Settings
) -> None:
    new_relay(new_authorization(request_for()))
    settings.SPONSOR_KEYS, settings.SPONSOR_DAILY_BUDGET = {}, {}
    row = of(sponsored)
    assert (row.budget, row.account, row.unmined.number) == (0, None, 1)
    Relay.objects.update(ended_at=NOW)
    assert overview(NOW) == []


def test_account_is_low_if_it_cannot_pay_the_rest_of_the_budget(
    sponsored: Chain, request_for: Requests
) -> None:
    account = GasAccount.objects.create(chain=sponsored, address=SPONSOR)
    assert not of(sponsored).is_low  # because its balance is unknown
    new_authorization(request_for(), signed_at=NOW, cost=4 * 10**17)
    for balance, is_low in ((6 * 10**17, False), (6 * 10**17 - 1, True)):
        GasAccount.objects.filter(pk=account.pk).update(balance=balance)
        row = of(sponsored)
        assert (row.left, row.is_low) == (6 * 10**17, is_low)


def test_budget_of_yesterday_counts_no_more(sponsored: Chain, request_for: Requests) -> None:
    new_authorization(request_for(), signed_at=NOW, day=(NOW - timedelta(days=1)).date(), cost=10**18)
    assert of(sponsored).left == 10**18


def test_overspent_budget_has_nothing_left(sponsored: Chain, request_for: Requests) -> None:
    new_authorization(request_for(), signed_at=NOW, cost=2 * 10**18)
    assert of(sponsored).left == 0
