"""Calls at the same moment share one query. None waits forever."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from payments.prices import querying
from payments.prices.rules import Observation
from tests.support.rates.exchanges import Exchanges
from tests.threads import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    now = [1000.0]
    monkeypatch.setattr(querying.time, "monotonic", lambda: now[0])
    querying.forget()
    yield now
    querying.forget()


def values(found: dict[str, list[Observation]]) -> dict[str, list[Decimal]]:
    return {base: [each.value for each in seen] for base, seen in found.items()}


def test_many_at_once_are_one_question(exchanges: Exchanges) -> None:
    answers = at_once([lambda: querying.observations({"USDC", "EUR"})] * 8)
    assert all(set(found) == {"USDC", "EUR"} and found["USDC"] for found in answers)
    assert len(exchanges.asked) == 4


def test_each_currency_is_shared_by_itself_for_two_seconds(exchanges: Exchanges, clock: list[float]) -> None:
    first = querying.observations({"USDC", "EUR"})
    exchanges.coinbase["USDC-USD"] = exchanges.kraken["USDCUSD"] = "1.1"
    clock[0] += querying.SHARED_SECONDS
    assert values(querying.observations({"USDC"})) == {"USDC": values(first)["USDC"]}
    assert len(exchanges.asked) == 4
    clock[0] += 0.1
    assert values(querying.observations({"USDC"})) == {"USDC": [Decimal("1.1"), Decimal("1.1")]}
    assert len(exchanges.asked) == 6


def test_a_source_that_takes_too_long_is_left_out(
    exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(querying, "LONGEST_SECONDS", 0.3)
    exchanges.hanging = {"kraken"}
    assert values(querying.observations({"USDC"})) == {"USDC": [Decimal("1.0002")]}


def test_those_that_share_a_question_get_nothing_if_it_fails(
    exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> Any:
        raise RuntimeError("for the test")

    monkeypatch.setattr(querying, "_query_all", fail)
    with pytest.raises(RuntimeError):
        querying.observations({"USDC"})
    assert querying.observations({"USDC"}) == {"USDC": []}


def test_a_source_with_a_bug_does_not_spoil_the_others(
    exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payments.prices.sources.kraken.Kraken.observe", lambda *_: 1 / 0)
    assert values(querying.observations({"USDC"})) == {"USDC": [Decimal("1.0002")]}
