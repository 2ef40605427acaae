"""Payment to the deposit address: a plain transfer on a real chain, without a connected wallet."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Locator, Page, Request, expect

from chains.models import Chain, Token
from chains.switches import Feature
from demo.exchange import withdraw
from merchants.models import Merchant
from merchants.switching import switch_off
from payments.models import DiscoveryCursor, Payment, PaymentRequest
from tests.browser.conftest import TOUCHED, Create
from tests.browsing import DESKTOP, PHONE
from tests.chain import LocalChain
from tests.pictures import picture
from tests.processes import eventually
from tests.support.accessibility.page_rules import assert_accessible
from tests.support.chains.deposits import DepositWorld, new_address
from tests.support.payments.world import Clock, look, look_until_decided
from tests.verifying import discover_due

WAY = "Send from an exchange or another wallet"
ADDRESS, AMOUNT = "#deposit-address", "#deposit-amount"
UNAVAILABLE = "There is no address for this payment at the moment. Please pay another way."
CONFIRMATIONS = 3


@pytest.fixture
def world(local_chain: LocalChain, chain: Chain, merchant: Merchant) -> DepositWorld:
    world = DepositWorld(local_chain)
    world.prepare()
    local_chain.rpc("anvil_mine", "0x60")  # needed: the factory's block must be final
    Chain.objects.filter(pk=chain.pk).update(confirmations=str(CONFIRMATIONS))
    Merchant.objects.filter(pk=merchant.pk).update(
        deposit_addresses=True, support_email="help@bakery.example"
    )
    DiscoveryCursor.objects.create(chain=chain, next_block=int(local_chain.rpc("eth_blockNumber"), 16) + 1)
    return world


@pytest.fixture
def order(world: DepositWorld, order: Create) -> Create:
    """Return a function that makes request bodies, each with a new recipient."""
    return lambda **different: order(recipient_address=new_address(), **different)


@pytest.fixture
def calls(page: Page) -> list[Request]:
    """The page's calls for the deposit address."""
    made: list[Request] = []
    page.on("request", lambda request: request.url.endswith("/deposit-address") and made.append(request))
    return made


def choose(page: Page, order: dict[str, Any]) -> str:
    page.goto(order["payment_url"])
    page.get_by_role("button", name=WAY).click()
    expect(page.locator(ADDRESS)).to_be_visible()
    return page.locator(ADDRESS).inner_text()


def send(chain: LocalChain, address: str, units: int) -> str:
    """Send USDC to the address from an account that the page doesn't know."""
    return chain.transfer(chain.usdc, address, units)


def find(clock: Clock) -> Payment:
    """Discover the transfer and verify it once. The search may pause first, if earlier tests removed blocks."""

    def is_found() -> bool:
        clock.forward(seconds=30)
        return discover_due(now=clock) == 1

    eventually(is_found, "the transfer is found")
    look(clock)
    return Payment.objects.latest("created_at")


def confirm(chain: LocalChain, payment: Payment, clock: Clock) -> None:
    chain.mine(CONFIRMATIONS)
    look_until_decided(payment, clock)


def in_view(page: Page, *parts: Locator) -> None:
    for part in parts:
        expect(part).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("page", [{"viewport": DESKTOP}, TOUCHED], ids=["desktop", "phone"], indirect=True)
def test_plain_transfer_completes_with_no_wallet_connected(
    page: Page,
    panel: Locator,
    create: Create,
    local_chain: LocalChain,
    calls: list[Request],
    troubles: list[str],
) -> None:
    order, clock = create(description="Two loaves of rye"), Clock()
    page.goto(order["payment_url"])
    way = page.get_by_role("button", name=WAY)
    in_view(page, way)
    picture(page, "by address, choosing the way")
    assert not calls
    # One click opens the screen with the address.
    way.click()
    address = page.locator(ADDRESS)
    expect(address).to_be_visible()
    assert address.inner_text() == PaymentRequest.objects.get(pk=order["id"]).deposit_address
    assert len(calls) == 1
    expect(panel).to_contain_text("Send only on Local Chain (chain ID 31337)")
    expect(page.locator(AMOUNT)).to_have_text("10.50")
    in_view(page, panel.get_by_text("Send only on Local Chain"), page.locator(AMOUNT), address)
    expect(page.get_by_role("img", name="QR code of the address")).to_be_visible()
    expect(page.locator(".deposit__time")).to_contain_text("left")
    expect(page.locator("#recipient")).to_be_hidden()
    picture(page, "by address")

    payment_hash = send(local_chain, address.inner_text(), 10_500_000)
    payment = find(clock)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    expect(panel).to_contain_text(f"Confirmations 1 of {CONFIRMATIONS}")
    confirm(local_chain, payment, clock)
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible()
    panel.get_by_text("Transaction details").click()
    expect(panel).to_contain_text(payment_hash)
    assert troubles == []


