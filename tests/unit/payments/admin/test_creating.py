"""The portal creates payment requests and payment links with the same services as the API."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from chains.models import Token
from config.admin.actions import action_url
from config.admin.portal import change_url
from merchants.models import Merchant
from merchants.recipients import allow_recipients
from merchants.staff.roles import Role
from merchants.switching import switch_off
from payments.links.services import NewLink, create_link
from payments.models import PaymentLink, PaymentLinkChange, PaymentRequest
from tests.support.portal.payment_rows import asked
from tests.support.portal.staff import signed_in
from tests.support.rates.exchanges import Exchanges

pytestmark = pytest.mark.django_db

RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
REQUEST, LINK = "/admin/payments/paymentrequest/add/", "/admin/payments/paymentlink/add/"


@pytest.fixture
def finance(merchant: Merchant) -> Client:
    """The merchant's signed-in bookkeeper."""
    return signed_in(Role.FINANCE, merchant, "fin@alice.example")


def form_id(client: Client, path: str) -> str:
    (value,) = re.findall(r'name="form_id" value="([^"]+)"', client.get(path).content.decode())
    return value


def filled(client: Client, path: str, usdc: Token, **different: str) -> dict[str, str]:
    """Return the form for an amount of USDC, with these changes."""
    terms = {"form_id": form_id(client, path), "amount": "12.50", "currency": "", "token": str(usdc.pk)}
    own = {"name": "Tasting"} if path == LINK else {}
    return {**terms, **own, "recipient_address": RECIPIENT, "description": "", **different}


def errors(page: Any) -> dict[str, list[str]]:
    assert page.status_code == 200
    return {name: [str(each) for each in found] for name, found in page.context["form"].errors.items()}


def test_request_is_created_and_its_page_shows_what_to_share(
    finance: Client, usdc: Token, merchant: Merchant
) -> None:
    form = filled(finance, REQUEST, usdc, external_id="7", expires_in="86400", description="Two\r\nbags")
    response = finance.post(REQUEST, form)
    request = PaymentRequest.objects.get()
    assert (response.status_code, response["Location"]) == (302, change_url(request))
    assert (request.merchant, request.amount, request.recipient_address) == (merchant, 12_500_000, RECIPIENT)
    assert (request.external_id, request.description) == ("7", "Two\nbags")
    assert (request.expires_at - request.created_at).days == 1
    (row,) = request.transitions.all()
    assert row.actor == "admin fin@alice.example"
    assert LogEntry.objects.filter(object_id=str(request.pk)).count() == 1
    page = finance.get(response["Location"]).content.decode()
    assert f"/pay/{request.shortcode}</code>" in page
    assert "<svg" in page
    printed = finance.get(reverse("admin:payments_paymentrequest_print", args=(request.pk,)))
    assert printed.status_code == 200
    assert "12.50 USDC" in printed.content.decode()
    assert f"/pay/{request.shortcode}" in printed.content.decode()


def test_second_sending_of_the_form_creates_nothing_more(finance: Client, usdc: Token) -> None:
    for path, model in ((REQUEST, PaymentRequest), (LINK, PaymentLink)):
        form = filled(finance, path, usdc)
        assert [finance.post(path, form).status_code for _ in range(2)] == [302, 302]
        assert model.objects.count() == 1


@pytest.mark.parametrize("path", [REQUEST, LINK])
@pytest.mark.parametrize(
    ("different", "field", "words"),
    [
        ({"amount": "1e3"}, "amount", "digits"),
        ({"amount": "12,50"}, "amount", "has a comma"),
        ({"amount": "1.0000001"}, "amount", "6 decimals"),
        ({"amount": "0"}, "amount", "more than zero"),
        ({"currency": "XX"}, "currency", "not the code of a currency"),
        ({"currency": "EUR"}, "currency", "no price here"),
        ({"recipient_address": "0x1"}, "recipient_address", "40 hexadecimal digits"),
        ({"token": "999"}, "token", "valid choice"),
        ({"description": "a\u202eb"}, "description", "not accepted"),
    ],
)
def test_wrong_input_is_shown_at_its_field_and_creates_nothing(
    finance: Client, usdc: Token, path: str, different: dict[str, str], field: str, words: str
) -> None:
    found = errors(finance.post(path, filled(finance, path, usdc, **different)))
    assert list(found) == [field]
    assert words in found[field][0]
    assert not PaymentRequest.objects.exists()
    assert not PaymentLink.objects.exists()


