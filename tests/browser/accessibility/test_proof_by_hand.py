"""The payer proof before a payment by hand is accessible (WCAG 2.2 AA), with and without scripts."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from payments.models import Payment
from tests.browser.accessibility.test_sheets import WITH_SCRIPTS_AND_WITHOUT
from tests.chain import LocalChain
from tests.support.accessibility.page_rules import assert_accessible, open_bare
from tests.support.checkout.bare import sign
from tests.support.payments.world import Clock, look_until_decided

Create = Callable[..., dict[str, Any]]
Open = Callable[[Page, str], object]


def request_text(page: Page, address: str) -> None:
    page.get_by_label("Address that you will send from").fill(address)
    page.get_by_role("button", name="Show the text to sign").click()


@WITH_SCRIPTS_AND_WITHOUT
def test_proof_pages_and_their_rejections_are_accessible(
    create: Create, page: Page, open_page: Open, local_chain: LocalChain
) -> None:
    open_page(page, create()["payment_url"] + "/by-hand")
    request_text(page, "0x12")
    expect(page.get_by_label("Address that you will send from")).to_have_accessible_description(
        re.compile("an EVM address")
    )
    assert_accessible(page)
    request_text(page, local_chain.payer)
    expect(page.get_by_role("heading", name="Sign this text")).to_be_visible()
    assert_accessible(page)
    signature, check = (
        page.get_by_label("Signature of the text"),
        page.get_by_role("button", name="Check the signature"),
    )
    signature.fill("0x12")
    check.click()
    expect(signature).to_have_accessible_description(re.compile("does not match this wallet"))
    assert_accessible(page)
    signature.fill(sign(page.locator("#proof-text").text_content() or "", local_chain.payer_key))
    check.click()
    expect(page.get_by_role("heading", name="Now send 10.50 USDC")).to_be_visible()
    assert_accessible(page)


def test_ways_to_credit_an_unbound_transfer_are_accessible(
    create: Create, page: Page, local_chain: LocalChain
) -> None:
    order = create()
    open_bare(page, order["payment_url"] + "/by-hand")
    request_text(page, local_chain.payer)
    text_page = page.url
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, 10_500_000)
    page.goto(order["payment_url"] + "/by-hand")
    page.get_by_label("Transaction hash").fill(sent)
    page.get_by_role("button", name="Find my payment").click()
    look_until_decided(Payment.objects.get(), Clock())
    texts = {
        text_page: "Sign anyway",
        order["payment_url"] + "/by-hand": "Sign with your wallet",
    }
    for url, text in texts.items():
        open_bare(page, url)
        expect(page.get_by_text(text)).to_be_visible()
        assert_accessible(page)
