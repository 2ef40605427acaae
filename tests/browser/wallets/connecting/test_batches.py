"""Approval and payment in one wallet prompt (EIP-5792), and each way in which the batch can end."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet
from tests.browser.wallets.connecting.test_permissions import order_there as order_there
from tests.browser.wallets.connecting.test_permissions import review_swap
from tests.browser.wallets.steps import HASH, ON_ITS_WAY, OPEN_PROMPT, SENT
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.wallets.stub import NEVER, StubWallet, error

pytestmark = pytest.mark.usefixtures("routed")
BATCH, STATUS = "wallet_sendCalls", "wallet_getCallsStatus"
ONCE, TWICE = "asks once: to allow", "asks twice: once to allow"


@pytest.fixture
def wallet(add_wallet: AddWallet) -> StubWallet:
    return add_wallet(batches="supported")


def gives(value: Any) -> dict[str, Any]:
    return {"gives": value}


def calls_of(wallet: StubWallet) -> list[dict[str, Any]]:
    [[batch]] = wallet.asked(BATCH)
    assert (batch["version"], batch["atomicRequired"]) == ("2.0.0", True)
    return list(batch["calls"])


def test_permission_and_payment_are_one_request(
    page: Page, panel: Locator, order_there: dict[str, Any], wallet: StubWallet
) -> None:
    pay = review_swap(page, panel, order_there)
    expect(panel).to_contain_text(ONCE)
    wallet.plan(BATCH, NEVER)
    pay.click()
    expect(panel).to_have_attribute("data-screen", "confirming")
    expect(panel).to_contain_text("Both happen together, or neither does.")
    signed = panel.locator(".signed")
    expect(signed.get_by_role("listitem")).to_have_count(2)
    expect(signed).to_contain_text("Allow exactly 10.")
    assert_accessible(page)
    picture(page, "confirming permission and payment in one prompt")
    approve, swap = calls_of(wallet)
    assert approve["data"].startswith("0x095ea7b3")
    assert (set(approve), set(swap)) == ({"to", "data", "value"}, {"to", "data", "value"})
    assert wallet.asked(SENT) == []


def test_receipts_hash_is_submitted_and_never_the_batch_id(
    page: Page, panel: Locator, order_there: dict[str, Any], wallet: StubWallet
) -> None:
    pay = review_swap(page, panel, order_there)
    with page.expect_response("**/payments") as submitted:
        pay.click()
    sent = submitted.value.request.post_data_json["transaction_hash"]
    [[batch]] = wallet.asked(BATCH)
    assert sent != batch["id"]
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    assert Payment.objects.get().transaction_hash == sent


def test_confirmed_batch_is_followed_after_a_reload(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    """The wallet reports the batch as pending. The page remembers it and doesn't offer to pay again."""
    pending = {"status": 100, "atomic": True}
    add_wallet(batches="supported", answers={STATUS: [gives(pending)] * 3})
    review_swap(page, panel, order_there).click()
    expect(panel).to_contain_text("Confirmed in Stub Wallet.")
    assert_accessible(page)
    with page.expect_request("**/payments") as submitted:
        page.reload()
        expect(panel).to_contain_text("Confirmed in Stub Wallet.")
        expect(panel.get_by_role("button", name=re.compile("^Pay"))).to_have_count(0)
    assert submitted.value.post_data_json["route_id"].startswith("rt_")


