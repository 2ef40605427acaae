"""The currencies in which this deployment can price, and the few calls to rate sources that this takes."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from redis.exceptions import RedisError

from chains.currencies import DIGITS
from chains.models import Chain, Switch, Token
from config.api.limits.waiting import Busy
from config.environment.declared import Environment
from merchants.admin.forms import MerchantForm
from merchants.models import Merchant
from payments.models import PaymentRequest
from payments.prices import currencies, querying
from payments.prices.sources import coinbase, coinbase_rates, coingecko, ecb, kraken
from tests.conftest import Api
from tests.support.rates.exchanges import Exchanges
from tests.threads import at_once

pytestmark = pytest.mark.django_db

PATH = "/api/public/currencies"
ALL_SOURCES = ["feeds", "coinbase", "coinbase_rates", "kraken", "coingecko", "ecb"]


def listed(public: Api) -> dict[str, tuple[list[str], bool]]:
    answer = public.get(PATH)
    assert answer.status_code == 200, answer.content
    assert all(set(each) == {"code", "sources", "is_available"} for each in answer.json())
    return {each["code"]: (each["sources"], each["is_available"]) for each in answer.json()}


def test_currencies_are_listed_with_their_availability(public: Api, exchanges: Exchanges) -> None:
    both = ["coinbase", "kraken"]
    assert listed(public) == {"EUR": (both, True), "GBP": (both, False), "USD": (both, True)}
    answer = public.get(PATH)
    assert answer["Cache-Control"] == "public, max-age=60"
    assert answer["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("planted", [1, 1.5, True, b"\xff\xfe"])
def test_unreadable_list_in_the_cache_is_made_again(
    public: Api, exchanges: Exchanges, planted: float | bytes
) -> None:
    currencies.cache.set(currencies._KEY, planted)
    assert listed(public)["EUR"] == (["coinbase", "kraken"], True)
    assert currencies.cache.get(currencies._KEY) == b"EUR USD"


@pytest.mark.parametrize(
    "fault",
    [
        lambda each: each.broken.update(kraken=(503, b"{}")),
        lambda each: each.kraken.update(EURUSD="1.2"),
        lambda each: each.kraken.pop("EURUSD"),
    ],
)
def test_currency_without_agreement_is_listed_as_unavailable(
    public: Api, exchanges: Exchanges, fault: Callable[[Exchanges], Any]
) -> None:
    fault(exchanges)
    assert listed(public)["EUR"] == (["coinbase", "kraken"], False)


def test_dollar_is_unavailable_if_one_source_answers(public: Api, exchanges: Exchanges) -> None:
    exchanges.broken = {"kraken": (503, b"{}")}
    assert listed(public)["USD"] == (["coinbase", "kraken"], False)


def test_sources_of_one_operator_list_nothing_together(
    public: Api, exchanges: Exchanges, settings: Any
) -> None:
    settings.RATE_SOURCES = ["coinbase", "coinbase_rates"]
    assert listed(public) == {"USD": (["coinbase"], False)}
    settings.RATE_SOURCES = ["coinbase", "coinbase_rates", "kraken"]
    assert listed(public)["EUR"][0] == ["coinbase", "coinbase_rates", "kraken"]


def test_daily_source_lists_only_beside_another(public: Api, exchanges: Exchanges, settings: Any) -> None:
    settings.RATE_SOURCES = ["ecb", "coinbase_rates"]
    assert listed(public)["JPY"] == (["coinbase_rates", "ecb"], True)
    settings.RATE_SOURCES = ["ecb"]
    assert listed(public) == {"USD": ([], False)}


def test_feeds_of_two_chains_are_two_sources(public: Api, exchanges: Exchanges, settings: Any) -> None:
    settings.RATE_SOURCES = ["feeds"]
    feeds = [{"pair": "NGN/USD", "address": "0x" + "1" * 40, "heartbeat": 3600}]
    for number in (7001, 7002):
        assert not currencies.is_listed("NGN")
        Chain.objects.create(id=number, name="Chain", chain_type="evm", native_symbol="ETH", feeds=feeds)
    assert currencies.is_listed("NGN")


def test_shipped_sources_cover_thirty_currencies_twice(db: None, settings: Any) -> None:
    settings.RATE_SOURCES = Environment.RATE_SOURCES.parse(Environment.RATE_SOURCES.default)
    assert settings.RATE_SOURCES == ALL_SOURCES
    assert sum(map(currencies.is_listed, DIGITS)) >= 30


@pytest.mark.parametrize("source", [coinbase, coinbase_rates, coingecko, ecb, kraken])
def test_sources_list_only_currencies_that_prices_can_be_in(source: Any) -> None:
    assert set(DIGITS) > source.CURRENCIES


def test_without_a_priced_token_nothing_is_listed_or_asked(public: Api, exchanges: Exchanges) -> None:
    Token.objects.update(price_as="")
    assert (listed(public), exchanges.asked) == ({}, [])


def test_without_sources_nothing_is_listed(public: Api, exchanges: Exchanges, settings: Any) -> None:
    settings.RATE_SOURCES = []
    assert listed(public) == {}


def test_switched_off_prices_make_all_currencies_unavailable(public: Api, exchanges: Exchanges) -> None:
    Switch.objects.create(name="prices")
    assert listed(public)["EUR"] == (["coinbase", "kraken"], False)
    assert exchanges.asked == []


# The cost that strangers can cause


def test_sources_are_asked_once_a_minute_whoever_calls(
    public: Api, exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed(public)
    asked = list(exchanges.asked)
    assert len(asked) == len(set(asked)) < 12
    for _ in range(5):
        listed(public)
    currencies._kept = None  # like another process with the same cache
    listed(public)
    assert exchanges.asked == asked


def test_without_redis_a_process_asks_once_a_minute(
    public: Api, exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> None:
        raise RedisError("gone")

    now = [1000.0]
    monkeypatch.setattr(currencies.cache, "get", gone)
    monkeypatch.setattr(currencies.cache, "set", gone)
    monkeypatch.setattr(currencies.time, "monotonic", lambda: now[0])
    assert listed(public)["EUR"][1]
    asked = len(exchanges.asked)
    now[0] += 60
    listed(public)
    assert len(exchanges.asked) == asked
    now[0] += 1
    listed(public)
    assert len(exchanges.asked) > asked


def test_busy_server_says_so_unless_it_knows_the_last_answer(
    public: Api, exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(_: str) -> None:
        raise Busy("rate sources")

    with monkeypatch.context() as patch:
        patch.setattr(currencies, "waiting_for", busy)
        answer = public.get(PATH)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "rate_unavailable")
    assert (answer["Retry-After"], exchanges.asked) == ("2", [])
    known = listed(public)
    currencies.cache.delete(currencies._KEY)
    monkeypatch.setattr(currencies, "waiting_for", busy)
    monkeypatch.setattr(currencies, "FRESH_SECONDS", -1)
    assert listed(public) == known


def test_calls_at_once_ask_once(exchanges: Exchanges) -> None:
    known = querying.listings()
    found = at_once([lambda: currencies._available("USDC", known)] * 8)
    assert set(found) == {frozenset({"EUR", "USD"})}
    assert len(exchanges.asked) == len(set(exchanges.asked))


def test_each_source_is_asked_only_for_what_it_lists(
    public: Api, exchanges: Exchanges, settings: Any
) -> None:
    settings.RATE_SOURCES = ALL_SOURCES
    assert sum(available for _, available in listed(public).values()) == 3  # EUR, JPY, USD
    by_path = [path.partition("?")[0] for path in exchanges.asked]
    assert by_path.count("/v2/exchange-rates") == by_path.count("/api/v3/simple/price") == 1
    assert sum(path.startswith("/stats/") for path in by_path) == 1
    # Kraken: one call for each currency and the coin, and one more for each whose first pair isn't listed.
    assert by_path.count("/0/public/Trades") <= 2 * (len(kraken.CURRENCIES) + 1)


# What merchants get


@pytest.fixture
def priced(order: Callable[..., dict[str, Any]]) -> Callable[[str], dict[str, Any]]:
    """Return a function that makes the body of a create call with a price in this currency."""

    def build(currency: str) -> dict[str, Any]:
        body = {**order(), "price": {"currency": currency, "amount": "2500"}}
        del body["amount"]
        return body

    return build


@pytest.mark.parametrize("currency", ["JPY", "KPW"])
def test_price_in_a_currency_of_fewer_sources_is_refused(
    api: Api, priced: Callable[[str], dict[str, Any]], exchanges: Exchanges, currency: str
) -> None:
    exchanges.kraken["USDJPY"] = "150"
    answer = api.post("/api/payment-requests", priced(currency))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "parameter_invalid", "price.currency")
    assert error["message"] == f"No two sources for {currency} on this server."
    assert PaymentRequest.objects.count() == 0


def test_unlisted_currency_is_named_before_a_missing_rate(
    api: Api, priced: Callable[[str], dict[str, Any]], exchanges: Exchanges
) -> None:
    exchanges.broken = {"kraken": (503, b"{}"), "coinbase": (503, b"{}")}
    assert api.post("/api/payment-requests", priced("KPW")).status_code == 400
    answer = api.post("/api/payment-requests", priced("EUR"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "rate_unavailable")
    assert PaymentRequest.objects.count() == 0


def test_central_bank_confirms_the_rate_of_a_list(
    api: Api, priced: Callable[[str], dict[str, Any]], exchanges: Exchanges, settings: Any
) -> None:
    settings.RATE_SOURCES = ["kraken", "coingecko", "coinbase_rates", "ecb"]
    request = api.post("/api/payment-requests", priced("JPY")).json()
    assert request["rate"]["sources"] == ["coinbase_rates", "coingecko", "ecb", "kraken"]
    assert abs(float(request["rate"]["value"]) - 150) < 0.01


def test_central_bank_and_one_operator_give_no_rate(
    api: Api, priced: Callable[[str], dict[str, Any]], exchanges: Exchanges, settings: Any
) -> None:
    settings.RATE_SOURCES = ["coinbase", "coinbase_rates", "ecb"]
    answer = api.post("/api/payment-requests", priced("EUR"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "rate_unavailable")


def test_reporting_currency_of_fewer_sources_is_refused(merchant: Merchant, exchanges: Exchanges) -> None:
    with pytest.raises(CommandError, match="reporting_currency: No two sources for JPY on this server"):
        call_command("set_merchant", merchant.name, "--reporting-currency", "JPY", "--references", "off")
    merchant.refresh_from_db()
    assert (merchant.reporting_currency, merchant.references) == ("USD", True)
    call_command("set_merchant", merchant.name, "--reporting-currency", "EUR")
    merchant.refresh_from_db()
    assert merchant.reporting_currency == "EUR"
    assert exchanges.asked == []


@pytest.mark.parametrize(
    ("before", "after", "is_valid"), [("USD", "JPY", False), ("JPY", "JPY", True), ("USD", "gbp", True)]
)
def test_form_refuses_a_new_reporting_currency_of_fewer_sources(
    merchant: Merchant, exchanges: Exchanges, before: str, after: str, is_valid: bool
) -> None:
    merchant.reporting_currency = before
    form_class = type(
        "Form",
        (MerchantForm,),
        {"Meta": type("Meta", (MerchantForm.Meta,), {"fields": ("reporting_currency",)})},
    )
    form = form_class({"reporting_currency": after}, instance=merchant)
    assert form.is_valid() is is_valid, form.errors
    assert ("reporting_currency" in form.errors) is not is_valid
