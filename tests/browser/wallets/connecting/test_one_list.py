"""Wallets of both families stand in one list, however they announce themselves; nothing that they say can act."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from chains.models import Chain
from merchants.models import Merchant
from tests.browser.conftest import AddSolanaWallet, AddWallet, Create
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.swaps.world import SwapWorld
from tests.support.wallets.stub import NAME

SCRIPTED = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9' onload='top.hacked=1'>"
    "<script>top.hacked = 1</script><image href='https://tracker.example/seen.png'/>"
    "<circle cx='4' cy='4' r='4'/></svg>"
)


def test_a_wallet_that_speaks_both_families_stands_there_once(
    page: Page,
    panel: Locator,
    create: Create,
    add_wallet: AddWallet,
    add_solana_wallet: AddSolanaWallet,
    routed: SwapWorld,
) -> None:
    add_solana_wallet(name="Twin")
    add_solana_wallet(name="Solana alone")
    add_wallet(name="Twin")
    page.goto(create()["payment_url"])
    names = panel.locator(".wallet__name")
    expect(names).to_have_text(["Twin", "Solana alone"])
    panel.get_by_role("button", name="Twin").click()
    expect(panel).to_contain_text(routed.first.payer)
    panel.get_by_role("button", name="Pay with another token").click()
    panel.get_by_role("button", name="Use Twin’s Solana account instead").click()
    expect(panel.locator(".token", has_text="SOL").first).to_be_visible()
    expect(panel.get_by_role("button", name="Use Twin’s Ethereum account instead")).to_be_visible()
    page.reload()
    # Its Solana half was the one that was connected.
    expect(panel.get_by_role("button", name="Use Twin’s Ethereum account instead")).to_be_visible()


def test_a_wallet_that_announces_itself_late_takes_the_place_of_the_nameless_one(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet(isInjected=True)
    page.goto(create()["payment_url"])
    names = panel.locator(".wallet__name")
    expect(names).to_have_text(["Browser wallet"])
    page.evaluate("""() => {
      const detail = { info: { uuid: "late", name: "Late Wallet", icon: "" }, provider: window.ethereum };
      for (let times = 0; times < 2; times += 1) {
        dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
      }
    }""")
    expect(names).to_have_text(["Late Wallet"])


def test_what_is_no_wallet_is_left_out(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, troubles: list[str]
) -> None:
    add_wallet()
    page.goto(create()["payment_url"])
    names = panel.locator(".wallet__name")
    expect(names).to_have_text([NAME])
    page.evaluate("""() => {
      const provider = { request: async () => null };
      for (const detail of [null, 7, {}, { info: null, provider }, { info: { uuid: "a", name: "A" } },
                            { info: { uuid: 1, name: 2 }, provider }, { info: { uuid: "b", name: " " }, provider }]) {
        dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
      }
      dispatchEvent(new CustomEvent("wallet-standard:register-wallet", { detail: "no function" }));
    }""")
    expect(names).to_have_text([NAME])
    assert not troubles, troubles


@pytest.mark.parametrize("family", ["evm", "solana"])
def test_a_picture_can_do_nothing(
    page: Page, panel: Locator, request: pytest.FixtureRequest, create: Create, family: str
) -> None:
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url))
    is_solana = family == "solana"
    add = request.getfixturevalue("add_solana_wallet" if is_solana else "add_wallet")
    order = request.getfixturevalue("create_on_solana")() if is_solana else create()
    add(name="Scripted", icon=SCRIPTED)
    add(name="Linked", icon="javascript:top.hacked=1")
    page.goto(order["payment_url"])
    picture = panel.get_by_role("button", name="Scripted").locator("img")
    expect(picture).to_have_js_property("complete", True)
    expect(panel.get_by_role("button", name="Linked").locator(".wallet__icon--letter")).to_have_text("L")
    assert page.evaluate("window.hacked") is None
    assert not [url for url in asked if "tracker" in url]


def test_the_wallet_used_last_is_named_where_it_is_gone(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.goto(create()["payment_url"])
    gone = "You used Old Wallet last time, but it wasn’t found in this browser."
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    expect(panel).not_to_contain_text("last time, but it wasn’t found")
    page.evaluate(
        "localStorage['quittance:last-wallet'] = JSON.stringify({ name: 'Old Wallet', family: 'evm' })"
    )
    page.reload()
    expect(panel).to_contain_text(gone)
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    assert_accessible(page)
    # One that could not pay here is not missed.
    page.evaluate(
        "localStorage['quittance:last-wallet'] = JSON.stringify({ name: 'Old Wallet', family: 'solana' })"
    )
    page.reload()
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    expect(panel).not_to_contain_text("last time, but it wasn’t found")


def test_a_network_that_this_page_can_not_pay_on_is_told_with_whom_to_ask(
    page: Page, panel: Locator, create: Create, chain: Chain, merchant: Merchant, add_wallet: AddWallet
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(support_email="help@shop.example")
    add_wallet()
    order = create()

    def rename(route: Any) -> None:
        answer = route.fetch()
        body = answer.text().replace('"chain_type": "evm"', '"chain_type": "cosmos"')
        route.fulfill(response=answer, body=body)

    page.route("**/pay/*", rename)
    page.goto(order["payment_url"])
    expect(panel).to_contain_text(f"This page doesn’t support payments on {chain.name} yet.")
    expect(panel.get_by_role("link", name="help@shop.example")).to_be_visible()
    expect(panel.locator(".wallet")).to_have_count(0)
    assert_accessible(page)
