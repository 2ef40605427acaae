"""A contract account's wallet returns an id immediately.

The page says what it waits for, and the customer can close it.
"""

from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import SENT, review
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.payments.proposing import proposal, verify
from tests.support.payments.world import Clock
from tests.support.threats.evm_world import World
from tests.support.wallets.stub import LATER

pytest_plugins = ["tests.support.threats.evm_fixtures"]


def test_page_waits_for_other_signers_and_can_be_closed(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, world: World
) -> None:
    safe = world.safe()
    wallet = add_wallet(accounts=[safe.address], answers={SENT: [LATER]})
    order = create()
    review(page, panel, order).click()
    expect(panel.locator(".signed")).to_be_visible()
    (call,) = wallet.asked(SENT)[0]
    proposed = proposal(safe, call)
    with page.expect_response("**/payments") as submitted:
        wallet.answer(proposed.id)
    assert submitted.value.status == 201
    notice = panel.get_by_test_id("doubt")
    expect(notice).to_contain_text("Waiting for the other signers")
    expect(notice).to_contain_text("You can close this page.")
    expect(panel.get_by_role("button", name="Stub Wallet")).to_be_visible()
    expect(page.locator("#countdown")).to_contain_text("left")
    assert_accessible(page)
    picture(page, "waiting for the other signers")
    page.goto("about:blank")
    sent, payment = proposed.execute(), Payment.objects.get()
    assert verify(payment, Clock()).status == Payment.Status.COMPLETED
    page.goto(order["payment_url"])
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible()
    expect(panel).to_contain_text(sent)
