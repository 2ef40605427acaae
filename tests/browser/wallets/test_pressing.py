"""The page changes while the customer presses a button.

The click is not lost, and does only what the button showed.
"""

from datetime import datetime, timedelta

from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import OTHER, SENT, review
from tests.support.wallets.stub import NAME

LATE = "Another Wallet"


def _press(page: Page, element: Locator) -> None:
    """Press the mouse button on the element and hold it."""
    element.hover()
    page.mouse.down()


def test_wallet_that_arrives_during_a_press_keeps_the_click(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.clock.install()
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).hover()
    # The page's clock is paused, so the press is short even on a slow machine.
    page.clock.pause_at(datetime.now() + timedelta(seconds=10))
    page.mouse.down()
    add_wallet(name=LATE).arrive()
    page.mouse.up()
    page.clock.resume()
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_visible()


def test_press_that_was_no_click_shows_what_arrived_after_it(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.goto(create()["payment_url"])
    _press(page, panel.get_by_role("button", name=NAME))
    add_wallet(name=LATE).arrive()
    page.mouse.move(0, 0)
    page.mouse.up()
    expect(panel.get_by_role("button", name=LATE)).to_be_visible()
    expect(panel.get_by_role("heading", name="Pay with your wallet")).to_be_visible()


def test_press_that_never_ends_does_not_hold_the_page(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.goto(create()["payment_url"])
    _press(page, panel.get_by_role("button", name=NAME))
    add_wallet(name=LATE).arrive()
    expect(panel.get_by_role("button", name=LATE)).to_be_visible()


def test_account_that_changes_during_a_press_signs_nothing(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    pay = review(page, panel, create())
    _press(page, pay)
    wallet.show(OTHER)
    wallet.emit("accountsChanged", [OTHER])
    page.mouse.up()
    expect(panel.get_by_text(OTHER)).to_be_visible()
    expect(panel.get_by_text("You changed the account in your wallet.")).to_be_visible()
    assert not wallet.asked(SENT)
    assert not Payment.objects.exists()
