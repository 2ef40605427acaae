"""The value of completed payments in their merchant's reporting currency."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chains.models import Token
from merchants.models import Merchant
from payments.models import Payment
from payments.prices import querying, values
from tests.conftest import Api
from tests.support.rates.exchanges import Exchanges

pytestmark = pytest.mark.django_db


@pytest.fixture
def paid(api: Api, order: Callable[..., dict[str, Any]], settings: Any) -> Callable[[], str]:
    """Return a function that creates a request for 10.50, pays it immediately and returns its path."""
    settings.ENVIRONMENT = "staging"

    def pay() -> str:
        created = api.post("/api/payment-requests", order()).json()
        simulated = api.post(f"/api/test/payment-requests/{created['id']}/simulate", {"outcome": "paid"})
        assert simulated.status_code == 200, simulated.content
        return f"/api/payment-requests/{created['id']}"

    return pay


def value_at(api: Api, path: str) -> Any:
    (payment,) = api.get(path).json()["payments"]
    return payment["value"]


def test_a_completed_payment_is_valued_soon_after(
    api: Api, public: Api, paid: Callable[[], str], exchanges: Exchanges
) -> None:
    path = paid()
    assert value_at(api, path) is None
    assert values.value_due() == 1
    value = value_at(api, path)
    assert (value["currency"], value["amount"], value["rate"]) == ("USD", "10.50", "1.00005")
    assert value["estimated"] is False
    assert values.value_due(timezone.now() + timedelta(hours=1)) == 0
    shown = public.get(path.replace("/api/", "/api/public/")).json()
    assert "value" not in shown["payments"][0]


def test_it_is_in_the_merchants_currency(
    api: Api, merchant: Merchant, paid: Callable[[], str], exchanges: Exchanges
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(reporting_currency="EUR")
    path = paid()
    values.value_due()
    assert value_at(api, path)["currency"] == "EUR"
    assert value_at(api, path)["amount"] == "9.56"


def test_without_a_rate_it_stays_null_and_is_estimated_later(
    api: Api, paid: Callable[[], str], exchanges: Exchanges
) -> None:
    path = paid()
    exchanges.broken = {"kraken": (503, b"")}
    assert values.value_due() == 0
    assert value_at(api, path) is None
    exchanges.broken = {}
    querying.forget()
    Payment.objects.update(completed_at=timezone.now() - timedelta(hours=3))
    assert values.value_due() == 0  # its next run is not due yet
    assert values.value_due(timezone.now() + values.PAUSE) == 1
    assert value_at(api, path)["estimated"] is True


def test_a_token_without_a_price_has_no_value(
    api: Api, usdc: Token, paid: Callable[[], str], exchanges: Exchanges
) -> None:
    Token.objects.filter(pk=usdc.pk).update(price_as="")
    path = paid()
    assert values.value_due() == 0
    assert (value_at(api, path), exchanges.asked) == (None, [])


def test_payments_of_one_token_share_one_question(
    api: Api, paid: Callable[[], str], exchanges: Exchanges
) -> None:
    for _ in range(3):
        paid()
    exchanges.asked.clear()
    assert values.value_due() == 3
    assert len(exchanges.asked) == 2


def test_what_waits_for_long_is_asked_for_less_often(
    api: Api, paid: Callable[[], str], exchanges: Exchanges
) -> None:
    paid()
    exchanges.broken = {"kraken": (503, b"")}
    now = timezone.now()
    for waited, pause in (
        (timedelta(0), values.PAUSE),
        (timedelta(minutes=20), timedelta(minutes=5)),
        (timedelta(days=9), values.LONGEST_PAUSE),
    ):
        Payment.objects.update(completed_at=now - waited, value_due_at=now)
        assert values.value_due(now) == 0
        assert Payment.objects.get().value_due_at == now + pause


def test_payments_that_never_get_a_rate_do_not_hold_up_new_ones(
    api: Api, paid: Callable[[], str], exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "AT_ONCE", 2)
    for _ in range(3):
        paid()
    hour_ago = timezone.now() - timedelta(hours=1)
    stuck = list(Payment.objects.values_list("pk", flat=True))
    Payment.objects.update(value_due_at=hour_ago, completed_at=hour_ago)
    path = paid()
    assert values.value_due() == 2
    assert value_at(api, path) is not None
    assert Payment.objects.filter(pk__in=stuck, value__isnull=True).count() == 2
