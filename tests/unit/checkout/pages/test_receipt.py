"""The receipt's text: times, amounts, fees, payers and the explorer, in the customer's language."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest, Route
from tests.conftest import Api
from tests.support.checkout.fixtures import EXPLORER, HASH, WHEN

Receipt = Callable[..., str]


@pytest.mark.parametrize(
    ("tag", "shown"),
    [
        ("en", "Nov 3, 2026, 05:04:09 UTC"),
        ("ar", "3 نوفمبر 2026، 05:04:09 UTC"),
    ],
)
def test_receipt_has_local_times_in_utc_and_plain_amounts(
    public: Api, receipt: Receipt, tag: str, shown: str
) -> None:
    text = public.get(f"{receipt()}?lang={tag}").content.decode()
    assert f'<time datetime="2026-11-03T05:04:09Z"><bdi>{shown}</bdi></time>' in text
    assert text.count(shown) == 2  # completed, verified
    assert ('<html lang="ar" dir="rtl">' in text) == (tag == "ar")
    assert set(re.findall(r"(.{14})10\.50 USDC</", text)) == {'translate="no">'[-14:]}
    assert "10,50" not in text


def test_receipt_links_keep_its_language(public: Api, receipt: Receipt) -> None:
    path = receipt()
    text = public.get(f"{path}?lang=tr").content.decode()
    assert 'hreflang="ko"' in text
    assert f'href="{path.removesuffix("/receipt")}?lang=tr"' in text


def test_receipt_of_an_open_request_redirects_to_its_page(
    public: Api, checkout: Callable[..., dict[str, Any]]
) -> None:
    path = f"/pay/{checkout()['shortcode']}"
    assert public.get(f"{path}/receipt?lang=pt")["Location"] == f"{path}?lang=pt-BR"
    assert public.get(f"{path}/receipt?lang=//evil.example")["Location"] == path


def test_explorer_address_is_printed_with_a_qr_code(public: Api, receipt: Receipt) -> None:
    text = public.get(receipt()).content.decode()
    assert (
        f'rel="noopener noreferrer"><code class="address" translate="no">{EXPLORER}/tx/{HASH}</code></a>'
        in text
    )
    assert 'aria-label="QR code of the transaction in the block explorer"' in text


def test_delivery_links_to_destination_explorer(public: Api, receipt: Receipt) -> None:
    far = Chain.objects.create(
        id=777, name="Far", chain_type="evm", rpc_urls=[], explorer_url="https://far.example"
    )
    path = receipt(chain=far, type="swap", provider="lifi", delivery_hash="0x" + "56" * 32)
    text = public.get(path).content.decode()
    assert f"{EXPLORER}/tx/0x{'56' * 32}</code></a>" in text
    assert "far.example" not in text


def test_simulated_payment_has_no_explorer_link(public: Api, receipt: Receipt) -> None:
    text = public.get(receipt(is_simulated=True)).content.decode()
    assert "No money moved" in text
    assert "explorer.example" not in text
    assert "How to verify this payment" not in text


def test_receipt_of_a_swap_shows_its_fees_and_payer(
    public: Api, receipt: Receipt, usdc: Token, chain: Chain, merchant: Merchant
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(show_order_number=True)
    sender = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
    path = receipt(type="swap", provider="lifi", from_address=sender, token=usdc, amount=10_800_000)
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
    assert '<bdi dir="ltr" translate="no">0.000029 ETH</bdi>' in text
    assert "0.00003 ETH" not in text


def test_receipt_shows_the_network_fee(public: Api, receipt: Receipt) -> None:
    text = public.get(receipt(network_fee=92_000_000_000_147)).content.decode()
    assert '<dt>Network fee</dt><dd><bdi dir="ltr" translate="no">0.000092 ETH</bdi></dd>' in text
    assert (
        '<dt>Exact amount</dt><dd><bdi dir="ltr" translate="no">0.000092000000000147 ETH</bdi></dd>' in text
    )


def test_receipt_shows_the_price_with_its_rate(public: Api, receipt: Receipt) -> None:
    path = receipt()
    rate = {"value": "0.911402551973", "currency": "EUR", "token": "USDC", "sources": [], "observed_at": ""}
    PaymentRequest.objects.update(price={"currency": "EUR", "amount": "9.57"}, rate=rate)
    text = public.get(path).content.decode()
    for words in (">€9.57<", ">1 USDC = €0.9114<", ">1 USDC = 0.911402551973 EUR<"):
        assert words in text
    assert ">9,57\xa0€<" in public.get(f"{path}?lang=de").content.decode()


def test_amounts_have_the_separator_of_the_language(public: Api, receipt: Receipt) -> None:
    text = public.get(f"{receipt()}?lang=de").content.decode()
    assert ">10,50 USDC<" in text
    assert "10.50" not in text


def test_surplus_of_a_swap_is_extra_and_not_in_the_heading(public: Api, receipt: Receipt) -> None:
    path = receipt(type="swap", provider="lifi", amount_received=10_552_764)
    PaymentRequest.objects.update(amount_paid=10_552_764)
    text = public.get(path).content.decode()
    assert '<p class="receipt__total"><bdi dir="ltr" translate="no">10.50 USDC</bdi></p>' in text
    assert (
        '<dt>Extra from the conversion</dt><dd><bdi dir="ltr" translate="no">0.052764 USDC</bdi></dd>' in text
    )
    assert "Overpaid" not in text


def test_unknown_network_fee_is_omitted(public: Api, receipt: Receipt) -> None:
    assert "Network fee" not in public.get(receipt()).content.decode()


def test_receipt_of_several_payers_names_none(public: Api, receipt: Receipt) -> None:
    path = receipt(payments=2)
    for number, payment in enumerate(Payment.objects.all()):
        Payment.objects.filter(pk=payment.pk).update(from_address=f"0x{number:040x}")
    text = public.get(path).content.decode()
    assert f"0x{0:040x}" not in text
    assert f"0x{1:040x}" not in text


def test_native_coin_receipt_without_hash_names_no_transaction(public: Api, receipt: Receipt) -> None:
    path = receipt(transaction_hash=None, bound_by="address", deposit_sequence=1)
    text = public.get(path).content.decode()
    assert "10.50 USDC" in text
    assert "Transaction on" not in text
    assert "None" not in text
    page = public.get(path.removesuffix("/receipt")).content.decode()
    assert '<code class="address" translate="no">None' not in page
