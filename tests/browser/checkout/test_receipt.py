"""A printed receipt: one page for one payment, without the parts that are only for the screen."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.pictures import picture
from tests.support.checkout.fixtures import EXPLORER, HASH

Receipt = Callable[..., str]


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    context = browser.new_context(base_url=str(live_server.url))
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("tag", ["de", "ar"])
def test_receipt_of_one_payment_prints_on_one_page(page: Page, receipt: Receipt, tag: str) -> None:
    page.goto(f"{receipt()}?lang={tag}")
    picture(page, f"receipt {tag}")
    assert [_pages(page.pdf(format=paper)) for paper in ("A4", "Letter")] == [1, 1]


def test_printed_receipt_has_no_buttons_and_no_corners(page: Page, receipt: Receipt) -> None:
    page.goto(receipt())
    page.emulate_media(media="print")
    expect(page.get_by_text(f"{EXPLORER}/tx/{HASH}")).to_be_visible()
    expect(page.get_by_text("How to verify this payment:")).to_be_visible()
    expect(page.get_by_text("help@bakery.example").first).to_be_visible()
    for name in ("To keep this receipt", "Return to", "Back to the payment", "English", "Powered by"):
        expect(page.get_by_text(name).first).to_be_hidden()
    style = "(sheet) => (({ borderRadius, overflow }) => [borderRadius, overflow])(getComputedStyle(sheet))"
    assert page.locator(".sheet").evaluate(style) == ["0px", "visible"]


def test_no_row_of_a_receipt_breaks_between_pages(page: Page, receipt: Receipt) -> None:
    page.goto(receipt(payments=3))
    page.emulate_media(media="print")
    blocks = page.locator(".fact, .verification, .receipt__payment")
    breaks = blocks.evaluate_all("(blocks) => blocks.map((block) => getComputedStyle(block).breakInside)")
    assert set(breaks) == {"avoid"}
    assert _pages(page.pdf(format="A4")) <= 3


def _pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))
