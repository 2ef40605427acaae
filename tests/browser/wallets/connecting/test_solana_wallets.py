"""Errors of Solana wallets (Wallet Standard) are shown with a next step, and no payment is lost."""

from playwright.sync_api import Locator, Page, expect

from payments.models import Payment
from tests.browser.conftest import AddSolanaWallet, AddWallet, Create
from tests.browser.wallets.steps import ON_ITS_WAY, review, send
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.wallets.stub import NAME, error, thrown

SEND = "signAndSendTransaction"


def test_declined_solana_payment_can_be_made_at_the_next_try(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet
) -> None:
    refused = [thrown("User rejected the request.")]
    failed = error(-32002, "Transaction simulation failed: x")
    wallet = add_solana_wallet(answers={"connect": refused, SEND: [error(4001), failed]})
    page.goto(create_on_solana()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_test_id("notice")).to_contain_text("You declined")
    panel.get_by_role("button", name=NAME).click()
    pay = panel.get_by_role("button", name="Pay 10.50 USDC")
    for notice in ("No money has moved", "Check its recent activity"):
        pay.click()
        expect(panel.get_by_test_id("notice")).to_contain_text(notice)
        assert not Payment.objects.exists()
    send(page, pay)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    assert [call["chain"] for call in wallet.asked(SEND)] == ["solana:localnet"] * 3


def test_wallet_that_can_not_sign_texts_leads_to_another(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet
) -> None:
    wallet = add_solana_wallet(without=["solana:signMessage"])
    review(page, panel, create_on_solana(references=False)).click()
    expect(panel.get_by_test_id("notice")).to_contain_text("can’t sign messages, which this payment requires")
    panel.get_by_role("button", name="Use another wallet").click()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    assert wallet.asked(SEND) == []


def test_declined_proof_can_be_given_at_the_next_try(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet
) -> None:
    add_solana_wallet(answers={"signMessage": [thrown("User rejected the request.")]})
    pay = review(page, panel, create_on_solana(references=False))
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text("You declined the signature")
    send(page, pay)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()


def test_wallets_that_can_not_pay_here_are_not_offered(
    page: Page,
    panel: Locator,
    create_on_solana: Create,
    add_solana_wallet: AddSolanaWallet,
    add_wallet: AddWallet,
) -> None:
    add_solana_wallet(name="Elsewhere", clusters=["solana:mainnet"])
    add_wallet(name="Ethereum alone")
    page.goto(create_on_solana()["payment_url"])
    expect(panel.get_by_role("heading", name="No wallet found in this browser")).to_be_visible()
    expect(panel).to_contain_text("The wallet must support Local Solana.")
    expect(panel.locator(".wallet")).to_have_count(0)
    expect(page.get_by_role("img", name="QR code that asks a Solana wallet for 10.50 USDC")).to_be_visible()
    assert_accessible(page)


def test_script_for_solana_that_is_lost_is_reported(
    page: Page, panel: Locator, create_on_solana: Create, add_solana_wallet: AddSolanaWallet
) -> None:
    add_solana_wallet()
    page.route("**/solana*.js", lambda route: route.abort())
    page.goto(create_on_solana()["payment_url"])
    expect(panel.get_by_test_id("notice")).to_contain_text("Part of this page couldn’t be loaded")
    assert_accessible(page)
