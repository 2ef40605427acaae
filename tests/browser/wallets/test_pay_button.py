"""The pay button is visible without scrolling. During the last minutes, the countdown is next to it."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from payments.models import PaymentRequest
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import review, update
from tests.browsing import PHONE
from tests.chain import LocalChain
from tests.processes import eventually
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.embedding.shop import Shop
from tests.support.wallets.stub import NAME

LAPTOP = {"width": 1280, "height": 800}
LOW_PHONE = {**PHONE, "height": 560}


def _in_window(page: Page, button: Locator) -> bool:
    """Return whether the whole button is inside the page's window, even if the page is in a frame."""
    box = button.bounding_box()
    if box is None:  # the screen is being drawn again
        return False
    return box["y"] >= 0 and box["y"] + box["height"] <= page.evaluate("innerHeight")


@pytest.mark.parametrize("window", [PHONE, LOW_PHONE], ids=["phone", "low phone"])
def test_pay_button_is_in_view_on_a_phone(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, window: Any
) -> None:
    add_wallet()
    page.set_viewport_size(window)
    pay = review(page, panel, create())
    expect(pay).to_be_visible()
    eventually(lambda: _in_window(page, pay), "the button is in the window")
    # The bar with the pay button doesn't cover the focused element.
    panel.get_by_role("button", name="Use another wallet").focus()
    assert page.evaluate("document.activeElement.getBoundingClientRect().bottom <= innerHeight")


@pytest.mark.parametrize("opening", ["Quittance.open(options)", "Quittance.mount('#here', options)"])
def test_pay_button_is_in_view_in_a_shops_page(
    page: Page, shop: Shop, create: Create, add_wallet: AddWallet, local_chain: LocalChain, opening: str
) -> None:
    account = {"gives": [local_chain.payer]}
    add_wallet(answers={"eth_requestAccounts": [account], "eth_accounts": [account] * 5})
    page.set_viewport_size(LAPTOP)
    page.goto(shop.sell(create()["payment_url"]))
    page.evaluate(f"void ({opening})")
    inside = page.frame_locator("iframe")
    inside.get_by_role("button", name=NAME).click()
    pay = inside.get_by_role("button", name="Pay 10.50 USDC")
    # Wait: the frame grows with its content, and the fee redraws the review.
    expect(pay).to_be_in_viewport(ratio=1)
    eventually(lambda: _in_window(page, pay), "the button is in the shop's window")


def test_last_two_minutes_are_counted_down_beside_the_pay_button(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    order = create()
    update(order, expires_at=timezone.now() + timedelta(seconds=110))
    expect(review(page, panel, order)).to_be_visible()
    expect(panel.locator(".pay-bar")).to_contain_text("left")
    assert_accessible(page)
    assert PaymentRequest.objects.get(pk=order["id"]).status == "active"
