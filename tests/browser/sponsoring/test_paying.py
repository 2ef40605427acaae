"""The customer signs a transfer and the service sends it. The customer needs no coin for gas and sees one prompt."""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from chains.models import Token
from payments.models import Payment, PaymentRequest
from tests.browser.conftest import TOUCHED, AddWallet, Create
from tests.browser.sponsoring.steps import SIGN, sign_and_submit
from tests.browser.wallets.steps import ON_ITS_WAY, SENT, refresh, review
from tests.browser.wallets.test_clicks import COUNT_CLICKS, counts
from tests.chain import LocalChain
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.wallets.stub import LATER, StubWallet, error
from tests.verifying import relay_due, verify_due

ON_DESKTOP_AND_PHONE = pytest.mark.parametrize("page", [{}, TOUCHED], ids=["desktop", "phone"], indirect=True)
UNAVAILABLE = "The network fee can’t be paid for you at the moment."


@ON_DESKTOP_AND_PHONE
def test_wallet_without_coin_pays_with_two_clicks(
    page: Page, panel: Locator, create: Create, add_signer: AddWallet, payer: Any, local_chain: LocalChain
) -> None:
    page.add_init_script(COUNT_CLICKS)
    wallet = add_signer()
    assert int(local_chain.rpc("eth_getBalance", payer.address, "latest"), 16) == 0
    for is_connected, prompts in ((False, 2), (True, 1)):
        order = create()
        pay = review(page, panel, order)
        expect(panel).to_contain_text("No network fee")
        assert_accessible(page)
        sign_and_submit(page, pay)
        expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
        assert counts(page, wallet, is_connected=is_connected) == (2, prompts)
        _finish(page, panel)
        payment = Payment.objects.get(request_id=order["id"])
        assert (payment.status, payment.bound_by, payment.is_sponsored) == (
            "completed",
            "authorization",
            True,
        )
        assert payment.from_address == payer.address
        assert not wallet.asked(SENT)
    assert local_chain.token_balance(local_chain.usdc, payer.address) == 979 * 10**6


def _finish(page: Page, panel: Locator) -> None:
    """Have the workers send and verify the payment; wait until the page shows it."""
    relay_due()
    verify_due()
    refresh(page)
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible()


@ON_DESKTOP_AND_PHONE
def test_page_decodes_what_the_customer_signs(
    page: Page, panel: Locator, create: Create, add_signer: AddWallet
) -> None:
    wallet = add_signer(answers={SIGN: [LATER]})
    order = create()
    review(page, panel, order).click()
    signed = panel.locator(".signed")
    for text in ("10.50 USDC", "Local Chain", order["recipient_address"], "Valid until"):
        expect(signed).to_contain_text(text)
    assert_accessible(page)
    [[account, data]] = wallet.asked(SIGN)
    assert json.loads(data)["message"]["from"] == account


def test_payment_is_being_sent_until_it_has_a_hash(
    page: Page, panel: Locator, create: Create, add_signer: AddWallet
) -> None:
    add_signer()
    sign_and_submit(page, review(page, panel, create()))
    expect(panel.locator(".transaction")).to_contain_text("Being sent")
    expect(panel.locator(".transaction a")).to_have_count(0)
    expect(panel).not_to_contain_text("null")
    assert_accessible(page)
    page.reload()
    expect(panel.locator(".transaction")).to_contain_text("Being sent")
    relay_due()
    refresh(page)
    expect(panel.locator(".transaction code")).to_contain_text("0x")


