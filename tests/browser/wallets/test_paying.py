"""From the review to the wallet's prompt: after an error, nothing is lost and the customer can still pay."""

from eth_account import Account
from eth_account.messages import encode_defunct
from playwright.sync_api import Locator, Page, expect

from payments.models import Payment, Route
from tests.browser.conftest import AddWallet, Create
from tests.browser.wallets.steps import ON_ITS_WAY, OPEN_PROMPT, SENT, review, send
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.payments.world import Clock, look_until_decided
from tests.support.wallets.stub import LATER, NAME, NEVER, error


def test_declined_payment_can_be_made_at_the_next_try(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={SENT: [error(-32603, "x", data={"cause": {"code": 4001}})]})
    pay = review(page, panel, create())
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text("You declined the payment in your wallet")
    picture(page, "declined")
    assert not Payment.objects.exists()
    send(page, pay)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
    assert Payment.objects.count() == 1


def test_device_rejecting_data_pays_plainly_after_signing(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    refusal = "Ledger device: Invalid data received (0x6a80)"
    wallet = add_wallet(answers={SENT: [error(-32603, refusal)], "personal_sign": [error(4001)]})
    pay = review(page, panel, create())
    pay.click()
    notice = panel.get_by_test_id("notice")
    expect(notice).to_contain_text("refuses the data that links a payment to this order")
    pay.click()
    expect(notice).to_contain_text("You declined the signature")
    assert len(wallet.asked(SENT)) == 1
    wallet.plan("personal_sign", LATER)
    pay.click()
    expect(panel).to_have_attribute("data-screen", "proving")
    message = Route.objects.latest("created_at").proof_message
    signature = Account.sign_message(encode_defunct(text=message), local_chain.payer_key).signature.hex()
    with page.expect_response("**/payments"):
        wallet.answer("0x" + signature.removeprefix("0x"))
    plain = wallet.asked(SENT)[1][0]
    assert len(plain["data"]) == 2 + 2 * 68, "a transfer without anything after it"
    assert look_until_decided(Payment.objects.get(), Clock()).bound_by == "payer"


def test_unknown_wallet_error_warns_before_paying_again(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(answers={SENT: [error(-32603, "nonce too low")]})
    review(page, panel, create()).click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Check its recent activity")
    page.reload()
    expect(panel.get_by_test_id("notice")).to_contain_text(OPEN_PROMPT)
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    assert not Payment.objects.exists()


def test_open_prompt_shows_what_is_signed_and_can_be_left(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    add_wallet(answers={SENT: [NEVER]})
    page.clock.install()
    pay = review(page, panel, create())
    pay.click()
    expect(panel.get_by_role("heading", name=f"Confirm in {NAME}")).to_be_focused()
    # The page decoded these facts from the transaction itself.
    for fact in ("10.50 USDC", "Local Chain", local_chain.recipient, local_chain.usdc):
        expect(panel.locator(".signed")).to_contain_text(fact)
    page.clock.fast_forward(20_000)
    expect(panel.get_by_test_id("notice")).to_contain_text("Don’t see a request in")
    panel.get_by_role("button", name="I don’t see the request in my wallet").click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Check your wallet’s activity")
    picture(page, "confirming, left")
    expect(pay).to_be_visible()


def test_silent_wallet_is_reported_and_can_pay_later(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    page.clock.install()
    pay = review(page, panel, create())
    expect(pay).to_be_visible()
    wallet.plan("eth_accounts", NEVER)
    pay.click()
    expect(panel.get_by_role("heading", name="Preparing the transaction")).to_be_visible()
    page.clock.fast_forward(11_000)
    expect(panel.get_by_test_id("notice")).to_contain_text(f"{NAME} isn’t responding")
    picture(page, "review, a silent wallet")
    send(page, pay)
    expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
