"""An address is searched with each block until 30 days after its request's end, then weekly for a year."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from payments.deposits.looks import (
    EACH_BLOCK_FOR,
    WEEK,
    WEEKLY_FOR,
    Look,
    Step,
    after_look,
    leave_search,
    look_again,
    look_now,
    look_soon,
    next_week,
)
from payments.discovery.search_pass import searched_again
from payments.models import DepositAddress, DiscoveryCursor, Payment, PaymentRequest
from tests.support.payments.deposits import KnownTransactions, give_address, moved

Make = Callable[..., PaymentRequest]
AMOUNT = 10_000_000
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def request(status: str = "active", ended: datetime | None = None) -> PaymentRequest:
    return PaymentRequest(status=status, expired_at=ended, expires_at=ended or NOW + DAY)


@pytest.mark.parametrize(
    ("status", "ended", "step"),
    [
        ("active", None, Step(NOW + DAY + EACH_BLOCK_FOR)),
        ("expired", NOW - 2 * DAY, Step(NOW - 2 * DAY + EACH_BLOCK_FOR)),
        ("expired", NOW - EACH_BLOCK_FOR, Step(next_week(NOW), 77)),
    ],
)
def test_address_leaves_the_search_30_days_after_the_end(
    status: str, ended: datetime | None, step: Step
) -> None:
    assert leave_search(request(status, ended), 77, NOW) == step


def test_address_stays_in_the_search_until_that_has_a_position() -> None:
    assert leave_search(request("expired", NOW - 40 * DAY), None, NOW) == Step(NOW + DAY)


def test_weekly_looks_end_after_a_year() -> None:
    end = NOW - EACH_BLOCK_FOR - WEEKLY_FOR
    assert after_look(request("expired", end), 9, NOW, is_whole=True) == Step(None, 9)
    later = after_look(request("expired", end + DAY), 9, NOW, is_whole=True)
    assert later == Step(next_week(NOW), 9)
    assert NOW < next_week(NOW) <= NOW + WEEK


def test_look_that_did_not_reach_the_head_goes_on_at_once() -> None:
    assert after_look(request("expired", NOW - 400 * DAY), 9, NOW, is_whole=False) == Step(NOW, 9)


def due(request_for: Make, number: int, next_block: int | None) -> PaymentRequest:
    made = request_for()
    give_address(made, number)
    ended = timezone.now() - 31 * DAY
    PaymentRequest.objects.filter(pk=made.pk).update(status="expired", expired_at=ended, expires_at=ended)
    DepositAddress.objects.filter(pk=made.pk).update(next_block=next_block, next_look_at=timezone.now())
    return made


def test_late_transfer_is_found_by_the_weekly_look(request_for: Make) -> None:
    chain = KnownTransactions(height=5000, blocks_at_once=2000)
    old, just_left = due(request_for, 1, 1000), due(request_for, 2, None)
    DiscoveryCursor.objects.create(chain=old.chain, deposits_next_block=4990)
    sent = chain.add(1, moved(old, AMOUNT, str(old.deposit_address)), block=4000)
    for _ in range(5):
        look_again(old.chain_id, client=chain.of)
    position = 5001 - searched_again(old.chain)
    assert chain.searches == [(1000, 2999), (3000, 4999), (position, 5000)]
    assert Payment.objects.get().transaction_hash == sent
    after = DepositAddress.objects.get(pk=old.pk)
    assert (after.next_block, after.claim_id) == (position, None)
    assert after.next_look_at == next_week(timezone.now())
    assert DepositAddress.objects.get(pk=just_left.pk).next_block == 4990


def test_check_deposits_looks_at_once(request_for: Make) -> None:
    made = due(request_for, 1, 4990)
    chain = KnownTransactions(height=5000)
    chain.add(1, moved(made, AMOUNT, str(made.deposit_address)), block=50)
    made.refresh_from_db()
    assert [look_now(made, client=chain.of).found for _ in range(2)] == [1, 0]


def test_look_without_time_is_not_whole(request_for: Make) -> None:
    made = due(request_for, 1, None)
    chain = KnownTransactions(height=5000)
    assert look_now(made, client=chain.of, seconds=0) == Look(0, 0, 5000)
    assert chain.searches == []


def test_check_of_an_old_address_makes_its_look_due(request_for: Make) -> None:
    old, covered = due(request_for, 1, 4990), due(request_for, 2, None)
    DepositAddress.objects.update(next_look_at=None)
    assert (look_soon(old), look_soon(covered)) == (True, False)
    assert DepositAddress.objects.get(pk=covered.pk).next_look_at is None
    chain = KnownTransactions(height=5000)
    assert look_again(old.chain_id, client=chain.of) == 1
    assert chain.searches == [(4990, 5000)]


def test_check_deposits_of_a_request_without_address_fails(request_for: Make) -> None:
    made = request_for()
    for text in (str(made.pk), made.shortcode):
        with pytest.raises(CommandError, match="no deposit address was shown"):
            call_command("check_deposits", text)
    with pytest.raises(CommandError, match="no payment request"):
        call_command("check_deposits", "nothing")
