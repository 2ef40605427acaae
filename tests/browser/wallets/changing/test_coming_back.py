"""A reload, a closed tab and a second device go on exactly where the payment is."""

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import TOUCHED, AddWallet, Create
from tests.browser.wallets.test_paying import review, send
from tests.pictures import picture
from tests.support.payments.world import ON_ITS_WAY
from tests.support.wallets.stub import NAME, error


def test_a_reload_goes_on_with_the_wallet_that_was_connected(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    pay = review(page, panel, create())
    expect(pay).to_be_visible()
    page.reload()
    expect(pay).to_be_visible()
    assert wallet.asked("eth_requestAccounts") == []


def test_a_wallet_that_was_left_is_not_gone_on_with(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    expect(review(page, panel, create())).to_be_visible()
    panel.get_by_role("button", name="Use another wallet").click()
    page.reload()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    expect(panel.get_by_role("heading", name="Pay with your wallet")).to_be_visible()


def test_the_wallet_that_was_used_last_comes_first_in_this_browser(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(name="Alpha")
    add_wallet(name="Beta")
    names = panel.locator(".wallet__name")
    page.goto(create()["payment_url"])
    expect(names).to_have_text(["Alpha", "Beta"])
    panel.get_by_role("button", name="Beta").click()
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_visible()

    page.goto(create()["payment_url"])
    expect(names).to_have_text(["Beta", "Alpha"])
    expect(panel.get_by_role("button", name="Beta")).to_contain_text("Last used")
    expect(panel.get_by_text("Last used")).to_have_count(1)
    picture(page, "wallets, one used last")


def test_a_payment_under_way_is_shown_after_a_reload_and_on_another_device(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, browser: Browser
) -> None:
    add_wallet()
    request = create()
    send(page, review(page, panel, request))
    page.reload()
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    Payment.objects.update(**ON_ITS_WAY)
    other = browser.new_context(**TOUCHED)
    there = other.new_page()
    there.goto(request["payment_url"])
    expect(there.get_by_role("heading", name="Payment on its way")).to_be_visible()
    expect(there.locator("#panel")).to_contain_text(Payment.objects.get().transaction_hash)
    other.close()


def test_a_hash_that_the_server_never_heard_of_is_brought_after_a_reload(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    request = create()
    page.route("**/payments", lambda route: route.abort())
    review(page, panel, request).click()
    expect(panel.get_by_text("Your transaction is saved in this browser")).to_be_visible()
    picture(page, "submitting, the service not reached")
    assert not Payment.objects.exists()
    page.unroute("**/payments")
    with page.expect_response("**/payments") as told:
        page.reload()
    assert told.value.status == 201
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()


@pytest.mark.parametrize("answer", [error(-32603, "lost"), "never"], ids=["failed", "never answered"])
def test_a_question_that_was_left_open_is_remembered(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, answer: object
) -> None:
    add_wallet(answers={"eth_sendTransaction": [answer]})
    review(page, panel, create()).click()
    expect(panel.locator(".signed, .notice").first).to_be_visible()
    page.reload()
    expect(panel.get_by_test_id("notice")).to_contain_text("A payment was started in this browser")
    picture(page, "wallets, a payment was started")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
