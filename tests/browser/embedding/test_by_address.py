"""The deposit address in a checkout over the shop's page: all values to copy are visible without scrolling."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.browsing import PHONE
from tests.pictures import picture
from tests.support.embedding.shop import Shop
from tests.support.payments.deposits import give_address

LAPTOP = {"width": 1280, "height": 800}


@pytest.mark.parametrize(
    "page", [{"viewport": LAPTOP}, {"viewport": PHONE}], ids=["laptop", "phone"], indirect=True
)
def test_address_is_in_view_over_the_shops_page(
    page: Page, shop: Shop, create: Callable[..., dict[str, Any]], troubles: list[str]
) -> None:
    Merchant.objects.update(deposit_addresses=True)
    order = create()
    address = give_address(PaymentRequest.objects.get(pk=order["id"]), 1)
    page.goto(shop.sell(order["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").click()
    frame = page.frame_locator("iframe")
    way = frame.get_by_role("button", name="Send from an exchange or another wallet")
    expect(way).to_be_in_viewport(ratio=1)
    way.click()
    expect(frame.locator("#deposit-address")).to_have_text(address)
    for part in ("#deposit-amount", "#deposit-address", ".deposit__network", ".deposit__code"):
        expect(frame.locator(part)).to_be_in_viewport(ratio=1)
    picture(page, f"by address, over the shop's page at {(page.viewport_size or PHONE)['width']}")
    assert troubles == []
