"""On a payment link's page, only its form creates a payment request, and only while the link is active."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from limits import parse

from chains.models import Chain, Token
from checkout.languages import language
from merchants.languages import LANGUAGES
from merchants.models import Merchant
from merchants.recipients import allow_recipients
from merchants.switching import switch_off
from payments.links.services import NewLink, create_link
from payments.models import PaymentLink, PaymentRequest
from payments.requests.creation import Price
from tests.support.payments.credits import credit
from tests.support.rates.exchanges import Exchanges

pytestmark = pytest.mark.django_db

RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
UNIT = 1_000_000
Make = Callable[..., PaymentLink]


@pytest.fixture
def make_link(merchant: Merchant, usdc: Token) -> Make:
    def make(**terms: Any) -> PaymentLink:
        terms = (
            {"amount": 10 * UNIT, **terms} if "min_amount" not in terms and "price" not in terms else terms
        )
        return create_link(merchant, NewLink("Tasting", usdc, RECIPIENT, **terms), actor="test")

    return make


@pytest.fixture
def fixed(make_link: Make) -> PaymentLink:
    return make_link()


@pytest.fixture
def open_link(make_link: Make) -> PaymentLink:
    return make_link(min_amount=5 * UNIT, max_amount=100 * UNIT)


def path_of(link: PaymentLink) -> str:
    return f"/l/{link.code}"


def form_of(page: Any) -> dict[str, str]:
    (value,) = re.findall(r'name="form" value="([^"]+)"', page.content.decode())
    return {"form": value}


def send(link: PaymentLink, **fields: str) -> Any:
    return Client().post(path_of(link), urlencode(fields), content_type="application/x-www-form-urlencoded")


def shown_problem(page: Any) -> str:
    (text,) = re.findall(r'role="alert">(.*?)</p>', page.content.decode(), re.DOTALL)
    return re.sub(r"<[^>]+>", "", text)


@pytest.mark.parametrize("method", ["get", "head"])
def test_opening_the_page_creates_nothing(client: Client, fixed: PaymentLink, method: str) -> None:
    page = getattr(client, method)(path_of(fixed))
    assert page.status_code == 200
    assert page["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    assert not page.cookies
    assert not PaymentRequest.objects.exists()


def test_form_creates_a_request_and_leads_to_it(client: Client, fixed: PaymentLink) -> None:
    page = client.get(path_of(fixed))
    text = page.content.decode()
    assert "10.00" in text
    assert "<form" in text
    response = send(fixed, **form_of(page))
    request = PaymentRequest.objects.get()
    assert (response.status_code, response["Location"]) == (303, f"/pay/{request.shortcode}")
    assert (request.payment_link_id, request.amount) == (fixed.pk, 10 * UNIT)
    assert request.expires_at - request.created_at == timedelta(hours=1)
    assert client.get(response["Location"]).status_code == 200
    fixed.refresh_from_db()
    assert fixed.requests_count == 1


def test_form_without_hidden_field_creates_and_keeps_language(fixed: PaymentLink) -> None:
    response = Client().post(f"{path_of(fixed)}?lang=de", {"form": "x"})
    assert response.status_code == 303
    assert response["Location"].endswith("?lang=de")


def test_second_sending_of_a_form_leads_to_the_same_request(client: Client, open_link: PaymentLink) -> None:
    form = form_of(client.get(path_of(open_link)))
    first, second = (send(open_link, amount="7", **form) for _ in range(2))
    assert first["Location"] == second["Location"]
    assert PaymentRequest.objects.count() == 1
    other_amount = send(open_link, amount="8", **form)
    assert other_amount["Location"] != first["Location"]
    assert set(PaymentRequest.objects.values_list("amount", flat=True)) == {7 * UNIT, 8 * UNIT}


def test_form_of_an_ended_request_creates_another(client: Client, fixed: PaymentLink) -> None:
    form = form_of(client.get(path_of(fixed)))
    first = send(fixed, **form)
    credit(PaymentRequest.objects.get(), 10 * UNIT)
    second = send(fixed, **form)
    assert (second.status_code, PaymentRequest.objects.count()) == (303, 2)
    assert first["Location"] != second["Location"]


def test_forms_hidden_field_of_another_link_is_ignored(
    client: Client, fixed: PaymentLink, make_link: Make
) -> None:
    form = form_of(client.get(path_of(make_link())))
    send(fixed, **form)
    own = form_of(client.get(path_of(fixed)))
    send(fixed, **own)
    assert PaymentRequest.objects.filter(payment_link=fixed).count() == 2


@pytest.mark.django_db(transaction=True)
def test_double_click_creates_one_request(client: Client, fixed: PaymentLink) -> None:
    form = form_of(client.get(path_of(fixed)))

    def click(_: int) -> str:
        try:
            return str(send(fixed, **form)["Location"])
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        places = set(threads.map(click, range(4)))
    assert len(places) == 1
    assert PaymentRequest.objects.count() == 1
    fixed.refresh_from_db()
    assert fixed.requests_count == 1


@pytest.mark.parametrize(
    ("amount", "key"),
    [
        ("", "linkMissing"), ("4.99", "linkOutside"), ("100.01", "linkOutside"), ("0", "linkOutside"),
        ("9" * 90, "linkOutside"), ("-5", "linkInvalid"), ("+5", "linkInvalid"), ("1e1", "linkInvalid"),
        ("5,00", "linkInvalid"), ("1.000,00", "linkInvalid"), (" 5", "linkInvalid"), ("٥", "linkInvalid"),
        ("NaN", "linkInvalid"), ("0x10", "linkInvalid"), ("5.0000001", "linkTooPrecise"),
        ("<script>", "linkInvalid"), ("5\x00", "linkInvalid"),
    ],
)  # fmt: skip
def test_wrong_amount_shows_the_form_with_the_reason(open_link: PaymentLink, amount: str, key: str) -> None:
    page = send(open_link, amount=amount)
    assert page.status_code == 400
    values = {"min": "5.00 USDC", "max": "100.00 USDC", "token": "USDC", "digits": "6"}
    assert shown_problem(page) == language("en").say(f"page.{key}", values)
    assert 'name="amount"' in page.content.decode()
    assert 'aria-invalid="true"' in page.content.decode()
    assert "<script>&" not in page.content.decode()
    assert not PaymentRequest.objects.exists()


def test_entered_amount_is_shown_again_and_escaped(open_link: PaymentLink) -> None:
    text = send(open_link, amount='"><b>').content.decode()
    assert 'value="&quot;&gt;&lt;b&gt;"' in text


def test_amount_of_a_fixed_link_can_not_be_changed(fixed: PaymentLink) -> None:
    assert send(fixed, amount="0.01").status_code == 303
    assert PaymentRequest.objects.get().amount == 10 * UNIT


def test_open_link_without_maximum_names_the_smallest_amount(make_link: Make) -> None:
    link = make_link(min_amount=5 * UNIT)
    assert shown_problem(send(link, amount="1")) == "Enter at least 5.00 USDC."
    assert shown_problem(send(link, amount="9" * 80)) == "This amount is too large."
    assert send(link, amount="123456789").status_code == 303


def test_price_is_converted_when_the_customer_continues(
    client: Client, make_link: Make, exchanges: Exchanges
) -> None:
    link = make_link(price=Price("EUR", Decimal("25.00")))
    assert "25.00" in client.get(path_of(link)).content.decode()
    response = send(link)
    request = PaymentRequest.objects.get()
    assert (response.status_code, request.amount) == (303, 27_456_128)
    assert request.price == {"currency": "EUR", "amount": "25.00"}
    assert request.expires_at - request.created_at == timedelta(seconds=900)


def test_missing_rate_shows_the_form_again(make_link: Make, exchanges: Exchanges) -> None:
    link = make_link(price=Price("EUR", Decimal("25.00")))
    exchanges.coinbase.clear()
    page = send(link)
    assert (page.status_code, shown_problem(page)) == (503, language("en").say("page.linkNoRate"))
    assert page["Retry-After"]
    assert not PaymentRequest.objects.exists()


def end(link: PaymentLink, merchant: Merchant, way: str) -> None:
    match way:
        case "switched off":
            PaymentLink.objects.update(is_active=False)
        case "expired":
            PaymentLink.objects.update(expires_at=timezone.now())
        case "used up":
            PaymentLink.objects.update(max_payments=1)
            send(link)
            credit(PaymentRequest.objects.get(), 10 * UNIT)
        case "recipient removed":
            allow_recipients(merchant, [("evm", OTHER)], request=None)
        case "token inactive":
            Token.objects.update(is_active=False)
        case "chain inactive":
            Chain.objects.update(is_active=False)


@pytest.mark.parametrize(
    ("way", "heading"),
    [
        ("switched off", "linkInactive"), ("expired", "linkExpired"), ("used up", "linkUsedUp"),
        ("recipient removed", "linkInactive"), ("token inactive", "linkInactive"),
        ("chain inactive", "linkInactive"),
    ],
)  # fmt: skip
def test_closed_link_says_so_and_creates_nothing(
    client: Client, fixed: PaymentLink, merchant: Merchant, way: str, heading: str
) -> None:
    form = form_of(client.get(path_of(fixed)))
    end(fixed, merchant, way)
    before = PaymentRequest.objects.count()
    for page in (client.get(path_of(fixed)), send(fixed, **form)):
        assert page.status_code == 410
        assert language("en").say(f"page.{heading}") in page.content.decode()
        assert "<form" not in page.content.decode()
    assert PaymentRequest.objects.count() == before


def test_switched_off_token_pauses_the_link(client: Client, fixed: PaymentLink, usdc: Token) -> None:
    switch_off(f"token:{usdc.pk}", reason="test", request=None)
    for page in (client.get(path_of(fixed)), send(fixed)):
        assert (page.status_code, page["Retry-After"]) == (503, "60")
        assert language("en").say("refusal.service_unavailable") in page.content.decode()
    assert not PaymentRequest.objects.exists()


@pytest.mark.parametrize("code", ["222222222222", "..", "%00", "pl_1", "a" * 500])
def test_unknown_code_is_not_found(client: Client, fixed: PaymentLink, code: str) -> None:
    for response in (client.get(f"/l/{code}"), client.post(f"/l/{code}")):
        assert response.status_code == 404
    assert not PaymentRequest.objects.exists()


@pytest.mark.usefixtures("patient")
def test_requests_count_toward_the_visitors_expensive_limit(open_link: PaymentLink, settings: Any) -> None:
    settings.RATE_LIMIT_EXPENSIVE = parse("2/hour")
    assert send(open_link, amount="1").status_code == 400
    responses = [send(open_link, amount="7") for _ in range(3)]
    assert [response.status_code for response in responses] == [303, 303, 429]
    assert shown_problem(responses[2]) == language("en").say("refusal.rate_limited")
    assert int(responses[2]["Retry-After"]) > 0
    assert PaymentRequest.objects.count() == 2


@pytest.mark.usefixtures("patient")
def test_views_count_toward_the_public_limit(client: Client, fixed: PaymentLink, settings: Any) -> None:
    settings.RATE_LIMIT_PUBLIC = parse("2/hour")
    codes = [client.get(path_of(fixed)).status_code for _ in range(3)]
    assert codes == [200, 200, 429]


@pytest.mark.parametrize("tag", LANGUAGES)
def test_page_is_in_each_language(client: Client, open_link: PaymentLink, tag: str) -> None:
    text = client.get(f"{path_of(open_link)}?lang={tag}").content.decode()
    assert f'lang="{tag}"' in text
    assert language(tag).say("page.linkContinue") in text
    wrong = Client().post(f"{path_of(open_link)}?lang={tag}", {"amount": "1"})
    assert wrong.status_code == 400


def test_upload_is_not_read_as_a_form(open_link: PaymentLink) -> None:
    response = Client().post(path_of(open_link), {"amount": "7"})
    assert response.status_code == 400
    assert not PaymentRequest.objects.exists()


def test_embedding_follows_the_merchants_origins(client: Client, fixed: PaymentLink) -> None:
    Merchant.objects.update(embed_origins=["https://shop.example.com"])
    assert "frame-ancestors https://shop.example.com" in client.get(path_of(fixed))["Content-Security-Policy"]


def test_amount_and_price_are_in_the_format_of_the_language(make_link: Make) -> None:
    priced, fixed = make_link(price=Price("EUR", Decimal("25.00"))), make_link(amount=27 * UNIT // 2)
    for link, shown in ((priced, "25,00\xa0€"), (fixed, "13,50 ")):
        assert shown in Client().get(f"/l/{link.code}?lang=de").content.decode()