def test_rest_of_an_underpayment_goes_to_the_same_address(
    page: Page, panel: Locator, create: Create, local_chain: LocalChain, troubles: list[str]
) -> None:
    order, clock = create(), Clock()
    address = choose(page, order)
    send(local_chain, address, 9_000_000)
    first = find(clock)
    expect(panel).to_contain_text("1.50 USDC is still missing. Send it to the same address.")
    expect(panel).to_contain_text(f"9.00 USDC Confirmations 1 of {CONFIRMATIONS}")
    expect(page.locator(AMOUNT)).to_have_text("1.50")
    expect(page.locator(ADDRESS)).to_have_text(address)
    picture(page, "by address, a part is arriving")
    confirm(local_chain, first, clock)
    expect(panel).to_contain_text("9.00 of 10.50 USDC received, 1.50 to go")
    expect(page.locator(ADDRESS)).to_have_text(address)
    # Phones reload background tabs. The page still shows the address after a reload.
    page.reload()
    expect(page.locator(ADDRESS)).to_have_text(address)
    assert_accessible(page)
    picture(page, "by address, underpaid")
    send(local_chain, address, 1_500_000)
    second = find(clock)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    confirm(local_chain, second, clock)
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible()
    assert troubles == []


def test_way_back_leads_to_the_wallets(
    page: Page, panel: Locator, create: Create, calls: list[Request]
) -> None:
    order = create()
    address = choose(page, order)
    assert_accessible(page)
    panel.get_by_role("button", name="Pay another way").click()
    expect(page.get_by_role("button", name=WAY)).to_be_visible()
    page.get_by_role("button", name=WAY).click()
    expect(page.locator(ADDRESS)).to_have_text(address)
    page.go_back()
    expect(page.get_by_role("button", name=WAY)).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name=WAY)).to_be_visible()
    assert len(calls) == 1


def test_unavailable_address_leads_back_to_the_other_ways(page: Page, panel: Locator, create: Create) -> None:
    order = create()
    page.goto(order["payment_url"])
    Merchant.objects.update(deposit_addresses=False)
    page.get_by_role("button", name=WAY).click()
    expect(panel.get_by_test_id("notice")).to_have_text(UNAVAILABLE)
    expect(page.get_by_role("button", name=WAY)).to_be_hidden()
    page.get_by_role("link", name="Send it yourself").click()
    expect(page.get_by_text("Manual transfers are not credited immediately.")).to_be_visible()


def test_address_leaves_an_open_page_once_it_is_switched_off(
    page: Page, panel: Locator, create: Create
) -> None:
    order = create()
    details = f"**/api/public/payment-requests/{order['id']}"
    with page.expect_response(details):
        choose(page, order)
    switch_off(Feature.DEPOSIT_ADDRESSES, reason="test", request=None)
    expect(panel.get_by_test_id("notice")).to_have_text(UNAVAILABLE)
    expect(page.locator(ADDRESS)).to_have_count(0)


def test_extra_money_is_shown_with_the_way_to_get_it_back(
    page: Page, panel: Locator, create: Create, local_chain: LocalChain
) -> None:
    clock = Clock()
    send(local_chain, choose(page, create()), 12_500_000)
    confirm(local_chain, find(clock), clock)
    expect(panel.get_by_role("heading", name="Paid more than requested")).to_be_visible()
    expect(panel).to_contain_text("2.00 USDC more than requested")


