"""How many clicks and wallet prompts a payment takes, counted as the browser and the wallet see them."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.connecting.test_permissions import order_there as order_there
from tests.browser.wallets.test_paying import send
from tests.support.swaps.world import SwapWorld
from tests.support.wallets.stub import NAME, StubWallet

# On a button: a page that moves under the pointer makes Playwright click again.
_COUNT = """
window.clicks = 0;
addEventListener("click", ({ isTrusted, target }) => {
  window.clicks += Number(isTrusted && target.closest("button") !== null);
}, true);
"""
PROMPTS = ("eth_sendTransaction", "personal_sign", "wallet_switchEthereumChain", "wallet_addEthereumChain")


def _clicks(page: Page) -> int:
    return int(page.evaluate("window.clicks"))


def _prompts(wallet: StubWallet, *, is_connected: bool) -> int:
    """Return how often the wallet asked its owner; it connects without asking a page that it is connected to."""
    connecting = 0 if is_connected else len(wallet.asked("eth_requestAccounts"))
    return connecting + sum(len(wallet.asked(method)) for method in PROMPTS)


def _pay(page: Page, panel: Locator, request: dict[str, Any]) -> None:
    page.goto(request["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    send(page, panel.get_by_role("button", name="Pay 10.50 USDC"))
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()


def test_a_direct_payment_takes_two_clicks_and_two_prompts_and_the_next_one_prompt(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    page.add_init_script(_COUNT)
    wallet = add_wallet()
    _pay(page, panel, create())
    assert (_clicks(page), _prompts(wallet, is_connected=False)) == (2, 2)
    _pay(page, panel, create())
    assert (_clicks(page), _prompts(wallet, is_connected=True)) == (2, 1)


def test_any_other_token_takes_four_clicks(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet, routed: SwapWorld
) -> None:
    page.add_init_script(_COUNT)
    wallet = add_wallet()
    page.goto(order_there["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    panel.get_by_role("button", name="Pay with another token").click()
    panel.get_by_role("button", name=re.compile(r"^DAI\b.*Local Chain")).click()
    send(page, panel.get_by_role("button", name=re.compile("^Pay [0-9]")))
    assert _clicks(page) == 4
    # Connecting, the permission for exactly this amount, and the payment.
    assert _prompts(wallet, is_connected=False) == 3
