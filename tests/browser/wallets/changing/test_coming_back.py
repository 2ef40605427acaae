"""After a reload or a closed tab, and on a second device, the page continues at the same step."""

from playwright.sync_api import Browser, Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import TOUCHED, AddWallet, Create
from tests.browser.wallets.steps import ON_ITS_WAY, review, send
from tests.pictures import picture
from tests.support.payments.rows import change
from tests.support.payments.world import ON_ITS_WAY as SEEN
from tests.support.wallets.stub import NAME


def test_reload_continues_with_the_connected_wallet(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    pay = review(page, panel, create())
    expect(pay).to_be_visible()
    page.reload()
    expect(pay).to_be_visible()
    assert wallet.asked("eth_requestAccounts") == []
    panel.get_by_role("button", name="Use another wallet").click()
    page.reload()
    # The customer left this wallet, so the page doesn't reconnect it.
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    expect(panel.get_by_role("heading", name="Pay with your wallet")).to_be_visible()


def test_wallet_used_last_comes_first_and_is_marked(
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


def test_payment_under_way_is_shown_on_another_device(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, browser: Browser
) -> None:
    add_wallet()
    request = create()
    send(page, review(page, panel, request))
    page.reload()
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    change(Payment.objects, **SEEN)
    other = browser.new_context(**TOUCHED)
    there = other.new_page()
    there.goto(request["payment_url"])
    expect(there.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    expect(there.locator("#panel")).to_contain_text(Payment.objects.get().transaction_hash)
    other.close()


def test_hash_that_was_not_submitted_is_sent_after_a_reload(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.route("**/payments", lambda route: route.abort())
    review(page, panel, create()).click()
    expect(panel.get_by_text("Your transaction is saved in this browser")).to_be_visible()
    picture(page, "submitting, the service not reached")
    assert not Payment.objects.exists()
    page.unroute("**/payments")
    with page.expect_response("**/payments") as submitted:
        page.reload()
    # 200 if the page's own retry was faster than the reload.
    assert submitted.value.status in (200, 201)
    assert Payment.objects.count() == 1
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
