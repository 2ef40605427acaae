"""Calls to providers and rate sources are counted by name, outcome and duration."""

import contextlib
import threading

import pytest

from config.observe.outside_calls import Kind, Outcome
from demo.services.process import free_port
from payments.prices.sources.base import Ticker
from payments.providers.base import ProviderDown
from payments.providers.http import JsonApi
from tests.loopback import Behaviour, Exchange, scripted
from tests.support.observe.outside_calls import calls_by_outcome, durations, outcomes_between
from tests.unit.payments.providers.test_http import saying


def stall(exchange: Exchange) -> None:
    threading.Event().wait(2)


def outcomes_of(url: str) -> dict[Outcome, float]:
    before, timed = calls_by_outcome(Kind.PROVIDER, "lifi"), durations(Kind.PROVIDER, "lifi")
    with contextlib.suppress(ProviderDown):
        JsonApi("lifi", url).get("/quote", {"fromAddress": "0x8ba1"}, seconds=0.5, most_bytes=1000)
    assert durations(Kind.PROVIDER, "lifi") == timed + 1
    return outcomes_between(before, calls_by_outcome(Kind.PROVIDER, "lifi"))


@pytest.mark.parametrize(
    ("behave", "outcome"),
    [
        (saying("{}"), Outcome.OK),
        (saying("{}", 404), Outcome.REJECTED),
        (saying("no JSON", 404), Outcome.REJECTED),
        (saying("{}", 429), Outcome.RATE_LIMITED),
        (saying("{}", 424), Outcome.FAILED),
        (saying("{}", 503), Outcome.FAILED),
        (saying("", 302, Location="http://127.0.0.1:1/"), Outcome.UNUSABLE),
        (saying("no JSON"), Outcome.UNUSABLE),
        (saying("1" * 2000), Outcome.UNUSABLE),
        (stall, Outcome.TIMED_OUT),
    ],
)
def test_a_call_to_a_provider_is_counted_by_its_outcome(behave: Behaviour, outcome: Outcome) -> None:
    with scripted(behave) as provider:
        assert outcomes_of(provider.url) == {outcome: 1}


def test_provider_without_a_server_counts_as_unreachable() -> None:
    assert outcomes_of(f"http://127.0.0.1:{free_port()}") == {Outcome.UNREACHABLE: 1}


def test_rate_sources_are_counted_apart_from_providers() -> None:
    before = calls_by_outcome(Kind.RATE_SOURCE, "kraken")
    with scripted(saying('{"price": "1"}')) as exchange:
        Ticker("kraken", exchange.url).get("/ticker")
    after = calls_by_outcome(Kind.RATE_SOURCE, "kraken")
    assert outcomes_between(before, after) == {Outcome.OK: 1}


def test_call_during_a_cooldown_is_not_counted() -> None:
    with scripted(saying("{}", 429)) as provider:
        api = JsonApi("lifi", provider.url)
        with pytest.raises(ProviderDown):
            api.get("/quote", {})
        before = calls_by_outcome(Kind.PROVIDER, "lifi")
        with pytest.raises(ProviderDown, match="cooldown"):
            api.get("/quote", {})
    assert calls_by_outcome(Kind.PROVIDER, "lifi") == before
