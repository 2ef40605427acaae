"""The shop's script and the checkout in its frame use the same language."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from checkout.languages import read_messages
from tests.support.embedding.shop import Shop

Create = Callable[..., dict[str, Any]]


def expect_language(page: Page, tag: str) -> None:
    """Check that the dialog and the checkout in it use this language."""
    words = read_messages(tag)
    dialog = page.get_by_role("dialog", name=str(words["page.payment"]), exact=True)
    expect(dialog).to_have_attribute("lang", tag)
    expect(dialog).to_have_attribute("dir", "rtl" if tag == "ar" else "ltr")
    expect(page.get_by_role("button", name=str(words["shop.close"]))).to_be_visible()
    expect(page.frame_locator("iframe").locator("html")).to_have_attribute("lang", tag)


@pytest.mark.parametrize("page", [{"locale": "pt-PT"}], indirect=True)
def test_dialog_and_checkout_follow_the_browser(page: Page, shop: Shop, create: Create) -> None:
    page.goto(shop.sell(create()["payment_url"]))
    page.evaluate("void Quittance.open(options)")
    expect_language(page, "pt-BR")


def test_dialog_and_checkout_follow_the_shops_option(page: Page, shop: Shop, create: Create) -> None:
    page.goto(shop.sell(create()["payment_url"]))
    page.evaluate("void Quittance.open({ ...options, language: 'ar-SA' })")
    expect_language(page, "ar")
    tab = page.frame_locator("iframe").locator("#own-tab")
    expect(tab).to_have_attribute("href", re.compile(r"\?lang=ar$"))


def test_shops_own_labels_are_shown_as_text(page: Page, shop: Shop, create: Create) -> None:
    page.goto(shop.sell(create()["payment_url"]))
    page.evaluate("void Quittance.open({ ...options, labels: { title: 'Zahl <b>jetzt</b>', close: 'Nee' } })")
    expect(page.get_by_role("dialog", name="Zahl <b>jetzt</b>")).to_be_visible()
    expect(page.get_by_role("button", name="Nee")).to_be_visible()
