"""Each state of a payment has a page of its own: heading, title and words, told once, the keyboard led there."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import FailureCode, Payment, PaymentRequest
from tests.browser.conftest import TOUCHED, AddWallet, Create
from tests.browsing import DESKTOP
from tests.pictures import picture
from tests.support.payments.world import ON_ITS_WAY
from tests.support.wallets.sent_here import sent_here
from tests.support.wallets.stub import NAME

SHOP = "https://shop.example"
ON_BOTH = pytest.mark.parametrize(
    "page", [{"viewport": DESKTOP}, TOUCHED], ids=["desktop", "phone"], indirect=True
)
HASH = "0x" + "34" * 32
DELIVERY = "0x" + "56" * 32
WHOLE, PART, MORE = 10_500_000, 3_000_000, 12_500_000

Change = dict[str, Any]


@pytest.fixture
def far_chain(chain: Chain) -> Chain:
    """A chain that one may pay from; both have explorers."""
    Chain.objects.filter(pk=chain.pk).update(explorer_url="https://scan.example", confirmations="12")
    return Chain.objects.create(
        id=777,
        name="Far Chain",
        chain_type="evm",
        native_symbol="FAR",
        explorer_url="https://far.example",
    )


def _set(order: dict[str, Any], **change: Any) -> None:
    PaymentRequest.objects.filter(pk=order["id"]).update(**change)


def _payment(order: dict[str, Any], chain: Chain, *, minutes: int = 0, **change: Any) -> Payment:
    given = {**ON_ITS_WAY, **change}
    payment = Payment.objects.create(request_id=order["id"], chain=chain, transaction_hash=HASH, **given)
    Payment.objects.filter(pk=payment.pk).update(created_at=timezone.now() - timedelta(minutes=minutes))
    return payment


def _expect_state(page: Page, panel: Locator, heading: str) -> None:
    expect(panel.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    expect(page).to_have_title(f"{heading} · 10.50 USDC · Alice's Bakery")
    expect(page.locator("[role=status], [aria-live]")).to_have_count(1)


UNDER_WAY: dict[str, tuple[bool, Change, str, list[str]]] = {
    "not seen": (False, {"status": "pending"}, "Payment on its way", ["Seen on chain (not yet)"]),
    "confirming": (
        False,
        {"status": "processing", "confirmations": 2, "confirmations_required": 12},
        "Payment on its way",
        ["Confirmations 2 of 12 (in progress)", HASH],
    ),
    "confirming as long as so many blocks take": (
        False,
        {"status": "processing", "confirmations": 2, "confirmations_required": 12, "minutes": 7},
        "Payment on its way",
        ["Confirmations 2 of 12 (in progress)"],
    ),
    "until the network's finality": (
        False,
        {"status": "processing", "confirmations": 2, "confirmations_required": None, "minutes": 29},
        "Payment on its way",
        ["Confirmed by the network (in progress)"],
    ),
    "long unseen": (
        False,
        {"status": "pending", "minutes": 6},
        "Taking longer than usual",
        ["The network has not picked it up yet", "Contact Alice's Bakery"],
    ),
    "long confirming": (
        False,
        {"status": "processing", "confirmations": 2, "confirmations_required": 12, "minutes": 9},
        "Taking longer than usual",
        ["Your payment isn’t lost", "Confirmations 2 of 12"],
    ),
    "crossing": (
        True,
        {"status": "processing", "provider_status": "PENDING"},
        "Payment on its way",
        ["Seen on Far Chain (done)", "On its way to Local Chain (in progress)", "Sent through LI.FI"],
    ),
    "delivered": (
        True,
        {
            "status": "processing",
            "provider_status": "DONE",
            "destination_transaction_hash": DELIVERY,
            "confirmations": 9,
            "confirmations_required": 1,
            "destination_confirmations": 2,
            "minutes": 16,
        },
        "Payment on its way",
        [
            "Delivered on Local Chain (done)",
            "Confirmations 2 of 12 (in progress)",
            "Your transaction on Far Chain",
            "Delivery on Local Chain",
        ],
    ),
    "long delivered": (
        True,
        {"status": "processing", "destination_transaction_hash": DELIVERY, "minutes": 24},
        "Taking longer than usual",
        ["Your payment isn’t lost", "Confirmations 0 of 12 (in progress)"],
    ),
    "long crossing": (
        True,
        {"status": "processing", "provider_status": "PENDING", "minutes": 16},
        "Taking longer than usual",
        ["Your payment isn’t lost", "On its way to Local Chain"],
    ),
}


@ON_BOTH
@pytest.mark.parametrize("case", UNDER_WAY)
def test_a_payment_under_way(
    page: Page, panel: Locator, create: Create, chain: Chain, far_chain: Chain, merchant: Merchant, case: str
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(support_url="https://shop.example/help")
    crosses, change, heading, words = UNDER_WAY[case]
    order = create()
    if crosses:
        _payment(order, far_chain, type="swap", provider="lifi", **change)
    else:
        _payment(order, chain, **change)
    page.goto(order["payment_url"])
    _expect_state(page, panel, heading)
    for word in words:
        expect(panel).to_contain_text(word)
    picture(page, f"on its way, {case}")
    first = panel.get_by_role("link", name="View on the block explorer").first
    expect(first).to_have_attribute("href", f"https://{'far' if crosses else 'scan'}.example/tx/{HASH}")


@ON_BOTH
def test_an_underpayment_says_what_is_still_to_go(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    order = create()
    page.goto(order["payment_url"])
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    _set(order, amount_paid=PART)
    _look_again(page)
    _expect_state(page, panel, "Pay the remaining 7.50 USDC")
    expect(panel).to_contain_text("3.00 of 10.50 USDC received, 7.50 to go")
    picture(page, "underpaid")
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_role("button", name="Pay 7.50 USDC")).to_be_visible()


@ON_BOTH
def test_success_leads_back_to_the_shop_by_itself(
    page: Page, panel: Locator, create: Create, chain: Chain
) -> None:
    page.route(f"{SHOP}/**", lambda route: route.fulfill(body="Thank you"))
    order = create(redirect_url=f"{SHOP}/done")
    _payment(order, chain, status="processing", confirmations=1, confirmations_required=2)
    page.goto(order["payment_url"])
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    _complete(order)
    _look_again(page)
    _expect_state(page, panel, "Payment complete")
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_focused()
    expect(page.locator("#live")).to_contain_text("Taking you back to Alice's Bakery in 3 seconds.")
    page.wait_for_url(f"{SHOP}/done?**")


@ON_BOTH
@pytest.mark.parametrize("way", ["a key", "the wheel", "the focus"])
def test_the_page_leaves_three_seconds_after_it_was_last_touched(
    page: Page, panel: Locator, create: Create, chain: Chain, way: str
) -> None:
    page.route(f"{SHOP}/**", lambda route: route.fulfill(body="Thank you"))
    order = _paid_here(page, panel, create, chain)
    leaving = panel.locator(".leaving")
    picture(page, "complete, going back to the shop")
    for _ in range(3):
        # Beyond the moment in which the page itself has just drawn.
        page.clock.run_for(2_300)
        expect(leaving).to_contain_text("in 1 second")
        if way == "a key":
            page.keyboard.press("Shift")
        elif way == "the wheel":
            page.locator("body").dispatch_event("wheel")
        else:
            page.evaluate("document.querySelector('.receipt-link a').focus()")
            page.evaluate("document.activeElement.blur()")
    assert page.url == order["payment_url"]
    page.clock.run_for(2_900)
    assert page.url == order["payment_url"]
    page.clock.run_for(200)
    page.wait_for_url(f"{SHOP}/done?**")
    page.go_back()
    expect(page.get_by_role("heading", name="Payment complete")).to_be_visible()
    expect(page.get_by_role("link", name="Receipt to print or keep")).to_be_visible()
    expect(leaving).to_have_count(0)


@ON_BOTH
def test_a_customer_who_asks_to_stay_stays(page: Page, panel: Locator, create: Create, chain: Chain) -> None:
    order = _paid_here(page, panel, create, chain)
    panel.get_by_role("button", name="Stay on this page").click()
    expect(panel.locator(".leaving")).to_have_count(0)
    page.clock.run_for(30_000)
    expect(panel.get_by_role("link", name="Return to Alice's Bakery")).to_be_visible()
    assert page.url == order["payment_url"]


@ON_BOTH
def test_after_an_overpayment_its_notice_can_be_read_before_the_page_leaves(
    page: Page, panel: Locator, create: Create, chain: Chain, merchant: Merchant
) -> None:
    page.route(f"{SHOP}/**", lambda route: route.fulfill(body="Thank you"))
    Merchant.objects.filter(pk=merchant.pk).update(support_email="help@shop.example")
    order = _paid_here(page, panel, create, chain, heading="Paid more than requested", paid=MORE)
    expect(panel).to_contain_text("You paid 2.00 USDC more than requested")
    expect(panel.get_by_role("link", name="help@shop.example")).to_be_visible()
    expect(panel.locator(".leaving")).to_contain_text("in 15 seconds")
    picture(page, "overpaid")
    page.clock.run_for(14_500)
    assert page.url == order["payment_url"]
    page.clock.run_for(600)
    page.wait_for_url(f"{SHOP}/done?**")


@ON_BOTH
def test_a_link_that_is_cancelled_when_it_is_opened_throws_nobody_out(
    page: Page, panel: Locator, create: Create
) -> None:
    page.clock.install()
    order = create(cancel_url=f"{SHOP}/basket")
    _set(order, status="cancelled")
    page.goto(order["payment_url"])
    expect(panel.get_by_role("heading", name="This payment was cancelled")).to_be_visible()
    expect(panel.locator(".leaving")).to_have_count(0)
    picture(page, "cancelled link, opened")
    page.clock.run_for(30_000)
    assert page.url == order["payment_url"]
    expect(panel.get_by_role("link", name="Return to Alice's Bakery")).to_be_visible()


def _paid_here(
    page: Page,
    panel: Locator,
    create: Create,
    chain: Chain,
    *,
    heading: str = "Payment complete",
    **completed: int,
) -> dict[str, Any]:
    """Have a payment complete while the page looks on, whose clock then runs by hand alone."""
    page.clock.install()
    order = create(redirect_url=f"{SHOP}/done")
    _payment(order, chain, status="processing", confirmations=1, confirmations_required=2)
    page.goto(order["payment_url"])
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    page.clock.pause_at(page.evaluate("Date.now() + 1000"))
    _complete(order, **completed)
    _look_again(page)
    expect(panel.get_by_role("heading", name=heading)).to_be_visible()
    return order


ENDED: dict[str, tuple[Change, str, str]] = {
    "expired": ({"status": "expired"}, "This payment has expired", "start again"),
    "expired in part": (
        {"status": "expired", "amount_paid": PART},
        "This payment has expired",
        "3.00 of 10.50 USDC arrived",
    ),
    "cancelled": ({"status": "cancelled"}, "This payment was cancelled", "Please don’t send anything"),
    "cancelled and paid": (
        {"status": "cancelled", "amount_paid": WHOLE},
        "This payment was cancelled",
        "still arrived",
    ),
    "paid late": (
        {"status": "completed", "amount_paid": WHOLE, "paid_late": True},
        "Payment complete",
        "after the deadline",
    ),
}


@ON_BOTH
@pytest.mark.parametrize("case", ENDED)
def test_a_request_that_ended_while_the_page_was_open(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, case: str
) -> None:
    change, heading, words = ENDED[case]
    add_wallet()
    order = create()
    page.goto(order["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_focused()
    _set(order, **change)
    _look_again(page)
    _expect_state(page, panel, heading)
    expect(panel).to_contain_text(words)
    picture(page, f"ended, {case}")
    expect(panel.get_by_role("heading", name=heading)).to_be_focused()
    expect(page.locator("#live")).to_contain_text(heading)
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_have_count(0)
    if change["status"] != "completed":
        expect(page.get_by_text(order["recipient_address"])).to_be_hidden()


@ON_BOTH
def test_time_that_runs_out_stops_the_customer(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    order = create()
    _set(order, expires_at=timezone.now() + timedelta(seconds=1))
    page.goto(order["payment_url"])
    _expect_state(page, panel, "Time is up")
    expect(panel).to_contain_text("Please don’t send anything now")
    picture(page, "time up")


@ON_BOTH
@pytest.mark.parametrize("is_open_already", [True, False], ids=["while the page is open", "before"])
def test_a_token_that_is_switched_off_is_not_offered_until_it_is_on_again(
    page: Page, panel: Locator, create: Create, usdc: Token, add_wallet: AddWallet, is_open_already: bool
) -> None:
    add_wallet()
    order = create()
    if is_open_already:
        page.goto(order["payment_url"])
        panel.get_by_role("button", name=NAME).click()
        expect(panel.get_by_role("heading", name="Review and pay")).to_be_focused()
    Token.objects.filter(pk=usdc.pk).update(is_active=False)
    if is_open_already:
        _look_again(page)
    else:
        page.goto(order["payment_url"])
    _expect_state(page, panel, "Payments in USDC on Local Chain are unavailable at the moment")
    expect(panel).to_contain_text("Please don’t send anything now")
    expect(panel.get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("link", name="Send it yourself")).to_be_hidden()
    picture(page, "switched off")
    Token.objects.filter(pk=usdc.pk).update(is_active=True)
    _look_again(page)
    expect(panel.get_by_role("button", name="Pay 10.50 USDC" if is_open_already else NAME)).to_be_visible()


@ON_BOTH
def test_a_failure_says_what_to_do_and_whom_to_ask(
    page: Page, panel: Locator, create: Create, chain: Chain, merchant: Merchant, add_wallet: AddWallet
) -> None:
    add_wallet()
    Merchant.objects.filter(pk=merchant.pk).update(support_email="help@shop.example")
    order = create()
    failure: dict[str, Any] = {
        "failure_code": FailureCode.TRANSACTION_REVERTED,
        "failure_message": "It was undone.",
    }
    _payment(order, chain, status="failed", failed_at=timezone.now(), **failure)
    page.goto(order["payment_url"])
    sent_here(page, order, HASH)
    _expect_state(page, panel, "The payment did not go through")
    picture(page, "failed, reverted")
    expect(panel.get_by_role("link", name="help@shop.example")).to_be_visible()
    panel.get_by_role("button", name="Pay again").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    expect(panel.get_by_role("heading", name="Pay with your wallet")).to_be_focused()


def _complete(order: dict[str, Any], paid: int = WHOLE) -> None:
    now = timezone.now()
    Payment.objects.filter(request_id=order["id"]).update(
        status="completed", completed_at=now, amount_received=paid
    )
    _set(order, status="completed", amount_paid=paid, completed_at=now)


def _look_again(page: Page) -> None:
    """As when the customer comes back to the page, which then asks how it stands."""
    page.evaluate("dispatchEvent(new Event('online'))")
