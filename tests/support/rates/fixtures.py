"""Fixtures for requests with a price."""

from collections.abc import Iterator
from typing import Any

import pytest

from chains.models import Token
from payments.prices import currencies, querying
from tests.support.rates.exchanges import Exchanges, running_exchanges


@pytest.fixture
def exchanges(settings: Any, usdc: Token) -> Iterator[Exchanges]:
    """Use both exchanges as the only rate sources; give USDC a price. Nothing is cached between calls."""
    with running_exchanges() as running:
        settings.RATE_SOURCES = ["coinbase", "kraken"]
        settings.RATE_URLS = running.urls()
        Token.objects.filter(pk=usdc.pk).update(price_as="USDC")
        _forget()
        yield running
        _forget()


def _forget() -> None:
    querying.forget()
    currencies.forget()