def test_customer_with_coin_can_pay_the_network_fee(
    page: Page, panel: Locator, create: Create, add_signer: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_signer(accounts=[local_chain.payer])
    pay = review(page, panel, create())
    panel.get_by_role("button", name="Pay it yourself").click()
    expect(panel.get_by_role("button", name="Have it paid for you")).to_be_visible()
    assert_accessible(page)
    with page.expect_response("**/payments") as submitted:
        pay.click()
    assert submitted.value.ok
    assert (len(wallet.asked(SENT)), len(wallet.asked(SIGN))) == (1, 0)


def test_declined_signature_can_be_given_again(
    page: Page, panel: Locator, create: Create, add_signer: AddWallet
) -> None:
    add_signer(answers={SIGN: [error(4001)]})
    pay = review(page, panel, create())
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text("No money has moved")
    assert not Payment.objects.exists()
    sign_and_submit(page, pay)
    assert Payment.objects.count() == 1


@pytest.mark.parametrize("moment", ["before the prompt", "after the signature"])
def test_used_up_budget_leaves_the_ordinary_way(
    page: Page, panel: Locator, create: Create, add_signer: AddWallet, settings: Any, moment: str
) -> None:
    wallet = add_signer(answers={SIGN: [LATER]})
    pay = review(page, panel, create())
    expect(pay).to_be_visible()
    if moment == "before the prompt":
        settings.SPONSOR_KEYS = {}
        pay.click()
    else:
        pay.click()
        expect(panel.locator(".signed")).to_be_visible()
        settings.SPONSOR_DAILY_BUDGET = {}
        wallet.answer(_signature(page, wallet))
    expect(panel.get_by_test_id("notice").first).to_contain_text(UNAVAILABLE)
    expect(panel).not_to_contain_text("No network fee")
    expect(panel.locator("#change-fee")).to_have_count(0)
    assert_accessible(page)
    assert not Payment.objects.exists()


def _signature(page: Page, wallet: StubWallet) -> str:
    """Return the signature that the wallet's prompt requests."""
    return str(page.evaluate("data => window.signTypedData(data)", wallet.asked(SIGN)[0][1]))


@pytest.mark.parametrize(
    ("field", "value"), [("to", "0x90F79bf6EB2c4f870365E785982E1f101E93b906"), ("value", "999000000")]
)
def test_transfer_that_differs_from_the_review_is_not_signed(
    page: Page, panel: Locator, create: Create, add_signer: AddWallet, field: str, value: str
) -> None:
    def change(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        body["typed_data"]["message"][field] = value
        route.fulfill(response=answer, json=body)

    page.route("**/build-transaction", change)
    wallet = add_signer()
    review(page, panel, create()).click()
    expect(panel.get_by_test_id("notice")).to_contain_text("doesn’t match what you reviewed")
    assert not wallet.asked(SIGN)


def test_signature_outlives_a_lost_connection_and_a_reload(
    page: Page, panel: Locator, create: Create, add_signer: AddWallet
) -> None:
    wallet = add_signer()
    page.route("**/authorizations", lambda route: route.abort())
    review(page, panel, create()).click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Your signature is saved in this browser")
    assert_accessible(page)
    page.reload()
    expect(panel.get_by_test_id("notice")).to_contain_text("Your signature is saved in this browser")
    page.unroute("**/authorizations")
    with page.expect_response("**/authorizations"):
        refresh(page)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    expect(panel.locator(".transaction")).to_contain_text("Being sent")
    assert not wallet.asked(SIGN)  # the reloaded page shows no prompt
    assert Payment.objects.count() == 1


def test_second_tab_shows_the_payment_that_the_first_signed(
    page: Page, panel: Locator, create: Create, add_signer: AddWallet, payer: Any, local_chain: LocalChain
) -> None:
    wallet = add_signer(answers={SIGN: [LATER]})
    order = create()
    pay = review(page, panel, order)
    other = page.context.new_page()
    second = StubWallet(other, local_chain, accounts=[payer.address])
    there = other.locator("#panel")
    pay_there = review(other, there, order)
    expect(pay_there).to_be_visible()
    pay.click()
    expect(panel.locator(".signed")).to_be_visible()
    pay_there.click()
    expect(there.get_by_test_id("notice")).to_contain_text("open in another tab")
    with page.context.expect_event("response", lambda response: response.url.endswith("/authorizations")):
        wallet.answer(_signature(page, wallet))
    for tab in (there, panel):
        expect(tab.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    assert (Payment.objects.count(), len(second.asked(SIGN))) == (1, 0)


def test_signature_that_was_not_sent_in_time_can_be_replaced(
    page: Page, panel: Locator, create: Create, add_signer: AddWallet
) -> None:
    add_signer()
    sign_and_submit(page, review(page, panel, create()))
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    Payment.objects.update(
        status="failed",
        failure_code="authorization_expired",
        failure_message="The signed transfer was not sent in time. Nothing was paid.",
    )
    PaymentRequest.objects.update(status="active")
    refresh(page)
    expect(panel.get_by_role("heading", name="The payment did not go through")).to_be_visible()
    expect(panel).to_contain_text("You can pay again")
    assert_accessible(page)
    panel.get_by_role("button", name="Pay again").click()
    expect(panel.get_by_role("button", name="Stub Wallet")).to_be_visible()


@pytest.mark.parametrize("tag", ["ar", "de", "ja"])
def test_review_and_signature_are_accessible_in_other_languages(
    page: Page, panel: Locator, create: Create, add_signer: AddWallet, tag: str
) -> None:
    add_signer(answers={SIGN: [LATER]})
    page.goto(f"{create()['payment_url']}?lang={tag}")
    panel.locator(".wallet").click()
    expect(panel.locator("#pay")).to_be_visible()
    assert_accessible(page)
    panel.locator("#pay").click()
    expect(panel.locator(".signed")).to_be_visible()
    assert_accessible(page)


def test_page_without_sponsoring_loads_no_part_for_it(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, usdc: Token
) -> None:
    scripts: list[str] = []
    page.on("request", lambda request: scripts.append(request.url))
    add_wallet()
    expect(review(page, panel, create())).to_be_visible()
    assert not [url for url in scripts if "sponsored" in url]
    expect(panel.locator("#change-fee")).to_have_count(0)
