"""Paying by hand, the QR code and the receipt on a phone whose browser runs no scripts."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.browsing import PHONE
from tests.chain import LocalChain
from tests.conftest import Api
from tests.pictures import picture
from tests.support.payments.rows import new_payment
from tests.support.payments.world import make_request

UNKNOWN = "0x" + "77" * 32
MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
SOLANA_WALLET = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
Create = Callable[..., dict[str, Any]]
PAST = timezone.now() - timedelta(minutes=5)


@pytest.fixture
def origin(live_server: LiveServer, settings: Any) -> str:
    settings.CHECKOUT_URL = settings.BASE_URL = str(live_server.url)
    return str(live_server.url)


@pytest.fixture
def shop(merchant: Merchant) -> Merchant:
    """A shop with a support contact."""
    Merchant.objects.filter(pk=merchant.pk).update(
        support_email="help@bakery.example", accent_colour="#0b6e4f"
    )
    return merchant


@pytest.fixture
def create(origin: str, api: Api, order: Create, shop: Merchant) -> Create:
    """Return a maker of payment requests."""

    def create(change: dict[str, Any] | None = None, **different: Any) -> dict[str, Any]:
        body = order(
            cancel_url="https://shop.example/cart", redirect_url="https://shop.example/thanks", **different
        )
        created: dict[str, Any] = api.post("/api/payment-requests", body).json()
        PaymentRequest.objects.filter(pk=created["id"]).update(**(change or {}))
        return created

    return create


@pytest.fixture
def on_solana(origin: str, shop: Merchant) -> PaymentRequest:
    """A request on Solana, whose chain has no node."""
    chain = Chain.objects.create(
        id=1151111081099710, name="Solana", chain_type="solana", rpc_urls=[], native_symbol="SOL"
    )
    usdc = Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=MINT
    )
    return make_request(shop, usdc, "10.5", SOLANA_WALLET, description="Two loaves of rye")


@pytest.fixture
def page(browser_without_scripts: Browser) -> Iterator[Page]:
    """A page in a phone's window, in dark colours."""
    context = browser_without_scripts.new_context(viewport=PHONE, color_scheme="dark")
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


def fits(page: Page) -> bool:
    root = page.locator("html")
    return bool(root.evaluate("(html) => html.scrollWidth <= html.clientWidth"))


def read(page: Page) -> str:
    """Return the visible text, including `noscript`, which Playwright's own text search skips."""
    return str(page.locator("main").evaluate("(main) => main.innerText"))


def record(order: dict[str, Any], **different: Any) -> Payment:
    request = PaymentRequest.objects.get(pk=order["id"])
    given = {"chain": request.chain, "transaction_hash": UNKNOWN, **different}
    return new_payment(request=request, **given)


def test_sending_by_hand_leads_from_warning_to_progress(
    page: Page, origin: str, create: Create, local_chain: LocalChain
) -> None:
    order = create()
    page.goto(f"{origin}/pay/{order['shortcode']}")
    expect(page.locator(".skeleton")).to_be_hidden()
    # The page has no countdown without scripts, and no empty space for one.
    expect(page.locator("#countdown")).to_be_hidden()
    page.get_by_role("link", name="Send it yourself").click()
    expect(page.get_by_text("Manual transfers are not credited immediately.")).to_be_visible()
    picture(page, "by hand, before the address")
    address = page.locator("#recipient")
    expect(address).to_be_hidden()
    page.get_by_text("I have read this").click()
    expect(address).to_have_text(local_chain.recipient)
    expect(page.locator("#exact-amount")).to_have_text("10.50")
    code = page.locator(".scan__code svg").bounding_box()
    assert code
    assert code["width"] >= 200
    expect(page.locator(".copy").first).to_be_hidden()
    picture(page, "by hand, without scripts")
    assert fits(page)

    field = page.get_by_label("Transaction hash")
    field.fill("0x12")
    page.get_by_role("button", name="Find my payment").click()
    expect(page.get_by_role("alert")).to_contain_text("0x and 64")
    expect(field).to_have_value("0x12")
    expect(field).to_have_attribute("aria-invalid", "true")
    picture(page, "by hand, a refused hash")
    assert fits(page)
    field.fill(UNKNOWN)
    page.get_by_role("button", name="Find my payment").click()
    expect(page.get_by_role("heading", name="Pay with your wallet")).to_be_visible()
    assert "0x77777777…77777777" in read(page)
    assert Payment.objects.get().transaction_hash == UNKNOWN
    Payment.objects.update(status="processing")
    page.reload()
    assert "We can’t find this transaction yet" in read(page)
    picture(page, "without scripts, a hash that no node knows")
    assert fits(page)
    page.get_by_role("link", name="Send it yourself").click()
    expect(page.locator(".payment-warning")).to_contain_text("We can’t find this transaction yet")
    picture(page, "by hand, beside a hash that no node knows")
    page.get_by_text("I have read this").click()
    expect(address).to_have_text(local_chain.recipient)
    assert fits(page)


