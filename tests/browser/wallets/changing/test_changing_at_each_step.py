"""What changes in the wallet while the page is at any step leads to where the payment can go on, and loses nothing."""

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from payments.models import Payment
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.changing.test_changing_in_between import OTHER
from tests.browser.wallets.test_paying import review
from tests.chain import LocalChain
from tests.support.swaps.world import SwapWorld
from tests.support.wallets.stub import ELSEWHERE, LATER, NAME, NEVER, StubWallet

CHANGED = "You changed the account in your wallet."


def _hold(page: Page, path: str) -> list[Route]:
    """Keep the first answer of this path back until a test lets it go."""
    held: list[Route] = []
    page.route(path, lambda route: held.append(route), times=1)
    return held


def _expect_new_account(panel: Locator, wallet: StubWallet) -> None:
    expect(panel.get_by_test_id("notice")).to_have_text(CHANGED)
    expect(panel).to_contain_text(OTHER)
    assert wallet.asked("eth_sendTransaction") == []
    assert not Payment.objects.exists()


@pytest.mark.parametrize(("step", "path"), [("quoting", "**/routes"), ("building", "**/build-transaction")])
def test_another_account_while_the_page_prepares(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, step: str, path: str
) -> None:
    wallet = add_wallet()
    held = _hold(page, path)
    pay = review(page, panel, create())
    if step == "building":
        pay.click()
    expect(panel).to_have_attribute("data-screen", step)
    wallet.emit("accountsChanged", [OTHER])
    _expect_new_account(panel, wallet)
    # The answer for the old account is no longer wanted.
    with page.expect_response(path):
        held[0].continue_()
    expect(panel).to_have_attribute("data-screen", "review")
    assert wallet.asked("eth_sendTransaction") == []


def test_another_account_while_the_wallet_is_to_change_its_network(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet(chainId=ELSEWHERE, answers={"wallet_switchEthereumChain": [NEVER]})
    review(page, panel, create()).click()
    expect(panel).to_have_attribute("data-screen", "switching")
    wallet.emit("accountsChanged", [OTHER])
    _expect_new_account(panel, wallet)


def test_another_account_while_a_proof_is_asked_for(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet(answers={"personal_sign": [NEVER]})
    review(page, panel, create(references=False)).click()
    expect(panel).to_have_attribute("data-screen", "proving")
    wallet.emit("accountsChanged", [OTHER])
    _expect_new_account(panel, wallet)


@pytest.mark.parametrize("accounts", [[OTHER], []], ids=["another account", "locked"])
def test_what_is_sent_after_the_account_changed_is_kept(
    page: Page,
    panel: Locator,
    create: Create,
    add_wallet: AddWallet,
    local_chain: LocalChain,
    accounts: list[str],
) -> None:
    wallet = add_wallet(answers={"eth_sendTransaction": [LATER]})
    review(page, panel, create()).click()
    expect(panel.locator(".signed")).to_be_visible()
    wallet.emit("accountsChanged", accounts)
    wallet.emit("disconnect", {"code": 1013})
    wallet.change_chain(ELSEWHERE)
    expect(panel.get_by_role("heading", name=f"Confirm in {NAME}")).to_be_visible()
    [[asked]] = wallet.asked("eth_sendTransaction")
    sent = local_chain.rpc("eth_sendTransaction", asked)
    with page.expect_response("**/payments") as told:
        wallet.answer(sent)
    assert told.value.status == 201
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert Payment.objects.get().transaction_hash == sent


def test_what_is_sent_after_the_customer_turned_away_is_kept(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(answers={"eth_sendTransaction": [LATER]})
    review(page, panel, create()).click()
    panel.get_by_role("button", name="I don’t see the request in my wallet").click()
    panel.get_by_role("button", name="Use another wallet").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    [[asked]] = wallet.asked("eth_sendTransaction")
    sent = local_chain.rpc("eth_sendTransaction", asked)
    with page.expect_response("**/payments") as told:
        wallet.answer(sent)
    assert told.value.status == 201
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()


@pytest.mark.parametrize("gone", [False, True], ids=["another account", "locked"])
def test_the_account_changes_at_the_list_of_tokens(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, routed: SwapWorld, gone: bool
) -> None:
    wallet = add_wallet()
    expect(review(page, panel, create())).to_be_visible()
    panel.get_by_role("button", name="Pay with another token").click()
    expect(panel.locator(".token--requested")).to_be_visible()
    wallet.emit("accountsChanged", [] if gone else [OTHER])
    if gone:
        expect(panel.get_by_test_id("notice")).to_contain_text("Connect it again to continue")
        expect(panel.get_by_role("button", name=NAME)).to_be_visible()
        return
    # The other account holds nothing of what is asked for: the list, for it.
    expect(panel.get_by_test_id("notice")).to_have_text(CHANGED)
    expect(panel).to_have_attribute("data-screen", "tokens")
    expect(panel.locator(".token--requested")).to_contain_text("10.50 needed")
    assert routed.first.payer != OTHER


def test_a_wallet_that_changes_to_the_network_it_added_is_not_asked_twice(
    page: Page,
    panel: Locator,
    create: Create,
    add_wallet: AddWallet,
    public_node: None,
) -> None:
    wallet = add_wallet(chainId=ELSEWHERE, changesToAdded=True)
    with page.expect_response("**/payments") as told:
        review(page, panel, create()).click()
    assert told.value.status == 201
    assert len(wallet.asked("wallet_switchEthereumChain")) == 1


def test_a_wallet_that_says_it_changed_and_did_not_sends_nothing(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet(chainId=ELSEWHERE, answers={"wallet_switchEthereumChain": [{"gives": None}]})
    pay = review(page, panel, create())
    pay.click()
    expect(panel.get_by_test_id("notice")).to_have_text(
        "This payment needs your wallet to be on Local Chain."
    )
    expect(pay).to_be_visible()
    assert wallet.asked("eth_sendTransaction") == []
