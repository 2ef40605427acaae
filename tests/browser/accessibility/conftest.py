"""The checkout on a live server. Its merchant chose colours that are hard to read."""

from collections.abc import Callable
from typing import Any

import pytest

from merchants.models import Merchant

COLOURS = {"accent_colour": "#ffd400", "background_colour": "#8a8d00"}


@pytest.fixture
def order(order: Callable[..., dict[str, Any]], merchant: Merchant) -> Callable[..., dict[str, Any]]:
    """The default request of a merchant whose colours are hard to read."""
    Merchant.objects.filter(pk=merchant.pk).update(support_email="help@shop.example", **COLOURS)
    return order
