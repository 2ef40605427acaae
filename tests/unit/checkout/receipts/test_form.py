"""A customer can have the receipt e-mailed to a few addresses. They are deleted soon and shown to no one else."""

import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core import mail
from django.test import Client
from limits import RateLimitItemPerHour

from checkout.receipts import form
from merchants.mail.sending import send_due
from merchants.models import Mail, Merchant
from payments.models import PaymentRequest

pytestmark = pytest.mark.django_db
Receipt = Callable[..., str]
ADDRESS = "customer@example.net"
URLENCODED = "application/x-www-form-urlencoded"


@pytest.fixture
def page(receipt: Receipt) -> str:
    return receipt()


def ask(page: str, address: str = ADDRESS, query: str = "", **headers: str) -> Any:
    body = urlencode({"email": address})
    browser = Client(enforce_csrf_checks=True)
    return browser.post(f"{page}/mail{query}", body, content_type=URLENCODED, headers=headers)


def stored() -> tuple[list[str], int]:
    """Return the recipients of waiting e-mails, and the request's count of e-mails."""
    return (
        list(Mail.objects.order_by("pk").values_list("recipient", flat=True)),
        PaymentRequest.objects.get().receipts_mailed,
    )


def test_receipt_is_mailed_in_the_customers_language(page: str) -> None:
    answer = ask(page, query="?lang=de")
    assert (answer.status_code, answer["Location"]) == (303, f"{page}?lang=de&mailed=1")
    assert "Der Beleg ist unterwegs" in Client().get(answer["Location"]).content.decode()
    send_due()
    [letter] = mail.outbox
    assert letter.recipients() == [ADDRESS]
    assert letter.subject == "[TEST] Beleg von Alice's Bakery: 10,50 USDC"
    assert f"{page}?lang=de" in letter.body
    assert not Mail.objects.exists()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "customer",
        "customer@localhost",
        "a@example.net, b@example.net",
        "a@example.net\nBcc: b@example.net",
        "a@example.net\r\n\r\nBuy now",
        '"a b"@example.net',
        "a%b.example@example.net",
        "a@[127.0.0.1]",
        "<a@example.net>",
        "a" * 250 + "@example.net",
        "\u202ea@example.net",
    ],
)
def test_invalid_address_is_shown_again_and_stores_nothing(page: str, address: str) -> None:
    answer = ask(page, address)
    assert answer.status_code == 400
    text = answer.content.decode()
    assert "Enter an e-mail address such as name@example.com." in text
    assert 'aria-invalid="true"' in text
    assert stored() == ([], 0)


def test_entered_address_is_escaped_when_shown_again(page: str) -> None:
    assert '"><script>' not in ask(page, '"><script>alert(1)</script>').content.decode()


def test_request_is_mailed_three_times_at_most(page: str) -> None:
    for number in range(3):
        assert ask(page, f"{number}@example.net").status_code == 303
    answer = ask(page, "more@example.net")
    assert answer.status_code == 429
    assert "e-mailed three times already" in answer.content.decode()
    assert stored() == ([f"{number}@example.net" for number in range(3)], 3)


def test_full_address_gets_the_same_response_and_no_mail(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "TO_AN_ADDRESS", RateLimitItemPerHour(1))
    first, second = ask(page), ask(page, ADDRESS.upper())
    assert (first.status_code, first["Location"]) == (second.status_code, second["Location"])
    assert stored() == ([ADDRESS], 2)


def test_merchants_mails_have_a_limit(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "OF_A_MERCHANT", RateLimitItemPerHour(1))
    assert ask(page).status_code == 303
    answer = ask(page, "other@example.net")
    assert (answer.status_code, int(answer["Retry-After"]) > 0) == (429, True)
    assert stored() == ([ADDRESS], 1)


def test_client_address_is_limited_as_for_expensive_calls(page: str, settings: Any) -> None:
    settings.RATE_LIMIT_EXPENSIVE = RateLimitItemPerHour(1)
    assert ask(page).status_code == 303
    assert ask(page, "other@example.net").status_code == 429
    assert stored() == ([ADDRESS], 1)


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://testserver:1"},
        {"origin": "http://["},
    ],
)
def test_form_of_another_site_mails_nothing(page: str, headers: dict[str, str]) -> None:
    answer = ask(page, **headers)
    assert (answer.status_code, answer["Location"], stored()) == (303, page, ([], 0))


def test_own_form_in_a_browser_is_accepted(page: str) -> None:
    answer = ask(page, **{"sec-fetch-site": "same-origin", "origin": "http://testserver"})
    assert (answer.status_code, stored()) == (303, ([ADDRESS], 1))


def test_get_mails_nothing(page: str) -> None:
    answer = Client().get(f"{page}/mail", {"email": ADDRESS})
    assert (answer.status_code, answer["Location"], stored()) == (302, page, ([], 0))


@pytest.mark.parametrize("backend", ["console", "dummy"])
def test_without_mail_server_there_is_no_form(page: str, settings: Any, backend: str) -> None:
    assert f'action="{page}/mail"' in Client().get(page).content.decode()
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{backend}.EmailBackend"
    assert f"{page}/mail" not in Client().get(page).content.decode()
    assert (ask(page).status_code, stored()) == (303, ([], 0))


def test_open_request_has_no_receipt_to_mail(page: str) -> None:
    PaymentRequest.objects.update(status="active", completed_at=None)
    assert (ask(page).status_code, stored()) == (303, ([], 0))


def test_unknown_request_is_404_whatever_the_address(page: str) -> None:
    for address in (ADDRESS, "nonsense"):
        assert ask("/pay/unknown99999/receipt", address).status_code == 404
    assert stored() == ([], 0)


def test_address_is_in_no_log_and_no_redirect(page: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = ask(page)
        send_due()
    assert ADDRESS not in answer["Location"]
    assert "example.net" not in caplog.text


def test_merchants_name_adds_no_header(page: str) -> None:
    Merchant.objects.update(display_name="Alice\r\nBcc: all@example.com")
    ask(page)
    send_due()
    [letter] = mail.outbox
    assert letter.recipients() == [ADDRESS]
    assert "\n" not in letter.subject
