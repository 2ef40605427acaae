"""A customer pays on the local Solana chain, with the demo wallet by Wallet Standard."""

import os
import platform
import sys
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from demo.solana.mint import MERCHANT, MINT_AUTHORITY, USDC, WALLET
from tests.browser.local_world.conftest import World
from tests.browser.local_world.paying import (
    build_transaction,
    chain_of,
    connect_demo_wallet,
    create_request,
    read_request,
)
from tests.browser.windows import ON_DESKTOP, ON_PHONE
from tests.browsing import DESKTOP, PHONE
from tests.pictures import picture

RECIPIENT = str(MERCHANT.pubkey())

# A wallet that signs and leaves the sending to the page. It is there before the page's script listens.
SIGNS_ONLY = """
const register = (api) => api.register({
  version: "1.0.0", name: "Signs Only", icon: "data:image/svg+xml,<svg/>", accounts: [],
  chains: ["solana:localnet"],
  features: {
    "standard:connect": { version: "1.0.0", connect: async () => ({ accounts: [] }) },
    "solana:signTransaction": { version: "1.0.0", signTransaction: async () => [] },
  },
});
window.addEventListener("wallet-standard:app-ready", (event) => register(event.detail));
window.dispatchEvent(new CustomEvent("wallet-standard:register-wallet", { detail: register }));
const elsewhere = { name: "Elsewhere", chains: ["solana:mainnet"], features: {} };
window.addEventListener("wallet-standard:app-ready", (event) => event.detail.register(elsewhere, null, {}));
"""


@pytest.fixture
def solana(world: World) -> dict[str, Any]:
    """The world's Solana chain; skipped where Surfnet has no package, never in CI on linux-x64."""
    chain = chain_of(world, "solana")
    if chain is None:
        here = f"{sys.platform}-{platform.machine()}"
        must_be_there = os.environ.get("CI") and here == "linux-x86_64"
        (pytest.fail if must_be_there else pytest.skip)(f"no Surfnet package for {here}")
    return chain


@pytest.mark.parametrize(
    ("page", "symbol", "amount", "shown"),
    [(DESKTOP, "USDC", "10.50", "10.50"), (PHONE, "SOL", "0.25", "0.25")],
    ids=["USDC on a desktop", "SOL on a phone"],
    indirect=["page"],
)
def test_it_is_paid_and_completes(
    world: World,
    solana: dict[str, Any],
    page: Page,
    troubles: list[str],
    symbol: str,
    amount: str,
    shown: str,
) -> None:
    request = create_request(world, solana, RECIPIENT, symbol=symbol, amount=amount)
    panel = connect_demo_wallet(page, request)
    expect(panel).to_contain_text(str(WALLET.pubkey()))
    picture(page, f"review, {symbol} on Solana")
    panel.get_by_role("button", name=f"Pay {shown} {symbol}").click()

    wallet = page.get_by_test_id("demo-wallet-window")
    expect(wallet.get_by_test_id("demo-wallet-amount")).to_have_text(f"{shown} {symbol}")
    expect(wallet.get_by_test_id("demo-wallet-recipient")).to_have_text(RECIPIENT)
    picture(page, f"confirming {symbol} on Solana, behind the demo wallet")
    page.get_by_test_id("demo-wallet-confirm").click()

    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=60_000)
    picture(page, f"complete, {symbol} on Solana")
    paid = read_request(world, request)
    assert paid["status"] == "completed"
    assert [payment["bound_by"] for payment in paid["payments"]] == ["reference"]
    assert not troubles, troubles


@ON_PHONE
def test_a_proof_and_a_plain_transfer_pay(world: World, solana: dict[str, Any], page: Page) -> None:
    request = create_request(world, solana, RECIPIENT, references=False)
    panel = connect_demo_wallet(page, request)
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    expect(page.get_by_test_id("demo-wallet-message")).to_contain_text("sign in with your Solana account")
    picture(page, "proving on Solana, behind the demo wallet")
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(page.get_by_test_id("demo-wallet-amount")).to_have_text("10.50 USDC")
    page.get_by_test_id("demo-wallet-confirm").click()

    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible(timeout=60_000)
    assert [payment["bound_by"] for payment in read_request(world, request)["payments"]] == ["payer"]


