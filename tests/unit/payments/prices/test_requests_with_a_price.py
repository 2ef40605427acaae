"""A request with a price is converted once, at a rate on which independent sources agree."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from django.utils import timezone

from chains.models import Token
from payments.models import AcceptedRate, PaymentRequest
from payments.prices import querying
from payments.prices.rules import token_amount
from tests.conftest import Api
from tests.support.rates.exchanges import Exchanges

pytestmark = pytest.mark.django_db

PRICE = {"currency": "EUR", "amount": "25.00"}
Order = Callable[..., dict[str, Any]]


@pytest.fixture
def priced(order: Order) -> Order:
    def build(**different: Any) -> dict[str, Any]:
        body = {**order(), "price": PRICE, **different}
        del body["amount"]
        return body

    return build


def refused(answer: Any) -> tuple[int, str, str | None]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"]


def test_the_amount_follows_from_the_price_and_the_rate(
    api: Api, priced: Order, exchanges: Exchanges, usdc: Token
) -> None:
    answer = api.post("/api/payment-requests", priced())
    assert answer.status_code == 201, answer.content
    request = answer.json()
    assert request["price"] == PRICE
    rate = request["rate"]
    # The quotient of both pairs' medians: 1.00005 / 1.0983.
    assert Decimal(rate["value"]) == Decimal("0.910543567331")
    assert (rate["currency"], rate["token"], rate["sources"]) == ("EUR", "USDC", ["coinbase", "kraken"])
    exact = Fraction("1.00005") / Fraction("1.0983")
    assert request["amount"]["raw"] == str(token_amount(Decimal(25), exact, 6)) == "27456128"
    created, expires = (datetime.fromisoformat(request[name]) for name in ("created_at", "expires_at"))
    assert expires - created == timedelta(seconds=900)
    assert timezone.now() - datetime.fromisoformat(rate["observed_at"]) < timedelta(minutes=1)


def test_the_amount_is_computed_from_the_exact_rate(api: Api, priced: Order, exchanges: Exchanges) -> None:
    exchanges.coinbase |= {"USDC-USD": "1", "EUR-USD": "1.10"}
    exchanges.kraken |= {"USDCUSD": "1", "EURUSD": "1.10"}
    request = api.post("/api/payment-requests", priced()).json()
    assert request["amount"]["formatted"] == "27.500000"
    assert request["rate"]["value"] == "0.90909090909"


def test_request_keeps_its_rate_when_sources_change(
    api: Api, public: Api, priced: Order, exchanges: Exchanges
) -> None:
    created = api.post("/api/payment-requests", priced()).json()
    exchanges.coinbase["USDC-USD"] = exchanges.kraken["USDCUSD"] = "1.1"
    read = api.get(f"/api/payment-requests/{created['id']}").json()
    listed = api.get("/api/payment-requests").json()["data"][0]
    shown = public.get(f"/api/public/payment-requests/{created['id']}").json()
    for each in (read, listed, shown):
        assert (each["amount"], each["price"], each["rate"]) == (
            created["amount"],
            created["price"],
            created["rate"],
        )


def test_a_request_of_an_amount_has_neither_price_nor_rate(
    api: Api, order: Order, exchanges: Exchanges
) -> None:
    request = api.post("/api/payment-requests", order()).json()
    assert (request["price"], request["rate"]) == (None, None)
    assert exchanges.asked == []


def test_a_price_in_dollars_needs_no_rate_of_the_dollar(
    api: Api, priced: Order, exchanges: Exchanges
) -> None:
    price = {"currency": "USD", "amount": "10"}
    request = api.post("/api/payment-requests", priced(price=price)).json()
    assert request["price"]["amount"] == "10.00"
    assert request["rate"]["value"] == "1.00005"
    assert not any("EUR" in path for path in exchanges.asked)


def test_a_repeated_call_gets_the_first_rate(api: Api, priced: Order, exchanges: Exchanges) -> None:
    first = api.post("/api/payment-requests", priced(), **{"Idempotency-Key": "order-1"})
    exchanges.broken = {"coinbase": (500, b""), "kraken": (500, b"")}
    querying.forget()
    second = api.post("/api/payment-requests", priced(), **{"Idempotency-Key": "order-1"})
    assert (second.status_code, second.content) == (201, first.content)
    assert PaymentRequest.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"price": None}, (400, "parameter_missing", "amount")),
        ({"price": "25"}, (400, "parameter_invalid", "price")),
        ({"price": {"currency": "EUR"}}, (400, "parameter_missing", "price.amount")),
        ({"price": {"amount": "25"}}, (400, "parameter_missing", "price.currency")),
        ({"price": {**PRICE, "vat": "5"}}, (400, "parameter_unknown", "price.vat")),
        ({"price": {**PRICE, "currency": "XXX"}}, (400, "parameter_invalid", "price.currency")),
        ({"price": {**PRICE, "currency": "eur"}}, (400, "parameter_invalid", "price.currency")),
        ({"price": {**PRICE, "amount": "25.001"}}, (400, "amount_too_precise", "price.amount")),
        ({"price": {**PRICE, "amount": "0"}}, (400, "amount_not_positive", "price.amount")),
        ({"price": {**PRICE, "amount": 25}}, (400, "amount_not_a_string", "price.amount")),
        ({"price": {**PRICE, "amount": "a"}}, (400, "amount_invalid", "price.amount")),
        ({"expires_in": 901}, (400, "parameter_invalid", "expires_in")),
        ({"price": {**PRICE, "amount": "1" * 16}}, (400, "amount_too_large", "price.amount")),
        ({"price": {"currency": "JPY", "amount": "25.0"}}, (400, "amount_too_precise", "price.amount")),
    ],
)
def test_a_price_that_can_not_be_taken_is_refused(
    api: Api,
    priced: Order,
    exchanges: Exchanges,
    change: dict[str, Any],
    expected: tuple[int, str, str],
) -> None:
    body = {**priced(), **change}
    assert refused(api.post("/api/payment-requests", body)) == expected
    assert (PaymentRequest.objects.count(), exchanges.asked) == (0, [])


BOTH = ("price", "parameter_invalid")


@pytest.mark.parametrize(
    ("change", "others"),
    [
        ({"amount": "10"}, []),
        ({"amount": "10", "price": "25"}, [("price", "parameter_invalid")]),
        ({"amount": "10", "price": {"currency": "EUR"}}, [("price.amount", "parameter_missing")]),
        (
            {"amount": "1.1234567", "price": {**PRICE, "currency": "eur", "vat": "5"}, "chain_id": "x"},
            [
                ("price.vat", "parameter_unknown"),
                ("amount", "amount_too_precise"),
                ("chain_id", "parameter_invalid"),
            ],
        ),
        ({"amount": "x", "price": PRICE}, [("amount", "amount_invalid")]),
    ],
)
def test_amount_with_price_is_the_first_error_of_all(
    api: Api, priced: Order, exchanges: Exchanges, change: dict[str, Any], others: list[tuple[str, str]]
) -> None:
    response = api.post("/api/payment-requests", {**priced(), **change})
    error = response.json()["error"]
    details = [(detail["param"], detail["code"]) for detail in error["details"]]
    assert (response.status_code, details) == (400, [BOTH, *others])
    assert (error["param"], error["code"]) == BOTH
    assert error["message"] == "Send either amount or price, not both."
    assert (PaymentRequest.objects.count(), exchanges.asked) == (0, [])


def test_a_token_without_a_price_is_refused(
    api: Api, priced: Order, exchanges: Exchanges, dai: Token
) -> None:
    answer = api.post("/api/payment-requests", priced(token_id=dai.id))
    assert refused(answer) == (400, "parameter_invalid", "price")
    assert PaymentRequest.objects.count() == 0


def _stale(exchanges: Exchanges) -> None:
    exchanges.time = (datetime.now(UTC) - timedelta(seconds=121)).isoformat()


FAULTS: dict[str, Callable[[Exchanges], Any]] = {
    "further apart than the spread": lambda each: each.kraken.update(USDCUSD="1.02"),
    "one is down": lambda each: each.broken.update(kraken=(503, b"{}")),
    "only one lists it": lambda each: each.kraken.pop("EURUSD"),
    "stale": _stale,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_without_two_sources_that_agree_nothing_is_created(
    api: Api, priced: Order, exchanges: Exchanges, fault: str
) -> None:
    FAULTS[fault](exchanges)
    answer = api.post("/api/payment-requests", priced())
    assert refused(answer) == (503, "rate_unavailable", None)
    assert int(answer["Retry-After"]) > 0
    assert PaymentRequest.objects.count() == 0


def test_a_value_far_from_the_last_one_is_refused_for_an_hour(
    api: Api, priced: Order, exchanges: Exchanges
) -> None:
    assert api.post("/api/payment-requests", priced()).status_code == 201
    querying.forget()
    exchanges.coinbase["USDC-USD"] = exchanges.kraken["USDCUSD"] = "1.3"
    assert refused(api.post("/api/payment-requests", priced()))[1] == "rate_unavailable"
    querying.forget()
    AcceptedRate.objects.update(accepted_at=timezone.now() - timedelta(minutes=61))
    assert api.post("/api/payment-requests", priced()).status_code == 201


def test_rate_step_is_measured_from_last_accepted_value(
    api: Api, priced: Order, exchanges: Exchanges
) -> None:
    for value, status in (("1.00", 201), ("1.15", 201), ("1.30", 201), ("1.57", 503), ("1.10", 201)):
        querying.forget()
        exchanges.coinbase["USDC-USD"] = exchanges.kraken["USDCUSD"] = value
        assert api.post("/api/payment-requests", priced()).status_code == status, value
    assert AcceptedRate.objects.get(base="USDC").value == Decimal("1.10")


def test_small_changes_are_noted_once_a_minute(api: Api, priced: Order, exchanges: Exchanges) -> None:
    api.post("/api/payment-requests", priced())
    (noted,) = AcceptedRate.objects.filter(base="USDC")
    exchanges.coinbase["USDC-USD"] = exchanges.kraken["USDCUSD"] = "1.005"
    querying.forget()
    assert api.post("/api/payment-requests", priced()).status_code == 201
    assert AcceptedRate.objects.get(base="USDC").value == noted.value
    AcceptedRate.objects.update(accepted_at=timezone.now() - timedelta(seconds=61))
    querying.forget()
    api.post("/api/payment-requests", priced())
    assert AcceptedRate.objects.get(base="USDC").value == Decimal("1.005")


def test_payment_after_price_expiry_needs_merchant_acceptance(
    api: Api, priced: Order, exchanges: Exchanges, settings: Any
) -> None:
    settings.ENVIRONMENT = "staging"
    created = api.post("/api/payment-requests", priced()).json()
    path = f"/api/payment-requests/{created['id']}"
    simulated = api.post(f"/api/test/payment-requests/{created['id']}/simulate", {"outcome": "paid_late"})
    assert simulated.status_code == 200, simulated.content
    late = api.get(path).json()
    assert (late["status"], late["amount_remaining"]["raw"]) == ("expired", "0")
    (payment,) = late["payments"]
    assert payment["status"] == "completed"
    assert _events(api) == ["payment.expired", "payment.partially_paid"]

    accepted = api.post(f"{path}/payments/{payment['id']}/accept", {"reason": "The rate is still fine."})
    assert accepted.status_code == 200, accepted.content
    done = api.get(path).json()
    assert (done["status"], done["paid_late"]) == ("completed", True)
    assert _events(api) == ["payment.expired", "payment.partially_paid", "payment.succeeded"]
    api.post(f"{path}/payments/{payment['id']}/accept", {"reason": "Once more."})
    assert _events(api) == ["payment.expired", "payment.partially_paid", "payment.succeeded"]


def _events(api: Api) -> list[str]:
    return sorted(event["type"] for event in api.get("/api/events?limit=100").json()["data"])


def test_the_longest_life_of_a_price_is_900_seconds(api: Api, priced: Order, exchanges: Exchanges) -> None:
    answer = api.post("/api/payment-requests", priced(expires_in=900))
    assert answer.status_code == 201
    request = PaymentRequest.objects.get()
    assert request.expires_at - request.created_at == timedelta(seconds=900)


def test_a_token_of_18_decimals_is_asked_for_in_eight(
    api: Api, priced: Order, exchanges: Exchanges, dai: Token
) -> None:
    Token.objects.filter(pk=dai.pk).update(price_as="DAI")
    exchanges.coinbase["DAI-USD"] = exchanges.kraken["DAIUSD"] = "0.9997"
    request = api.post("/api/payment-requests", priced(token_id=dai.id)).json()
    raw, rate = int(request["amount"]["raw"]), Decimal(request["rate"]["value"])
    assert raw % 10**10 == 0
    assert raw * rate >= 25 * 10**18 > (raw - 10**10) * rate
