"""On Solana, the customer signs a transaction. The service pays its network fee and sends it."""

import base64
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from solders.keypair import Keypair

from chains.models import Token
from payments.models import Payment
from tests.browser.conftest import TOUCHED, Create
from tests.browser.sponsoring.steps import sign_and_submit
from tests.browser.wallets.steps import ON_ITS_WAY, refresh, review
from tests.browser.wallets.test_clicks import COUNT_CLICKS
from tests.processes import eventually
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.payments.cosigning import BUDGET, COINS
from tests.support.payments.world import Clock
from tests.support.solana.ledger import LocalLedger
from tests.support.solana.signing import sign
from tests.support.wallets.stub import SolanaStub, error
from tests.verifying import relay_due, verify_due

SIGN, SEND = "signTransaction", "signAndSendTransaction"


@pytest.fixture
def payer(page: Page, local_ledger: LocalLedger, solana_usdc: Token, settings: Any) -> Keypair:
    """A customer with 1,000 USDC and no SOL; the service pays the network fee."""
    Token.objects.filter(pk=solana_usdc.pk).update(authorization={"type": "solana"})
    settings.SPONSOR_KEYS = {"solana": bytes(local_ledger.new_wallet(lamports=COINS)).hex()}
    settings.SPONSOR_DAILY_BUDGET = {solana_usdc.chain_id: BUDGET}
    key = local_ledger.new_wallet(usdc=1_000 * 10**6)
    page.context.expose_function("signTransaction", lambda built: sign(built, key))
    return key


@pytest.fixture
def wallet(page: Page, payer: Keypair) -> SolanaStub:
    return SolanaStub(page, str(payer.pubkey()))


@pytest.mark.parametrize("page", [{}, TOUCHED], ids=["desktop", "phone"], indirect=True)
def test_solana_wallet_without_sol_pays_with_two_clicks(
    page: Page,
    panel: Locator,
    create_on_solana: Create,
    local_ledger: LocalLedger,
    payer: Keypair,
    wallet: SolanaStub,
) -> None:
    page.add_init_script(COUNT_CLICKS)
    for prompts in (2, 1):  # a connected wallet needs no prompt to connect again
        order = create_on_solana()
        pay = review(page, panel, order)
        expect(panel).to_contain_text("No network fee")
        assert_accessible(page)
        sign_and_submit(page, pay)
        expect(panel.get_by_role("heading", name=ON_ITS_WAY)).to_be_visible()
        connects = [asked for asked in wallet.asked("connect") if not asked.get("silent")]
        assert int(page.evaluate("window.clicks")) == 2
        assert len(wallet.asked(SIGN)) + len(connects) * (prompts - 1) == prompts
        assert not wallet.asked(SEND)
        _finish(page, panel, Payment.objects.get(request_id=order["id"]))
    assert local_ledger.token_balance(str(payer.pubkey())) == 979 * 10**6
    assert local_ledger.balance(str(payer.pubkey())) == 0


def _finish(page: Page, panel: Locator, payment: Payment) -> None:
    """Have the workers send and verify the payment; wait until the page shows it."""
    clock = Clock()

    def is_decided() -> bool:
        relay_due(now=clock)
        verify_due(now=clock)
        clock.forward(seconds=1)
        payment.refresh_from_db()
        return not payment.is_open

    eventually(is_decided, "the payment was decided", 60)
    assert (payment.status, payment.bound_by, payment.is_sponsored) == ("completed", "reference", True)
    refresh(page)
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible()


def test_declined_solana_signature_returns_to_the_review(
    page: Page, panel: Locator, create_on_solana: Create, wallet: SolanaStub
) -> None:
    pay = review(page, panel, create_on_solana())
    expect(pay).to_be_visible()
    wallet.plan(SIGN, error(4001))
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text("No money has moved")
    assert not Payment.objects.exists()
    sign_and_submit(page, pay)
    expect(panel.locator(".transaction")).to_contain_text("Being sent")


def test_solana_transaction_that_pays_more_is_not_signed(
    page: Page, panel: Locator, create_on_solana: Create, wallet: SolanaStub
) -> None:
    amount, more = (raw.to_bytes(8, "little") for raw in (10_500_000, 999_000_000))

    def change(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        built = base64.b64decode(body["transaction"])
        assert amount in built
        body["transaction"] = base64.b64encode(built.replace(amount, more)).decode()
        route.fulfill(response=answer, json=body)

    page.route("**/build-transaction", change)
    review(page, panel, create_on_solana()).click()
    expect(panel.get_by_test_id("notice")).to_contain_text("doesn’t match what you reviewed")
    assert not wallet.asked(SIGN)


@pytest.mark.usefixtures("payer")
def test_solana_wallet_that_only_sends_pays_the_network_fee(
    page: Page, panel: Locator, create_on_solana: Create, payer: Keypair
) -> None:
    SolanaStub(page, str(payer.pubkey()), without=["solana:signTransaction"])
    expect(review(page, panel, create_on_solana())).to_be_visible()
    expect(panel).not_to_contain_text("No network fee")
    expect(panel.locator("#change-fee")).to_have_count(0)
