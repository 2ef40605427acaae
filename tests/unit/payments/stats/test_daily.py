"""A day's figures are counted from its rows.

Later changes are included, and a second count gives the same figures.
"""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.db import transaction

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import DailyFigures, DailyVolume, FiguresProgress, Payment, PaymentRequest, Transition
from payments.stats.daily import DELIVERIES_COMPLETE, update_statistics
from payments.stats.histogram import BOUNDS_MS, percentile, total
from tests.support.payments.days import DAY, NOON, a_delivery, a_request, note, paid
from tests.threads import at_once

TODAY = NOON.date()


@pytest.fixture
def token(db: None) -> Token:
    chain = Chain.objects.create(id=8453, name="Base", chain_type="evm", native_symbol="ETH")
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x" + "2" * 40
    )


@pytest.fixture
def dai(token: Token) -> Token:
    return Token.objects.create(
        chain=token.chain, symbol="DAI", name="Dai", decimals=18, contract_address="0x" + "3" * 40
    )


def at(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


def of(day: date, merchant: Merchant | None = None) -> DailyFigures:
    return DailyFigures.objects.get(day=day, merchant=merchant)


def requests(figures: DailyFigures) -> tuple[int, int, int]:
    return figures.requests_created, figures.requests_paid, figures.requests_open


def volumes(merchant: Merchant | None = None) -> dict[tuple[date, str], tuple[int, Decimal]]:
    rows = DailyVolume.objects.filter(merchant=merchant).select_related("token")
    return {(row.day, row.token.symbol): (row.payments, row.amount) for row in rows}


def everything() -> list[tuple[object, ...]]:
    kept = DailyFigures.objects.order_by("day", "merchant").values_list(
        "day", "merchant", "requests_created", "requests_paid", "requests_open", "confirmation_times"
    )
    return [*kept, *DailyVolume.objects.order_by("day", "merchant", "token").values_list("day", "amount")]


def test_a_day_is_counted_for_each_merchant_and_for_all_together(
    token: Token, dai: Token, merchant: Merchant, other_merchant: Merchant
) -> None:
    paid(a_request(merchant, token, NOON), NOON + timedelta(minutes=2))
    paid(a_request(merchant, dai, NOON), NOON + timedelta(minutes=3))
    a_request(merchant, token, NOON)
    paid(a_request(other_merchant, token, NOON), NOON + timedelta(minutes=2), amount=25_000_000)
    a_delivery(merchant, NOON)
    a_delivery(merchant, NOON, delivered=False)
    a_delivery(merchant, NOON, is_test=True)
    update_statistics(now=at(NOON + timedelta(hours=1)))
    assert requests(of(TODAY)) == (4, 3, 1)
    assert requests(of(TODAY, merchant)) == (3, 2, 1)
    assert requests(of(TODAY, other_merchant)) == (1, 1, 0)
    assert (of(TODAY, merchant).deliveries_delivered, of(TODAY, merchant).deliveries_failed) == (1, 1)
    assert volumes() == {(TODAY, "USDC"): (2, Decimal(35_000_000)), (TODAY, "DAI"): (1, Decimal(10 * 10**18))}
    assert volumes(merchant)[TODAY, "USDC"] == (1, Decimal(10_000_000))


def test_simulated_payments_and_their_requests_are_left_out(token: Token, merchant: Merchant) -> None:
    paid(a_request(merchant, token, NOON), NOON + timedelta(minutes=2))
    simulated = a_request(merchant, token, NOON - 5 * DAY)
    update_statistics(now=at(NOON - 5 * DAY))
    assert requests(of(TODAY - 5 * DAY)) == (1, 0, 1)
    payment = paid(simulated, NOON, amount=1)
    Payment.objects.filter(pk=payment.pk).update(is_simulated=True)
    PaymentRequest.objects.filter(pk=simulated.pk).update(is_simulated=True)
    Transition.objects.create(
        request=simulated, payment=payment, to_status="completed", actor="sandbox", created_at=NOON
    )
    update_statistics(now=at(NOON + timedelta(hours=1)))
    assert not DailyFigures.objects.filter(day=TODAY - 5 * DAY).exists()
    assert requests(of(TODAY, merchant)) == (1, 1, 0)
    assert volumes() == {(TODAY, "USDC"): (1, Decimal(10_000_000))}
    assert sum(of(TODAY).confirmation_times) == 1


def test_counting_again_changes_nothing(token: Token, merchant: Merchant) -> None:
    paid(a_request(merchant, token, NOON), NOON)
    update_statistics(now=at(NOON + timedelta(minutes=1)))
    once = everything()
    assert once
    update_statistics(now=at(NOON + timedelta(minutes=1)))
    update_statistics(now=at(NOON + timedelta(minutes=2)))
    assert everything() == once


def test_request_paid_days_later_counts_on_its_creation_day(token: Token, merchant: Merchant) -> None:
    request = a_request(merchant, token, NOON - 5 * DAY)
    update_statistics(now=at(NOON - 5 * DAY))
    update_statistics(now=at(NOON - DAY))
    assert requests(of(TODAY - 5 * DAY)) == (1, 0, 1)
    paid(request, NOON)
    update_statistics(now=at(NOON + timedelta(seconds=10)))
    assert requests(of(TODAY - 5 * DAY)) == (1, 1, 0)
    assert volumes() == {(TODAY, "USDC"): (1, Decimal(10_000_000))}


def test_change_committed_after_the_last_count_is_counted(token: Token, merchant: Merchant) -> None:
    request = a_request(merchant, token, NOON - 5 * DAY)
    update_statistics(now=at(NOON - 5 * DAY))
    update_statistics(now=at(NOON))
    request.status = "expired"
    request.save()
    note(request, "expired", NOON - timedelta(seconds=40))
    update_statistics(now=at(NOON + timedelta(seconds=60)))
    assert requests(of(TODAY - 5 * DAY)) == (1, 0, 0)


def test_the_past_is_counted_by_itself_after_the_first_start(token: Token, merchant: Merchant) -> None:
    for days in (0, 3, 12):
        a_request(merchant, token, NOON - days * DAY)
    update_statistics(now=at(NOON))
    assert [row.day for row in DailyFigures.objects.filter(merchant=None).order_by("day")] == [
        TODAY - 12 * DAY,
        TODAY - 3 * DAY,
        TODAY,
    ]
    assert FiguresProgress.objects.get().filled_from == TODAY - 12 * DAY


def test_days_of_standstill_are_caught_up_with(token: Token, merchant: Merchant) -> None:
    update_statistics(now=at(NOON - 9 * DAY))
    for days in range(9):
        paid(a_request(merchant, token, NOON - days * DAY), NOON - days * DAY)
    update_statistics(now=at(NOON + timedelta(minutes=1)))
    assert DailyFigures.objects.filter(merchant=None, requests_paid=1).count() == 9


def test_deliveries_that_were_removed_by_age_stay_counted(token: Token, merchant: Merchant) -> None:
    request = a_request(merchant, token, NOON)
    a_delivery(merchant, NOON).delete()
    a_delivery(merchant, NOON)
    update_statistics(now=at(NOON + timedelta(minutes=1)))
    merchant.webhook_deliveries.all().delete()
    later = NOON + DELIVERIES_COMPLETE + DAY
    paid(request, later)
    update_statistics(now=at(later))
    assert (of(TODAY).deliveries_delivered, of(TODAY, merchant).deliveries_delivered) == (1, 1)
    assert requests(of(TODAY, merchant)) == (1, 1, 0)


def test_sums_beyond_what_one_amount_can_be_are_kept(token: Token, merchant: Merchant) -> None:
    most = 2**256 - 1
    for _ in range(2):
        paid(a_request(merchant, token, NOON, amount=most), NOON)
    update_statistics(now=at(NOON))
    assert volumes() == {(TODAY, "USDC"): (2, Decimal(2 * most))}


@pytest.mark.django_db(transaction=True)
def test_many_at_once_count_as_one(token: Token, merchant: Merchant) -> None:
    paid(a_request(merchant, token, NOON), NOON)
    at_once([lambda: update_statistics(now=at(NOON))] * 8)
    assert requests(of(TODAY)) == (1, 1, 0)
    assert DailyFigures.objects.count() == 2
    assert DailyVolume.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_nothing_is_counted_while_somebody_else_is_at_it(token: Token, merchant: Merchant) -> None:
    update_statistics(now=at(NOON))
    a_request(merchant, token, NOON)
    with transaction.atomic():
        FiguresProgress.objects.select_for_update().get()
        assert at_once([lambda: update_statistics(now=at(NOON))]) == [0]
    assert not DailyFigures.objects.exists()


def test_rebuild_command_recounts_all_days_and_shows_progress(
    token: Token, merchant: Merchant, capsys: pytest.CaptureFixture[str]
) -> None:
    from django.utils import timezone

    now = timezone.now()
    for days in (0, 2):
        paid(a_request(merchant, token, now - days * DAY), now - days * DAY)
    DailyFigures.objects.create(day=now.date(), merchant=None, requests_created=99)
    call_command("rebuild_daily_stats")
    assert requests(of(now.date())) == (1, 1, 0)
    assert capsys.readouterr().out.splitlines() == [
        f"{now.date() - days * DAY}  {days + 1} of 3" for days in range(3)
    ]


def test_a_percentile_is_off_by_a_seventh_at_most() -> None:
    for seconds in (2, 7, 41, 300, 4000, 50_000):
        counts = [0] * (len(BOUNDS_MS) + 1)
        counts[sum(bound <= seconds * 1000 for bound in BOUNDS_MS)] = 10
        told = percentile(counts, 50)
        assert told is not None
        assert abs(told - seconds * 1000) * 7 <= seconds * 1000


def test_percentiles_of_several_days_come_from_all_their_counts() -> None:
    quick, slow = [0] * 30, [0] * 30
    quick[5], slow[25] = 94, 6
    assert percentile(total([quick, slow]), 50) == percentile(quick, 50)
    assert percentile(total([quick, slow]), 95) == percentile(slow, 95)
    assert percentile([], 50) is None
    assert percentile([0, 0], 95) is None
