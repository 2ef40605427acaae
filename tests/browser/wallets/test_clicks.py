"""The number of clicks and wallet prompts that a payment needs, counted in the browser and in the wallet."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.connecting.test_permissions import order_there as order_there
from tests.browser.wallets.steps import ON_ITS_WAY, review, send
from tests.support.wallets.stub import NAME, StubWallet

# Counts clicks on buttons as the page receives them. If the page moves under the pointer, Playwright retries
# the click, and the page receives it once.
COUNT_CLICKS = """
window.clicks = 0;
document.addEventListener("click", ({ isTrusted, target }) => {
  window.clicks += Number(isTrusted && target.closest("button") !== null);
});
"""
PROMPTS = (
    "eth_sendTransaction",
    "eth_signTypedData_v4",
    "wallet_sendCalls",
    "personal_sign",
    "wallet_switchEthereumChain",
    "wallet_addEthereumChain",
)


def counts(page: Page, wallet: StubWallet, *, is_connected: bool) -> tuple[int, int]:
    """Return the number of clicks and prompts. A connected wallet needs no prompt to connect."""
    methods = PROMPTS if is_connected else ("eth_requestAccounts", *PROMPTS)
    return int(page.evaluate("window.clicks")), sum(len(wallet.asked(method)) for method in methods)


def test_direct_payment_takes_two_clicks_and_two_prompts(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    page.add_init_script(COUNT_CLICKS)
    wallet = add_wallet()
    for is_connected, prompts in ((False, 2), (True, 1)):
        send(page, review(page, panel, create()))
        expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
        assert counts(page, wallet, is_connected=is_connected) == (2, prompts)


def _pay_with(page: Page, panel: Locator, order: dict[str, Any], token: str) -> None:
    page.goto(order["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    panel.get_by_role("button", name="Pay with another token").click()
    panel.get_by_role("button", name=re.compile(rf"^{token}\b.*Local Chain")).click()
    send(page, panel.get_by_role("button", name=re.compile("^Pay [0-9]")))


@pytest.mark.parametrize(
    ("token", "prompts"),
    # One prompt to connect, one for a token's exact allowance, and one for the payment.
    [("ETH", 2), ("DAI", 3)],
)
@pytest.mark.usefixtures("routed")
def test_another_token_takes_four_clicks(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet, token: str, prompts: int
) -> None:
    page.add_init_script(COUNT_CLICKS)
    wallet = add_wallet()
    _pay_with(page, panel, order_there, token)
    assert counts(page, wallet, is_connected=False) == (4, prompts)


@pytest.mark.usefixtures("routed")
def test_batch_of_permission_and_payment_is_one_prompt(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    page.add_init_script(COUNT_CLICKS)
    wallet = add_wallet(batches="supported")
    _pay_with(page, panel, order_there, "DAI")
    assert counts(page, wallet, is_connected=False) == (4, 2)
