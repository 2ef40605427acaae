"""The receipt: a document of one request, in the customer's language, which prints on a page and can be checked."""

import os
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest, Route
from tests.conftest import Api
from tests.integration.checkout.test_page import Checkout
from tests.pictures import picture

# The browser's driver keeps an event loop in this thread, beside which Django would refuse to ask the database.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

HASH = "0x" + "77" * 32
WHEN = datetime(2026, 11, 3, 5, 4, 9, tzinfo=UTC)
EXPLORER = "https://explorer.example"
Paid = Callable[..., str]


@pytest.fixture
def paid(checkout: Checkout, chain: Chain, merchant: Merchant) -> Paid:
    """Return a maker of completed requests, which gives the path of the receipt."""

    def paid(payments: int = 1, **different: Any) -> str:
        Chain.objects.filter(pk=chain.pk).update(explorer_url=EXPLORER)
        Merchant.objects.filter(pk=merchant.pk).update(support_email="help@bakery.example")
        order = checkout(
            description="Two loaves of rye, sliced, to be collected on Saturday before noon",
            redirect_url="https://shop.example.com/thanks",
        )
        PaymentRequest.objects.filter(pk=order["id"]).update(
            status="completed", amount_paid=10_500_000, completed_at=WHEN
        )
        for number in range(payments):
            given: dict[str, Any] = {
                "transaction_hash": f"0x{number + 0x77:02x}" + "77" * 31,
                "status": "completed",
                "amount_received": 10_500_000 // payments,
                "bound_by": "reference",
                "completed_at": WHEN,
            }
            Payment.objects.create(
                request=PaymentRequest.objects.get(pk=order["id"]), **{"chain": chain, **given, **different}
            )
        return f"/pay/{order['shortcode']}/receipt"

    return paid


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    context = browser.new_context(base_url=str(live_server.url))
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(
    ("tag", "told"),
    [
        ("en", "Nov 3, 2026, 05:04:09 UTC"),
        ("de", "3. Nov. 2026, 05:04:09 UTC"),
        ("ja", "2026年11月3日 5:04:09 UTC"),
        ("ar", "3 نوفمبر 2026، 05:04:09 UTC"),
    ],
)
def test_times_are_told_as_the_language_does_and_in_utc(public: Api, paid: Paid, tag: str, told: str) -> None:
    text = public.get(f"{paid()}?lang={tag}").content.decode()
    assert f'<time datetime="2026-11-03T05:04:09Z"><bdi>{told}</bdi></time>' in text
    assert text.count(told) == 2  # completed, verified


@pytest.mark.parametrize("tag", ["de", "fr", "ar", "ja"])
def test_amounts_are_the_same_in_every_language(public: Api, paid: Paid, tag: str) -> None:
    text = public.get(f"{paid()}?lang={tag}").content.decode()
    assert '<bdi dir="ltr">10.50 USDC</bdi>' in text
    assert "10500000" in text
    assert "10,50" not in text


def test_it_can_be_read_in_another_language_and_leads_back_in_it(public: Api, paid: Paid) -> None:
    path = paid()
    text = public.get(f"{path}?lang=tr").content.decode()
    assert 'hreflang="ko"' in text
    assert f'href="{path.removesuffix("/receipt")}?lang=tr"' in text


def test_before_there_is_one_the_payment_is_shown_in_the_same_language(
    public: Api, checkout: Checkout
) -> None:
    path = f"/pay/{checkout()['shortcode']}"
    assert public.get(f"{path}/receipt?lang=pt")["Location"] == f"{path}?lang=pt-BR"
    assert public.get(f"{path}/receipt?lang=//evil.example")["Location"] == path


def test_the_explorers_page_is_written_out_and_in_a_code(public: Api, paid: Paid) -> None:
    text = public.get(paid()).content.decode()
    assert f'rel="noopener noreferrer"><code class="address">{EXPLORER}/tx/{HASH}</code></a>' in text
    assert 'aria-label="QR code of the transaction in the block explorer"' in text


def test_of_a_delivery_it_is_the_explorer_of_the_chain_where_the_money_arrived(
    public: Api, paid: Paid
) -> None:
    far = Chain.objects.create(
        id=777, name="Far", chain_type="evm", rpc_urls=[], explorer_url="https://far.example"
    )
    path = paid(chain=far, type="swap", provider="lifi", destination_transaction_hash="0x" + "56" * 32)
    text = public.get(path).content.decode()
    assert f"{EXPLORER}/tx/0x{'56' * 32}</code></a>" in text
    assert "far.example" not in text


