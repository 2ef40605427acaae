"""The pages in a real browser that runs no scripts, in each state, on a desktop and a phone."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import FailureCode, Payment, PaymentRequest
from tests.browsing import DESKTOP, PHONE
from tests.chain import LocalChain
from tests.conftest import Api
from tests.pictures import picture
from tests.support.payments.world import ON_ITS_WAY, make_request

UNKNOWN = "0x" + "77" * 32
MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
SOLANA_WALLET = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
Create = Callable[..., dict[str, Any]]
PAST = timezone.now() - timedelta(minutes=5)


def _named(look: tuple[dict[str, int], str]) -> str:
    return f"{look[0]['width']}-{look[1]}"


@pytest.fixture
def origin(live_server: LiveServer, settings: Any) -> str:
    """Where the pages are."""
    settings.CHECKOUT_URL = settings.BASE_URL = str(live_server.url)
    return str(live_server.url)


@pytest.fixture
def shop(merchant: Merchant) -> Merchant:
    """Alice's shop, with a support contact."""
    Merchant.objects.filter(pk=merchant.pk).update(
        support_email="help@bakery.example", accent_colour="#0b6e4f"
    )
    return merchant


@pytest.fixture
def create(origin: str, api: Api, order: Create, shop: Merchant) -> Create:  # they are there first
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
def on_solana(origin: str, shop: Merchant) -> PaymentRequest:  # it is there first
    """A request on Solana, of which no node is asked."""
    chain = Chain.objects.create(
        id=1151111081099710, name="Solana", chain_type="solana", rpc_urls=[], native_symbol="SOL"
    )
    usdc = Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=MINT
    )
    return make_request(shop, usdc, "10.5", SOLANA_WALLET, description="Two loaves of rye")


# By day and by night: what is how wide doesn't depend on the colours.
@pytest.fixture(params=[(DESKTOP, "light"), (PHONE, "dark")], ids=_named)
def page(request: pytest.FixtureRequest, browser_without_scripts: Browser) -> Iterator[Page]:
    """A page on a desktop, and one on a phone."""
    viewport, scheme = request.param
    context = browser_without_scripts.new_context(viewport=viewport, color_scheme=scheme)
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


def fits(page: Page) -> bool:
    """Whether nothing reaches beyond the window's width."""
    root = page.locator("html")
    return bool(root.evaluate("(html) => html.scrollWidth <= html.clientWidth"))


def read(page: Page) -> str:
    """Return the text that is to be seen, `noscript` included, which Playwright's own search by text leaves out."""
    return str(page.locator("main").evaluate("(main) => main.innerText"))


def record(order: dict[str, Any], **different: Any) -> Payment:
    """Record a payment of the request, as far as `different` says it has come."""
    request = PaymentRequest.objects.get(pk=order["id"])
    given = {"chain": request.chain, "transaction_hash": UNKNOWN, **different}
    return Payment.objects.create(request=request, **given)


