"""A page's language comes from its URL, else from the browser, else from the merchant."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from merchants.languages import LANGUAGES, closest_language
from merchants.models import Merchant
from payments.models import FailureCode, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.rows import new_payment

Checkout = Callable[..., dict[str, Any]]
PAY = {"en": "Pay with your wallet", "de": "Mit Ihrer Wallet zahlen", "fr": "Payer avec votre portefeuille"}


def spoken(public: Api, order: dict[str, Any], query: str = "", **headers: str) -> str:
    """Return the page's declared language."""
    text = public.get(f"/pay/{order['shortcode']}{query}", **headers).content.decode()
    (tag,) = re.findall(r'<html lang="([\w-]+)"', text)
    return str(tag)


def test_browser_language_is_chosen(public: Api, checkout: Checkout) -> None:
    order = checkout()
    for header, tag in (
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("en;q=0.5,fr;q=0.9", "fr"),
        ("sv,fi;q=0.9,it;q=0.3", "it"),
        ("sv", "en"),
        ("pt", "pt-BR"),
        ("pt-PT,en;q=0.5", "pt-BR"),
        ("zh-CN", "zh-Hans"),
        ("zh-Hans-SG", "zh-Hans"),
        ("zh-TW,ja;q=0.5", "ja"),
        ("AR-eg", "ar"),
        ("fr;q=0,de;q=0.1", "de"),
        ("*", "en"),
        ("", "en"),
        ("de;;;q=x,<script>", "en"),
    ):
        assert spoken(public, order, **{"Accept-Language": header}) == tag, header


def test_unknown_language_falls_back_to_the_merchants(
    public: Api, checkout: Checkout, merchant: Merchant
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(default_language="tr")
    order = checkout()
    assert spoken(public, order) == "tr"
    assert spoken(public, order, **{"Accept-Language": "sv, fi;q=0.5"}) == "tr"
    assert spoken(public, order, **{"Accept-Language": "sv, en;q=0.1"}) == "en"


def test_unknown_merchant_language_falls_back_to_english(
    public: Api, checkout: Checkout, merchant: Merchant
) -> None:
    Merchant.objects.filter(pk=merchant.pk).update(default_language="nl")
    assert spoken(public, checkout()) == "en"


def test_the_address_is_stronger_than_the_browser(public: Api, checkout: Checkout) -> None:
    order = checkout()
    assert spoken(public, order, "?lang=ja", **{"Accept-Language": "de"}) == "ja"
    assert spoken(public, order, "?lang=tlh", **{"Accept-Language": "de"}) == "de"
    assert spoken(public, order, "?lang=%3Cscript%3E&lang=", **{"Accept-Language": "de"}) == "de"
    assert spoken(public, order, f"?lang={'x-' * 2000}x", **{"Accept-Language": "de"}) == "de"


def test_language_links_keep_the_rest_of_the_address(public: Api, checkout: Checkout) -> None:
    order = checkout()
    answer = public.get(f"/pay/{order['shortcode']}?still=", **{"Accept-Language": "de"})
    text = answer.content.decode()
    links = dict(re.findall(r'<a href="(\?[^"]*)" lang="([\w-]+)"', text))
    assert sorted(links.values()) == sorted(LANGUAGES)
    for href, tag in links.items():
        assert "still=" in href
        assert spoken(public, order, href.replace("&amp;", "&")) == tag
    assert "Set-Cookie" not in answer.headers
    assert re.findall(r'lang="de" hreflang="de" aria-current="true"', text)


def test_arabic_runs_from_right_to_left(public: Api, checkout: Checkout) -> None:
    text = public.get(f"/pay/{checkout()['shortcode']}?lang=ar").content.decode()
    assert '<html lang="ar" dir="rtl">' in text
    assert 'dir="ltr" translate="no"><span id="amount">10.50</span>' in text


def test_amounts_and_addresses_are_not_translated(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    order = checkout()
    PaymentRequest.objects.filter(pk=order["id"]).update(amount_paid=3_000_000)
    text = public.get(f"/pay/{order['shortcode']}?lang=ar").content.decode()
    for shown in ("10.50 USDC", "7.50", local_chain.recipient):
        assert shown in text
        assert re.search(f'translate="no">[\u2068]?{re.escape(shown)}', text), shown
    assert not re.search("[٠-٩۰-۹]", text)


@pytest.mark.parametrize("tag", ["en", "de"])
def test_failure_is_shown_in_the_language_of_the_page(public: Api, checkout: Checkout, tag: str) -> None:
    order = checkout()
    request = PaymentRequest.objects.get(pk=order["id"])
    new_payment(
        request=request,
        chain=request.chain,
        transaction_hash="0x" + "12" * 32,
        status="failed",
        failure_code=FailureCode.TRANSACTION_REVERTED,
        failure_message="A sentence of the server's.",
    )
    text = public.get(f"/pay/{order['shortcode']}?lang={tag}").content.decode()
    assert ("A sentence of the server&#x27;s." in text) == (tag == "en")


def test_other_pages_follow_the_browser(public: Api, db: None) -> None:
    asked = {"Accept-Language": "de"}
    assert "Hier gibt es keine Zahlung" in public.get("/pay/NOSUCHCODE", **asked).content.decode()
    assert "anmelden" in public.get("/", **asked).content.decode()


def test_the_api_stays_english(public: Api, checkout: Checkout) -> None:
    answer = public.get(
        f"/api/public/payment-requests/{checkout()['id']}/nothing", **{"Accept-Language": "de"}
    )
    assert answer.status_code == 404
    assert answer.json()["error"]["message"].isascii()


@pytest.mark.parametrize(
    ("tag", "known"),
    [
        ("EN-gb", "en"),
        ("zh", "zh-Hans"),
        ("zh-Hant", None),
        ("zh-HK", None),
        ("nl", None),
        ("", None),
        ("e", None),
    ],
)
def test_a_tag_is_known_by_what_its_readers_read(tag: str, known: str | None) -> None:
    assert closest_language(tag) == known


def test_language_switch_after_a_rejected_hash_shows_the_form(public: Api, checkout: Checkout) -> None:
    sent = f"/pay/{checkout()['shortcode']}/by-hand/sent?lang=de"
    answer = public.call("POST", sent, **{"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status_code == 400
    assert "Das ist kein Transaktions-Hash." in answer.content.decode()
    back = public.get(sent.replace("=de", "=fr"))
    assert (back.status_code, back["Location"]) == (302, sent.replace("/sent?lang=de", "?lang=fr"))
    assert not Payment.objects.exists()
