"""Sending by hand and the receipt read well to everybody, with scripts and without (WCAG 2.2 AA)."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from payments.models import Payment, PaymentRequest
from tests.support.accessibility.keyboard import is_focus_seen, press, reach
from tests.support.accessibility.page_rules import assert_accessible, open_bare

Create = Callable[..., dict[str, Any]]
Open = Callable[[Page, str], object]
HASH = "0x" + "ab" * 32
WITH_SCRIPTS_AND_WITHOUT = pytest.mark.parametrize(
    "open_page", [open_bare, Page.goto], ids=["without scripts", "with scripts"]
)


@WITH_SCRIPTS_AND_WITHOUT
def test_sending_by_hand_reads_well(create: Create, page: Page, open_page: Open) -> None:
    open_page(page, create()["payment_url"] + "/by-hand")
    assert_accessible(page)
    page.get_by_text("I have read this").click()
    expect(page.locator("#recipient")).to_be_visible()
    assert_accessible(page)


@WITH_SCRIPTS_AND_WITHOUT
def test_a_refused_hash_reads_well(create: Create, page: Page, open_page: Open) -> None:
    open_page(page, create()["payment_url"] + "/by-hand")
    page.get_by_label("Transaction hash").fill("0x12")
    page.get_by_role("button", name="Find my payment").click()
    expect(page.get_by_label("Transaction hash")).to_have_accessible_description(re.compile("0x and 64"))
    assert_accessible(page)


@WITH_SCRIPTS_AND_WITHOUT
def test_finding_a_payment_of_a_request_that_is_over_reads_well(
    create: Create, page: Page, open_page: Open
) -> None:
    order = create()
    PaymentRequest.objects.filter(pk=order["id"]).update(status="expired")
    open_page(page, order["payment_url"] + "/by-hand")
    expect(page.get_by_role("heading", name="Find a payment that you sent")).to_be_visible()
    assert_accessible(page)


@WITH_SCRIPTS_AND_WITHOUT
def test_a_receipt_reads_well(create: Create, page: Page, open_page: Open) -> None:
    order = create(description="Two loaves, sliced", redirect_url="https://shop.example/thanks")
    now = timezone.now()
    counted = {"status": "completed", "completed_at": now}
    PaymentRequest.objects.filter(pk=order["id"]).update(amount_paid=10_500_000, **counted)
    of_payment = {"amount_received": 10_500_000, "bound_by": "reference", **counted}
    Payment.objects.create(
        request_id=order["id"], chain_id=order["chain_id"], transaction_hash=HASH, **of_payment
    )
    open_page(page, order["payment_url"] + "/receipt")
    expect(page.get_by_role("heading", name="Receipt", exact=True)).to_be_visible()
    assert_accessible(page)


@WITH_SCRIPTS_AND_WITHOUT
def test_sending_by_hand_takes_the_keyboard_alone_and_nothing_twice(
    create: Create, page: Page, open_page: Open
) -> None:
    open_page(page, create()["payment_url"] + "/by-hand")
    press(page, "I have read this")
    reach(page, "Copy the amount")
    reach(page, "Transaction hash")
    page.keyboard.type("0x12")
    press(page, "Find my payment")
    typed = page.get_by_label("Transaction hash")
    expect(typed).to_have_accessible_description(re.compile("0x and 64"))
    expect(typed).to_be_focused()
    assert is_focus_seen(page)
    expect(typed).to_have_value("0x12")


def test_help_stands_at_the_same_place_of_each_page(create: Create, page: Page) -> None:
    order = create()
    PaymentRequest.objects.filter(pk=order["id"]).update(status="completed", amount_paid=10_500_000)
    for path in ("", "/by-hand", "/receipt"):
        page.goto(order["payment_url"] + path)
        help_line = page.get_by_role("contentinfo").locator("p").first
        expect(help_line.get_by_role("link", name="help@shop.example")).to_be_visible()
