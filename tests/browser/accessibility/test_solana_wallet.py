"""With a Solana wallet the screens read well, and a payment is made by keyboard alone up to the wallet's question."""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from chains.models import Token
from tests.browser.conftest import Create
from tests.support.accessibility.keyboard import is_focus_seen, press
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.solana.ledger import LocalLedger, new_address

NAME = "Sol Stub"
# A wallet that connects at once, and answers no question after that until it is told to.
_WALLET = """(address) => {
  const account = { address, publicKey: new Uint8Array(32), chains: ["solana:localnet"], features: [] };
  const never = () => new Promise((_, decline) => (window.declineInWallet = () => decline({ code: 4001 })));
  const wallet = {
    version: "1.0.0", name: "Sol Stub", icon: "data:image/svg+xml,<svg/>", accounts: [],
    chains: ["solana:localnet"],
    features: {
      "standard:connect": { version: "1.0.0", connect: async () => ({ accounts: [account] }) },
      "solana:signAndSendTransaction": { version: "1.0.0", signAndSendTransaction: never },
    },
  };
  const register = (api) => api.register(wallet);
  addEventListener("wallet-standard:app-ready", ({ detail }) => register(detail));
  dispatchEvent(new CustomEvent("wallet-standard:register-wallet", { detail: register }));
}"""


@pytest.fixture
def request_(create: Create, solana_usdc: Token) -> dict[str, Any]:
    """10.50 USDC, asked for on Solana."""
    return create(token_id=solana_usdc.pk, chain_id=solana_usdc.chain_id, recipient_address=new_address())


def expect_screen(page: Page, name: str) -> None:
    """Wait for the screen: the keyboard is at its beginning, and all of it reads well."""
    expect(page.locator("#panel")).to_have_attribute("data-screen", name)
    expect(page.locator("#panel-heading")).to_be_focused()
    assert is_focus_seen(page)
    assert_accessible(page)


def test_it_is_paid_by_keyboard_and_each_screen_reads_well(
    page: Page, panel: Locator, request_: dict[str, Any], local_ledger: LocalLedger
) -> None:
    page.clock.install()
    page.add_init_script(f"({_WALLET})({json.dumps(local_ledger.payer)})")
    page.goto(request_["payment_url"])
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    assert_accessible(page)
    press(page, NAME)
    expect_screen(page, "review")
    press(page, "Pay 10.50 USDC")
    expect(panel.locator(".signed")).to_contain_text(request_["recipient_address"])
    expect_screen(page, "confirming")
    page.clock.fast_forward(20_000)
    expect(panel.get_by_test_id("notice")).to_contain_text("Don’t see a request in")
    page.evaluate("declineInWallet()")
    expect(panel.get_by_test_id("notice")).to_contain_text("You declined")
    expect_screen(page, "review")
