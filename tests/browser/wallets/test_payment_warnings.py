"""A hash proves nothing: only a seen and bound payment, or the browser's own, takes the ways to pay away."""

import re
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Locator, Page, expect

from chains.models import Chain
from payments.models import FailureCode, Payment
from tests.browser.conftest import TOUCHED, AddWallet, Create
from tests.browser.wallets.test_paying import review, send
from tests.browsing import DESKTOP
from tests.conftest import Api
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.payments.world import look
from tests.support.wallets.stub import NAME

ON_BOTH = pytest.mark.parametrize(
    "page", [{"viewport": DESKTOP}, TOUCHED], ids=["desktop", "phone"], indirect=True
)
MADE_UP = "0x" + "77" * 32
OTHER = "0x" + "88" * 32
ON_ITS_WAY = "Payment on its way"
SEEN = {"seen_at": timezone.now()}
MINED = {**SEEN, "block_number": 7, "confirmations": 1, "confirmations_required": 12}

Change = dict[str, Any]

WARNINGS: dict[str, tuple[Change, list[str]]] = {
    "not looked for yet": ({"status": "pending"}, ["We are checking this transaction"]),
    "unseen": (
        {"status": "processing"},
        ["We can’t find this transaction yet", "Check in your wallet", "0x77777777…77777777 on Local Chain"],
    ),
    "not found": (
        {"status": "failed", "failure_code": FailureCode.TRANSACTION_NOT_FOUND},
        ["We can’t find this transaction yet", "Check again"],
    ),
    "unbound so far": (
        {"status": "processing", **SEEN},
        ["We are checking this transaction", "wait for the result before you pay again"],
    ),
    "about to fail": (
        {"status": "processing", "likely_failure": FailureCode.TRANSACTION_REVERTED, **MINED},
        ["This transaction didn’t pay this request", "The transaction failed on the network"],
    ),
    "about to fail though bound": (
        {
            "status": "processing",
            "likely_failure": FailureCode.TRANSACTION_REVERTED,
            "is_in_flight": True,
            **MINED,
        },
        ["This transaction didn’t pay this request"],
    ),
    "failed": (
        {
            "status": "failed",
            "failure_code": FailureCode.WRONG_RECIPIENT,
            "failure_message": "It paid 0x12.",
        },
        ["This transaction didn’t pay this request", "It paid 0x12."],
    ),
    "unbound": (
        {"status": "failed", "failure_code": FailureCode.TRANSACTION_NOT_BOUND},
        ["This transaction didn’t pay this request", "accept it as your payment", "What you can do"],
    ),
}


def submit(public: Api, order: dict[str, Any], transaction_hash: str = MADE_UP) -> Payment:
    """Submit a hash as anyone can who knows the page's address."""
    body = {"transaction_hash": transaction_hash, "chain_id": order["chain_id"]}
    answer = public.post(f"/api/public/payment-requests/{order['id']}/payments", body)
    assert answer.status_code == 201, answer.content
    payment = Payment.objects.get(transaction_hash=transaction_hash)
    look()
    return payment


def _record(order: dict[str, Any], chain: Chain, change: Change) -> None:
    Payment.objects.create(request_id=order["id"], chain=chain, transaction_hash=MADE_UP, **change)


def _look_again(page: Page) -> None:
    page.evaluate("dispatchEvent(new Event('online'))")


def test_a_made_up_hash_leaves_the_ways_to_pay_and_the_payment_is_made(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, public: Api
) -> None:
    add_wallet()
    order = create()
    submit(public, order)
    pay = review(page, panel, order)
    expect(panel.get_by_test_id("doubt")).to_contain_text("We can’t find this transaction yet")
    expect(pay).to_be_visible()
    picture(page, "review, beside a hash that no node knows")
    expect(page.locator("#checkout")).to_have_attribute("data-state", "active")
    send(page, pay)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    assert Payment.objects.count() == 2


def test_a_made_up_hash_that_comes_in_while_the_customer_pays_disturbs_nothing(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, public: Api
) -> None:
    wallet = add_wallet(answers={"eth_sendTransaction": ["later"]})
    order = create()
    review(page, panel, order).click()
    expect(panel.locator(".signed")).to_be_visible()
    submit(public, order)
    with page.expect_response(re.compile(rf"/payment-requests/{order['id']}$")):
        _look_again(page)
    expect(panel.get_by_role("heading", name=f"Confirm in {NAME}")).to_be_visible()
    with page.expect_response("**/payments"):
        wallet.answer(OTHER)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    expect(panel).to_contain_text(OTHER)


@ON_BOTH
@pytest.mark.parametrize("case", WARNINGS)
def test_what_is_not_on_its_way_is_said_beside_the_ways_to_pay(
    page: Page, panel: Locator, create: Create, chain: Chain, add_wallet: AddWallet, case: str
) -> None:
    change, words = WARNINGS[case]
    add_wallet()
    order = create()
    _record(order, chain, change)
    page.goto(order["payment_url"])
    warning = panel.get_by_test_id("doubt")
    for word in [*words, "ignore this and pay as usual"]:
        expect(warning).to_contain_text(word)
    expect(panel.get_by_role("heading", name="Pay with your wallet")).to_be_visible()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    expect(page.get_by_role("link", name="Send it yourself")).to_be_visible()
    expect(page.locator("#countdown")).to_contain_text("left")
    picture(page, f"beside the ways to pay, {case}")


