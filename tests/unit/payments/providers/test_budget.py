"""No provider is asked beyond its quota, nor again and again while it does not answer."""

from contextlib import suppress

import pytest
from django.test import override_settings
from limits import parse

from config.api.limits import fair_shares, rate_limits
from config.api.limits.fair_shares import Shares
from payments.providers.base import ProviderDown, ShareSpent
from payments.providers.budget import Circuit, spend_quote

ATTACKER, CUSTOMER = "2001:db8:1:2::/64", "192.0.2.2"


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
    spend_quote("relay")  # each provider has a quota of its own


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": None})
def test_a_quota_can_be_switched_off() -> None:
    for _ in range(200):
        spend_quote("lifi")


# --- no client gets more than a tenth of what is left ----------------------------------------------------------------


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": parse("40/hour")})
def test_one_client_gets_a_tenth_and_the_others_what_is_left() -> None:
    def quotes_until_refused(client: str) -> int:
        count = 0
        with suppress(ShareSpent):
            while count <= 40:
                spend_quote("lifi", client)
                count += 1
        return count

    assert quotes_until_refused(ATTACKER) == 4
    assert quotes_until_refused(CUSTOMER) == 3, "a tenth of the 36 that the first one left"
    assert quotes_until_refused(ATTACKER) == 0
    with pytest.raises(ShareSpent) as refused:
        spend_quote("lifi", ATTACKER)
    assert refused.value.retry_after is not None
    assert 0 < refused.value.retry_after <= 3600


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": parse("5/hour")})
def test_the_end_of_a_quota_is_of_use_to_somebody_and_then_spent_for_all() -> None:
    for number in range(5):
        spend_quote("lifi", f"192.0.2.{number}")
    with pytest.raises(ProviderDown, match="quote quota is used up") as down:
        spend_quote("lifi", "192.0.2.9")
    assert not isinstance(down.value, ShareSpent)


def test_a_share_comes_back_with_time() -> None:
    clock = Clock()
    shares = Shares(clock=clock)
    assert [shares.count("q", ATTACKER, 20, 60)[0] for _ in range(3)] == ["", "", "share"]
    clock.now += 59
    assert shares.count("q", ATTACKER, 20, 60) == ("share", 1.0)
    clock.now += 1
    assert shares.count("q", ATTACKER, 20, 60) == ("", 0.0)


@override_settings(ROUTING_QUOTE_LIMITS={"lifi": parse("20/hour")}, REDIS_URL="redis://127.0.0.1:1/0")
def test_without_redis_each_process_keeps_the_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_shares, "_here", Shares())
    rate_limits._in_redis.cache_clear()
    try:
        for _ in range(2):
            spend_quote("lifi", ATTACKER)
        with pytest.raises(ShareSpent):
            spend_quote("lifi", ATTACKER)
        spend_quote("lifi", CUSTOMER)
    finally:
        rate_limits._in_redis.cache_clear()
        rate_limits._redis.answered()


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


def test_after_its_rest_one_caller_tries_and_the_others_wait_for_what_it_finds() -> None:
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


def test_one_that_names_a_time_is_left_alone_for_it_but_no_longer_than_a_minute() -> None:
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
