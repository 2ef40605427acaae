"""Solana wallets (Wallet Standard): each fault is told in words, nothing is lost, and there is a way on from it."""

import pytest
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddSolanaWallet, AddWallet, Create
from tests.browser.wallets.test_paying import review, send
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.solana.ledger import new_address
from tests.support.wallets.stub import LATER, NAME, NEVER, error, thrown

DECLINED = "You declined"
CONNECT_FAULTS = {
    "declined": (error(4001, "User rejected the request."), DECLINED),
    "declined, by a text": (thrown("User rejected the request."), DECLINED),
    "locked": ({"gives": {"accounts": []}}, "Unlock the wallet"),
    "nothing at all": ({"gives": None}, "Unlock the wallet"),
    "no address": (
        {"gives": {"accounts": [{"address": "<b>me</b>", "chains": ["solana:localnet"]}]}},
        "Unlock the wallet",
    ),
    "an account of another cluster": (
        {"gives": {"accounts": [{"address": new_address(), "chains": ["solana:mainnet"]}]}},
        "Unlock the wallet",
    ),
    "a text": (thrown("The vault is on fire"), "Wallet message: The vault is on fire"),
}
SEND_FAULTS = {
    "declined": (error(4001), "No money has moved"),
    "declined, in words alone": (error(-32003, "User declined to sign"), "No money has moved"),
    "declined, by a text": (thrown("User rejected the request."), "No money has moved"),
    "no network": (error(4900), "not connected to its network"),
    "locked": (error(4100), "Unlock the wallet"),
    "tried in vain": (error(-32002, "Transaction simulation failed: x"), "Check its recent activity"),
    "already asking": (error(-32002, "Request already pending"), "already waiting for your answer"),
    "no signature": ({"gives": []}, "Check its recent activity"),
}


@pytest.mark.parametrize("fault", CONNECT_FAULTS)
def test_a_connection_that_fails_is_told_and_the_next_try_works(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet, fault: str
) -> None:
    answer, told = CONNECT_FAULTS[fault]
    add_solana_wallet(answers={"connect": [answer]})
    page.goto(create_on_solana()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_test_id("notice")).to_contain_text(told)
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_role("heading", name="Review and pay")).to_be_visible()


@pytest.mark.parametrize("fault", SEND_FAULTS)
def test_a_refusal_leads_back_to_the_review_and_the_next_try_pays(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet, fault: str
) -> None:
    answer, told = SEND_FAULTS[fault]
    wallet = add_solana_wallet(answers={"signAndSendTransaction": [answer]})
    pay = review(page, panel, create_on_solana())
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text(told)
    assert not Payment.objects.exists()
    send(page, pay)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    assert [asked["chain"] for asked in wallet.asked("signAndSendTransaction")] == ["solana:localnet"] * 2
    assert Payment.objects.count() == 1


@pytest.mark.parametrize("lacks", ["solana:signAndSendTransaction", "solana:signMessage"])
def test_a_wallet_that_lacks_what_the_payment_needs_is_told_apart(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet, lacks: str
) -> None:
    wallet = add_solana_wallet(without=[lacks])
    pay = review(page, panel, create_on_solana(references=False))
    if lacks == "solana:signMessage":
        pay.click()
        expect(panel.get_by_test_id("notice")).to_contain_text(
            "can’t sign messages, which this payment requires"
        )
        panel.get_by_role("button", name="Use another wallet").click()
    else:
        expect(panel.get_by_test_id("notice")).to_contain_text("can’t send this payment")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    assert wallet.asked("signAndSendTransaction") == []


def test_a_proof_that_was_declined_can_be_given_after_all(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet
) -> None:
    add_solana_wallet(answers={"signMessage": [thrown("User rejected the request.")]})
    pay = review(page, panel, create_on_solana(references=False))
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text("You declined the signature")
    send(page, pay)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()


def test_wallets_that_cannot_pay_here_are_not_offered(
    page: Page,
    panel: Locator,
    create_on_solana: Create,
    add_solana_wallet: AddSolanaWallet,
    add_wallet: AddWallet,
) -> None:
    add_solana_wallet(name="Elsewhere", clusters=["solana:mainnet"])
    add_solana_wallet(name="Featureless", without=["standard:connect"])
    add_wallet(name="Ethereum alone")
    page.goto(create_on_solana()["payment_url"])
    expect(panel.get_by_role("heading", name="No wallet found in this browser")).to_be_visible()
    expect(panel).to_contain_text("The wallet must support Local Solana.")
    expect(panel.locator(".wallet")).to_have_count(0)
    assert_accessible(page)


def test_changes_in_the_wallet_are_followed(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet
) -> None:
    wallet, other = add_solana_wallet(), new_address()
    expect(review(page, panel, create_on_solana())).to_be_visible()
    wallet.change(other)
    expect(panel.get_by_test_id("notice")).to_have_text("You changed the account in your wallet.")
    expect(panel.get_by_text(other)).to_be_visible()
    wallet.change()
    expect(panel.get_by_test_id("notice")).to_contain_text("disconnected from this page")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    assert wallet.asked("signAndSendTransaction") == []


def test_a_wallet_that_tells_of_no_changes_works_all_the_same(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet
) -> None:
    add_solana_wallet(without=["standard:events"])
    send(page, review(page, panel, create_on_solana()))
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()


def test_what_is_sent_after_the_account_was_taken_away_is_kept(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet
) -> None:
    wallet = add_solana_wallet(answers={"signAndSendTransaction": [LATER]})
    review(page, panel, create_on_solana()).click()
    expect(panel.locator(".signed")).to_contain_text("10.50 USDC")
    wallet.change()
    expect(panel.get_by_role("heading", name=f"Confirm in {NAME}")).to_be_visible()
    with page.expect_response("**/payments") as told:
        page.evaluate(
            "key => window.stubs[key].answer([{ signature: new Uint8Array(64).fill(7) }])", wallet.key
        )
    assert told.value.status == 201
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()


def test_a_reload_goes_on_without_asking_anybody(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet
) -> None:
    wallet = add_solana_wallet()
    pay = review(page, panel, create_on_solana())
    expect(pay).to_be_visible()
    page.reload()
    expect(pay).to_be_visible()
    assert [asked["silent"] for asked in wallet.asked("connect")] == [True]


def test_a_wallet_that_hides_its_question_is_told_of(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet
) -> None:
    add_solana_wallet(answers={"connect": [NEVER]})
    page.clock.install()
    page.goto(create_on_solana()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_role("heading", name=f"Connect {NAME}")).to_be_focused()
    page.clock.fast_forward(20_000)
    expect(panel.get_by_test_id("notice")).to_contain_text("It may be locked")
    panel.get_by_role("button", name="Back").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()


def test_the_part_of_the_page_for_solana_that_is_lost_is_told_of(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet
) -> None:
    add_solana_wallet()
    page.route("**/solana*.js", lambda route: route.abort())
    page.goto(create_on_solana()["payment_url"])
    expect(panel.get_by_test_id("notice")).to_contain_text("Part of this page couldn’t be loaded")
    assert_accessible(page)