@pytest.mark.parametrize("case", ["unseen", "failed", "unbound"])
def test_what_is_said_beside_the_ways_to_pay_reads_well(
    page: Page, panel: Locator, create: Create, chain: Chain, add_wallet: AddWallet, case: str
) -> None:
    add_wallet()
    order = create()
    _record(order, chain, WARNINGS[case][0])
    page.goto(order["payment_url"])
    expect(panel.get_by_test_id("doubt")).to_be_visible()
    assert_accessible(page)


def test_a_mistyped_hash_is_corrected_in_the_same_place(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.goto(create()["payment_url"])
    page.get_by_text("Already paid, but it isn’t shown here?").click()
    field = page.get_by_label("Transaction hash")
    field.fill(MADE_UP)
    page.get_by_role("button", name="Find my payment").click()
    warning = panel.get_by_test_id("doubt")
    expect(warning).to_contain_text("0x77777777…77777777")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    look()
    _look_again(page)
    expect(warning).to_contain_text("We can’t find this transaction yet")
    page.get_by_text("Already paid, but it isn’t shown here?").click()
    expect(field).to_be_hidden()
    warning.get_by_role("button", name="Enter another hash").click()
    expect(field).to_be_focused()
    field.fill(OTHER)
    page.get_by_role("button", name="Find my payment").click()
    expect(warning).to_contain_text("0x88888888…88888888")


def test_what_was_typed_here_is_said_before_what_others_submit(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, public: Api
) -> None:
    add_wallet()
    order = create()
    page.goto(order["payment_url"])
    page.get_by_text("Already paid, but it isn’t shown here?").click()
    page.get_by_label("Transaction hash").fill(MADE_UP)
    page.get_by_role("button", name="Find my payment").click()
    warning = panel.get_by_test_id("doubt")
    expect(warning).to_contain_text("0x77777777…77777777")
    submit(public, order, OTHER)
    page.reload()
    expect(warning).to_contain_text("0x77777777…77777777")
    expect(warning).to_have_count(1)


def test_the_browser_that_sent_a_payment_waits_for_it_and_then_offers_to_pay_again(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_sendTransaction": [{"gives": MADE_UP}]})
    page.clock.install()
    order = create()
    send(page, review(page, panel, order))
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    expect(panel).to_contain_text("Sent. Waiting for the network to see it.")
    again = panel.get_by_role("button", name="Not sent? Pay again")
    expect(again).to_have_count(0)
    picture(page, "sent, not seen yet")
    page.clock.fast_forward(100_000)
    page.reload()
    expect(panel).to_contain_text("Sent. Waiting for the network to see it.")
    expect(again).to_have_count(0)
    page.clock.fast_forward(40_000)
    expect(panel.get_by_test_id("notice")).to_contain_text("pay again only if it isn’t there")
    picture(page, "sent, not seen for two minutes")
    again.click()
    expect(panel.get_by_test_id("doubt")).to_contain_text("We are checking this transaction")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    page.reload()
    expect(panel.get_by_test_id("doubt")).to_be_visible()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()

    Payment.objects.update(seen_at=timezone.now(), is_bound_unmined=True)
    _look_again(page)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()


def test_the_screen_that_waits_reads_well(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_sendTransaction": [{"gives": MADE_UP}]})
    page.clock.install()
    send(page, review(page, panel, create()))
    expect(panel).to_contain_text("Sent. Waiting for the network to see it.")
    page.clock.fast_forward(140_000)
    expect(panel.get_by_role("button", name="Not sent? Pay again")).to_be_visible()
    assert_accessible(page)


def test_what_is_seen_and_not_bound_yet_is_on_its_way_only_where_it_was_sent(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, browser: Browser
) -> None:
    add_wallet(answers={"eth_sendTransaction": [{"gives": MADE_UP}]})
    order = create()
    send(page, review(page, panel, order))
    Payment.objects.update(**SEEN)
    page.reload()
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    expect(panel.get_by_text("Waiting for the network to see it")).to_have_count(0)
    other = browser.new_context(**TOUCHED)
    there = other.new_page()
    there.goto(order["payment_url"])
    expect(there.get_by_test_id("doubt")).to_contain_text("We are checking this transaction")
    Payment.objects.update(is_bound_unmined=True)
    there.reload()
    expect(there.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    other.close()


def test_a_payment_of_this_browser_that_will_fail_is_said_at_once(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={"eth_sendTransaction": [{"gives": MADE_UP}]})
    send(page, review(page, panel, create()))
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    likely = FailureCode.TRANSACTION_REVERTED
    Payment.objects.update(status="processing", likely_failure=likely, **MINED)
    _look_again(page)
    expect(panel.get_by_role("heading", name="The payment did not go through")).to_be_visible()
    expect(panel).to_contain_text("the amount is still in your wallet")
    panel.get_by_role("button", name="Pay again").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    expect(panel.get_by_test_id("doubt")).to_have_count(0)
