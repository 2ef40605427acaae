"""The page shows the payment's current state in other tabs, on other devices, after sleep, and after a visit to
the shop.
"""

from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import Browser, Locator, Page, expect

from chains.models import Chain, Token
from payments.models import Payment
from tests.browser.conftest import TOUCHED, AddWallet, Create
from tests.browser.wallets.steps import (
    HASH,
    ON_ITS_WAY,
    OPEN_PROMPT,
    SENT,
    SHOP,
    complete,
    refresh,
    review,
    send,
)
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.payments.rows import change, new_payment
from tests.support.payments.world import ON_ITS_WAY as SEEN
from tests.support.wallets.stub import LATER, NAME, NEVER, StubWallet
from tests.verifying import discover_due

DECLINE = "Decline the request that is still open in your wallet. This payment is already on its way."


def test_second_tab_shows_the_prompt_and_payment_of_the_first(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(answers={SENT: [LATER]})
    order = create()
    pay = review(page, panel, order)
    expect(pay).to_be_visible()
    other = page.context.new_page()
    StubWallet(other, local_chain)
    there = other.locator("#panel")
    expect(review(other, there, order)).to_be_visible()
    expect(there.get_by_test_id("notice")).to_have_count(0)
    pay.click()
    expect(there.get_by_test_id("notice")).to_contain_text(OPEN_PROMPT)
    # Both tabs know the hash, so either can submit it.
    with page.context.expect_event("response", lambda response: response.url.endswith("/payments")):
        wallet.answer(local_chain.rpc(SENT, wallet.asked(SENT)[0][0]))
    for tab in (there, panel):
        expect(tab.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    assert Payment.objects.count() == 1


def test_second_tab_does_not_ask_the_wallet_beside_the_first(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, chain: Chain, local_chain: LocalChain
) -> None:
    add_wallet(answers={SENT: [NEVER]})
    order = create(redirect_url=f"{SHOP}/done")
    pay = review(page, panel, order)
    expect(pay).to_be_visible()
    other = page.context.new_page()
    wallet = StubWallet(other, local_chain)
    there = other.locator("#panel")
    pay_there = review(other, there, order)
    expect(pay_there).to_be_visible()
    pay.click()
    expect(panel).to_have_attribute("data-screen", "confirming")
    pay_there.click()
    expect(there.get_by_test_id("notice")).to_have_text(
        "This payment is open in another tab of this browser. Confirm or decline it there, or close that tab."
    )
    picture(other, "review, open in another tab")
    assert wallet.asked(SENT) == []
    # Another device pays while the first tab's prompt is still open.
    new_payment(request_id=order["id"], chain=chain, transaction_hash=HASH, **SEEN)
    refresh(page)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    expect(panel.get_by_test_id("notice")).to_have_text(DECLINE)
    complete(order)
    for tab in (other, page):
        refresh(tab)
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible()
    expect(panel.get_by_test_id("notice")).to_have_text(DECLINE)
    expect(panel.locator(".leaving")).to_have_count(0)
    expect(there.get_by_test_id("notice")).to_contain_text("If your wallet still shows a request")
    picture(page, "completed, a prompt still open")
    assert_accessible(page)
    assert Payment.objects.count() == 1


def test_payment_of_a_closed_page_is_found_by_its_reference(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(answers={SENT: [NEVER]})
    order = create()
    review(page, panel, order).click()
    expect(panel.locator(".signed")).to_be_visible()
    discover_due()
    [[transaction]] = wallet.asked(SENT)
    page.goto("about:blank")
    sent = local_chain.rpc(SENT, transaction)
    page.goto(order["payment_url"])
    expect(panel.get_by_test_id("notice")).to_contain_text(OPEN_PROMPT)
    local_chain.rpc("anvil_mine", "0x2")
    assert discover_due(now=lambda: timezone.now() + timedelta(minutes=1)) == 1
    change(Payment.objects, **SEEN)
    refresh(page)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    assert Payment.objects.get().transaction_hash == sent


def test_coins_without_a_reference_are_found_by_their_hash(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, ether: Token, local_chain: LocalChain
) -> None:
    wallet = add_wallet(answers={SENT: [NEVER]})
    order = create(token_id=ether.pk, amount="0.01", references=True)
    page.goto(order["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    panel.get_by_role("button", name="Pay 0.01 ETH").click()
    expect(panel.locator(".signed")).to_be_visible()
    [[transaction]] = wallet.asked(SENT)
    page.goto("about:blank")
    sent = local_chain.rpc(SENT, transaction)
    page.goto(order["payment_url"])
    expect(panel.get_by_test_id("notice")).to_contain_text("enter its hash on this page")
    page.get_by_text("Already paid, but it isn’t shown here?").click()
    page.get_by_label("Transaction hash").fill(sent)
    send(page, page.get_by_role("button", name="Find my payment"))
    assert Payment.objects.get().transaction_hash == sent
    change(Payment.objects, **SEEN)
    refresh(page)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()


def test_page_that_slept_wakes_where_the_payment_is(
    page: Page, panel: Locator, create: Create, chain: Chain, browser: Browser
) -> None:
    page.route(f"{SHOP}/**", lambda route: route.fulfill(body="Thank you"))
    order = create(redirect_url=f"{SHOP}/done")
    page.goto(order["payment_url"])
    expect(panel.get_by_role("heading", name="Pay with your wallet")).to_be_visible()
    new_payment(request_id=order["id"], chain=chain, transaction_hash=HASH)
    complete(order)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    # The customer is waiting for the payment, so the page redirects.
    page.wait_for_url(f"{SHOP}/done?**")
    later = browser.new_context(**TOUCHED).new_page()
    later.goto(order["payment_url"])
    expect(later.get_by_role("heading", name="Payment complete")).to_be_visible()
    expect(later.locator(".leaving")).to_have_count(0)
    later.context.close()


def test_hash_that_came_offline_is_submitted_at_the_return(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet(answers={SENT: [LATER]})
    page.clock.install()
    review(page, panel, create()).click()
    expect(panel.locator(".signed")).to_be_visible()
    page.context.set_offline(True)
    wallet.answer(HASH)
    expect(panel).to_contain_text("Your transaction is saved in this browser")
    assert not Payment.objects.exists()
    # Pause the page's clock, so that only the restored connection can trigger a poll. Pause it ahead of now,
    # because a clock can't be set back and a slow machine may be late.
    page.clock.pause_at(page.evaluate("(Date.now() + 10_000) / 1000"))
    with page.expect_response("**/payments") as submitted:
        page.context.set_offline(False)
    assert submitted.value.status == 201
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    assert Payment.objects.get().transaction_hash == HASH


def test_overpaid_amount_is_at_the_head_of_the_page(
    page: Page, panel: Locator, create: Create, chain: Chain
) -> None:
    order = create()
    new_payment(request_id=order["id"], chain=chain, transaction_hash=HASH)
    complete(order, paid=12_500_000)
    page.goto(order["payment_url"])
    expect(panel).to_contain_text("You paid 2.00 USDC more than requested")
    expect(page.locator(".price")).to_contain_text("Paid to Alice's Bakery")
    expect(page.locator("#amount")).to_have_text("12.50")
