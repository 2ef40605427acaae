"""A merchant with more due work than one batch doesn't delay other merchants' payments and requests."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from chains.models import Token
from merchants.models import Merchant
from payments.models import PaymentRequest
from payments.requests import lifecycle
from payments.requests.lifecycle import expire_due
from payments.verification import leasing
from tests.support.payments.rows import new_payment
from tests.support.payments.world import make_request, submit
from tests.verifying import claim_due

Make = Callable[..., PaymentRequest]
BATCH = 4


def a_hash(number: int) -> str:
    return f"0x{number:064x}"


@pytest.fixture
def anothers(other_merchant: Merchant, usdc: Token, request_for: Make) -> PaymentRequest:
    return make_request(other_merchant, usdc, "10", request_for().recipient_address)


def test_anothers_payment_is_looked_at_in_the_next_batch(
    request_for: Make, anothers: PaymentRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leasing, "BATCH", BATCH)
    many = request_for()
    for number in range(10):
        new_payment(request=many, chain=many.chain, transaction_hash=a_hash(number))
    payment = submit(anothers, a_hash(99))
    _, claimed = claim_due(timezone.now())
    assert len(claimed) == BATCH
    assert payment in [each.payment for each in claimed]
    _, others = claim_due(timezone.now())
    assert len(others) == BATCH
    assert not {each.pk for each in others} & {each.pk for each in claimed}


def test_a_new_payment_goes_before_its_merchants_missing_ones(
    request_for: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leasing, "BATCH", BATCH)
    request = request_for()
    for number in range(10):
        hash_ = a_hash(number)
        new_payment(request=request, chain=request.chain, transaction_hash=hash_, attempts=3)
    payment = new_payment(request=request, chain=request.chain, transaction_hash=a_hash(99))
    assert payment in [each.payment for each in claim_due(timezone.now())[1]]


def test_a_batch_that_takes_all_goes_by_time(request_for: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leasing, "BATCH", BATCH)
    request = request_for()
    made = [
        new_payment(request=request, chain=request.chain, transaction_hash=a_hash(number))
        for number in range(BATCH)
    ]
    assert [each.payment for each in claim_due(timezone.now())[1]] == made


def test_anothers_request_expires_in_the_next_batch(
    request_for: Make, anothers: PaymentRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "EXPIRY_BATCH", BATCH)
    for minutes in range(1, 11):
        request_for(lifetime=timedelta(minutes=minutes))
    now = timezone.now() + timedelta(hours=2)
    assert expire_due(now) == BATCH
    anothers.refresh_from_db()
    assert anothers.status == "expired"
    assert PaymentRequest.objects.filter(status="expired").count() == BATCH
