"""One session for both families of networks, where the service can bring money from one to the other."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Create
from tests.browser.walletconnect.conftest import Connect
from tests.browser.walletconnect.test_solana import SEND, allowed
from tests.support.solana.ledger import LocalLedger
from tests.support.swaps.world import SwapWorld
from tests.support.walletconnect.phone import Phone, evm
from tests.support.walletconnect.relay import Relay


def test_a_wallet_of_both_pays_from_either_and_a_reload_goes_on_with_the_one_that_was_chosen(
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
    panel.get_by_role("button", name="Use WalletConnect’s Solana account instead").click()
    expect(panel.locator(".token", has_text="SOL").first).to_be_visible()
    other = panel.get_by_role("button", name="Use WalletConnect’s Ethereum account instead")
    expect(other).to_be_visible()
    page.reload()
    expect(other).to_be_visible()
    assert relay.methods().count("wc_proposeSession") == 1


def test_a_wallet_of_the_other_family_alone_pays_from_there(
    panel: Locator,
    create: Create,
    connect: Connect,
    routed: SwapWorld,  # the service has to offer it
    local_ledger: LocalLedger,
) -> None:
    connect(create(), solana=allowed(local_ledger.payer, SEND))
    expect(panel.locator(".token", has_text="SOL").first).to_be_visible()
