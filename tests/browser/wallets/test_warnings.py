"""The review warns if a wallet can't pay, or if the nodes can't trace its payment."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from chains.families.evm.client import EvmClient
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import OTHER, review
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.wallets.stub import NAME

WARNING = "Alice's Bakery may have to accept this one first"


@pytest.fixture
def delegated(local_chain: LocalChain) -> Iterator[None]:
    """The payer's account delegates to a contract (EIP-7702)."""
    local_chain.rpc("anvil_setCode", local_chain.payer, "0xef0100" + "5a" * 20)
    yield
    local_chain.rpc("anvil_setCode", local_chain.payer, "0x")


@pytest.mark.usefixtures("delegated")
def test_untraceable_account_is_warned_and_can_be_left(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EvmClient, "can_prove_internal_transfers", lambda _: False)
    add_wallet()
    pay = review(page, panel, create())
    expect(panel.get_by_test_id("notice")).to_contain_text(WARNING)
    expect(page.locator("#live")).to_contain_text(WARNING)
    expect(pay).to_be_enabled()
    picture(page, "review, a contract account that can't be verified")
    assert_accessible(page)
    panel.get_by_role("button", name="Use another wallet").click()
    expect(panel.get_by_role("heading", name="Pay with your wallet")).to_be_visible()


def test_wallet_without_funds_is_offered_another_first(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    page.goto(create()["payment_url"])
    wallet.show(OTHER)
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_test_id("notice")).to_have_text(
        "This payment needs 10.50 USDC. This wallet has 0.00 USDC."
    )
    expect(panel.locator(".button--primary")).to_have_text(["Use another wallet"])
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_be_enabled()
    assert (page.locator("#account").get_attribute("data-value") or "").lower() == OTHER.lower()
    picture(page, "review, a wallet without funds")
    assert_accessible(page)


def test_wallet_of_the_recipient_is_refused(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet()
    page.goto(create()["payment_url"])
    wallet.show(local_chain.recipient)
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_test_id("notice")).to_contain_text("A payment to itself doesn’t count.")
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_have_count(0)
    assert not wallet.asked("eth_sendTransaction")
    assert_accessible(page)
