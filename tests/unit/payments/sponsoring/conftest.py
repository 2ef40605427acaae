from decimal import Decimal

import pytest
from pytest_django import Settings

from chains.models import Chain
from tests.support.payments.relays import SPONSOR_KEY


@pytest.fixture
def sponsored(chain: Chain, settings: Settings) -> Chain:
    """A chain on which the operator sponsors payments, with a budget of one coin a day."""
    settings.SPONSOR_KEYS = {"evm": SPONSOR_KEY}
    settings.SPONSOR_DAILY_BUDGET = {chain.pk: Decimal(1)}
    return chain