def test_price_is_converted_for_a_request(finance: Client, usdc: Token, exchanges: Exchanges) -> None:
    finance.post(REQUEST, filled(finance, REQUEST, usdc, amount="25.00", currency="eur"))
    request = PaymentRequest.objects.get()
    assert (request.price, request.amount) == ({"currency": "EUR", "amount": "25.00"}, 27_456_128)
    found = errors(finance.post(REQUEST, filled(finance, REQUEST, usdc, currency="EUR", expires_in="86400")))
    assert "900 seconds" in found["expires_in"][0]


def test_only_allowed_recipients_are_offered_and_accepted(
    finance: Client, usdc: Token, merchant: Merchant
) -> None:
    allow_recipients(merchant, [("evm", OTHER)], request=None)
    page = finance.get(REQUEST).content.decode()
    assert OTHER in page
    assert RECIPIENT not in page
    found = errors(finance.post(REQUEST, filled(finance, REQUEST, usdc)))
    assert "valid choice" in found["recipient_address"][0]
    finance.post(REQUEST, filled(finance, REQUEST, usdc, recipient_address=OTHER))
    assert PaymentRequest.objects.get().recipient_address == OTHER


def test_switched_off_token_is_not_offered(finance: Client, usdc: Token, dai: Token) -> None:
    form = filled(finance, REQUEST, usdc)
    switch_off(f"token:{usdc.pk}", reason="test", request=None)
    assert "USDC on" not in finance.get(REQUEST).content.decode()
    assert "token" in errors(finance.post(REQUEST, form))
    assert not PaymentRequest.objects.exists()


def test_link_with_an_open_amount_is_created_and_switched_off(finance: Client, usdc: Token) -> None:
    form = filled(
        finance,
        LINK,
        usdc,
        amount="",
        min_amount="5",
        max_amount="500",
        max_payments="20",
        expires_at="2099-01-02T10:00",
    )
    response = finance.post(LINK, form)
    link = PaymentLink.objects.get()
    assert (response.status_code, response["Location"]) == (302, change_url(link))
    assert (link.min_amount, link.max_amount, link.max_payments) == (5_000_000, 500_000_000, 20)
    assert link.created_by == "admin fin@alice.example"
    page = finance.get(change_url(link)).content.decode()
    assert link.url in page
    assert "5 USDC to 500 USDC" in page
    listed = finance.get("/admin/payments/paymentlink/").content.decode()
    assert "Tasting" in listed
    off = action_url(link, "switch-off")
    finance.post(off, asked(finance, off))
    link.refresh_from_db()
    assert link.is_active is False
    assert [change.what for change in PaymentLinkChange.objects.all()] == ["created", "deactivated"]
    assert "Copy link" not in finance.get(change_url(link)).content.decode()


def test_link_to_a_wallet_that_is_not_allowed_is_not_shared(
    finance: Client, usdc: Token, merchant: Merchant
) -> None:
    link = create_link(merchant, NewLink("Tasting", usdc, RECIPIENT, amount=5_000_000), actor="test")
    payable, badge = "Customers can pay with this link", "recipient not allowed"
    before = finance.get(change_url(link)).content.decode()
    assert payable in before
    assert "Copy link" in before
    allow_recipients(merchant, [("evm", OTHER)], request=None)
    page = finance.get(change_url(link))
    text = page.content.decode()
    assert payable not in text
    assert "Copy link" not in text
    assert "not one of the merchant&#x27;s allowed recipients" in text
    assert page.context["share"] is None
    for each in (text, finance.get("/admin/payments/paymentlink/").content.decode()):
        assert badge in each
    assert finance.get(f"/l/{link.code}").status_code == 410
    allow_recipients(merchant, [("evm", RECIPIENT)], request=None)
    assert payable in finance.get(change_url(link)).content.decode()


