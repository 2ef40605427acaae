"""One list shows the wallets of EVM and Solana. Nothing that a wallet announces can run as code."""

from typing import Any

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


def test_wallet_of_both_families_is_listed_once(
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
    panel.get_by_role("button", name="Pay from Solana instead").click()
    expect(panel.locator(".token", has_text="SOL").first).to_be_visible()
    expect(panel.get_by_role("button", name="Pay from Ethereum instead")).to_be_visible()
    page.reload()
    # The wallet is connected on its Solana side.
    expect(panel.get_by_role("button", name="Pay from Ethereum instead")).to_be_visible()


def test_wallet_icon_runs_and_loads_nothing(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    add_wallet(name="Scripted", icon=SCRIPTED)
    add_wallet(name="Linked", icon="javascript:top.hacked=1")
    page.goto(create()["payment_url"])
    picture = panel.get_by_role("button", name="Scripted").locator("img")
    expect(picture).to_have_js_property("complete", True)
    expect(panel.get_by_role("button", name="Linked").locator(".wallet__icon--letter")).to_have_text("L")
    assert page.evaluate("window.hacked") is None
    assert not [url for url in requested if "tracker" in url]


def test_wallet_used_last_is_named_if_it_is_missing(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    add_wallet()
    page.add_init_script(
        "localStorage['quittance:last-wallet'] = JSON.stringify({ name: 'Old Wallet', family: 'evm' })"
    )
    page.goto(create()["payment_url"])
    expect(panel).to_contain_text("You used Old Wallet last time, but it wasn’t found in this browser.")
    expect(panel.get_by_role("button", name=NAME)).to_be_visible()
    assert_accessible(page)


def test_unsupported_network_names_the_merchants_contact(
    page: Page, panel: Locator, create: Create, chain: Chain, merchant: Merchant, add_wallet: AddWallet
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(support_email="help@shop.example")
    add_wallet()
    order = create()

    def rename(route: Any) -> None:
        response = route.fetch()
        body = response.text().replace('"chain_type": "evm"', '"chain_type": "cosmos"')
        route.fulfill(response=response, body=body)

    page.route("**/pay/*", rename)
    page.goto(order["payment_url"])
    expect(panel).to_contain_text(f"This page doesn’t support payments on {chain.name} yet.")
    expect(panel.get_by_role("link", name="help@shop.example")).to_be_visible()
    expect(panel.locator(".wallet")).to_have_count(0)
    assert_accessible(page)
