"""No provider is asked beyond its quota, nor again and again while it does not answer."""

import pytest
from django.test import override_settings
from limits import parse

from payments.routing.base import ProviderDown
from payments.routing.budget import Circuit, spend_quote


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
    with pytest.raises(ProviderDown, match="lifi /quote rests") as down:
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
    circuit.failed(left_alone=7)
    with pytest.raises(ProviderDown) as down:
        circuit.enter()
    assert down.value.retry_after == 7
    clock.now += 7
    circuit.enter()
    circuit.failed(left_alone=7200)
    clock.now += 60
    circuit.enter()
