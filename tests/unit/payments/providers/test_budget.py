"""A provider is never called beyond its quota. While it doesn't respond, it is not called again and again."""

from itertools import count
from typing import Any

import pytest
from django.test import override_settings
from limits import parse

from config.api.limits import fair_shares, rate_limits
from config.api.limits.fair_shares import Share, Shares
from payments.providers.base import ProviderDown, ShareSpent
from payments.providers.budget import Circuit, quote_quotas, shares_of, spend_quote

numbers = count()
ATTACKER, CUSTOMER = "2001:db8:1:2::/64", "192.0.2.2"


def quote(address: str, *, request: str = "", merchant: str = "", is_bound: bool = True) -> tuple[Share, ...]:
    """Return a quote's shares. By default, each quote has its own request and merchant."""
    own = f"{address}-{next(numbers)}"
    return shares_of(request or own, address, merchant or own, is_bound=is_bound)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": parse("2/hour"), "relay": parse("1/hour")})
def test_quotes_beyond_the_quota_are_not_asked_for() -> None:
    spend_quote("lifi")
    spend_quote("lifi")
    with pytest.raises(ProviderDown, match="quota") as down:
        spend_quote("lifi")
    assert down.value.retry_after is not None
    assert 0 < down.value.retry_after <= 3600
    spend_quote("relay")  # each provider has its own quota


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": None})
def test_a_quota_can_be_switched_off() -> None:
    for _ in range(200):
        spend_quote("lifi")


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": parse("3/hour"), "relay": None})
def test_quotas_show_allowed_calls_and_calls_made() -> None:
    assert list(quote_quotas()) == [("lifi", 3, 0)]
    spend_quote("lifi")
    spend_quote("lifi", quote(CUSTOMER))
    assert list(quote_quotas()) == [("lifi", 3, 2)]


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": parse("3/hour")})
def test_used_quota_is_unknown_without_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "from_redis", lambda query: None)
    assert list(quote_quotas()) == [("lifi", 3, None)]


# --- shares of the remaining quota
# ------------------------------------------------------------------------------------


def quotes_until_refused(**options: Any) -> int:
    for made in range(100):
        try:
            spend_quote("lifi", quote(**options))
        except ShareSpent:
            return made
    raise AssertionError("no share was used up")


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": parse("40/hour")})
def test_one_request_gets_a_tenth_of_what_is_left() -> None:
    assert quotes_until_refused(address=CUSTOMER, request="one") == 4
    with pytest.raises(ShareSpent) as refused:
        spend_quote("lifi", quote(CUSTOMER, request="one"))
    assert refused.value.retry_after is not None
    assert 0 < refused.value.retry_after <= 3600


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": parse("40/hour")})
def test_one_address_gets_a_fifth_and_the_others_what_is_left() -> None:
    assert quotes_until_refused(address=ATTACKER) == 8
    assert quotes_until_refused(address=CUSTOMER) == 6, "a fifth of the 32 that the first one left"
    assert quotes_until_refused(address=ATTACKER) == 0


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": parse("40/hour")})
@pytest.mark.parametrize("kind", [{"merchant": "shop"}, {"is_bound": False}])
def test_one_merchant_and_all_unbound_requests_get_half(kind: dict[str, Any]) -> None:
    for number in range(20):
        spend_quote("lifi", quote(f"192.0.2.{number}", **kind))
    with pytest.raises(ShareSpent):
        spend_quote("lifi", quote("192.0.2.99", **kind))
    spend_quote("lifi", quote(CUSTOMER))


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": parse("5/hour")})
def test_last_quotes_of_a_quota_go_to_anyone_once() -> None:
    for number in range(5):
        spend_quote("lifi", quote(f"192.0.2.{number}"))
    with pytest.raises(ProviderDown, match="quote quota is used up") as down:
        spend_quote("lifi", quote("192.0.2.9"))
    assert not isinstance(down.value, ShareSpent)


def test_a_share_comes_back_with_time() -> None:
    clock = Clock()
    shares, own = Shares(clock=clock), (Share("one", 10),)
    assert [shares.count("q", own, 20, 60)[0] for _ in range(3)] == ["", "", "share"]
    clock.now += 59
    assert shares.count("q", own, 20, 60) == ("share", 1.0)
    clock.now += 1
    assert shares.count("q", own, 20, 60) == ("", 0.0)


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": parse("10/hour")}, REDIS_URL="redis://127.0.0.1:1/0")
def test_without_redis_each_process_keeps_the_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_shares, "_here", Shares())
    rate_limits._in_redis.cache_clear()
    try:
        assert quotes_until_refused(address=ATTACKER) == 2
        spend_quote("lifi", quote(CUSTOMER))
    finally:
        rate_limits._in_redis.cache_clear()
        rate_limits._redis.responded()


def test_a_circuit_lets_through_until_three_failures_in_a_row() -> None:
    clock = Clock()
    circuit = Circuit("lifi /quote", clock=clock)
    for _ in range(2):
        circuit.enter()
        circuit.failed()
    circuit.enter()
    circuit.answered()
    for _ in range(2):
        circuit.enter()
        circuit.failed()
    circuit.enter()
    circuit.failed()
    with pytest.raises(ProviderDown, match="lifi /quote is in a cooldown") as down:
        circuit.enter()
    assert down.value.retry_after == 2


def test_one_caller_retries_after_cooldown_while_others_wait() -> None:
    clock = Clock()
    circuit = Circuit("lifi /quote", clock=clock)
    for _ in range(3):
        circuit.failed()
    clock.now += 2
    circuit.enter()
    with pytest.raises(ProviderDown):
        circuit.enter()
    circuit.answered()
    circuit.enter()
    circuit.enter()


def test_rests_grow_up_to_a_minute() -> None:
    clock = Clock()
    circuit = Circuit("lifi /quote", clock=clock)
    rests = []
    for failures in range(1, 12):
        circuit.failed()
        if failures >= 3:
            with pytest.raises(ProviderDown) as down:
                circuit.enter()
            assert down.value.retry_after is not None
            rests.append(down.value.retry_after)
            clock.now += down.value.retry_after
            circuit.enter()
    assert rests[:6] == [2, 4, 8, 16, 32, 60]
    assert max(rests) == 60


def test_cooldown_follows_retry_after_up_to_a_minute() -> None:
    clock = Clock()
    circuit = Circuit("lifi /quote", clock=clock)
    circuit.failed(retry_after=7)
    with pytest.raises(ProviderDown) as down:
        circuit.enter()
    assert down.value.retry_after == 7
    clock.now += 7
    circuit.enter()
    circuit.failed(retry_after=7200)
    clock.now += 60
    circuit.enter()
