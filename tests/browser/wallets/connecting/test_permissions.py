"""Paying with another token: the allowance survives declined payments and reloads, and the page shows it."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import OTHER, SENT, send
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.swaps.world import SwapWorld
from tests.support.wallets.stub import ELSEWHERE, LATER, NAME, NEVER, StubWallet, error

REMAINS = "The permission for DAI remains, so you won’t be asked for it again."
DECLINED = error(4001)


@pytest.fixture
def order_there(create: Create, routed: SwapWorld) -> dict[str, Any]:
    """A request of 10.50 USDC on the second chain. The router has no DAI allowance on the first."""
    dai = routed.token(routed.first_row, "DAI")
    routed.approve(routed.first, dai.contract_address, 0)
    usdc = routed.token(routed.second_row, "USDC")
    return create(token_id=usdc.pk, chain_id=usdc.chain_id)


def review_swap(page: Page, panel: Locator, order: dict[str, Any], symbol: str = "DAI") -> Locator:
    page.goto(order["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    panel.get_by_role("button", name="Pay with another token").click()
    row = panel.get_by_role("button", name=re.compile(rf"^{symbol}\b.*Local Chain"))
    row.click()
    panel.get_by_role("button", name="Compare two ways to pay").click()
    panel.get_by_role("button", name="Fastest").click()
    return panel.get_by_role("button", name=re.compile("^Pay [0-9]"))


def _approvals(wallet: StubWallet) -> int:
    return sum(transaction["data"].startswith("0x095ea7b3") for [transaction] in wallet.asked(SENT))


def test_permission_remains_after_a_declined_payment(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    pay = review_swap(page, panel, order_there)
    notice = panel.get_by_test_id("notice")
    wallet.plan(SENT, DECLINED, None, DECLINED, DECLINED, error(4900))
    pay.click()
    expect(notice).to_have_text("You declined the permission. No money has moved.")
    for _ in range(2):
        pay.click()
        expect(notice).to_contain_text("You declined the payment in your wallet. No money has moved.")
        expect(notice).to_contain_text(REMAINS)
        expect(notice).to_contain_text("To revoke it, open the list of permissions in your wallet.")
    assert_accessible(page)
    # The payment may have been sent. Then it used the allowance.
    pay.click()
    expect(notice).to_contain_text("not connected to its network")
    expect(panel).not_to_contain_text(REMAINS)
    assert not Payment.objects.exists()
    send(page, pay)
    assert _approvals(wallet) == 2


def test_lowered_permission_is_said_and_requested_again(
    page: Page,
    panel: Locator,
    order_there: dict[str, Any],
    add_wallet: AddWallet,
    local_chain: LocalChain,
) -> None:
    wallet = add_wallet(answers={SENT: [LATER, NEVER]})
    review_swap(page, panel, order_there).click()
    expect(panel).to_have_attribute("data-screen", "approving")
    [[approval]] = wallet.asked(SENT)
    # The customer sets the limit to 5 DAI in the wallet.
    lowered = {**approval, "data": approval["data"][:74] + f"{5 * 10**18:064x}"}
    wallet.answer(local_chain.rpc(SENT, lowered))
    expect(panel.get_by_test_id("notice")).to_have_text(
        re.compile(r"^You allowed 5\.00 of 10\.\d+ DAI\. This payment needs all of it")
    )
    expect(panel.get_by_role("heading", name=f"Allow in {NAME}")).to_be_visible()
    picture(page, "approving, allowed in part")
    assert_accessible(page)
    assert [asked["data"] for [asked] in wallet.asked(SENT)] == [approval["data"]] * 2
    assert not Payment.objects.exists()


def test_reload_after_the_permission_keeps_the_review(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    pay = review_swap(page, panel, order_there)
    price = pay.inner_text()
    wallet.plan(SENT, None, DECLINED)
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text(REMAINS)
    page.reload()
    expect(pay).to_have_text(price)
    send(page, pay)
    assert _approvals(wallet) == 0


def test_reload_with_too_little_of_the_token_shows_the_list(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    expect(review_swap(page, panel, order_there)).to_be_visible()
    wallet.show(OTHER)
    page.reload()
    expect(panel.locator(".token--requested")).to_contain_text("10.50 needed")


def test_account_change_at_the_permission_shows_the_list(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet(answers={SENT: [NEVER]})
    review_swap(page, panel, order_there).click()
    expect(panel).to_have_attribute("data-screen", "approving")
    wallet.emit("accountsChanged", [OTHER])
    expect(panel.get_by_text("You changed the account in your wallet.")).to_be_visible()
    expect(panel.locator(".token--requested")).to_contain_text("10.50 needed")
    assert not Payment.objects.exists()


def test_network_change_while_it_is_mined_returns_to_review(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet(answers={SENT: [LATER]})
    pay = review_swap(page, panel, order_there)
    pay.click()
    expect(panel).to_have_attribute("data-screen", "approving")
    wallet.plan("eth_chainId", {"gives": hex(ELSEWHERE)})
    wallet.answer("0x" + "ab" * 32)
    expect(panel.get_by_test_id("notice")).to_contain_text("Your wallet is on another network")
    expect(pay).to_be_visible()
    assert not Payment.objects.exists()


def test_fee_on_top_in_coins_is_part_of_what_you_pay(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    add_wallet(answers={SENT: [NEVER]})
    pay = review_swap(page, panel, order_there, "ETH")
    [cost] = re.findall(r"[\d.]+ ETH", pay.inner_text())
    expect(_fact(panel, "You pay")).to_contain_text(cost)
    assert_accessible(page)
    pay.click()
    # The transaction spends the same amount.
    expect(panel.locator(".signed")).to_contain_text(cost)


def test_swap_review_shows_the_total_and_details_on_demand(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    add_wallet()
    pay = review_swap(page, panel, order_there)
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
