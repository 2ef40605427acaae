"""From the review to the wallet's answer: each fault is told, nothing is lost, and the payment can still be made."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.wallets.stub import NAME, error

REFUSALS = {
    "declined": (error(4001), "You declined the payment in your wallet"),
    "declined, wrapped": (
        error(-32603, "x", data={"cause": {"code": 4001}}),
        "You declined the payment in your wallet",
    ),
    "already asking": (error(-32002), "already waiting for your answer"),
    "no network": (error(4900), "not connected to its network"),
    "not on the chain": (error(4901), "not connected to its network"),
    "locked": (error(4100), "Unlock the wallet"),
    "unsupported": (error(4200), "can’t send this payment"),
    "unknown": (error(-32603, "nonce too low"), "Check its recent activity"),
    "no hash": ({"gives": "yes"}, "Check its recent activity"),
}


def review(page: Page, panel: Locator, request: dict[str, Any]) -> Locator:
    """Connect the stub wallet; return the button that pays."""
    page.goto(request["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    return panel.get_by_role("button", name="Pay 10.50 USDC")


def send(page: Page, pay: Locator) -> None:
    """Pay, and wait until the service has the transaction's hash."""
    with page.expect_response("**/payments") as told:
        pay.click()
    # 200 where another tab was quicker.
    assert told.value.ok


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_leads_back_to_the_review_and_the_next_try_pays(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, refusal: str
) -> None:
    answer, told = REFUSALS[refusal]
    add_wallet(answers={"eth_sendTransaction": [answer]})
    pay = review(page, panel, create())
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text(told)
    picture(page, f"refused, {refusal}")
    assert not Payment.objects.exists()
    send(page, pay)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert Payment.objects.count() == 1


def test_what_is_signed_is_read_back_from_the_transaction_itself(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    add_wallet(answers={"eth_sendTransaction": ["never"]})
    review(page, panel, create()).click()
    expect(panel.get_by_role("heading", name=f"Confirm in {NAME}")).to_be_focused()
    signed = panel.locator(".signed")
    expect(signed.get_by_role("heading", name="What you sign")).to_be_visible()
    for shown in ("10.50 USDC", "Local Chain", local_chain.recipient, local_chain.usdc):
        expect(signed).to_contain_text(shown)


def test_a_wallet_that_hides_its_question_is_told_of(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_sendTransaction": ["never"]})
    page.clock.install()
    pay = review(page, panel, create())
    pay.click()
    expect(panel.locator(".signed")).to_be_visible()
    page.clock.fast_forward(20_000)
    expect(panel.get_by_test_id("notice")).to_contain_text("Don’t see a request in")
    panel.get_by_role("button", name="I don’t see the request in my wallet").click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Check your wallet’s activity")
    picture(page, "confirming, left")
    expect(pay).to_be_visible()


def test_a_wallet_that_falls_silent_is_told_of(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    page.clock.install()
    pay = review(page, panel, create())
    expect(pay).to_be_visible()
    wallet.plan("eth_accounts", "never")
    pay.click()
    expect(panel.get_by_role("heading", name="Preparing the transaction")).to_be_visible()
    page.clock.fast_forward(11_000)
    expect(panel.get_by_test_id("notice")).to_contain_text(f"{NAME} isn’t responding")
    picture(page, "review, a silent wallet")
    send(page, pay)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
