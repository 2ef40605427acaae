"""In each of its languages the page fits, tells everything, keeps amounts as they are, and reads well."""

from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from chains.models import Chain, Token
from merchants.languages import LANGUAGES
from payments.models import FailureCode, Payment, PaymentRequest
from tests.browser.accessibility.language_rules import assert_reads_in
from tests.browser.conftest import AddWallet, Create
from tests.pictures import picture
from tests.support.accessibility.page_rules import open_bare
from tests.support.payments.world import ON_ITS_WAY
from tests.support.wallets.sent_here import sent_here
from tests.support.wallets.stub import NAME

HASH = "0x" + "ab" * 32
WHOLE, PART = 10_500_000, 3_000_000
REVERTED = {"failure_code": FailureCode.TRANSACTION_REVERTED, "failed_at": timezone.now()}


@pytest.mark.parametrize("tag", LANGUAGES)
def test_the_way_to_pay(
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
    add_wallet(answers={"eth_sendTransaction": ["never"]})
    page.goto(create(cancel_url="https://shop.example/basket")["payment_url"] + f"?lang={tag}")
    panel.get_by_role("button", name=NAME).click(trial=True)
    _expect(page, "choose", tag)
    panel.get_by_role("button", name=NAME).click()
    _expect(page, "review", tag, by_axe=False)
    page.locator("#other-token").click()
    expect(page.locator("#look-again")).to_be_visible()
    _expect(page, "tokens", tag)
    panel.locator(".token--requested").click()
    page.locator("#pay").click()
    _expect(page, "confirming", tag)


@pytest.mark.parametrize("tag", LANGUAGES)
def test_how_it_goes_and_ends(page: Page, create: Create, chain: Chain, tag: str) -> None:
    # The shop never answers, so that the page is still there to be looked at.
    page.route("https://shop.example/**", lambda _: None)
    order = create(redirect_url="https://shop.example/thanks")
    common = {"request_id": order["id"], "chain_id": chain.pk, "transaction_hash": HASH}
    payment = Payment.objects.create(
        **common, status="processing", confirmations=2, confirmations_required=12, **ON_ITS_WAY
    )
    page.goto(order["payment_url"] + f"?lang={tag}")
    sent_here(page, order, HASH)
    _expect(page, "processing", tag, by_axe=False)
    _change(page, order, payment, {"amount_paid": PART}, {"status": "failed", **REVERTED})
    _expect(page, "failed", tag)
    page.locator("#pay-again").click()
    expect(page.locator("#panel .partial")).to_contain_text("3.00")
    _expect(page, "choose", tag, by_axe=False)
    now = timezone.now()
    ended = {"status": "completed", "completed_at": now}
    _change(page, order, payment, {"amount_paid": WHOLE, **ended}, {"amount_received": WHOLE, **ended})
    _expect(page, "completed", tag)
    page.goto(order["payment_url"] + f"/receipt?lang={tag}")
    picture(page, f"receipt in {tag}")
    assert_reads_in(page, tag)


@pytest.mark.parametrize("tag", LANGUAGES)
def test_what_stands_beside_the_ways_to_pay(page: Page, create: Create, chain: Chain, tag: str) -> None:
    order = create()
    common = {"request_id": order["id"], "chain_id": chain.pk, "transaction_hash": HASH}
    payment = Payment.objects.create(**common, status="processing")
    page.goto(order["payment_url"] + f"?lang={tag}")
    expect(page.get_by_test_id("doubt")).to_be_visible()
    picture(page, f"beside the ways to pay in {tag}")
    _expect(page, "choose", tag)
    for change in ({"seen_at": timezone.now()}, {"status": "failed", **REVERTED}):
        said = page.get_by_test_id("doubt").inner_text()
        _change(page, order, payment, {}, change)
        expect(page.get_by_test_id("doubt")).not_to_have_text(said, use_inner_text=True)
        _expect(page, "choose", tag, by_axe=False)


@pytest.mark.parametrize("tag", LANGUAGES)
def test_sending_by_hand_without_scripts(page: Page, create: Create, tag: str) -> None:
    open_bare(page, create()["payment_url"] + f"?lang={tag}")
    assert_reads_in(page, tag, by_axe=False)
    open_bare(page, create()["payment_url"] + f"/by-hand?lang={tag}")
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    picture(page, f"by hand in {tag}")
    assert_reads_in(page, tag)


def _expect(page: Page, screen: str, tag: str, *, by_axe: bool = True) -> None:
    """Wait for the screen, hold it to the rules, and see that no amount was written as the language writes numbers."""
    expect(page.locator("#panel")).to_have_attribute("data-screen", screen)
    expect(page.locator("#panel-heading")).to_be_visible()
    picture(page, f"{screen} in {tag}")
    assert_reads_in(page, tag, by_axe=by_axe)
    told = page.locator("body").inner_text()
    assert "10.50" in told or "7.50" in told
    assert "10,50" not in told
    assert "7,50" not in told


def _change(
    page: Page, order: dict[str, Any], payment: Payment, request: dict[str, Any], paid: dict[str, Any]
) -> None:
    """Change both behind the page's back, and have it look."""
    Payment.objects.filter(pk=payment.pk).update(**paid)
    PaymentRequest.objects.filter(pk=order["id"]).update(**request)
    page.evaluate("dispatchEvent(new Event('online'))")
