"""If the service offers swaps between EVM and Solana, one session covers both."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Create
from tests.browser.walletconnect.conftest import Connect
from tests.browser.walletconnect.test_solana import SEND, allowed
from tests.support.solana.ledger import LocalLedger
from tests.support.swaps.world import SwapWorld
from tests.support.walletconnect.phone import Phone, evm
from tests.support.walletconnect.relay import Relay


def test_wallet_of_both_families_keeps_the_chosen_one(
    page: Page,
    panel: Locator,
    create: Create,
    connect: Connect,
    phone: Phone,
    relay: Relay,
    account: str,
    routed: SwapWorld,
    local_ledger: LocalLedger,
) -> None:
    connect(create(), eip155=evm(account), solana=allowed(local_ledger.payer, SEND))
    expect(panel).to_contain_text(routed.first.payer)
    panel.get_by_role("button", name="Pay with another token").click()
    panel.get_by_role("button", name="Pay from Solana instead").click()
    expect(panel.locator(".token", has_text="SOL").first).to_be_visible()
    other = panel.get_by_role("button", name="Pay from Ethereum instead")
    expect(other).to_be_visible()
    page.reload()
    expect(other).to_be_visible()
    assert relay.methods().count("wc_proposeSession") == 1