def test_second_tab_offers_no_payment_beside_a_batch(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    add_wallet(batches="supported", answers={STATUS: [gives({"status": 100})] * 60})
    review_swap(page, panel, order_there).click()
    expect(panel).to_contain_text("Confirmed in Stub Wallet.")
    second = page.context.new_page()
    second.goto(order_there["payment_url"])
    expect(second.locator("#panel")).to_contain_text("Confirmed in Stub Wallet.")
    expect(second.locator("#checkout")).to_have_attribute("data-state", "processing")


def test_batch_confirmed_after_a_reload_is_found(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    """The page is reloaded while the prompt is open. It finds the batch by the id that it chose itself."""
    mined = {"status": 200, "receipts": [{"transactionHash": HASH}]}
    wallet = add_wallet(batches="supported", answers={BATCH: [NEVER]})
    review_swap(page, panel, order_there).click()
    expect(panel).to_have_attribute("data-screen", "confirming")
    [[batch]] = wallet.asked(BATCH)
    page.reload()
    expect(panel).to_contain_text(OPEN_PROMPT)
    with page.expect_request("**/payments") as submitted:
        wallet.plan(STATUS, gives(mined), gives(mined))
    assert submitted.value.post_data_json["transaction_hash"] == HASH
    assert [batch["id"]] in wallet.asked(STATUS)


def test_declined_batch_moves_no_money_and_can_be_tried_again(
    page: Page, panel: Locator, order_there: dict[str, Any], wallet: StubWallet
) -> None:
    pay = review_swap(page, panel, order_there)
    wallet.plan(BATCH, error(4001))
    pay.click()
    expect(panel.get_by_test_id("notice")).to_have_text(
        "You declined the payment in your wallet. No money has moved."
    )
    assert not Payment.objects.exists()
    with page.expect_request("**/payments"):
        pay.click()


@pytest.mark.parametrize("code", [4200, -32602, 5700, 5710, 5740, 5760])
def test_wallet_that_refuses_batches_gets_two_prompts(
    page: Page, panel: Locator, order_there: dict[str, Any], wallet: StubWallet, code: int
) -> None:
    pay = review_swap(page, panel, order_there)
    wallet.plan(BATCH, error(code))
    with page.expect_request("**/payments"):
        pay.click()
    assert len(wallet.asked(SENT)) == 2


def test_declined_upgrade_leads_to_two_prompts(
    page: Page, panel: Locator, order_there: dict[str, Any], wallet: StubWallet
) -> None:
    pay = review_swap(page, panel, order_there)
    wallet.plan(BATCH, error(5750))
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text("It will ask twice")
    assert wallet.asked(SENT) == []
    with page.expect_request("**/payments"):
        pay.click()
    assert (len(wallet.asked(BATCH)), len(wallet.asked(SENT))) == (1, 2)


@pytest.mark.parametrize("status", ["ready", "unsupported"])
def test_wallet_that_is_not_atomic_now_gets_two_prompts(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet, status: str
) -> None:
    """A wallet with status `ready` would first prompt to upgrade the account."""
    wallet = add_wallet(batches=status)
    pay = review_swap(page, panel, order_there)
    expect(panel).to_contain_text(TWICE)
    with page.expect_request("**/payments"):
        pay.click()
    assert (wallet.asked(BATCH), len(wallet.asked(SENT))) == ([], 2)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (gives({"status": 500, "receipts": []}), "Stub Wallet reports that the payment failed."),
        (gives({"status": 600, "atomic": False, "receipts": []}), "carried out only a part of the payment."),
    ],
)
def test_failed_batch_warns_and_leaves_the_ordinary_way(
    page: Page,
    panel: Locator,
    order_there: dict[str, Any],
    add_wallet: AddWallet,
    answer: dict[str, Any],
    text: str,
) -> None:
    wallet = add_wallet(batches="supported", answers={STATUS: [answer] * 60})
    review_swap(page, panel, order_there).click()
    notice = panel.get_by_test_id("notice")
    expect(notice).to_contain_text(text)
    expect(notice).to_contain_text("before you pay again")
    assert_accessible(page)
    picture(page, f"after a batch, {text}")
    # The stub executed the approval in the batch, so only the payment is left.
    pay = review_swap_again(panel)
    expect(notice).to_contain_text(text)
    expect(panel).to_contain_text(TWICE)
    with page.expect_request("**/payments"):
        pay.click()
    assert len(wallet.asked(BATCH)) == 1


def test_partial_batch_submits_its_last_transaction(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    """Only a part of the batch was executed, but that part may be the payment."""
    receipts = [{"transactionHash": "0x" + "56" * 32}, {"transactionHash": HASH}]
    partial = gives({"status": 600, "atomic": False, "receipts": receipts})
    add_wallet(batches="supported", answers={STATUS: [partial] * 60})
    with page.expect_response("**/payments") as submitted:
        review_swap(page, panel, order_there).click()
    assert submitted.value.request.post_data_json["transaction_hash"] == HASH
    notice = panel.get_by_test_id("notice")
    expect(notice.first).to_contain_text("carried out only a part of the payment.")
    expect(notice.first).to_contain_text("before you pay again")


def test_batch_that_the_wallet_gave_up_can_be_paid_again(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet(batches="supported", answers={STATUS: [gives({"status": 400})]})
    review_swap(page, panel, order_there).click()
    expect(panel.get_by_test_id("notice")).to_have_text(
        "Stub Wallet didn’t send the payment. No money has moved. You can pay again."
    )
    with page.expect_request("**/payments"):
        review_swap_again(panel).click()
    assert len(wallet.asked(BATCH)) + len(wallet.asked(SENT)) == 2


def test_lost_batch_warns_before_paying_again(
    page: Page,
    panel: Locator,
    order_there: dict[str, Any],
    add_wallet: AddWallet,
    later: Callable[[float], None],
) -> None:
    """The customer confirmed the batch, but the wallet doesn't know it any more."""
    add_wallet(batches="supported", answers={STATUS: [error(5730)] * 60})
    review_swap(page, panel, order_there).click()
    expect(panel).to_contain_text("Confirmed in Stub Wallet.")
    later(40)
    notice = panel.get_by_test_id("notice")
    expect(notice).to_contain_text("so that you don’t pay twice")
    assert_accessible(page)
    picture(page, "after a batch that was lost")
    page.reload()
    expect(notice).to_contain_text("so that you don’t pay twice")


@pytest.fixture
def later(page: Page) -> Callable[[float], None]:
    """Return a function that advances the page's clock by some seconds."""
    page.clock.install()
    return lambda seconds: page.clock.fast_forward(seconds * 1000)


def review_swap_again(panel: Locator) -> Locator:
    """Connect again after a sent payment; return the pay button of the same token's review."""
    panel.get_by_role("button", name="Stub Wallet").click()
    panel.get_by_role("button", name="Pay with another token").click()
    panel.get_by_role("button", name=re.compile(r"^DAI\b.*Local Chain")).click()
    return panel.get_by_role("button", name=re.compile("^Pay [0-9]"))