def every_state(create: Create, chain: Chain) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield a request in each state, what its page says first, and what else has to be there."""
    paid = {"status": "completed", "amount_paid": 10_500_000, "completed_at": timezone.now()}
    yield create(description="Two loaves"), "Pay with your wallet", "Send it yourself"
    yield (
        create({"amount_paid": 3_000_000}),
        "Pay with your wallet",
        "3.00 of 10.50 USDC received, 7.50 to go",
    )
    yield create({"expires_at": PAST}), "Pay with your wallet", "The payment deadline has passed."
    yield create({"status": "expired"}), "This payment has expired", "help@bakery.example"
    yield (
        create({"status": "expired", "amount_paid": 3_000_000}),
        "This payment has expired",
        "3.00 of 10.50 USDC arrived",
    )
    yield create({"status": "cancelled"}), "This payment was cancelled", "help@bakery.example"
    seen = create()
    record(seen, confirmations=2, confirmations_required=5, status="processing", **ON_ITS_WAY)
    yield seen, "Payment on its way", "Confirmations 2 of 5"
    crossing = create()
    far = Chain.objects.create(id=777, name="Far Chain", chain_type="evm", rpc_urls=[], native_symbol="FAR")
    bridging = {"type": "swap", "provider": "lifi", "provider_status": "PENDING"}
    record(crossing, chain=far, status="processing", **bridging, **ON_ITS_WAY)
    yield crossing, "Payment on its way", "On its way to Local Chain"
    arrived = create()
    record(
        arrived,
        chain=far,
        type="swap",
        provider="lifi",
        status="processing",
        confirmations=9,
        confirmations_required=1,
        destination_transaction_hash="0x" + "56" * 32,
        **ON_ITS_WAY,
    )
    yield arrived, "Payment on its way", "Confirmations 0 of 1"
    for code, said in (
        (FailureCode.TRANSACTION_REVERTED, "You can pay again."),
        (FailureCode.TRANSACTION_NOT_BOUND, "Please don’t send it again."),
    ):
        failed = create()
        record(failed, status="failed", failure_code=code, failure_message="It did not go.", failed_at=PAST)
        yield failed, "Pay with your wallet", said
    for doubt, said in (
        ({"status": "processing"}, "We can’t find this transaction yet"),
        ({"status": "processing", "seen_at": PAST}, "We are checking this transaction"),
        (
            {"status": "processing", "seen_at": PAST, "likely_failure": FailureCode.WRONG_RECIPIENT},
            "This transaction didn’t pay this request",
        ),
    ):
        doubted = create()
        record(doubted, **doubt)
        yield doubted, "Pay with your wallet", said
        yield doubted, "Pay with your wallet", "Send it yourself"
    done = create(paid)
    record(
        done,
        chain=chain,
        status="completed",
        amount_received=10_500_000,
        bound_by="reference",
        completed_at=PAST,
    )
    yield done, "Payment complete", "Receipt to print or keep"


def test_each_state_says_what_is_and_what_to_do(
    page: Page,
    origin: str,
    create: Create,
    chain: Chain,
    local_chain: LocalChain,
) -> None:
    for order, heading, said in every_state(create, chain):
        page.goto(f"{origin}/pay/{order['shortcode']}?still")
        expect(page.locator("#panel h2")).to_have_text(heading)
        assert said in read(page)
        picture(page, f"without scripts, {heading}, {said}")
        if heading != "Payment on its way":
            expect(page.locator("a[href^='https://shop.example']").first).to_be_visible()
        assert fits(page), heading


def test_sending_by_hand_from_the_warning_to_the_progress(
    page: Page, origin: str, create: Create, local_chain: LocalChain
) -> None:
    order = create()
    page.goto(f"{origin}/pay/{order['shortcode']}")
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


def test_a_solana_wallet_finds_its_code_on_the_page(
    page: Page, origin: str, on_solana: PaymentRequest
) -> None:
    page.goto(f"{origin}/pay/{on_solana.shortcode}")
    expect(page.get_by_role("img", name="QR code that asks a Solana wallet for 10.50 USDC")).to_be_visible()
    link = page.get_by_role("link", name="Open in a Solana wallet").get_attribute("href") or ""
    assert link.startswith(f"solana:{SOLANA_WALLET}?amount=10.50&spl-token={MINT}&reference=")
    code = page.locator(".scan__code svg").bounding_box()
    assert code
    assert code["width"] >= 200
    assert fits(page)
    picture(page, "scanning on Solana, without scripts")
    page.locator("a", has_text="Stop refreshing").click()
    assert "Auto-refresh is off." in read(page)
    page.locator("a", has_text="Already paid").click()
    expect(page.get_by_role("heading", name="Find a payment that you sent")).to_be_visible()
    picture(page, "by hand, finding on Solana")
    assert fits(page)


def test_a_code_is_black_on_white_in_the_dark_too(page: Page, origin: str, on_solana: PaymentRequest) -> None:
    page.goto(f"{origin}/pay/{on_solana.shortcode}")
    code = page.locator(".scan__code svg")
    colours = code.evaluate(
        "(svg) => [...svg.children].map((path) => path.getAttribute('stroke') || path.getAttribute('fill'))"
    )
    assert colours == ["#fff", "#000"]


def test_the_receipt_can_be_printed(
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
    page.get_by_role("link", name="Receipt to print or keep").click()
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
