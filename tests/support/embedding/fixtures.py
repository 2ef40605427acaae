"""A shop on its own origin, which the merchant registered."""

from collections.abc import Iterator

import pytest

from merchants.models import Merchant
from tests.support.embedding.shop import Shop, open_shop


@pytest.fixture(scope="session")
def running_shop() -> Iterator[Shop]:
    with open_shop() as shop:
        yield shop


@pytest.fixture
def shop(running_shop: Shop, merchant: Merchant) -> Shop:
    """Alice's shop, with a registered origin."""
    running_shop.pages.clear()
    running_shop.referrers.clear()
    Merchant.objects.filter(pk=merchant.pk).update(
        embed_origins=["https://other.example", running_shop.origin]
    )
    return running_shop
