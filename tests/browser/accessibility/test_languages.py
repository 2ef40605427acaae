"""In every language, the page fits, no text is missing, and amounts have the language's number format."""

import re
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from chains.models import Chain, Token
from checkout.languages import language
from merchants.languages import LANGUAGES
from payments.models import FailureCode, Payment
from tests.browser.accessibility.language_rules import assert_reads_in
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import HASH, SHOP, complete, hold, refresh, update
from tests.pictures import picture
from tests.support.accessibility.page_rules import open_bare
from tests.support.payments.rows import change, new_payment
from tests.support.payments.world import ON_ITS_WAY
from tests.support.wallets.sent_here import sent_here
from tests.support.wallets.stub import NAME, NEVER

REVERTED = {
    "status": "failed",
    "failure_code": FailureCode.TRANSACTION_REVERTED,
    "failed_at": timezone.now(),
}


@pytest.mark.parametrize("tag", LANGUAGES)
def test_way_to_pay_reads_well_in_each_language(
    page: Page,
    panel: Locator,
    create: Create,
    add_wallet: AddWallet,
    dai: Token,
    ether: Token,
    settings: Any,
    tag: str,
) -> None:
    settings.ROUTING_PROVIDERS = ["lifi"]
    add_wallet(answers={"eth_sendTransaction": [NEVER]})
    page.goto(create(cancel_url=f"{SHOP}/basket")["payment_url"] + f"?lang={tag}")
    panel.get_by_role("button", name=NAME).click(trial=True)
    _expect(page, "choose", tag)
    panel.get_by_role("button", name=NAME).click()
    _expect(page, "review", tag)
    page.locator("#other-token").click()
    expect(page.locator("#look-again")).to_be_visible()
    _expect(page, "tokens", tag)
    panel.locator(".token--requested").click()
    page.locator("#pay").click()
    _expect(page, "confirming", tag)


@pytest.mark.parametrize("tag", LANGUAGES)
def test_payment_and_its_end_read_well_in_each_language(
    page: Page, create: Create, chain: Chain, tag: str
) -> None:
    # The shop doesn't respond, so the browser stays on the checkout.
    hold(page, f"{SHOP}/**")
    order = create(redirect_url=f"{SHOP}/thanks")
    new_payment(request_id=order["id"], chain=chain, transaction_hash=HASH, status="processing")
    page.goto(order["payment_url"] + f"?lang={tag}")
    doubt = page.get_by_test_id("doubt")
    expect(doubt).to_be_visible()
    _expect(page, "choose", tag, name="beside the ways to pay")
    for columns in ({"seen_at": timezone.now()}, REVERTED):
        text = doubt.inner_text()
        _change(page, **columns)
        expect(doubt).not_to_have_text(text, use_inner_text=True)
        _expect(page, "choose", tag)
    confirming = {"confirmations": 2, "confirmations_required": 12, **ON_ITS_WAY}
    _change(page, status="processing", failure_code="", failed_at=None, **confirming)
    sent_here(page, order, HASH)
    _expect(page, "processing", tag)
    update(order, amount_paid=3_000_000)
    _change(page, **REVERTED)
    _expect(page, "failed", tag)
    page.locator("#pay-again").click()
    expect(page.locator("#panel .partial")).to_contain_text(language(tag).number("3.00"))
    _expect(page, "choose", tag)
    complete(order)
    refresh(page)
    _expect(page, "completed", tag)
    # In a page of its own: the completed checkout leaves for the shop after some seconds.
    receipt = page.context.new_page()
    receipt.goto(order["payment_url"] + f"/receipt?lang={tag}")
    picture(receipt, f"receipt in {tag}")
    assert_reads_in(receipt, tag)


def test_pages_without_scripts_read_well_in_each_language(page: Page, create: Create) -> None:
    url = create()["payment_url"]
    for tag in LANGUAGES:
        open_bare(page, f"{url}?lang={tag}")
        assert_reads_in(page, tag)
        open_bare(page, f"{url}/by-hand?lang={tag}")
        page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        picture(page, f"by hand in {tag}")
        assert_reads_in(page, tag)


def _expect(page: Page, screen: str, tag: str, *, name: str = "") -> None:
    """Wait for the screen and check it, with the language's number format in all amounts."""
    expect(page.locator("#panel")).to_have_attribute("data-screen", screen)
    expect(page.locator("#panel-heading")).to_be_visible()
    picture(page, f"{name or screen} in {tag}")
    assert_reads_in(page, tag)
    text = page.locator("body").inner_text()
    amounts = set(re.findall(r"\b(?:10|7)[.,]50\b", text))
    assert amounts
    assert amounts <= {language(tag).number(amount) for amount in ("10.50", "7.50")}


def _change(page: Page, **columns: Any) -> None:
    """Change the stored payment; have the page poll."""
    change(Payment.objects, **columns)
    refresh(page)
