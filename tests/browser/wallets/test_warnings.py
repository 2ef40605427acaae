"""The review warns a contract account whose payment the nodes can't trace."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from chains.families.evm.client import EvmClient
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import review
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.accessibility.page_rules import assert_accessible

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
