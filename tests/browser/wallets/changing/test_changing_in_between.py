"""The page adds networks to the wallet, switches them, and follows the customer's changes in the wallet."""

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import ON_ITS_WAY, OTHER, SENT, review, send
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.wallets.stub import ELSEWHERE, NAME, StubWallet, error


def _expect_nothing_sent(wallet: StubWallet) -> None:
    assert wallet.asked(SENT) == []
    assert not Payment.objects.exists()


@pytest.mark.usefixtures("public_node")
def test_declined_network_is_added_at_the_next_try(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet(chainId=ELSEWHERE, answers={"wallet_addEthereumChain": [error(4001)]})
    pay = review(page, panel, create())
    pay.click()
    expect(panel.get_by_test_id("notice")).to_have_text(
        "This payment needs your wallet to be on Local Chain."
    )
    picture(page, "network, declined")
    _expect_nothing_sent(wallet)
    send(page, pay)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()


def test_network_without_a_public_node_is_described(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(chainId=ELSEWHERE)
    pay = review(page, panel, create())
    pay.click()
    step = f"Add the network Local Chain (chain ID {local_chain.chain_id}) to it"
    expect(panel.get_by_test_id("notice")).to_contain_text(step)
    expect(pay).to_be_visible()
    picture(page, "network, to be added by hand")
    _expect_nothing_sent(wallet)


def test_unreported_account_change_is_shown_before_signing(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet()
    pay = review(page, panel, create())
    expect(panel.get_by_text(local_chain.payer)).to_be_visible()
    wallet.show(OTHER)
    pay.click()
    expect(panel.get_by_text("You changed the account in your wallet.")).to_be_visible()
    expect(panel.get_by_text(OTHER)).to_be_visible()
    picture(page, "review, account changed")
    _expect_nothing_sent(wallet)


def test_unreported_lock_asks_to_connect_again(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    pay = review(page, panel, create())
    expect(pay).to_be_visible()
    wallet.show()
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Connect it again to continue")
    picture(page, "connecting, locked in between")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    _expect_nothing_sent(wallet)


def test_reported_changes_are_followed_on_the_review(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet()
    notice = panel.get_by_test_id("notice")
    expect(review(page, panel, create())).to_be_visible()
    wallet.change_chain(ELSEWHERE)
    expect(notice).to_contain_text("You will be asked to switch to Local Chain")
    picture(page, "network, another one in the wallet")
    wallet.change_chain(local_chain.chain_id)
    expect(notice).to_have_count(0)
    wallet.emit("disconnect", {"code": 1013})
    expect(notice).to_contain_text("not connected to its network")
    wallet.emit("accountsChanged", [OTHER])
    expect(panel.get_by_text(OTHER)).to_be_visible()
    wallet.emit("accountsChanged", [])
    expect(notice).to_contain_text("disconnected from this page")
    _expect_nothing_sent(wallet)