def test_solana_code_can_be_scanned_without_scripts(
    page: Page, origin: str, on_solana: PaymentRequest
) -> None:
    page.goto(f"{origin}/pay/{on_solana.shortcode}")
    expect(page.get_by_role("img", name="QR code that asks a Solana wallet for 10.50 USDC")).to_be_visible()
    link = page.get_by_role("link", name="Open in a Solana wallet").get_attribute("href") or ""
    assert link.startswith(f"solana:{SOLANA_WALLET}?amount=10.50&spl-token={MINT}&reference=")
    code = page.locator(".scan__code svg").bounding_box()
    assert code
    assert code["width"] >= 200
    # The code is also readable in dark colours.
    ink = "(svg) => [...svg.children].map((path) => path.getAttribute('stroke') || path.getAttribute('fill'))"
    assert page.locator(".scan__code svg").evaluate(ink) == ["#fff", "#000"]
    assert fits(page)
    picture(page, "scanning on Solana, without scripts")
    page.locator("a", has_text="Stop refreshing").click()
    assert "Auto-refresh is off." in read(page)
    page.locator("a", has_text="Already paid").click()
    expect(page.get_by_role("heading", name="Find a payment that you sent")).to_be_visible()
    picture(page, "by hand, finding on Solana")
    assert fits(page)


def test_receipt_has_the_proof_and_can_be_printed(
    page: Page, origin: str, create: Create, chain: Chain, local_chain: LocalChain
) -> None:
    paid = {"status": "completed", "amount_paid": 10_500_000, "completed_at": timezone.now()}
    order = create(paid, description="Two loaves")
    payment = record(
        order,
        chain=chain,
        status="completed",
        amount_received=10_500_000,
        bound_by="reference",
        completed_at=PAST,
    )
    page.goto(f"{origin}/pay/{order['shortcode']}")
    page.get_by_role("link", name="View receipt").click()
    expect(page.get_by_role("heading", name="Receipt", exact=True)).to_be_visible()
    text = page.locator("main").inner_text()
    reference = "0x" + bytes(PaymentRequest.objects.get(pk=order["id"]).reference).hex()
    for shown in (
        UNKNOWN,
        local_chain.recipient,
        local_chain.usdc,
        order["id"],
        payment.id,
        reference,
        "UTC",
        "31337",
    ):
        assert shown in text
    assert "with a value of 10500000 base units, which is 10.50 USDC" in text
    assert fits(page)
    picture(page, "receipt, without scripts")
    page.emulate_media(media="print")
    picture(page, "receipt, printed")
    expect(page.get_by_text("To keep this receipt")).to_be_hidden()
    expect(page.get_by_role("link", name="Return to")).to_be_hidden()
    expect(page.get_by_text(UNKNOWN).first).to_be_visible()
