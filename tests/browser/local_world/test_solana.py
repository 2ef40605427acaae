"""A customer pays on the local Solana chain. The demo wallet uses Wallet Standard."""

import os
import platform
import sys
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from solders.keypair import Keypair

from demo.solana.mint import MERCHANT, WALLET
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import chain_of, connect_demo_wallet, create_request, read_request
from tests.browser.windows import ON_PHONE
from tests.browsing import DESKTOP, PHONE
from tests.pictures import picture

RECIPIENT = str(MERCHANT.pubkey())


@pytest.fixture
def solana(world: World) -> dict[str, Any]:
    """The world's Solana chain.

    Skips the test if there is no Surfnet package for this platform, except in CI on linux-x64.
    """
    chain = chain_of(world, "solana")
    if chain is None:
        here = f"{sys.platform}-{platform.machine()}"
        must_be_there = os.environ.get("CI") and here == "linux-x86_64"
        (pytest.fail if must_be_there else pytest.skip)(f"no Surfnet package for {here}")
    return chain


@pytest.mark.parametrize(
    ("page", "symbol", "amount"),
    [(DESKTOP, "USDC", "10.50"), (PHONE, "SOL", "0.25")],
    ids=["USDC on a desktop", "SOL on a phone"],
    indirect=["page"],
)
def test_solana_payment_completes_the_request(
    world: World, solana: dict[str, Any], page: Page, troubles: list[str], symbol: str, amount: str
) -> None:
    request = create_request(world, solana, RECIPIENT, symbol=symbol, amount=amount)
    panel = connect_demo_wallet(page, request)
    expect(panel).to_contain_text(str(WALLET.pubkey()))
    picture(page, f"review, {symbol} on Solana")
    panel.get_by_role("button", name=f"Pay {amount} {symbol}").click()

    wallet = page.get_by_test_id("demo-wallet-window")
    expect(wallet.get_by_test_id("demo-wallet-amount")).to_have_text(f"{amount} {symbol}")
    expect(wallet.get_by_test_id("demo-wallet-recipient")).to_have_text(RECIPIENT)
    picture(page, f"confirming {symbol} on Solana, behind the demo wallet")
    page.get_by_test_id("demo-wallet-confirm").click()

    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=180_000)
    picture(page, f"complete, {symbol} on Solana")
    paid = read_request(world, request)
    assert paid["status"] == "completed"
    (payment,) = paid["payments"]
    # For USDC, the service pays the network fee.
    assert (payment["bound_by"], payment["sponsored"]) == ("reference", symbol == "USDC")
    assert not troubles, troubles


@ON_PHONE
def test_solana_proof_and_plain_transfer_complete_it(
    world: World, solana: dict[str, Any], page: Page
) -> None:
    request = create_request(world, solana, RECIPIENT, references=False)
    panel = connect_demo_wallet(page, request)
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    expect(page.get_by_test_id("demo-wallet-message")).to_contain_text("sign in with your Solana account")
    picture(page, "proving on Solana, behind the demo wallet")
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(page.get_by_test_id("demo-wallet-amount")).to_have_text("10.50 USDC")
    page.get_by_test_id("demo-wallet-confirm").click()

    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=180_000)
    assert [payment["bound_by"] for payment in read_request(world, request)["payments"]] == ["payer"]


def test_review_and_wallet_name_the_same_deposit(world: World, solana: dict[str, Any], page: Page) -> None:
    """The recipient has no token account, so the payment opens one.

    The review shows its deposit before the wallet prompts.
    """
    request = create_request(world, solana, str(Keypair().pubkey()))
    panel = connect_demo_wallet(page, request)
    panel.get_by_role("button", name="Pay it yourself").click()
    facts = panel.locator(".fact")
    expect(facts.filter(has_text="Account deposit")).to_contain_text("about 0.00203 SOL")
    expect(facts.filter(has_text="Total")).to_contain_text("+ about 0.00204 SOL")
    picture(page, "review with a deposit on Solana")
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    expect(page.get_by_test_id("demo-wallet-window")).to_contain_text("0.00203928 SOL")
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=180_000)
