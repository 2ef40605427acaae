"""The checkout of a merchant with a hard choice of colours, on a live server, and a browser with wallets."""

from collections.abc import Callable
from typing import Any

import pytest

from merchants.models import Merchant

COLOURS = {"accent_colour": "#ffd400", "background_colour": "#8a8d00"}


@pytest.fixture
def order(order: Callable[..., dict[str, Any]], merchant: Merchant) -> Callable[..., dict[str, Any]]:
    """The usual order, of a merchant with a hard choice of colours."""
    Merchant.objects.filter(pk=merchant.pk).update(support_email="help@shop.example", **COLOURS)
    return order