def test_native_coin_by_internal_call_completes_without_a_hash(
    page: Page, panel: Locator, create: Create, ether: Token, local_chain: LocalChain
) -> None:
    clock = Clock()
    order = create(token_id=ether.pk, amount="0.25")
    address = choose(page, order)
    expect(page.locator(AMOUNT)).to_have_text("0.25")
    for amount in ("0.1", "0.15"):
        withdraw(local_chain.url, address, amount, "ETH")
        payment = find(clock)
        if amount == "0.1":
            expect(panel).to_contain_text("0.15 ETH is still missing. Send it to the same address.")
        confirm(local_chain, payment, clock)
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible()
    panel.get_by_text("Transaction details").click()
    expect(panel).to_contain_text("Received at the payment’s address · 0.15 ETH")
    assert_accessible(page)
    page.goto(f"{order['payment_url']}/receipt")
    expect(page.get_by_text(address, exact=True)).to_have_count(2)
    expect(page.locator("main")).not_to_contain_text("None")


def test_late_transfer_is_shown_on_an_expired_page(
    page: Page, panel: Locator, create: Create, local_chain: LocalChain
) -> None:
    order, clock = create(), Clock()
    address = choose(page, order)
    past = timezone.now() - timedelta(seconds=1)
    PaymentRequest.objects.filter(pk=order["id"]).update(status="expired", expired_at=past, expires_at=past)
    expect(panel.get_by_role("heading", name="This payment has expired")).to_be_visible()
    expect(panel).to_contain_text("Have you sent it already?")
    assert_accessible(page)
    send(local_chain, address, 10_500_000)
    confirm(local_chain, find(clock), clock)
    page.reload()
    expect(panel.get_by_role("heading", name="Payment complete")).to_be_visible()
    expect(panel).to_contain_text("after the deadline")


@pytest.mark.parametrize("language", ["ar", "de"])
def test_address_screen_is_accessible_in_other_languages(page: Page, create: Create, language: str) -> None:
    order = create()
    page.goto(f"{order['payment_url']}?lang={language}")
    page.locator("#by-address button").click()
    expect(page.locator(ADDRESS)).to_be_visible()
    assert_accessible(page)
    picture(page, f"by address, in {language}")


@pytest.fixture
def bare(browser_without_scripts: Browser) -> Iterator[Page]:
    """A page on a phone whose browser runs no scripts."""
    context = browser_without_scripts.new_context(viewport=PHONE)
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


def test_transfer_without_scripts_completes_in_two_parts(
    bare: Page, create: Create, local_chain: LocalChain
) -> None:
    order, clock = create(), Clock()
    bare.goto(order["payment_url"])
    picture(bare, "by address, choosing the way without scripts")
    bare.get_by_role("button", name=WAY).click()
    expect(bare.get_by_role("img", name="QR code of the address")).to_be_visible()
    assert bare.url.endswith("?by=address")
    address = bare.locator(ADDRESS).inner_text()
    in_view(bare, bare.get_by_text("Send only on Local Chain"), bare.locator(ADDRESS))
    picture(bare, "by address, without scripts")
    refresh = bare.locator("meta[http-equiv=refresh]").get_attribute("content") or ""
    assert refresh.endswith("?by=address")
    send(local_chain, address, 9_000_000)
    first = find(clock)
    bare.reload()
    expect(bare.get_by_role("heading", name="Payment on its way")).to_be_visible()
    confirm(local_chain, first, clock)
    bare.reload()
    expect(bare.locator("#panel")).to_contain_text("1.50 USDC is still missing. Send it to the same address.")
    expect(bare.locator(ADDRESS)).to_have_text(address)
    picture(bare, "by address, underpaid without scripts")
    send(local_chain, address, 1_500_000)
    confirm(local_chain, find(clock), clock)
    bare.reload()
    expect(bare.get_by_role("heading", name="Payment complete")).to_be_visible()


def test_unavailable_address_without_scripts_offers_other_ways(bare: Page, create: Create) -> None:
    order = create()
    bare.goto(order["payment_url"])
    Merchant.objects.update(deposit_addresses=False)
    bare.get_by_role("button", name=WAY).click()
    expect(bare.get_by_role("alert")).to_have_text(UNAVAILABLE)
    expect(bare.get_by_role("link", name="Send it yourself")).to_be_visible()
