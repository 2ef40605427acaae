"""The local world's tickers have the format that the product reads. Each switch has its effect."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.serving import make_server

from demo.contracts.deploy import ChainRefusal
from demo.rates.app import create_app
from demo.rates.market import Market, Positions
from payments.prices.sources.coinbase import Coinbase
from payments.prices.sources.kraken import Kraken
from payments.providers.base import ProviderDown
from tests.loopback import serving


@dataclass
class Running:
    """The rate sources without a chain. They record what would be written to the chain, or why it can't be."""

    market: Market = field(default_factory=Market)
    written: list[Positions] = field(default_factory=list)
    refusal: str = ""
    url: str = ""

    def write(self, positions: Positions) -> None:
        if self.refusal:
            raise ChainRefusal(self.refusal)
        self.written.append(positions)

    @property
    def client(self) -> FlaskClient:
        return create_app(self.market, self.write).test_client()


@pytest.fixture
def rates() -> Iterator[Running]:
    running = Running()
    with serving(make_server("127.0.0.1", 0, create_app(running.market, running.write))) as url:
        running.url = url
        yield running


def seen(source: Any, url: str, *codes: str) -> dict[str, Fraction]:
    return {code: each[0].value for code, each in source(url).observe(codes).items()}


def test_both_exchanges_are_read_as_the_real_ones_are(rates: Running) -> None:
    codes = ("ETH", "EUR", "USDC", "USDT", "JPY", "XPF")
    assert seen(Coinbase, rates.url, *codes) == {
        "ETH": Decimal(2500),
        "EUR": pytest.approx(Fraction("1.08"), rel=1e-10),  # converted through BTC
        "USDT": Decimal("1.0002"),
    }
    assert seen(Kraken, rates.url, *codes) == {
        "ETH": Decimal(2500),
        "EUR": Decimal("1.08"),
        "USDC": Decimal(1),
        "USDT": Decimal("1.0002"),
        "JPY": pytest.approx(Fraction("0.0067"), rel=1e-10),  # listed as the inverse pair
    }


@pytest.mark.parametrize(
    ("source", "fault", "is_down"),
    [
        (Coinbase, "down", True),
        (Coinbase, "zero", True),
        (Coinbase, "garbage", True),
        (Coinbase, "frozen", False),
        (Kraken, "down", True),
        (Kraken, "zero", True),
        (Kraken, "garbage", True),
        (Kraken, "frozen", False),
    ],
)
def test_a_source_can_be_broken_and_frozen(rates: Running, source: Any, fault: str, is_down: bool) -> None:
    rates.market.set({source.__name__.lower(): fault})
    if is_down:
        with pytest.raises(ProviderDown):
            seen(source, rates.url, "ETH")
    else:
        assert seen(source, rates.url, "ETH") == {}
    rates.market.reset()
    assert seen(source, rates.url, "ETH") == {"ETH": Decimal(2500)}


def test_price_changes_at_all_sources_or_at_one_alone(rates: Running) -> None:
    rates.market.set({"prices": {"ETH": "2400.50"}})
    rates.market.set({"kraken": "away"})
    assert seen(Coinbase, rates.url, "ETH") == {"ETH": Decimal("2400.5")}
    assert seen(Kraken, rates.url, "ETH") == {"ETH": Decimal("2472.515")}


def test_what_is_switched_is_written_to_the_feeds() -> None:
    running = Running()
    turned = running.client.post("/switches", json={"feeds": "frozen", "prices": {"EUR": "1.20"}})
    assert turned.status_code == 200
    assert running.written == [Positions(feeds="frozen", prices={"EUR": "1.20"})]
    assert running.client.get("/switches").json["now"] == turned.json
    assert running.client.delete("/switches").status_code == 200
    assert running.written[1] == running.market() == Positions()


@pytest.mark.parametrize(
    "body",
    [
        {"binance": "down"}, {"kraken": "asleep"}, {"kraken": ["down"]}, {"prices": "1.2"}, {"prices": {"XXX": "1"}},
        {"prices": {"EUR": 1.2}}, {"prices": {"EUR": "0"}}, {"prices": {"EUR": "-1"}}, {"prices": {"EUR": "NaN"}},
        {"prices": {"EUR": "a"}}, {"kraken": "down", "prices": {"EUR": "1e99"}}, [], "down",
    ],
)  # fmt: skip
def test_unknown_positions_are_refused_and_change_nothing(body: Any) -> None:
    running = Running()
    assert running.client.post("/switches", json=body).status_code == 400
    assert (running.market(), running.written) == (Positions(), [])


def test_a_chain_that_refuses_is_said() -> None:
    running = Running(refusal="no such method")
    answer = running.client.post("/switches", json={"feeds": "down"})
    assert (answer.status_code, "no such method" in answer.json["message"]) == (424, True)
