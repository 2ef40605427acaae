"""A payment by address after the price has expired completes its request if it was worth the price when it arrived."""

from collections.abc import Callable
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from django.utils import timezone

from chains.models import Switch, Token
from chains.switches import Feature
from config.api.errors import ApiError, ErrorCode
from merchants.models import Mail, Merchant
from payments.deposits.late_arrivals import LONGEST_DELAY, PAUSE_WITHOUT_RATE, complete_worthy
from payments.models import Payment, PaymentRequest, Transition
from payments.prices.late_payments import mail_merchants
from payments.prices.rates import Rate, current_rate
from tests.support.payments.credits import PRICE, expire, pay_tenths, refund
from tests.support.portal.payment_rows import Make
from webhooks.models import Event

pytestmark = pytest.mark.django_db
# 10.50 USDC is the amount for 10.00 EUR.
ENOUGH, TOO_LITTLE = Fraction(1000, 1050), Fraction(999, 1050)
"""The rates at which the whole amount is worth exactly the price, and less."""
RATE = {
    "value": "0.96",
    "currency": "EUR",
    "token": "USDC",
    "sources": [],
    "observed_at": "2026-11-01T00:00:00Z",
}


@pytest.fixture
def request_(make: Make, merchant: Merchant) -> PaymentRequest:
    """A request with a price, which expired ten minutes ago."""
    Merchant.objects.filter(pk=merchant.pk).update(email="owner@shop.example")
    request = make()
    PaymentRequest.objects.filter(pk=request.pk).update(price=PRICE, rate=RATE)
    expire(request)
    return request


def arrive(request: PaymentRequest, tenths: int, by: str = "address", **columns: Any) -> Payment:
    payment = pay_tenths(request, tenths, **columns)
    Payment.objects.filter(pk=payment.pk).update(bound_by=by)
    return payment


def rate(exact: Fraction, observed_at: datetime | None = None) -> Callable[[Token, str], Rate]:
    return lambda token, currency: Rate(exact, currency, "USDC", ("a", "b"), observed_at or timezone.now())


def no_rate(token: Token, currency: str) -> Rate:
    raise ApiError(ErrorCode.RATE_UNAVAILABLE, "no rate")


def settled(
    request: PaymentRequest,
    rate_of: Callable[[Token, str], Rate],
    now: Callable[[], datetime] = timezone.now,
) -> PaymentRequest:
    """Have the worker decide; return the request from the database."""
    mail_merchants(
        now=now, settle=lambda each: complete_worthy(each, rate_of=rate_of, now=now), rate_of=rate_of
    )
    return PaymentRequest.objects.select_related("token", "merchant").get(pk=request.pk)


def test_late_arrival_worth_the_price_completes_the_request(request_: PaymentRequest) -> None:
    payment = arrive(request_, 10)
    request = settled(request_, rate(ENOUGH))
    assert (request.status, request.paid_late, request.late_price_mail_at) == ("completed", True, None)
    assert not Mail.objects.exists()
    assert Event.objects.filter(type="payment.succeeded").count() == 1
    payment.refresh_from_db()
    assert payment.status_detail.endswith("was worth at least the price.")
    moved = Transition.objects.get(request=request, payment=None, to_status="completed")
    assert "EUR for 1 USDC" in moved.reason
    settled(request_, rate(ENOUGH))
    assert Event.objects.filter(type="payment.succeeded").count() == 1


def test_late_arrival_worth_less_waits_for_the_merchant(request_: PaymentRequest) -> None:
    arrive(request_, 10)
    request = settled(request_, rate(TOO_LITTLE))
    assert (request.status, request.can_be_accepted, Mail.objects.count()) == ("expired", True, 1)
    assert not Event.objects.filter(type="payment.succeeded").exists()


def test_surplus_makes_up_for_a_lower_rate(request_: PaymentRequest) -> None:
    arrive(request_, 11)
    assert settled(request_, rate(TOO_LITTLE)).status == "completed"


def test_several_late_arrivals_count_together(request_: PaymentRequest) -> None:
    arrive(request_, 4)
    arrive(request_, 6)
    assert settled(request_, rate(ENOUGH)).status == "completed"


def test_tiny_late_payment_gives_older_money_no_better_rate(request_: PaymentRequest) -> None:
    expire(request_, minutes=180)
    arrive(request_, 10, at=timezone.now() - timedelta(hours=2))
    assert settled(request_, rate(TOO_LITTLE)).status == "expired"
    arrive(request_, 1)
    assert settled(request_, rate(2 * ENOUGH)).status == "expired"
    assert not Event.objects.filter(type="payment.succeeded").exists()


def test_older_dust_does_not_keep_late_money_from_completing(request_: PaymentRequest) -> None:
    expire(request_, minutes=180)
    arrive(request_, 1, at=timezone.now() - timedelta(minutes=40))
    arrive(request_, 10)
    assert settled(request_, rate(ENOUGH)).status == "completed"


@pytest.mark.parametrize("by", ["reference", "payer", "provider"])
def test_late_payment_of_another_kind_waits_for_the_merchant(request_: PaymentRequest, by: str) -> None:
    arrive(request_, 4, by)
    arrive(request_, 6)
    assert settled(request_, rate(2 * ENOUGH)).status == "expired"
    assert Mail.objects.count() == 1


def test_refunded_arrival_completes_nothing(request_: PaymentRequest) -> None:
    arrive(request_, 10)
    refund(request_)
    assert settled(request_, rate(2 * ENOUGH)).status == "expired"


def test_missing_rate_is_queried_again_for_a_while(request_: PaymentRequest) -> None:
    arrive(request_, 10)
    start = timezone.now()
    request = settled(request_, no_rate, lambda: start)
    assert (request.status, request.late_price_mail_at) == ("expired", start + PAUSE_WITHOUT_RATE)
    assert not Mail.objects.exists()
    later = start + LONGEST_DELAY + timedelta(minutes=1)
    assert settled(request_, no_rate, lambda: later).status == "expired"
    assert Mail.objects.count() == 1


def test_no_rate_is_used_while_prices_are_switched_off(request_: PaymentRequest) -> None:
    Switch.objects.create(name=Feature.PRICES.value)
    arrive(request_, 10)
    before = PaymentRequest.objects.get(pk=request_.pk).late_price_mail_at
    request = settled(request_, current_rate)
    assert (request.status, Mail.objects.exists()) == ("expired", False)
    assert request.late_price_mail_at is not None
    assert before is not None
    assert request.late_price_mail_at > before


def test_rate_of_another_time_completes_nothing(request_: PaymentRequest) -> None:
    arrive(request_, 10)
    old = timezone.now() - LONGEST_DELAY - timedelta(minutes=1)
    assert settled(request_, rate(2 * ENOUGH, old)).status == "expired"
    assert Mail.objects.count() == 1


def test_payment_credited_long_after_it_arrived_waits(request_: PaymentRequest) -> None:
    expire(request_, minutes=120)
    arrive(request_, 10, at=timezone.now() - LONGEST_DELAY - timedelta(minutes=1))
    assert settled(request_, rate(2 * ENOUGH)).status == "expired"
    assert Mail.objects.count() == 1
