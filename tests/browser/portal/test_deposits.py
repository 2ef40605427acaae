"""Deposit addresses in the portal: the waiting balances, sweeps by wallet and by file, contracts, immediate checks."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from chains.client import ChainError
from chains.families.evm.deposits.addresses import FACTORY
from chains.models import Token
from config.admin.portal import change_url
from merchants.models import ContractRecipient
from merchants.staff.roles import Role
from payments.admin.deposits.contents import contents_of
from payments.models import PaymentRequest
from tests.browser.portal.conftest import fits
from tests.pictures import picture
from tests.support.payments.deposits import give_address
from tests.support.payments.sweeps import Node, rows, shown
from tests.support.portal.payment_rows import RECIPIENT, Make
from tests.support.portal.staff import Staff
from tests.support.wallets.stub import NAME, StubWallet, error

HASH = "0x" + "cd" * 32


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    node = Node()
    monkeypatch.setitem(contents_of.__kwdefaults__, "client", node.of)
    return node


@pytest.fixture
def waiting(make: Make, token: Token, node: Node) -> list[PaymentRequest]:
    """Two requests with USDC at their deposit addresses. One address also has ETH."""
    ether = Token.objects.create(
        chain=token.chain, symbol="ETH", name="Ether", decimals=18, contract_address=""
    )
    requests = [make("order-1"), make("order-2")]
    first, second = map(shown, requests)
    usdc = token.contract_address
    node.held = {
        (first, usdc): 10_500_000,
        (second, usdc): 1_204_000_000,
        (second, ether.contract_address): 10**16,
    }
    return requests


def planned(page: Page, chain_id: int, **answers: object) -> StubWallet:
    """Return a wallet that is on another chain and can switch. Its transactions are mined immediately."""
    receipts = [{"gives": {"status": "0x1"}}] * 5
    plan = {"eth_getTransactionReceipt": receipts, **answers}
    elsewhere: Any = SimpleNamespace(chain_id=1, payer=RECIPIENT)
    return StubWallet(page, elsewhere, known=[1, chain_id], answers=plan)


def test_finance_sweeps_with_a_wallet_after_a_rejection(
    live_server: LiveServer, portal: str, page: Page, waiting: list[PaymentRequest], troubles: list[str]
) -> None:
    first = waiting[0]
    sends = [error(4001, "User rejected"), {"gives": HASH}]
    wallet = planned(page, first.chain_id, eth_sendTransaction=sends)
    page.goto(f"{portal}payments/depositaddress/?merchant={first.merchant_id}")
    usdc = page.locator("[data-sweep]", has_text="1,214.50 USDC")
    expect(usdc.get_by_text("Transaction 1: 2 addresses, about 100,000 gas")).to_be_visible()
    expect(page.get_by_role("heading", name="Recoverable")).to_be_visible()
    picture(page, "portal, deposits waiting")
    assert fits(page)
    sweep = usdc.get_by_role("button", name=f"Sweep with {NAME}")
    sweep.click()
    expect(usdc.get_by_text(f"You rejected it in {NAME}. Nothing more was sent.")).to_be_visible()
    picture(page, "portal, sweep rejected")
    sweep.click()
    expect(usdc.get_by_text("All transactions are mined.")).to_be_visible()
    expect(usdc.get_by_role("link", name=HASH[:10])).to_have_attribute(
        "href", f"https://basescan.example/tx/{HASH}"
    )
    expect(sweep).to_be_disabled()
    picture(page, "portal, sweep mined")
    assert fits(page)
    *_, [sent] = wallet.asked("eth_sendTransaction")
    assert (sent["to"], sent["from"], sent["value"], int(sent["chainId"], 16)) == (
        FACTORY,
        RECIPIENT,
        "0x0",
        first.chain_id,
    )
    assert "gas" not in sent
    assert {token for _, _, token in rows(bytes.fromhex(sent["data"][2:]))} == {first.token.contract_address}
    assert troubles == []


def test_browser_without_wallet_saves_the_transactions(
    portal: str, page: Page, waiting: list[PaymentRequest], tmp_path: Path, troubles: list[str]
) -> None:
    page.goto(f"{portal}payments/depositaddress/?merchant={waiting[0].merchant_id}")
    usdc = page.locator("[data-sweep]", has_text="1,214.50 USDC")
    expect(usdc.get_by_text("This browser has no wallet.")).to_be_visible()
    usdc.get_by_text("Sign offline or with a Safe").click()
    picture(page, "portal, sweep as files")
    assert fits(page)
    saved = {}
    for label in ("Download JSON", "Download for a Safe"):
        with page.expect_download() as download:
            usdc.get_by_role("button", name=label).click()
        download.value.save_as(tmp_path / download.value.suggested_filename)
        saved[label] = json.loads((tmp_path / download.value.suggested_filename).read_text())
    [plain] = saved["Download JSON"]
    batch = saved["Download for a Safe"]
    assert (plain["to"], plain["value"]) == (FACTORY, "0x0")
    assert (batch["chainId"], batch["version"]) == ("8453", "1.0")
    assert batch["transactions"] == [{"to": FACTORY, "value": "0", "data": plain["data"]}]
    assert troubles == []


def test_failed_node_shows_no_amount(
    portal: str, page: Page, waiting: list[PaymentRequest], node: Node, troubles: list[str]
) -> None:
    node.error = ChainError("down")
    page.goto(f"{portal}payments/depositaddress/?merchant={waiting[0].merchant_id}")
    expect(page.get_by_text("What waits is unknown.")).to_be_visible()
    picture(page, "portal, deposits unknown")
    assert fits(page)
    assert page.locator("[data-sweep]").count() == 0
    assert troubles == []


def test_owner_confirms_a_contract_recipient(
    live_server: LiveServer, portal: str, page: Page, waiting: list[PaymentRequest], troubles: list[str]
) -> None:
    merchant = waiting[0].merchant
    alice = Staff("alice", Role.OWNER, merchant)
    session = alice.client.cookies["sessionid"].value
    page.context.clear_cookies()
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": portal}])
    page.goto(f"{live_server.url}{change_url(merchant)}")
    page.get_by_role("link", name="Confirm a contract").click()
    expect(page.get_by_text("can be a stranger’s on another")).to_be_visible()
    picture(page, "portal, contract to confirm")
    assert fits(page)
    page.get_by_label("Contract address").fill(RECIPIENT)
    page.get_by_label("We control this address on every EVM chain").check()
    page.get_by_label("Code").fill(alice.code())
    page.get_by_role("button", name="Confirm this contract").click()
    expect(
        page.get_by_text("is confirmed, and its payment requests can get deposit addresses.")
    ).to_be_visible()
    picture(page, "portal, contract confirmed")
    assert fits(page)
    assert ContractRecipient.objects.get().address == RECIPIENT
    assert troubles == []


def test_page_of_a_request_offers_a_check(
    live_server: LiveServer, portal: str, page: Page, make: Make, troubles: list[str]
) -> None:
    request = make("order-1")
    give_address(request, 1)
    page.goto(f"{live_server.url}{change_url(request)}")
    expect(page.get_by_text(str(request.deposit_address)).first).to_be_visible()
    page.get_by_role("link", name="Check now").click()
    picture(page, "portal, deposit to check")
    assert fits(page)
    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_text("responded. Try again in a few seconds.")).to_be_visible()
    picture(page, "portal, request with deposit address")
    assert troubles == []
