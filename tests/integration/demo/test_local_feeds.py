"""The local world's price feeds on a real chain. Each switch changes the price that the product reads."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from chains.catalogue import read_catalogue
from chains.families import get_client
from chains.models import Chain
from demo.rates.feeds import FEEDS, deploy_feeds, write_feeds
from demo.rates.market import FAULTS, Positions
from payments.prices.sources.feeds import observed
from tests.chain import LocalChain
from tests.processes import REPOSITORY

pytestmark = pytest.mark.django_db


@pytest.fixture
def feeds(chain: Chain, local_chain: LocalChain, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The feeds of the local world's catalogue, deployed twice."""
    monkeypatch.setenv("LOCAL_RPC_URL", local_chain.url)
    monkeypatch.setenv("HARBOUR_RPC_URL", local_chain.url)
    deploy_feeds(local_chain.url)
    deploy_feeds(local_chain.url)
    catalogue = read_catalogue(Path(REPOSITORY / "demo" / "catalogue.json"))
    listed: list[dict[str, Any]] = catalogue[0]["feeds"]
    return listed


def seen(chain: Chain, feeds: list[dict[str, Any]]) -> dict[str, Fraction]:
    answers = get_client(chain).price_feeds([feed["address"] for feed in feeds])
    pairs = {
        feed["pair"]: observed("feeds", feed, answer, timezone.now())
        for feed, answer in zip(feeds, answers, strict=True)
    }
    return {pair: each.value for pair, each in pairs.items() if each is not None}


def test_local_feeds_follow_their_switches(
    chain: Chain, feeds: list[dict[str, Any]], local_chain: LocalChain
) -> None:
    assert {feed["pair"].partition("/")[0]: feed["address"] for feed in feeds} == FEEDS
    honest = {"USDC/USD": Decimal(1), "ETH/USD": Decimal(2500), "EUR/USD": Decimal("1.08")}
    write_feeds(local_chain.url, Positions())
    assert seen(chain, feeds) == honest
    write_feeds(local_chain.url, Positions(feeds="away", prices={"EUR": "1.20"}))
    assert seen(chain, feeds) == {
        "USDC/USD": Decimal("1.03"),
        "ETH/USD": Decimal(2575),
        "EUR/USD": Decimal("1.236"),
    }
    for fault in set(FAULTS) - {"honest", "away"}:
        write_feeds(local_chain.url, Positions(feeds=fault))
        assert seen(chain, feeds) == {}, fault
    write_feeds(local_chain.url, Positions())
    assert seen(chain, feeds) == honest
