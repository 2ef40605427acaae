"""Volume in reporting currencies: exact sums of the payments' values, which are also added to past days."""

from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import DailyValue, LateValue, Payment
from payments.prices.rates import Rate
from payments.prices.values import value_due
from payments.stats import queries
from payments.stats.daily import update_statistics
from payments.stats.queries import Period
from tests.support.payments.days import DAY, a_request, paid
from tests.threads import at_once

NOW = timezone.now()


@pytest.fixture
def token(db: None) -> Token:
    chain = Chain.objects.create(id=8453, name="Base", chain_type="evm", native_symbol="ETH")
    return Token.objects.create(
        chain=chain,
        symbol="USDC",
        name="USD Coin",
        decimals=6,
        contract_address="0x" + "2" * 40,
        price_as="USDC",
    )


def worth(
    merchant: Merchant, token: Token, at: datetime, amount: str | None, currency: str = "USD"
) -> Payment:
    payment = paid(a_request(merchant, token, at), at)
    if amount is not None:
        payment.value = {"currency": currency, "amount": amount, "rate": "1", "estimated": False}
        payment.save()
    return payment


def rows(merchant: Merchant | None = None) -> dict[tuple[int, str], tuple[int, Decimal]]:
    """Return the stored values by (days ago, currency)."""
    kept = DailyValue.objects.filter(merchant=merchant)
    return {((NOW.date() - row.day).days, row.currency): (row.payments, row.amount) for row in kept}


def a_rate(token: Token, currency: str) -> Rate:
    return Rate(Fraction("1.1"), currency, token.price_as, ("a", "b"), timezone.now())


def test_values_are_summed_exactly_per_merchant_and_currency(
    token: Token, merchant: Merchant, other_merchant: Merchant
) -> None:
    for amount in ("0.10", "0.20", "90071992547409931234.05"):
        worth(merchant, token, NOW, amount)
    worth(merchant, token, NOW, "1500", "JPY")
    worth(other_merchant, token, NOW, "7.00")
    worth(other_merchant, token, NOW, None)
    update_statistics()
    assert rows(merchant) == {
        (0, "USD"): (3, Decimal("90071992547409931234.35")),
        (0, "JPY"): (1, Decimal(1500)),
    }
    assert rows(other_merchant) == {(0, "USD"): (1, Decimal(7))}
    assert rows() == {(0, "USD"): (4, Decimal("90071992547409931241.35")), (0, "JPY"): (1, Decimal(1500))}


def test_value_set_days_later_counts_on_the_payment_day(token: Token, merchant: Merchant) -> None:
    payment = worth(merchant, token, NOW - 4 * DAY, None)
    Payment.objects.filter(pk=payment.pk).update(value_due_at=NOW - DAY)
    update_statistics()
    call_command("rebuild_daily_stats")
    assert rows() == {}
    assert value_due(rate_of=a_rate) == 1
    update_statistics()
    assert rows() == rows(merchant) == {(4, "USD"): (1, Decimal(11))}
    assert not LateValue.objects.exists()


def test_a_value_of_today_needs_no_note(token: Token, merchant: Merchant) -> None:
    payment = worth(merchant, token, timezone.now(), None)
    Payment.objects.filter(pk=payment.pk).update(value_due_at=NOW)
    assert value_due(rate_of=a_rate) == 1
    assert not LateValue.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_value_committed_during_a_count_is_counted_next_time(token: Token, merchant: Merchant) -> None:
    for _ in range(2):
        payment = worth(merchant, token, NOW - 4 * DAY, None)
        Payment.objects.filter(pk=payment.pk).update(value_due_at=NOW - DAY)
    update_statistics()
    first, second = Payment.objects.order_by("id")
    LateValue.objects.create(day=NOW.date() - 4 * DAY)
    with transaction.atomic():
        Payment.objects.filter(pk=first.pk).update(value_due_at=None)
        assert value_due(rate_of=a_rate) == 1  # not committed yet; another row has the same day
        at_once([update_statistics])
        assert rows() == {}
    update_statistics()
    assert rows() == {(4, "USD"): (1, Decimal(11))}
    assert not LateValue.objects.exists()
    assert second.value is None


def test_the_command_counts_values_of_every_day(token: Token, merchant: Merchant) -> None:
    update_statistics()
    for days in (0, 3):
        worth(merchant, token, timezone.now() - days * DAY, "5.00")
    DailyValue.objects.create(day=NOW.date(), currency="EUR", payments=9, amount=99)
    call_command("rebuild_daily_stats")
    assert rows() == {(0, "USD"): (1, Decimal(5)), (3, "USD"): (1, Decimal(5))}


def test_simulated_payments_have_no_part_in_it(token: Token, merchant: Merchant) -> None:
    payment = worth(merchant, token, NOW, "5.00")
    Payment.objects.filter(pk=payment.pk).update(is_simulated=True)
    update_statistics()
    assert rows() == {}


def test_a_period_has_each_currency_by_itself(token: Token, merchant: Merchant) -> None:
    for days, amount, currency in (
        (0, "1.00", "USD"),
        (2, "2.50", "USD"),
        (2, "9", "JPY"),
        (40, "8.00", "USD"),
    ):
        worth(merchant, token, NOW - timedelta(days=days), amount, currency)
    call_command("rebuild_daily_stats")
    dollars, yen = queries.values(merchant, Period(NOW.date(), 3))
    assert (dollars.currency, dollars.payments, dollars.amount) == ("USD", 2, Decimal("3.5"))
    assert dollars.daily == [Decimal("2.5"), Decimal(0), Decimal(1)]
    assert (yen.currency, yen.amount) == ("JPY", Decimal(9))
