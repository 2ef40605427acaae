"""The script's own words: in the checkout's languages, and in the one that the checkout in the frame speaks."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from playwright.sync_api import Page, expect

from checkout.languages import read_messages
from merchants.languages import LANGUAGES, closest_language
from tests.processes import REPOSITORY
from tests.support.embedding.shop import Shop

Create = Callable[..., dict[str, Any]]
KEYS = ("page.payment", "shop.close", "shop.opening", "shop.openPage", "shop.elsewhere")
SOURCES = REPOSITORY / "checkout/frontend/src/shop"


def opened(page: Page, shop: Shop, url: str, options: str = "") -> Page:
    """Open the checkout over the shop's page, with more options."""
    page.goto(shop.sell(url))
    page.evaluate(f"void Quittance.open({{ ...options, {options} }})")
    return page


def assert_speaks(page: Page, tag: str) -> None:
    """Assert that the dialog and the checkout in it are both in this language."""
    words = read_messages(tag)
    dialog = page.get_by_role("dialog", name=str(words["page.payment"]), exact=True)
    expect(dialog).to_have_attribute("lang", tag)
    expect(dialog).to_have_attribute("dir", "rtl" if tag == "ar" else "ltr")
    expect(page.get_by_role("button", name=str(words["shop.close"]))).to_be_visible()
    expect(page.frame_locator("iframe").locator("html")).to_have_attribute("lang", tag)


def test_its_words_are_those_of_the_checkouts_messages() -> None:
    words = json.loads((SOURCES / "words.json").read_text())
    assert words == {tag: [read_messages(tag)[key] for key in KEYS] for tag in words}
    assert words.keys() == LANGUAGES.keys()


def test_the_built_script_has_them() -> None:
    with open(str(finders.find("checkout/quittance.js")), encoding="utf-8") as file:
        script = file.read()
    said = [read_messages(tag)[key] for tag in LANGUAGES for key in KEYS]
    assert [words for words in said if f'"{words}"' not in script] == []


def test_it_takes_other_tags_for_the_same_languages_as_the_service() -> None:
    (also,) = re.findall(r"ALSO[^{]+(\{.+?\});", (SOURCES / "words.ts").read_text())
    pairs = re.findall(r'"?([a-z-]+)"?: "([A-Za-z-]+)"', also)
    assert pairs
    assert all(closest_language(tag) == known for tag, known in pairs)
    assert {tag for tag, _ in pairs} == {"pt", "zh", "zh-cn", "zh-sg"}


@pytest.mark.parametrize(
    ("page", "tag"),
    [({"locale": "de-AT"}, "de"), ({"locale": "pt-PT"}, "pt-BR"), ({"locale": "ar-EG"}, "ar")],
    indirect=["page"],
)
def test_it_speaks_as_the_browser_asks(page: Page, shop: Shop, create: Create, tag: str) -> None:
    assert_speaks(opened(page, shop, create()["payment_url"]), tag)


@pytest.mark.parametrize("page", [{"locale": "zh-TW"}], indirect=True)
def test_traditional_chinese_is_not_taken_for_simplified(page: Page, shop: Shop, create: Create) -> None:
    assert_speaks(opened(page, shop, create()["payment_url"]), "en")


def test_the_shop_may_choose_and_the_checkout_follows(page: Page, shop: Shop, create: Create) -> None:
    assert_speaks(opened(page, shop, create()["payment_url"], "language: 'ar-SA'"), "ar")
    tab = page.frame_locator("iframe").locator("#own-tab")
    expect(tab).to_have_attribute("href", re.compile(r"\?lang=ar$"))


def test_a_language_that_there_is_not_is_as_good_as_none(page: Page, shop: Shop, create: Create) -> None:
    assert_speaks(opened(page, shop, create()["payment_url"], "language: '<b>'"), "en")


@pytest.mark.parametrize("page", [{"locale": "nl-NL"}], indirect=True)
def test_else_it_speaks_as_the_shops_page(page: Page, shop: Shop, create: Create) -> None:
    page.goto(shop.sell(create()["payment_url"]))
    page.evaluate("document.documentElement.lang = 'fr-CA'; Quittance.open(options)")
    assert_speaks(page, "fr")


def test_an_address_that_names_a_language_keeps_it(page: Page, shop: Shop, create: Create) -> None:
    assert_speaks(opened(page, shop, create()["payment_url"] + "?lang=ja"), "ja")


def test_the_shops_own_words_go_first(page: Page, shop: Shop, create: Create) -> None:
    opened(page, shop, create()["payment_url"], "labels: { title: 'Zahl <b>jetzt</b>', close: 'Nee' }")
    expect(page.get_by_role("dialog", name="Zahl <b>jetzt</b>")).to_be_visible()
    expect(page.get_by_role("button", name="Nee")).to_be_visible()
