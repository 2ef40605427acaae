"""The pages for paying by hand and for the receipt are accessible (WCAG 2.2 AA), with and without scripts."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from merchants.models import Mail
from payments.models import PaymentRequest
from tests.support.accessibility.keyboard import is_focus_seen, press, reach
from tests.support.accessibility.page_rules import assert_accessible, open_bare
from tests.support.payments.rows import new_payment

Create = Callable[..., dict[str, Any]]
Open = Callable[[Page, str], object]
HASH = "0x" + "ab" * 32
WITH_SCRIPTS_AND_WITHOUT = pytest.mark.parametrize(
    "open_page", [open_bare, Page.goto], ids=["without scripts", "with scripts"]
)


@WITH_SCRIPTS_AND_WITHOUT
def test_sending_by_hand_is_accessible_by_keyboard_alone(create: Create, page: Page, open_page: Open) -> None:
    open_page(page, create()["payment_url"] + "/by-hand")
    assert_accessible(page)
    press(page, "I have read this")
    expect(page.locator("#recipient")).to_be_visible()
    assert_accessible(page)
    reach(page, "Copy the amount")
    reach(page, "Transaction hash")
    page.keyboard.type("0x12")
    press(page, "Find my payment")
    hash_field = page.get_by_label("Transaction hash")
    expect(hash_field).to_have_accessible_description(re.compile("0x and 64"))
    expect(hash_field).to_be_focused()
    assert is_focus_seen(page)
    expect(hash_field).to_have_value("0x12")
    assert_accessible(page)


@WITH_SCRIPTS_AND_WITHOUT
def test_finder_of_an_ended_request_and_receipt_are_accessible(
    create: Create, page: Page, open_page: Open
) -> None:
    order = create(description="Two loaves, sliced", redirect_url="https://shop.example/thanks")
    PaymentRequest.objects.filter(pk=order["id"]).update(status="expired")
    open_page(page, order["payment_url"] + "/by-hand")
    expect(page.get_by_role("heading", name="Find a payment that you sent")).to_be_visible()
    assert_accessible(page)
    counted = {"status": "completed", "completed_at": timezone.now()}
    PaymentRequest.objects.filter(pk=order["id"]).update(amount_paid=10_500_000, **counted)
    payment = {"amount_received": 10_500_000, "bound_by": "reference", **counted}
    new_payment(request_id=order["id"], chain_id=order["chain_id"], transaction_hash=HASH, **payment)
    open_page(page, order["payment_url"] + "/receipt")
    expect(page.get_by_role("heading", name="Receipt", exact=True)).to_be_visible()
    assert_accessible(page)
    field = page.get_by_label("E-mail me a receipt")
    field.fill("name@localhost")
    field.press("Enter")
    expect(field).to_have_accessible_description(re.compile("^Enter an e-mail address"))
    expect(field).to_be_focused()
    assert_accessible(page)
    assert not Mail.objects.exists()
    field.fill("customer@example.net")
    field.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("The receipt is on its way.")
    assert_accessible(page)
    assert Mail.objects.get().recipient == "customer@example.net"


def test_help_is_at_the_same_place_of_each_page(create: Create, page: Page) -> None:
    order = create()
    PaymentRequest.objects.filter(pk=order["id"]).update(status="completed", amount_paid=10_500_000)
    for path in ("", "/by-hand", "/receipt"):
        page.goto(order["payment_url"] + path)
        help_line = page.get_by_role("contentinfo").locator("p").first
        expect(help_line.get_by_role("link", name="help@shop.example")).to_be_visible()


def test_pages_without_scripts_have_their_parts_in_order(create: Create, page: Page) -> None:
    url = create(description="Two loaves, sliced")["payment_url"]
    open_bare(page, url)
    expect(page.locator("main")).to_match_aria_snapshot("""
      - heading "Amount to pay 10.50 USDC" [level=1]
      - paragraph: Two loaves, sliced
      - region "Payment":
        - heading "Pay with your wallet" [level=2]
        - paragraph: /Paying with a connected wallet needs JavaScript/
        - paragraph:
          - link "Send it yourself, without connecting a wallet"
      - region "Details of this payment":
        - heading "Details of this payment" [level=2]
        - term: Pay by
        - term: Token
        - term: Recipient
    """)
    open_bare(page, f"{url}/by-hand")
    page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))")
    expect(page.locator("main")).to_match_aria_snapshot("""
      - heading "Send 10.50 USDC by hand" [level=1]
      - heading "What can go wrong"
      - group:
        - term: Exact amount in USDC
        - term: To this address
        - img /QR code with the recipient/
      - textbox "Transaction hash"
      - button "Find my payment"
    """)