@ON_DESKTOP
@pytest.mark.parametrize(
    "different", [{"amount": "10.51"}, {"recipient": str(MINT_AUTHORITY.pubkey())}, {"symbol": "SOL"}]
)
def test_a_transaction_other_than_the_reviewed_one_never_reaches_the_wallet(
    world: World, solana: dict[str, Any], page: Page, different: dict[str, Any]
) -> None:
    request = create_request(world, solana, RECIPIENT)
    other = create_request(world, solana, **{"recipient": RECIPIENT, **different})
    built = build_transaction(world, other, str(WALLET.pubkey()))
    panel = connect_demo_wallet(page, request)
    page.route("**/build-transaction", lambda route: route.fulfill(json=built))
    panel.get_by_role("button", name="Pay 10.50 USDC").click()

    expect(panel.get_by_test_id("notice")).to_contain_text("doesn’t match what you reviewed")
    picture(page, "review, refused by the page")
    expect(page.get_by_test_id("demo-wallet-window")).to_have_count(0)


@ON_PHONE
def test_a_declined_transaction_leads_back_to_the_review(
    world: World, solana: dict[str, Any], page: Page
) -> None:
    request = create_request(world, solana, RECIPIENT)
    panel = connect_demo_wallet(page, request)
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    page.get_by_test_id("demo-wallet-reject").click()

    expect(panel.get_by_test_id("notice")).to_have_text(
        "You declined the payment in your wallet. No money has moved."
    )
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_be_visible()
    assert read_request(world, request)["payments"] == []


@ON_DESKTOP
def test_a_send_that_the_node_refuses_is_told_in_the_wallets_words(
    world: World, solana: dict[str, Any], page: Page
) -> None:
    said = "Transaction simulation failed: Blockhash not found"
    panel = connect_demo_wallet(page, create_request(world, solana, RECIPIENT))
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    expect(page.get_by_test_id("demo-wallet-amount")).to_be_visible()
    page.route(
        "**/demo-wallet/solana-rpc",
        lambda route: route.fulfill(
            json={"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": said}}
        ),
    )
    page.get_by_test_id("demo-wallet-confirm").click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Check its recent activity")
    expect(panel.get_by_test_id("notice")).to_contain_text(said)


@ON_PHONE
def test_a_reload_goes_on_with_the_wallet_without_asking_again(
    world: World, solana: dict[str, Any], page: Page
) -> None:
    panel = connect_demo_wallet(page, create_request(world, solana, RECIPIENT))
    pay = panel.get_by_role("button", name="Pay 10.50 USDC")
    expect(pay).to_be_visible()
    page.reload()
    expect(pay).to_be_visible()
    expect(page.get_by_test_id("demo-wallet-window")).to_have_count(0)


@ON_DESKTOP
def test_a_wallet_that_cannot_send_is_told_apart(world: World, solana: dict[str, Any], page: Page) -> None:
    page.add_init_script(SIGNS_ONLY)
    page.goto(create_request(world, solana, RECIPIENT)["payment_url"])
    panel = page.locator("#panel")
    expect(panel.get_by_role("button", name="Demo Wallet")).to_have_count(1)
    expect(panel.get_by_role("button", name="Elsewhere")).to_have_count(0)
    panel.get_by_role("button", name="Signs Only").click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Signs Only can’t send this payment")
    picture(page, "connecting, a wallet that can't send")


@ON_PHONE
def test_the_page_speaks_of_solana(world: World, solana: dict[str, Any], page: Page) -> None:
    page.goto(create_request(world, solana, RECIPIENT)["payment_url"])
    page.get_by_text("Already paid, but it isn’t shown here?").click()
    finder = page.get_by_label("Transaction signature")
    finder.fill("0x" + "12" * 32)
    page.get_by_role("button", name="Find my payment").click()
    expect(page.locator("#finder-answer")).to_contain_text("87 or 88")
    picture(page, "finder, a refused signature")
    page.get_by_text("Technical details").click()
    expect(page.locator("#token-contract")).to_have_text(USDC)
