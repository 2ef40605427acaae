"""The token list shows our logos only for tokens of the catalogue. Other tokens of the same name get none."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from chains.models import LISTED, Token
from tests.browser.conftest import AddWallet
from tests.browser.wallets.connecting.test_permissions import order_there as order_there
from tests.support.wallets.stub import NAME

# Returns the size of a row's coin, and whether the chain's badge covers a part of its letters.
_COIN = """row => {
  const [face, badge] = [".coin__face", ".coin__chain"].map((part) => row.querySelector(part));
  const letters = document.createRange();
  letters.selectNodeContents(face);
  const [text, over] = [letters, badge].map((part) => part.getBoundingClientRect());
  const isCovered = text.right > over.left && text.bottom > over.top;
  return [face.offsetWidth, face.offsetHeight, isCovered];
}"""


def test_only_tokens_of_the_catalogue_have_logos(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    add_wallet()
    page.goto(order_there["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    panel.get_by_role("button", name="Pay with another token").click()
    known = panel.get_by_role("button", name=re.compile(r"^DAI\b.*Local Chain"))
    logo = known.locator(".coin__face img")
    expect(logo).to_have_attribute("src", re.compile(r"/static/checkout/logos/dai\.svg$"))
    assert logo.evaluate("image => image.naturalWidth > 0")
    # EURC is a common token, but in this test only a provider lists it.
    assert not Token.objects.filter(symbol="EURC").exclude(tags__contains=[LISTED]).exists()
    unknown = panel.get_by_role("button", name=re.compile(r"^EURC\b.*Local Chain"))
    expect(unknown.locator(".coin__face")).to_have_text("EURC")
    expect(unknown.locator(".coin__face")).not_to_have_class(re.compile("coloured"))
    expect(unknown.locator(".coin__face img")).to_have_count(0)
    assert known.evaluate(_COIN)[:2] == [40, 40]
    assert unknown.evaluate(_COIN) == [40, 40, False]