def test_requests_of_a_link_are_listed_and_named(finance: Client, usdc: Token, merchant: Merchant) -> None:
    link = create_link(merchant, NewLink("Tasting", usdc, RECIPIENT, 5), actor="test")
    Client().post(f"/l/{link.code}")
    request = PaymentRequest.objects.get()
    listed = finance.get(f"/admin/payments/paymentrequest/?payment_link={link.pk}").content.decode()
    assert request.shortcode in listed
    assert change_url(link) in finance.get(change_url(request)).content.decode()


def test_operator_chooses_the_merchant_first(admin_client: Client, usdc: Token, merchant: Merchant) -> None:
    assert "form_id" not in admin_client.get(REQUEST).content.decode()
    path = f"{REQUEST}?merchant={merchant.pk}"
    form = filled(admin_client, path, usdc)
    assert admin_client.post(path, form).status_code == 302
    assert PaymentRequest.objects.get().merchant == merchant


def test_member_creates_nothing_for_another_merchant(
    finance: Client, usdc: Token, merchant: Merchant, other_merchant: Merchant
) -> None:
    path = f"{REQUEST}?merchant={other_merchant.pk}"
    finance.post(path, filled(finance, path, usdc))
    assert PaymentRequest.objects.get().merchant == merchant
    theirs = create_link(other_merchant, NewLink("Theirs", usdc, RECIPIENT, 5), actor="test")
    for address in (
        change_url(theirs),
        action_url(theirs, "switch-off"),
        reverse("admin:payments_paymentlink_print", args=(theirs.pk,)),
    ):
        response = finance.post(address) if "switch" in address else finance.get(address)
        assert theirs.url not in response.content.decode()
        assert response.status_code in (302, 404)
    theirs.refresh_from_db()
    assert theirs.is_active


@pytest.mark.parametrize("text", ["Tast", "tast", "{id}", "{code}", "{url}"])
def test_link_is_found_by_its_name_id_code_and_address(
    finance: Client, usdc: Token, merchant: Merchant, text: str
) -> None:
    link = create_link(merchant, NewLink("Tasting", usdc, RECIPIENT, 5), actor="test")
    create_link(merchant, NewLink("Donations", usdc, RECIPIENT, 5), actor="test")
    searched = text.format(id=link.pk, code=link.code, url=link.url)
    page = finance.get("/admin/payments/paymentlink/", {"q": searched})
    assert [row.pk for row in page.context["cl"].result_list] == [link.pk]


@pytest.mark.parametrize("text", ["%", "_", "x" * 5000, "http://["])
def test_odd_search_for_links_finds_nothing(
    finance: Client, usdc: Token, merchant: Merchant, text: str
) -> None:
    create_link(merchant, NewLink("Tasting", usdc, RECIPIENT, 5), actor="test")
    page = finance.get("/admin/payments/paymentlink/", {"q": text})
    assert page.status_code == 200
    assert "Tasting" not in page.content.decode()


@pytest.mark.parametrize("path", [REQUEST, LINK])
def test_no_token_is_preselected_and_none_creates_nothing(
    path: str, finance: Client, usdc: Token, merchant: Merchant
) -> None:
    assert finance.get(path).context["form"].fields["token"].choices[0] == ("", "Choose a token")
    page = finance.post(path, filled(finance, path, usdc, token=""))
    assert errors(page) == {"token": ["This field is required."]}
    assert not PaymentRequest.objects.exists()
    assert not PaymentLink.objects.exists()
