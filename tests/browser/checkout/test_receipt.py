"""The receipt: a document of one request, in the customer's language, which prints on a page and can be checked."""

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


def test_no_corner_of_the_printed_sheet_is_round(page: Page, receipt: Receipt) -> None:
    page.goto(receipt(payments=3))
    page.emulate_media(media="print")
    styles = page.evaluate(
        "(({ borderRadius, overflow }) => [borderRadius, overflow])(getComputedStyle(document.querySelector('.sheet')))"
    )
    assert styles == ["0px", "visible"]


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("tag", ["en", "de", "ru", "ar"])
def test_one_payment_prints_on_one_page(page: Page, receipt: Receipt, paper: str, tag: str) -> None:
    page.goto(f"{receipt()}?lang={tag}")
    picture(page, f"receipt {tag}")
    assert _pages(page.pdf(format=paper)) == 1


def test_what_is_printed_is_the_document_and_no_button(page: Page, receipt: Receipt) -> None:
    page.goto(receipt())
    page.emulate_media(media="print")
    expect(page.get_by_text(f"{EXPLORER}/tx/{HASH}")).to_be_visible()
    expect(page.get_by_text("How to verify this payment:")).to_be_visible()
    expect(page.get_by_text("help@bakery.example").first).to_be_visible()
    for name in ("To keep this receipt", "Return to", "Back to the payment", "English", "Powered by"):
        expect(page.get_by_text(name).first).to_be_hidden()


def test_no_row_is_cut_between_two_pages(page: Page, receipt: Receipt) -> None:
    page.goto(receipt(payments=3))
    page.emulate_media(media="print")
    breaks = page.evaluate(
        "[...document.querySelectorAll('.fact, .verification')].map((row) => getComputedStyle(row).breakInside)"
    )
    assert set(breaks) == {"avoid"}
    assert _pages(page.pdf(format="A4")) <= 3


def _pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))
