"""Doctor reports late queues, and providers and rate sources that don't respond."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from limits import parse
from pytest_django import Settings

from config.doctor.finding import Level
from payments import doctor
from payments.models import MerchantCursor, Payment, PaymentRequest
from payments.prices import querying
from payments.providers import registry
from tests.loopback import Exchange, scripted
from tests.support.operations.findings import found, levels
from tests.support.payments.rows import new_payment
from tests.support.rates.exchanges import Exchanges


@pytest.mark.parametrize(("late", "level"), [(5, "ok"), (120, "warning"), (3600, "failed")])
def test_payments_that_wait_for_long_are_named(
    request_for: Callable[..., PaymentRequest], late: int, level: str
) -> None:
    request = request_for()
    new_payment(
        request=request,
        chain=request.chain,
        transaction_hash="0x" + "ab" * 32,
        status=Payment.Status.PENDING,
        next_check_at=timezone.now() - timedelta(seconds=late),
    )
    assert levels(doctor.check_queues())["payments"] == level


@pytest.mark.parametrize(("late", "level"), [(5, "ok"), (120, "warning"), (3600, "failed")])
def test_requests_that_should_have_expired_are_named(
    request_for: Callable[..., PaymentRequest], late: int, level: str
) -> None:
    due = timezone.now() - timedelta(seconds=late)
    PaymentRequest.objects.filter(pk=request_for().pk).update(expiry_check_at=due)
    assert levels(doctor.check_queues())["expiry"] == level


def test_a_search_that_lags_is_named(request_for: Callable[..., PaymentRequest]) -> None:
    request = request_for()
    cursor = MerchantCursor.objects.create(chain=request.chain, merchant=request.merchant)
    long_ago = timezone.now() - timedelta(hours=1)
    MerchantCursor.objects.filter(pk=cursor.pk).update(created_at=long_ago, searched_at=long_ago)
    (summary,) = found(doctor.check_queues(), Level.FAILED)
    assert summary.startswith("discovery: Local Chain was last searched")


def test_a_provider_that_does_not_answer_is_named(
    request_for: Callable[..., PaymentRequest], settings: Settings
) -> None:
    request_for()
    settings.ROUTING_PROVIDERS = ["lifi"]
    settings.LIFI_API_URL = "http://127.0.0.1:1"
    registry.forget()
    assert levels(doctor.check_providers()) == {"LI.FI": "failed"}
    settings.ROUTING_PROVIDERS = []
    assert levels(doctor.check_providers()) == {"routing": "ok"}


def test_a_provider_with_a_small_quota_is_named(
    request_for: Callable[..., PaymentRequest], settings: Settings
) -> None:
    request = request_for()

    def lists(exchange: Exchange) -> None:
        listed = {
            "address": request.token.contract_address,
            "symbol": "USDC",
            "name": "USD Coin",
            "decimals": 6,
        }
        entry = {**listed, "chainId": request.chain_id, "priceUSD": "1"}
        chains = {"chains": [{"id": request.chain_id, "chainType": "EVM"}]}
        exchange.reply(chains if exchange.path == "/chains" else {"tokens": {str(request.chain_id): [entry]}})

    settings.ROUTING_PROVIDERS = ["lifi"]
    with scripted(lists, path="/v1") as provider:
        settings.LIFI_API_URL = provider.url
        registry.forget()
        settings.ROUTING_QUOTE_LIMITS = {"lifi": parse("100/minute")}
        assert levels(doctor.check_providers()) == {"LI.FI": "ok"}
        settings.ROUTING_QUOTE_LIMITS = {"lifi": parse("37/hour")}
        (summary,) = found(doctor.check_providers(), Level.WARNING)
    assert "37 quotes an hour" in summary


def test_rate_sources_that_agree_have_nothing_wrong(exchanges: Exchanges) -> None:
    assert levels(doctor.check_rates()) == {"coinbase": "ok", "kraken": "ok"}


def test_source_of_currencies_alone_is_asked_for_one(exchanges: Exchanges, settings: Settings) -> None:
    settings.RATE_SOURCES = ["coinbase", "kraken", "coinbase_rates"]
    summaries = {each.subject: each.summary for each in doctor.check_rates()}
    assert summaries["coinbase_rates"] == "has rates for 0 of 1 tokens and EUR"
    exchanges.broken = {"coinbase_rates": (503, b"{}")}
    querying.forget()
    assert levels(doctor.check_rates())["coinbase_rates"] == "warning"


def test_a_rate_source_that_is_gone_is_named_with_what_it_stops(
    exchanges: Exchanges, settings: Settings
) -> None:
    settings.RATE_URLS = {**settings.RATE_URLS, "kraken": "http://127.0.0.1:1"}
    assert levels(doctor.check_rates()) == {"coinbase": "ok", "kraken": "warning", "rate of USDC": "failed"}