def test_a_simulated_payment_names_no_explorer_and_no_way_to_check(public: Api, paid: Paid) -> None:
    text = public.get(paid(is_simulated=True)).content.decode()
    assert "No money moved" in text
    assert "explorer.example" not in text
    assert "How to verify this payment" not in text


def test_it_says_what_a_swap_was_paid_with_its_quoted_fees_and_who_paid(
    public: Api, paid: Paid, usdc: Token, chain: Chain, merchant: Merchant
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(show_order_number=True)
    sender = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
    path = paid(type="swap", provider="lifi", from_address=sender, token=usdc, amount=10_800_000)
    payment = Payment.objects.get()
    fee = {"name": "Swap fee", "symbol": "USDC", "decimals": 6, "amount": "120000"}
    gas = {"symbol": "ETH", "decimals": 18, "amount": "30000000000000"}
    payment.route = Route.objects.create(
        request=payment.request,
        type="swap",
        wallet_address=sender,
        chain=chain,
        token=usdc,
        amount=10_800_000,
        expires_at=WHEN,
        details={"fees": [fee], "gas": [gas]},
    )
    payment.save()
    text = public.get(path).content.decode()
    for words in ("10.80 USDC", "0.12 USDC", "(Swap fee)", "about 0.00003 ETH", sender, "10.50 USDC"):
        assert words in text
    Payment.objects.update(network_fee=29_000_000_000_000)
    text = public.get(path).content.decode()
    assert '<bdi dir="ltr">0.000029 ETH</bdi>' in text
    assert "0.00003 ETH" not in text


def test_it_says_what_a_direct_payment_cost_the_network(public: Api, paid: Paid) -> None:
    text = public.get(paid(network_fee=92_000_000_000_147)).content.decode()
    assert '<dt>Network fee</dt><dd><bdi dir="ltr">0.000092000000000147 ETH</bdi></dd>' in text


def test_an_unknown_network_fee_is_left_out(public: Api, paid: Paid) -> None:
    assert "Network fee" not in public.get(paid()).content.decode()


def test_of_several_payers_none_is_named(public: Api, paid: Paid) -> None:
    path = paid(payments=2)
    for number, payment in enumerate(Payment.objects.all()):
        Payment.objects.filter(pk=payment.pk).update(from_address=f"0x{number:040x}")
    text = public.get(path).content.decode()
    assert f"0x{0:040x}" not in text
    assert f"0x{1:040x}" not in text


def test_no_corner_of_the_printed_sheet_is_round(page: Page, paid: Paid) -> None:
    page.goto(paid(payments=3))
    page.emulate_media(media="print")
    styles = page.evaluate(
        "(({ borderRadius, overflow }) => [borderRadius, overflow])(getComputedStyle(document.querySelector('.sheet')))"
    )
    assert styles == ["0px", "visible"]


@pytest.mark.parametrize("paper", ["A4", "Letter"])
@pytest.mark.parametrize("tag", ["en", "de", "ru", "ar"])
def test_one_payment_prints_on_one_page(page: Page, paid: Paid, paper: str, tag: str) -> None:
    page.goto(f"{paid()}?lang={tag}")
    picture(page, f"receipt {tag}")
    assert _pages(page.pdf(format=paper)) == 1


def test_what_is_printed_is_the_document_and_no_button(page: Page, paid: Paid) -> None:
    page.goto(paid())
    page.emulate_media(media="print")
    expect(page.get_by_text(f"{EXPLORER}/tx/{HASH}")).to_be_visible()
    expect(page.get_by_text("How to verify this payment:")).to_be_visible()
    expect(page.get_by_text("help@bakery.example").first).to_be_visible()
    for name in ("To keep this receipt", "Return to", "Back to the payment", "English", "Powered by"):
        expect(page.get_by_text(name).first).to_be_hidden()


def test_no_row_is_cut_between_two_pages(page: Page, paid: Paid) -> None:
    page.goto(paid(payments=3))
    page.emulate_media(media="print")
    breaks = page.evaluate(
        "[...document.querySelectorAll('.fact, .verification')].map((row) => getComputedStyle(row).breakInside)"
    )
    assert set(breaks) == {"avoid"}
    assert _pages(page.pdf(format="A4")) <= 3


def _pages(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b", pdf))
