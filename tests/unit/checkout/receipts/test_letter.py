"""The text of an e-mailed receipt: the payment and one link, but no link of the merchant's."""

import re
from collections.abc import Callable

import pytest

from checkout.languages import language
from checkout.receipts.letter import letter, without_links
from merchants.languages import LANGUAGES
from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.support.checkout.fixtures import HASH


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Two loaves of rye, 1.5 kg. Thank you!", "Two loaves of rye, 1.5 kg. Thank you!"),
        ("Opened 9:30", "Opened 9:30"),
        ("see https://evil.example/win", "see https: //evil. example/win"),
        ("evil.example", "evil. example"),
        ("www.evil.co.uk", "www. evil. co. uk"),
        ("me@evil.example", "me@ evil. example"),
        ("mailto:me@evil.example", "mailto: me@ evil. example"),
        ("evil\u3002example", "evil\u3002 example"),
        ("1.evil2.net", "1. evil2. net"),
        ("one\r\ntwo\tthree", "one two three"),
    ],
)
def test_merchants_text_becomes_one_line_without_links(text: str, shown: str) -> None:
    assert without_links(text) == shown


@pytest.mark.parametrize("tag", LANGUAGES)
def test_letter_has_the_facts_and_one_link_in_each_language(
    receipt: Callable[..., str], tag: str, settings: object
) -> None:
    path = receipt()
    request = PaymentRequest.objects.get()
    PaymentRequest.objects.update(description="Visit https://evil.example", external_id="order.example")
    Merchant.objects.update(display_name="evil.example", show_order_number=True)
    subject, text = letter(PaymentRequest.objects.get(), language(tag))
    amount = language(tag).number("10.50") + " USDC"
    assert amount in subject
    assert "{" not in subject + text
    assert "&#" not in subject + text
    for fact in (amount, HASH, request.shortcode, "evil. example", "order. example"):
        assert fact in text, fact
    links = re.findall(r"\S+://\S+", text)
    assert [link.partition("?")[0] for link in links] == [f"{settings.CHECKOUT_URL}{path}"]  # type: ignore[attr-defined]


def test_order_number_is_shown_only_if_the_merchant_shows_it(receipt: Callable[..., str]) -> None:
    receipt()
    PaymentRequest.objects.update(external_id="order 7")
    assert "order 7" not in letter(PaymentRequest.objects.get(), language("en"))[1]
