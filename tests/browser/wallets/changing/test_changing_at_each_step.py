"""If the wallet changes its account or network at any step, the payment can continue, and nothing is lost."""

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import ON_ITS_WAY, OTHER, SENT, hold, review
from tests.chain import LocalChain
from tests.support.wallets.stub import ELSEWHERE, LATER, NAME, NEVER, StubWallet

CHANGED = "You changed the account in your wallet."
BUILD = "**/build-transaction"


def _expect_new_account(panel: Locator, wallet: StubWallet) -> None:
    expect(panel.get_by_text(CHANGED)).to_be_visible()
    expect(panel).to_contain_text(OTHER)
    assert wallet.asked(SENT) == []
    assert not Payment.objects.exists()


def test_account_change_discards_the_transaction_being_built(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    held = hold(page, BUILD)
    with page.expect_request(BUILD):
        review(page, panel, create()).click()
    expect(panel).to_have_attribute("data-screen", "building")
    wallet.emit("accountsChanged", [OTHER])
    _expect_new_account(panel, wallet)
    with page.expect_response(BUILD):
        held[0].continue_()
    expect(panel).to_have_attribute("data-screen", "review")
    assert wallet.asked(SENT) == []


@pytest.mark.parametrize(
    ("screen", "method", "chain_id", "references"),
    [
        ("switching", "wallet_switchEthereumChain", ELSEWHERE, True),
        ("proving", "personal_sign", None, False),
    ],
    ids=["switching", "proving"],
)
def test_account_change_during_a_prompt_returns_to_review(
    page: Page,
    panel: Locator,
    create: Create,
    add_wallet: AddWallet,
    screen: str,
    method: str,
    chain_id: int | None,
    references: bool,
) -> None:
    network = {"chainId": chain_id} if chain_id else {}
    wallet = add_wallet(answers={method: [NEVER]}, **network)
    review(page, panel, create(references=references)).click()
    expect(panel).to_have_attribute("data-screen", screen)
    wallet.emit("accountsChanged", [OTHER])
    _expect_new_account(panel, wallet)


def test_hash_sent_after_the_wallet_locked_is_kept(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(answers={SENT: [LATER]})
    review(page, panel, create()).click()
    expect(panel.locator(".signed")).to_be_visible()
    wallet.emit("accountsChanged", [])
    wallet.emit("disconnect", {"code": 1013})
    wallet.change_chain(ELSEWHERE)
    expect(panel.get_by_role("heading", name=f"Confirm in {NAME}")).to_be_visible()
    _expect_hash_kept(page, panel, wallet, local_chain)


def test_hash_sent_after_the_customer_left_is_kept(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(answers={SENT: [LATER]})
    review(page, panel, create()).click()
    panel.get_by_role("button", name="I don’t see the request in my wallet").click()
    panel.get_by_role("button", name="Use another wallet").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    _expect_hash_kept(page, panel, wallet, local_chain)


def _expect_hash_kept(page: Page, panel: Locator, wallet: StubWallet, chain: LocalChain) -> None:
    [[transaction]] = wallet.asked(SENT)
    sent = chain.rpc(SENT, transaction)
    with page.expect_response("**/payments") as submitted:
        wallet.answer(sent)
    assert submitted.value.status == 201
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    assert Payment.objects.get().transaction_hash == sent


@pytest.mark.usefixtures("routed")
def test_account_change_at_the_tokens_reloads_the_list(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    expect(review(page, panel, create())).to_be_visible()
    panel.get_by_role("button", name="Pay with another token").click()
    expect(panel.locator(".token--requested")).to_be_visible()
    wallet.emit("accountsChanged", [OTHER])
    expect(panel.get_by_text(CHANGED)).to_be_visible()
    expect(panel.locator(".token--requested")).to_contain_text("10.50 needed")
    wallet.emit("accountsChanged", [])
    expect(panel.get_by_test_id("notice")).to_contain_text("Connect it again to continue")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
