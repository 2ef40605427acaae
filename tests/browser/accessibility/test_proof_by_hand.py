"""Proving an address before sending from it by hand reads well to everybody, with scripts and without (WCAG 2.2 AA)."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from merchants.models import Merchant
from payments.models import Payment
from tests.browser.accessibility.test_sheets import WITH_SCRIPTS_AND_WITHOUT
from tests.chain import LocalChain
from tests.support.accessibility.page_rules import assert_accessible, open_bare
from tests.support.checkout.bare import sign
from tests.support.payments.world import Clock, look_until_decided

Create = Callable[..., dict[str, Any]]
Open = Callable[[Page, str], object]


@pytest.fixture
def order(order: Callable[..., dict[str, Any]], merchant: Merchant) -> Callable[..., dict[str, Any]]:
    """The usual order, of a merchant with a hard choice of colours."""
    colours = {"accent_colour": "#ffd400", "background_colour": "#8a8d00"}
    Merchant.objects.filter(pk=merchant.pk).update(support_email="help@shop.example", **colours)
    return order


def ask(page: Page, address: str) -> None:
    page.get_by_label("Address that you will send from").fill(address)
    page.get_by_role("button", name="Show the text to sign").click()


def text_of(page: Page) -> str:
    return page.locator("#proof-text").text_content() or ""


@WITH_SCRIPTS_AND_WITHOUT
def test_the_text_to_sign_and_where_to_send_read_well(
    create: Create, page: Page, open_page: Open, local_chain: LocalChain
) -> None:
    open_page(page, create()["payment_url"] + "/by-hand")
    ask(page, local_chain.payer)
    expect(page.get_by_role("heading", name="Sign this text")).to_be_visible()
    assert_accessible(page)
    page.get_by_label("Signature of the text").fill(sign(text_of(page), local_chain.payer_key))
    page.get_by_role("button", name="Check the signature").click()
    expect(page.get_by_role("heading", name="Now send 10.50 USDC")).to_be_visible()
    assert_accessible(page)


@WITH_SCRIPTS_AND_WITHOUT
def test_refusals_read_well(create: Create, page: Page, open_page: Open, local_chain: LocalChain) -> None:
    open_page(page, create()["payment_url"] + "/by-hand")
    ask(page, "0x12")
    expect(page.get_by_label("Address that you will send from")).to_have_accessible_description(
        re.compile("an EVM address")
    )
    assert_accessible(page)
    ask(page, local_chain.payer)
    page.get_by_label("Signature of the text").fill("0x12")
    page.get_by_role("button", name="Check the signature").click()
    expect(page.get_by_label("Signature of the text")).to_have_accessible_description(
        re.compile("does not match this wallet")
    )
    assert_accessible(page)


def test_what_can_still_be_done_reads_well(create: Create, page: Page, local_chain: LocalChain) -> None:
    order = create()
    open_bare(page, order["payment_url"] + "/by-hand")
    ask(page, local_chain.payer)
    text_page = page.url
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, 10_500_000)
    page.goto(order["payment_url"] + "/by-hand")
    page.get_by_label("Transaction hash").fill(sent)
    page.get_by_role("button", name="Find my payment").click()
    look_until_decided(Payment.objects.get(), Clock())
    said = {
        text_page: "Sign anyway",
        order["payment_url"] + "/by-hand": "go back to that page and sign",
    }
    for url, text in said.items():
        open_bare(page, url)
        expect(page.get_by_text(text)).to_be_visible()
        assert_accessible(page)
