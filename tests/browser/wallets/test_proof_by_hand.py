"""A customer pays by hand. A wallet in this browser can fill in the payer proof, and does nothing else."""

from collections.abc import Callable
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from playwright.sync_api import Locator, Page, expect

from payments.models import PayerProof, Payment, Route, TransferProof
from tests.browser.conftest import AddWallet
from tests.browser.wallets.steps import OTHER, SENT
from tests.chain import LocalChain
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.payments.world import Clock, look_until_decided
from tests.support.wallets.stub import StubWallet, error

Create = Callable[..., dict[str, Any]]


def signed(chain: LocalChain) -> dict[str, str]:
    """Return a scripted wallet response: the payer's signature of the newest proof message."""
    text = Route.objects.latest("created_at").proof_message
    return {"gives": "0x" + Account.sign_message(encode_defunct(text=text), chain.payer_key).signature.hex()}


@pytest.fixture
def wallet(create: Create, page: Page, add_wallet: AddWallet) -> StubWallet:
    """A wallet on the page for paying a new request by hand."""
    added = add_wallet()
    page.goto(create()["payment_url"] + "/by-hand")
    return added


def request_text(page: Page) -> Locator:
    """Request the proof message for the wallet's address; return the button that signs it."""
    page.get_by_role("button", name="Use the address from Stub Wallet").click()
    expect(page.get_by_role("button", name="Show the text to sign")).to_be_focused()
    page.keyboard.press("Enter")
    sign = page.get_by_role("button", name="Sign with Stub Wallet")
    expect(sign).to_be_visible()
    return sign


def submit_transfer(page: Page, chain: LocalChain) -> Payment:
    """Send the amount on the chain; enter the transaction's hash on the page."""
    sent = chain.transfer(chain.usdc, chain.recipient, 10_500_000)
    page.get_by_label("Transaction hash").fill(sent)
    page.get_by_role("button", name="Find my payment").click()
    expect(page.get_by_test_id("doubt")).to_contain_text("We are checking this transaction")
    return Payment.objects.get()


def test_transfer_is_credited_after_the_wallet_signed_for_it(
    wallet: StubWallet, page: Page, local_chain: LocalChain, troubles: list[str]
) -> None:
    sign = request_text(page)
    wallet.plan("personal_sign", {"gives": "0x" + "1b" * 65})
    sign.click()
    expect(page.locator("#signature-problem")).to_contain_text("does not match this wallet")
    assert not PayerProof.objects.exists()
    wallet.plan("personal_sign", signed(local_chain))
    sign.click()
    expect(page.get_by_role("heading", name="Now send 10.50 USDC")).to_be_visible()
    payment = submit_transfer(page, local_chain)
    assert look_until_decided(payment, Clock()).bound_by == "payer"
    expect(page.get_by_role("heading", name="Payment complete")).to_be_visible()
    assert not [trouble for trouble in troubles if "400" not in trouble], troubles


def test_wallet_is_asked_for_nothing_but_the_shown_text(
    wallet: StubWallet, page: Page, local_chain: LocalChain
) -> None:
    notice = page.locator("#wallets .notice")
    wallet.plan("eth_requestAccounts", error(4001))
    page.get_by_role("button", name="Use the address from Stub Wallet").click()
    expect(notice).to_contain_text("You declined the connection")
    expect(page.get_by_role("status")).to_contain_text("You declined the connection")
    sign = request_text(page)
    wallet.plan("personal_sign", error(4001))
    sign.click()
    expect(notice).to_contain_text("You declined the signature")
    assert_accessible(page)
    text = Route.objects.get().proof_message
    assert wallet.asked("personal_sign") == [["0x" + text.encode().hex(), local_chain.payer]]
    assert not wallet.asked(SENT)
    assert not PayerProof.objects.exists()


def test_another_account_than_in_the_text_does_not_sign(wallet: StubWallet, page: Page) -> None:
    sign = request_text(page)
    wallet.show(OTHER)
    sign.click()
    expect(page.locator("#wallets .notice")).to_contain_text("is using a different address")
    assert not wallet.asked("personal_sign")


def test_page_without_a_wallet_offers_none(create: Create, page: Page, troubles: list[str]) -> None:
    page.goto(create()["payment_url"] + "/by-hand")
    expect(page.get_by_label("Address that you will send from")).to_be_visible()
    page.wait_for_function("document.querySelector('#wallets .actions') !== null")
    expect(page.locator("#wallets")).to_be_hidden()
    assert not troubles, troubles


def test_unbound_transfer_is_signed_for_where_it_was_entered(
    wallet: StubWallet, page: Page, local_chain: LocalChain
) -> None:
    payment = submit_transfer(page, local_chain)
    look_until_decided(payment, Clock())
    page.goto(page.url.removesuffix("/by-hand"))
    doubt = page.get_by_test_id("doubt")
    # Without scripts, the browser doesn't remember the form's hash, so the page warns the visitor.
    expect(doubt).to_contain_text("This transfer isn’t linked to this payment yet")
    page.get_by_role("link", name="Sign with your wallet").click()
    expect(page.get_by_text("Sign only if you sent this transfer")).to_be_visible()
    expect(page.get_by_role("button", name="Sign with Stub Wallet")).to_be_hidden()
    assert not wallet.asked("eth_requestAccounts")
    assert_accessible(page)
    page.go_back()
    page.locator("#finder-box > summary").click()
    page.get_by_label("Transaction hash").fill(payment.transaction_hash)
    page.locator("#finder button").click()
    found = "10.50 USDC reached Alice's Bakery. Sign with the wallet that sent it, and it counts."
    expect(doubt).to_contain_text(f"We found your transfer. {found}")
    page.get_by_role("link", name="Sign with your wallet").click()
    expect(page.get_by_text("Sign only if you sent this transfer")).to_be_hidden()
    page.get_by_role("button", name="Sign with Stub Wallet").click()
    expect(page.locator("#proof-text")).to_contain_text("and no other.")
    assert_accessible(page)
    text = TransferProof.objects.get().message
    signature = Account.sign_message(encode_defunct(text=text), local_chain.payer_key).signature.hex()
    wallet.plan("personal_sign", {"gives": "0x" + signature.removeprefix("0x")})
    page.get_by_role("button", name="Sign with Stub Wallet").click()
    page.wait_for_url("**/pay/*")
    assert look_until_decided(Payment.objects.get(), Clock()).bound_by == "payer"
