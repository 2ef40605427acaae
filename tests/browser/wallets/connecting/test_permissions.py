"""Paying with another token: the permission that the wallet gave is spoken of, and outlives refusals and reloads."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.changing.test_changing_in_between import OTHER
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.swaps.world import SwapWorld
from tests.support.wallets.stub import ELSEWHERE, LATER, NAME, NEVER, StubWallet, error

STAYS = "The permission for DAI remains, so you won’t be asked for it again."
DECLINED = error(4001)
SENT = "eth_sendTransaction"


@pytest.fixture
def order_there(create: Create, routed: SwapWorld) -> dict[str, Any]:
    """10.50 USDC on the second chain, and no permission left over on the first."""
    dai = routed.token(routed.first_row, "DAI")
    routed.approve(routed.first, dai.contract_address, 0)
    usdc = routed.token(routed.second_row, "USDC")
    return create(token_id=usdc.pk, chain_id=usdc.chain_id)


def _review(page: Page, panel: Locator, order: dict[str, Any], symbol: str = "DAI") -> Locator:
    page.goto(order["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    panel.get_by_role("button", name="Pay with another token").click()
    row = panel.get_by_role("button", name=re.compile(rf"^{symbol}\b.*Local Chain"))
    row.click()
    panel.get_by_role("button", name="Compare two ways to pay").click()
    panel.get_by_role("button", name="Fastest").click()
    return panel.get_by_role("button", name=re.compile("^Pay [0-9]"))


def _approvals(wallet: StubWallet) -> int:
    return sum(asked["data"].startswith("0x095ea7b3") for [asked] in wallet.asked(SENT))


def test_after_a_declined_payment_the_page_says_that_the_permission_stays(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    pay = _review(page, panel, order_there)
    wallet.plan(SENT, None, DECLINED, DECLINED)
    for _ in range(2):
        pay.click()
        notice = panel.get_by_test_id("notice")
        expect(notice).to_contain_text("You declined the payment in your wallet. No money has moved.")
        expect(notice).to_contain_text(STAYS)
        expect(notice).to_contain_text("To revoke it, open the list of permissions in your wallet.")
    assert_accessible(page)
    assert not Payment.objects.exists()
    with page.expect_response("**/payments") as told:
        pay.click()
    assert told.value.status == 201
    assert _approvals(wallet) == 1


def test_of_a_permission_that_may_be_used_up_by_now_none_is_said_to_stay(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    pay = _review(page, panel, order_there)
    wallet.plan(SENT, None, error(4900))
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text("not connected to its network")
    expect(panel).not_to_contain_text(STAYS)


def test_a_reload_between_permission_and_payment_goes_on_at_the_same_review(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    pay = _review(page, panel, order_there)
    price = pay.inner_text()
    wallet.plan(SENT, None, DECLINED)
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text(STAYS)
    page.reload()
    expect(pay).to_have_text(price)
    with page.expect_response("**/payments") as told:
        pay.click()
    assert told.value.status == 201
    assert _approvals(wallet) == 0


def test_a_token_that_is_not_enough_any_more_leads_back_to_the_list_after_a_reload(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    expect(_review(page, panel, order_there)).to_be_visible()
    # Its owner has another account in front by now.
    wallet.show(OTHER)
    page.reload()
    expect(panel.locator(".token--requested")).to_contain_text("10.50 needed")


def test_a_declined_permission_moves_nothing_and_none_is_said_to_stay(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    pay = _review(page, panel, order_there)
    wallet.plan(SENT, DECLINED)
    pay.click()
    expect(panel.get_by_test_id("notice")).to_have_text("You declined the permission. No money has moved.")
    assert not Payment.objects.exists()


@pytest.mark.parametrize("changed", ["account", "network, while it is mined"])
def test_what_changes_at_the_permission_leads_back(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet, changed: str
) -> None:
    wallet = add_wallet()
    pay = _review(page, panel, order_there)
    if changed == "account":
        wallet.plan(SENT, NEVER)
        pay.click()
        expect(panel).to_have_attribute("data-screen", "approving")
        wallet.emit("accountsChanged", [OTHER])
        expect(panel.get_by_test_id("notice")).to_have_text("You changed the account in your wallet.")
        expect(panel.locator(".token--requested")).to_contain_text("10.50 needed")
    else:
        wallet.plan(SENT, LATER)
        pay.click()
        expect(panel).to_have_attribute("data-screen", "approving")
        wallet.plan("eth_chainId", {"gives": hex(ELSEWHERE)})
        wallet.answer("0x" + "ab" * 32)
        expect(panel.get_by_test_id("notice")).to_contain_text("Your wallet is on another network")
        expect(pay).to_be_visible()
    assert not Payment.objects.exists()


def test_a_fee_on_top_of_the_coin_that_is_paid_with_is_in_what_you_pay(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    add_wallet(answers={SENT: [NEVER]})
    pay = _review(page, panel, order_there, "ETH")
    [cost] = re.findall(r"[\d.]+ ETH", pay.inner_text())
    expect(_fact(panel, "You pay")).to_contain_text(cost)
    assert_accessible(page)
    pay.click()
    # It is what the transaction itself takes.
    expect(panel.locator(".signed")).to_contain_text(cost)


def test_a_swaps_review_says_the_total_and_the_rest_on_demand(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    add_wallet()
    pay = _review(page, panel, order_there)
    [cost] = re.findall(r"[\d.]+ DAI", pay.inner_text())
    assert len(cost.replace(".", "").removesuffix(" DAI")) <= 8
    expect(_fact(panel, "You pay")).to_contain_text(cost)
    expect(_fact(panel, "Total")).to_contain_text(re.compile(r"about \$\d+\.\d\d"))
    expect(_fact(panel, "receives")).to_contain_text(re.compile(r"up to [\d.]+ USDC more may arrive"))
    page.evaluate("scrollTo(0, 0)")
    expect(pay).to_be_in_viewport(ratio=1)
    picture(page, "review, another token")
    exact = _fact(panel, "Exact amount")
    expect(exact).to_be_hidden()
    panel.get_by_text("Fees and details").click()
    expect(exact).to_contain_text(re.compile(r"\d+\.\d{9,18} DAI"))
    expect(_fact(panel, "Contract that your wallet calls")).to_be_visible()
    picture(page, "review, another token, fees and details")
    assert_accessible(page)


def _fact(panel: Locator, name: str) -> Locator:
    return panel.locator(".fact", has=panel.page.locator("dt", has_text=name))
