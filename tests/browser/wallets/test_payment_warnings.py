"""A submitted hash proves nothing.

The page hides the ways to pay only for a bound payment, or for one from this browser.
"""

import re
from typing import Any

from django.utils import timezone
from playwright.sync_api import Browser, Locator, Page, expect

from payments.models import FailureCode, Payment
from tests.browser.conftest import TOUCHED, AddWallet, Create
from tests.browser.wallets.steps import ON_ITS_WAY, SENT, refresh, review, send
from tests.browsing import DESKTOP, PHONE
from tests.conftest import Api
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.payments.rows import change
from tests.support.payments.world import look
from tests.support.wallets.stub import LATER, NAME

MADE_UP = "0x" + "77" * 32
OTHER = "0x" + "88" * 32
SEEN = {"seen_at": timezone.now()}


def submit(public: Api, order: dict[str, Any]) -> None:
    """Submit a hash. Anyone who knows the page's URL can do this."""
    body = {"transaction_hash": MADE_UP, "chain_id": order["chain_id"]}
    response = public.post(f"/api/public/payment-requests/{order['id']}/payments", body)
    assert response.status_code == 201, response.content
    look()


def test_made_up_hash_leaves_the_ways_to_pay(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, public: Api
) -> None:
    add_wallet()
    order = create()
    submit(public, order)
    page.goto(order["payment_url"])
    expect(page.get_by_role("link", name="Send it yourself")).to_be_visible()
    expect(page.locator("#countdown")).to_contain_text("left")
    pay = review(page, panel, order)
    expect(panel.get_by_test_id("doubt")).to_contain_text("We can’t find this transaction yet")
    picture(page, "review, beside a hash that no node knows")
    expect(page.locator("#checkout")).to_have_attribute("data-state", "active")
    send(page, pay)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    assert Payment.objects.count() == 2


def test_made_up_hash_does_not_disturb_an_open_prompt(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, public: Api
) -> None:
    wallet = add_wallet(answers={SENT: [LATER]})
    order = create()
    review(page, panel, order).click()
    expect(panel.locator(".signed")).to_be_visible()
    submit(public, order)
    with page.expect_response(re.compile(rf"/payment-requests/{order['id']}$")):
        refresh(page)
    expect(panel.get_by_role("heading", name=f"Confirm in {NAME}")).to_be_visible()
    with page.expect_response("**/payments"):
        wallet.answer(OTHER)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    expect(panel).to_contain_text(OTHER)


def test_mistyped_hash_is_corrected_in_the_same_place(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.goto(create()["payment_url"])
    finder = page.get_by_text("Already paid, but it isn’t shown here?")
    finder.click()
    field = page.get_by_label("Transaction hash")
    page.set_viewport_size(PHONE)
    field.fill(MADE_UP[:-1])
    page.get_by_role("button", name="Find my payment").click()
    answer = page.locator("#finder-answer")
    for element in (answer, field):
        expect(element).to_be_in_viewport(ratio=1)
    expect(answer).to_have_text("Enter the transaction hash: 0x and 64 more characters.")
    expect(field).to_have_value(MADE_UP[:-1])
    assert_accessible(page)
    page.set_viewport_size(DESKTOP)
    field.fill(MADE_UP)
    page.get_by_role("button", name="Find my payment").click()
    warning = panel.get_by_test_id("doubt")
    expect(warning).to_contain_text("0x77777777…77777777")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    look()
    refresh(page)
    expect(warning).to_contain_text("We can’t find this transaction yet")
    expect(answer).to_contain_text("We can’t find this transaction yet")
    expect(field).to_have_value(MADE_UP)
    finder.click()
    expect(field).to_be_hidden()
    warning.get_by_role("button", name="Enter another hash").click()
    expect(field).to_be_focused()
    field.fill(OTHER)
    page.get_by_role("button", name="Find my payment").click()
    expect(warning).to_contain_text("0x88888888…88888888")


def test_sent_payment_counts_down_then_names_what_is_slow(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={SENT: [{"gives": MADE_UP}]})
    page.clock.install()
    send(page, review(page, panel, create()))
    expect(panel.locator("#estimate")).to_contain_text("left")
    expect(page.locator("#amount-label")).to_have_text("Amount")
    expect(page.locator("#expires")).to_be_hidden()
    page.clock.run_for(60_000)
    expect(panel.get_by_test_id("notice")).to_contain_text("Local Chain is slow to include your transaction.")
    expect(panel.locator("#estimate")).to_have_count(0)
    assert_accessible(page)


def test_unseen_own_payment_can_be_paid_again_after_two_minutes(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={SENT: [{"gives": MADE_UP}]})
    page.clock.install()
    send(page, review(page, panel, create()))
    again = panel.get_by_role("button", name="Not sent? Pay again")
    picture(page, "sent, not seen yet")
    page.clock.fast_forward(100_000)
    page.reload()
    expect(panel).to_contain_text("is slow to include your transaction")
    expect(again).to_have_count(0)
    page.clock.fast_forward(40_000)
    expect(panel.get_by_test_id("notice")).to_contain_text("pay again only if it isn’t there")
    assert_accessible(page)
    again.click()
    for _ in range(2):
        expect(panel.get_by_test_id("doubt")).to_contain_text("We are checking this transaction")
        expect(panel.get_by_role("button", name=NAME)).to_be_visible()
        page.reload()
    change(Payment.objects, seen_at=timezone.now(), is_bound_unmined=True)
    refresh(page)
    expect(panel.get_by_role("heading", name="Taking longer than usual")).to_be_visible()


def test_unbound_payment_is_on_its_way_only_where_it_was_sent(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, browser: Browser
) -> None:
    add_wallet(answers={SENT: [{"gives": MADE_UP}]})
    order = create()
    send(page, review(page, panel, order))
    change(Payment.objects, **SEEN)
    page.reload()
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    expect(panel.get_by_text("Sent. You can close")).to_have_count(0)
    other = browser.new_context(**TOUCHED)
    there = other.new_page()
    there.goto(order["payment_url"])
    expect(there.get_by_test_id("doubt")).to_contain_text("We are checking this transaction")
    Payment.objects.update(is_bound_unmined=True)
    there.reload()
    expect(there.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    other.close()


def test_own_payment_that_will_fail_is_shown_at_once(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={SENT: [{"gives": MADE_UP}]})
    send(page, review(page, panel, create()))
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    mined = {**SEEN, "block_number": 7, "confirmations": 1, "confirmations_required": 12}
    likely = FailureCode.TRANSACTION_REVERTED
    change(Payment.objects, status="processing", likely_failure=likely, **mined)
    refresh(page)
    expect(panel.get_by_role("heading", name="The payment did not go through")).to_be_visible()
    expect(panel).to_contain_text("The amount is still in your wallet")
    panel.get_by_role("button", name="Pay again").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    expect(panel.get_by_test_id("doubt")).to_have_count(0)
