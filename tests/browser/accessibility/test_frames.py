"""In a dialog or a frame of a shop's page, the checkout is accessible, and a keyboard is enough to pay."""

from playwright.sync_api import Frame, Page, expect

from tests.browser.conftest import AddWallet, Create
from tests.browsing import DESKTOP, PHONE
from tests.chain import LocalChain
from tests.support.accessibility.keyboard import press
from tests.support.accessibility.page_rules import RULES, SPACED, demand_none, violations, widest
from tests.support.embedding.shop import Shop
from tests.support.wallets.stub import NAME

# The shop's page is not part of the product, so axe's best practices don't apply to it.
_OF_WCAG = {**RULES, "runOnly": [rule for rule in RULES["runOnly"] if rule != "best-practice"]}


def checkout_of(page: Page) -> Frame:
    """Return the checkout's frame once it has loaded."""
    expect(page.frame_locator("iframe").locator("#amount")).to_have_text("10.50")
    return next(frame for frame in page.frames if "/pay/" in frame.url)


def expect_accessible(page: Page) -> None:
    """Check the shop's page and the checkout on a desktop and a phone, in light and dark colours."""
    inside = checkout_of(page)
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        demand_none(violations(page, _OF_WCAG), f"around it at {size}")
        demand_none(violations(inside, RULES), f"inside at {size}")
    page.emulate_media(color_scheme="dark")
    demand_none(violations(inside, RULES), "inside by night")
    page.emulate_media(color_scheme="light")
    for css in ("", SPACED):
        page.set_viewport_size({"width": 320, "height": 640})
        demand_none(widest(inside, css), f"inside at 320 px {css}")
    page.set_viewport_size(DESKTOP)


def test_dialog_is_accessible_and_paid_by_keyboard(
    page: Page, shop: Shop, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    # The wallet keeps its connection in storage, which browsers may block inside a frame.
    account = {"gives": [local_chain.payer]}
    accounts = {"eth_requestAccounts": [account], "eth_accounts": [account] * 5}
    add_wallet(answers={**accounts, "eth_sendTransaction": ["never"]})
    page.emulate_media(reduced_motion="reduce")
    page.goto(shop.sell(create()["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").press("Enter")
    inside = checkout_of(page)
    expect(page.locator("iframe")).to_be_focused()
    expect(inside.get_by_role("button", name=NAME)).to_be_visible()
    expect_accessible(page)
    for button, screen in ((NAME, "review"), ("Pay 10.50 USDC", "confirming")):
        press(page, button, inside=inside)
        expect(inside.locator("#panel")).to_have_attribute("data-screen", screen)
        expect(inside.locator("#panel-heading")).to_be_focused()
    expect_accessible(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("link", name="Pay with crypto")).to_be_focused()


def test_opening_dialog_is_accessible(page: Page, shop: Shop, create: Create) -> None:
    page.route("**/pay/*", lambda _: None)
    page.emulate_media(reduced_motion="reduce")
    page.goto(shop.sell(create()["payment_url"]))
    page.get_by_role("link", name="Pay with crypto").press("Enter")
    expect(page.get_by_text("Opening the payment…")).to_be_visible()
    demand_none(violations(page, _OF_WCAG), "while it opens")
    expect(page.get_by_role("dialog", name="Payment")).to_be_visible()


def test_embedded_checkout_is_accessible(page: Page, shop: Shop, create: Create) -> None:
    page.goto(shop.sell(create()["payment_url"]))
    page.evaluate("void (window.mounted = Quittance.mount('#here', options))")
    checkout_of(page)
    expect_accessible(page)
