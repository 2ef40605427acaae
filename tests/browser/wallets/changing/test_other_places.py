"""Other tabs, other devices, sleep and the way back from the shop: the page is always where the payment is."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Locator, Page, expect

from chains.models import Chain, Token
from payments.models import Payment, PaymentRequest
from tests.browser.conftest import TOUCHED, AddWallet, Create
from tests.browser.wallets.test_page_states import HASH, SHOP
from tests.browser.wallets.test_paying import review, send
from tests.chain import LocalChain
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.payments.world import ON_ITS_WAY
from tests.support.wallets.stub import LATER, NAME, NEVER, StubWallet
from tests.verifying import discover_due

SENT = "eth_sendTransaction"
OPEN = "A payment was started in this browser a moment ago."


def _complete(order: dict[str, Any], paid: int = 10_500_000) -> None:
    now = timezone.now()
    Payment.objects.filter(request_id=order["id"]).update(
        status="completed", completed_at=now, amount_received=paid
    )
    PaymentRequest.objects.filter(pk=order["id"]).update(
        status="completed", amount_paid=paid, completed_at=now
    )


def test_what_one_tab_sends_another_shows(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    add_wallet()
    order = create()
    pay = review(page, panel, order)
    expect(pay).to_be_visible()
    other = page.context.new_page()
    StubWallet(other, local_chain)
    there = other.locator("#panel")
    expect(review(other, there, order)).to_be_visible()
    # Either may be the one that tells the server: both know the hash.
    send(page, pay)
    expect(there.get_by_role("heading", name="Payment on its way")).to_be_visible()
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert Payment.objects.count() == 1


def test_a_question_in_one_tab_is_spoken_of_in_another(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    add_wallet(answers={SENT: [NEVER]})
    order = create()
    pay = review(page, panel, order)
    expect(pay).to_be_visible()
    other = page.context.new_page()
    StubWallet(other, local_chain)
    there = other.locator("#panel")
    expect(review(other, there, order)).to_be_visible()
    expect(there.get_by_test_id("notice")).to_have_count(0)
    pay.click()
    expect(panel.locator(".signed")).to_be_visible()
    expect(there.get_by_test_id("notice")).to_contain_text(OPEN)
    assert_accessible(other)


def test_a_payment_whose_page_was_closed_before_the_hash_came_is_found_by_its_reference(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(answers={SENT: [NEVER]})
    order = create()
    review(page, panel, order).click()
    expect(panel.locator(".signed")).to_be_visible()
    discover_due()
    [[asked]] = wallet.asked(SENT)
    page.goto("about:blank")
    sent = local_chain.rpc(SENT, asked)
    page.goto(order["payment_url"])
    expect(panel.get_by_test_id("notice")).to_contain_text(OPEN)
    local_chain.rpc("anvil_mine", "0x2")
    assert discover_due(now=lambda: timezone.now() + timedelta(minutes=1)) == 1
    Payment.objects.update(**ON_ITS_WAY)
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert Payment.objects.get().transaction_hash == sent


def test_coins_that_no_reference_finds_are_named_by_their_hash(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, ether: Token, local_chain: LocalChain
) -> None:
    wallet = add_wallet(answers={SENT: [NEVER]})
    order = create(token_id=ether.pk, amount="0.01", references=True)
    page.goto(order["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    panel.get_by_role("button", name="Pay 0.01 ETH").click()
    expect(panel.locator(".signed")).to_be_visible()
    [[asked]] = wallet.asked(SENT)
    page.goto("about:blank")
    sent = local_chain.rpc(SENT, asked)
    page.goto(order["payment_url"])
    expect(panel.get_by_test_id("notice")).to_contain_text("enter its hash on this page")
    page.get_by_text("Already paid, but it isn’t shown here?").click()
    page.get_by_label("Transaction hash").fill(sent)
    with page.expect_response("**/payments") as told:
        page.get_by_role("button", name="Find my payment").click()
    assert told.value.status == 201
    payment = Payment.objects.get()
    assert payment.transaction_hash == sent
    Payment.objects.update(**ON_ITS_WAY)
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()


def test_a_page_that_slept_while_another_device_paid_wakes_where_the_payment_is(
    page: Page, panel: Locator, create: Create, chain: Chain, browser: Browser
) -> None:
    page.route(f"{SHOP}/**", lambda route: route.fulfill(body="Thank you"))
    order = create(redirect_url=f"{SHOP}/done")
    page.goto(order["payment_url"])
    expect(panel.get_by_role("heading", name="Pay with your wallet")).to_be_visible()
    Payment.objects.create(request_id=order["id"], chain=chain, transaction_hash=HASH)
    _complete(order)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    # The customer was waiting for exactly this, and is led on.
    page.wait_for_url(f"{SHOP}/done?**")
    later = browser.new_context(**TOUCHED).new_page()
    later.goto(order["payment_url"])
    expect(later.get_by_role("heading", name="Payment complete")).to_be_visible()
    expect(later.locator(".leaving")).to_have_count(0)
    later.context.close()


def test_whoever_comes_back_from_the_shop_is_not_led_there_again(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    page.route(f"{SHOP}/**", lambda route: route.fulfill(body="Thank you"))
    add_wallet()
    order = create(redirect_url=f"{SHOP}/done")
    send(page, review(page, panel, order))
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    _complete(order)
    page.evaluate("dispatchEvent(new Event('online'))")
    panel.get_by_role("link", name="Return to Alice's Bakery").click()
    page.wait_for_url(f"{SHOP}/done?**")
    page.go_back()
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible()
    expect(panel.get_by_role("link", name="Return to Alice's Bakery")).to_be_visible()
    expect(panel.locator(".leaving")).to_have_count(0)


def test_a_connection_that_goes_is_told_at_once_and_its_return_too(
    page: Page, panel: Locator, create: Create, chain: Chain
) -> None:
    order = create()
    page.goto(order["payment_url"])
    expect(panel.get_by_role("heading", name="Pay with your wallet")).to_be_visible()
    line = page.locator("#connection")
    page.context.set_offline(True)
    expect(line).to_contain_text("The connection was lost")
    Payment.objects.create(request_id=order["id"], chain=chain, transaction_hash=HASH, **ON_ITS_WAY)
    page.context.set_offline(False)
    expect(line).to_be_hidden()
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()


def test_a_hash_that_came_while_there_was_no_connection_is_brought_once_there_is_one(
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
    # The page's clock stands: nothing but the connection's return can be what wakes it.
    # It stops ahead of now, since a clock that a slow machine has let pass by meanwhile can't be turned back.
    page.clock.pause_at(page.evaluate("(Date.now() + 10_000) / 1000"))
    with page.expect_response("**/payments") as told:
        page.context.set_offline(False)
    assert told.value.status == 201
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert Payment.objects.get().transaction_hash == HASH


def test_what_was_paid_too_much_stands_at_the_head_of_the_page(
    page: Page, panel: Locator, create: Create, chain: Chain
) -> None:
    order = create()
    page.goto(order["payment_url"])
    expect(page.locator(".price")).to_contain_text("10.50")
    Payment.objects.create(request_id=order["id"], chain=chain, transaction_hash=HASH)
    _complete(order, paid=12_500_000)
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(panel).to_contain_text("You paid 2.00 USDC more than requested")
    for _ in range(2):
        expect(page.locator(".price")).to_contain_text("Paid to Alice's Bakery")
        expect(page.locator("#amount")).to_have_text("12.50")
        page.reload()


@pytest.mark.parametrize("step", ["before the wallet is asked", "while it asks"])
def test_another_device_begins_with_its_own_wallet(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, browser: Browser, step: str
) -> None:
    add_wallet(answers={SENT: [NEVER]})
    order = create()
    pay = review(page, panel, order)
    expect(pay).to_be_visible()
    if step == "while it asks":
        pay.click()
        expect(panel.locator(".signed")).to_be_visible()
    other = browser.new_context(**TOUCHED).new_page()
    other.goto(order["payment_url"])
    expect(other.get_by_role("heading", name="No wallet found in this browser")).to_be_visible()
    expect(other.get_by_test_id("notice")).to_have_count(0)
    other.context.close()
