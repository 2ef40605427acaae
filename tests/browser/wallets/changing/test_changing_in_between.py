"""The wallet's network and account: asked for, added, and followed when its owner changes them in between."""

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import EXPLORER, PUBLIC_NODE, AddWallet, Create
from tests.browser.wallets.test_paying import review, send
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.wallets.stub import ELSEWHERE, NAME, StubWallet, error

OTHER = "0xFBF61827382c2BcE696a057BC0D68E83BFfe4e59"  # pays and is paid nowhere else, so it holds nothing on any chain

UNKNOWN_CHAIN = {
    "plain": error(4902),
    "as MetaMask's app has it": error(-32603, "Internal", data={"originalError": {"code": 4902}}),
    "in the data": error(-32603, "Internal", data={"code": 4902}),
    "in words alone": error(-32603, "Unrecognized chain ID 0x7a69"),
    "deep": error(-32603, "x", data={"cause": {"originalError": {"code": 4902}}}),
}


@pytest.mark.parametrize("said", UNKNOWN_CHAIN)
@pytest.mark.usefixtures("public_node")
def test_an_unknown_network_is_added_and_changed_to(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain, said: str
) -> None:
    wallet = add_wallet(chainId=ELSEWHERE, answers={"wallet_switchEthereumChain": [UNKNOWN_CHAIN[said]]})
    send(page, review(page, panel, create()))
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    [[added]] = wallet.asked("wallet_addEthereumChain")
    assert added == {
        "chainId": hex(local_chain.chain_id),
        "chainName": "Local Chain",
        "nativeCurrency": {"name": "ETH", "symbol": "ETH", "decimals": 18},
        "rpcUrls": [PUBLIC_NODE],
        "blockExplorerUrls": [EXPLORER],
    }
    assert len(wallet.asked("wallet_switchEthereumChain")) == 2


def test_without_a_public_node_it_is_said_in_words_how_to_add_the_network(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(chainId=ELSEWHERE)
    pay = review(page, panel, create())
    pay.click()
    told = f"Add the network Local Chain (chain ID {local_chain.chain_id}) to it"
    expect(panel.get_by_test_id("notice")).to_contain_text(told)
    expect(pay).to_be_visible()
    picture(page, "network, to be added by hand")
    assert wallet.asked("wallet_addEthereumChain") == []
    _expect_nothing_asked(wallet)


@pytest.mark.usefixtures("public_node")
def test_a_declined_network_is_asked_for_again(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(chainId=ELSEWHERE, answers={"wallet_addEthereumChain": [error(4001)]})
    pay = review(page, panel, create())
    pay.click()
    expect(panel.get_by_test_id("notice")).to_have_text(
        "This payment needs your wallet to be on Local Chain."
    )
    picture(page, "network, declined")
    send(page, pay)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()


def test_an_account_that_changed_unheard_is_shown_before_anything_is_signed(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet()
    pay = review(page, panel, create())
    expect(panel.get_by_text(local_chain.payer)).to_be_visible()
    wallet.show(OTHER)
    pay.click()
    expect(panel.get_by_test_id("notice")).to_have_text("You changed the account in your wallet.")
    expect(panel.get_by_text(OTHER)).to_be_visible()
    picture(page, "review, account changed")
    _expect_nothing_asked(wallet)


def test_a_wallet_that_was_locked_unheard_has_to_be_connected_again(
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
    _expect_nothing_asked(wallet)


def test_changes_in_the_wallet_are_followed(
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
    _expect_nothing_asked(wallet)


def _expect_nothing_asked(wallet: StubWallet) -> None:
    assert wallet.asked("eth_sendTransaction") == []
    assert not Payment.objects.exists()
