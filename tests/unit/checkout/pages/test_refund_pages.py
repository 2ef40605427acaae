"""The pages on which a merchant sends a refund never mention a payment or tell the merchant to contact the merchant."""

import html
import re
from collections.abc import Callable

import pytest
from django.db import transaction
from django.test import Client

from merchants.models import Merchant
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.services import create_refund
from payments.requests.lifecycle import lock_request
from payments.sandbox import payments as sandbox_payments
from tests.support.portal.payment_rows import HASH, SENDER, Make, fail

Sent = Callable[..., Refund]


@pytest.fixture
def refund(make: Make) -> Sent:
    """Return a function that makes refunds of 2.50 USDC, sent or not."""

    def create(*, is_sent: bool = False) -> Refund:
        Merchant.objects.update(support_email="help@bakery.example")
        request = make("basket-7")
        with transaction.atomic():
            sandbox_payments.pay(lock_request(request.pk), request.amount, "for a test")
            made = create_refund(
                request.pk,
                amount=2_500_000,
                recipient_address=SENDER,
                payment_id=None,
                reason=None,
                actor="test",
            ).refund
            if is_sent and made.carrier_id:
                sent = sandbox_payments.pay(lock_request(made.carrier_id), made.amount, "for a test")
                Payment.objects.filter(pk=sent.pk).update(
                    is_simulated=False
                )  # a receipt says how to verify it
        return made

    return create


def words(page: str) -> str:
    """Return the text that is visible or spoken without scripts, with the title and the link preview."""
    page = page.replace("payments.example", "")
    said = re.findall(r'(?:content|aria-label)="([^"]*)"', page)
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(" ".join([re.sub(r"<[^>]*>", " ", text), *said]))


def of_payments(text: str) -> list[str]:
    """Return the words about payments in an English text, except names that are the same in every language."""
    text = text.replace("Solana Pay", "")
    return re.findall(
        r"\b(?:pay|pays|paid|paying|payments?|payer|order|shop|merchant)\b", text, re.IGNORECASE
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "is_sent"),
    [
        ("", False),
        ("", True),
        ("/by-hand", False),
        ("/by-hand", True),
        ("/receipt", True),
    ],
)
def test_no_page_of_a_refund_speaks_of_a_payment(refund: Sent, path: str, is_sent: bool) -> None:
    made = refund(is_sent=is_sent)
    address = f"{made.refund_url}{path}".removeprefix("http://testserver")
    page = Client().get(address)
    assert page.status_code == 200, address
    text = words(page.content.decode())
    assert of_payments(text) == []
    assert "help@bakery.example" not in text
    assert re.search("refund", text, re.IGNORECASE)


@pytest.mark.django_db
def test_refund_warnings_do_not_mention_a_payment(refund: Sent) -> None:
    made = refund()
    carrier = PaymentRequest.objects.get(refund=made)
    fail(carrier, code="transaction_not_bound")
    fail(carrier, HASH.replace("ab", "cd"), code="transaction_too_old")
    fail(carrier, HASH.replace("ab", "ef"), code="wrong_token")
    for path in ("", "/by-hand"):
        page = Client().get(f"/pay/{carrier.shortcode}{path}").content.decode()
        assert of_payments(words(page).replace("The network does not know this transaction.", "")) == []
        assert "in the portal" in page


@pytest.mark.django_db
def test_its_receipt_has_the_ids_of_the_refund(refund: Sent) -> None:
    made = refund(is_sent=True)
    carrier = PaymentRequest.objects.get(refund=made)
    page = Client().get(f"/pay/{carrier.shortcode}/receipt").content.decode()
    assert made.id in page
    assert str(carrier.pk) not in words(page)
    assert carrier.payments.get().pk not in page


@pytest.mark.django_db
def test_who_chose_the_address_is_said_before_the_merchant_signs(refund: Sent) -> None:
    made = refund()
    address = str(made.refund_url).removeprefix("http://testserver")
    words = "You, your staff or one of your API keys chose this address. Check it before you sign."
    assert words in Client().get(address).content.decode()
    Refund.objects.update(address_source="customer")
    assert "Your customer chose this address and signed for it." in Client().get(address).content.decode()
