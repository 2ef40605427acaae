"""Owners and developers set up, test and rotate their endpoint in the portal.

A new code of the phone shows the secret.
"""

from typing import Any

import pytest
from django.test import Client

from merchants.models import AuditEntry, Merchant
from merchants.services import issue_key
from merchants.staff.roles import Role
from tests.conftest import Api
from tests.support.portal.payment_rows import asked
from tests.support.portal.staff import Staff, signed_in
from tests.support.webhooks.receiver import Receiver, answer
from webhooks.endpoints.configuration import Change, configure
from webhooks.endpoints.secrets_at_rest import decrypt
from webhooks.models import Delivery, Endpoint

ADD = "/admin/webhooks/endpoint/add/"
URL = "https://shop.example.com/hook?token=hidden"


@pytest.fixture
def dora(merchant: Merchant) -> Staff:
    return Staff("dora", "developer", merchant)


def form(**different: Any) -> dict[str, Any]:
    return {"url": URL, "is_enabled": "on", "enabled_events": ["payment.succeeded"], **different}


def save(client: Client, endpoint: Endpoint, **different: Any) -> Any:
    """Open the endpoint's form and save it at once with these changes. Return the response."""
    path = page(endpoint, "configure")
    return client.post(path, form(**asked(client, path), **different))


def page(endpoint: Endpoint, name: str) -> str:
    return f"/admin/webhooks/endpoint/{endpoint.pk}/{name}/"


def log() -> list[tuple[str, str, str]]:
    entries = (
        AuditEntry.objects.filter(what__regex="webhook|secret").exclude(actor="command line").order_by("id")
    )
    return list(entries.values_list("what", "actor", "detail"))


def secret_of(endpoint: Endpoint) -> str:
    return decrypt(Endpoint.objects.get(pk=endpoint.pk).secret_encrypted)


def test_first_endpoint_is_set_up_and_logged(dora: Staff, merchant: Merchant) -> None:
    assert ADD in dora.client.get("/admin/webhooks/endpoint/").content.decode()
    assert dora.client.get(ADD).status_code == 200
    response = dora.client.post(ADD, form())
    endpoint = Endpoint.objects.get()
    assert response["Location"] == f"/admin/webhooks/endpoint/{endpoint.pk}/change/"
    assert (endpoint.merchant, endpoint.url, endpoint.event_types) == (merchant, URL, ["payment.succeeded"])
    assert log() == [
        (
            "webhook_changed",
            "dora",
            "url: https://shop.example.com/hook?…; enabled: yes; events: payment.succeeded",
        )
    ]
    assert ADD not in dora.client.get("/admin/webhooks/endpoint/").content.decode()
    assert dora.client.get(ADD)["Location"] == page(endpoint, "configure")


def test_changed_settings_are_logged_by_name(dora: Staff, endpoint: Endpoint) -> None:
    before = secret_of(endpoint)
    response = save(dora.client, endpoint, enabled_events=["payment.expired"], is_enabled="")
    assert response.status_code == 302
    endpoint.refresh_from_db()
    assert (endpoint.url, endpoint.is_enabled, endpoint.enabled_events) == (URL, False, ["payment.expired"])
    assert secret_of(endpoint) == before
    ((what, actor, detail),) = log()
    assert (what, actor) == ("webhook_changed", "dora")
    assert "enabled: no; events: payment.expired" in detail
    save(dora.client, endpoint, enabled_events=["payment.expired"], is_enabled="")
    assert len(log()) == 1


@pytest.mark.parametrize(
    "change",
    [
        Change(url="https://moved.example.com/hook"),
        Change(url=None),
        Change(url=URL, is_enabled=False),
        Change(url=URL, enabled_events=["payment.expired"]),
    ],
)
def test_older_tab_does_not_restore_an_endpoints_settings(
    dora: Staff, merchant: Merchant, change: Change
) -> None:
    endpoint = configure(merchant, Change(url=URL))
    assert endpoint is not None
    path = page(endpoint, "configure")
    older = form(enabled_events=["payment.failed"], **asked(dora.client, path))
    configure(merchant, change)
    (stored,) = Endpoint.objects.values()
    for sent in (older, {**older, "seen": ""}):
        response = dora.client.post(path, sent)
        assert response.status_code == 200
        assert "Nothing was saved, because the endpoint has changed" in response.content.decode()
        assert list(Endpoint.objects.values()) == [stored]
    assert log() == []


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"url": "http://10.0.0.1/hook"}, "url"),
        ({"url": "https://user:password@shop.example.com/"}, "url"),
        ({"url": "shop.example.com"}, "url"),
        ({"enabled_events": []}, "enabled_events"),
        ({"enabled_events": ["payment.stolen"]}, "enabled_events"),
    ],
)
def test_what_the_api_rejects_is_rejected_in_its_field(
    dora: Staff, settings: Any, wrong: dict[str, Any], field: str
) -> None:
    settings.ALLOW_HTTP_URLS = settings.WEBHOOK_ALLOW_PRIVATE = False
    response = dora.client.post(ADD, form(**wrong))
    assert response.status_code == 200
    assert list(response.context["form"].errors) == [field]
    assert not Endpoint.objects.exists()
    assert log() == []


def test_empty_url_removes_the_endpoint_and_keeps_the_secret(dora: Staff, endpoint: Endpoint) -> None:
    before = secret_of(endpoint)
    assert save(dora.client, endpoint, url="").status_code == 302
    endpoint.refresh_from_db()
    assert endpoint.url is None
    assert secret_of(endpoint) == before


def test_secret_is_revealed_with_a_fresh_code_and_logged(
    dora: Staff, endpoint: Endpoint, secret: str
) -> None:
    assert secret not in dora.client.get(page(endpoint, "reveal")).content.decode()
    shown = dora.client.post(page(endpoint, "reveal"), {"code": dora.fresh_code()})
    assert secret in shown.content.decode()
    assert "no-store" in shown["Cache-Control"]
    assert log() == [("secret_revealed", "dora", "")]


@pytest.mark.parametrize("name", ["reveal", "rotate"])
def test_without_a_fresh_code_no_secret_is_shown(
    dora: Staff, endpoint: Endpoint, secret: str, name: str
) -> None:
    shown = dora.client.post(page(endpoint, name), {"code": "000000"})
    assert "whsec_" not in shown.content.decode()
    assert secret_of(endpoint) == secret
    assert log() == []


def test_rotated_secret_is_shown_and_the_old_one_signs_on(
    dora: Staff, endpoint: Endpoint, secret: str
) -> None:
    shown = dora.client.post(page(endpoint, "rotate"), {"code": dora.fresh_code()}).content.decode()
    assert secret_of(endpoint) != secret
    assert secret_of(endpoint) in shown
    endpoint.refresh_from_db()
    assert endpoint.previous_secret_encrypted is not None
    assert decrypt(endpoint.previous_secret_encrypted) == secret
    assert log() == [("secret_rotated", "dora", "")]


@pytest.mark.parametrize(("status", "result"), [(200, "delivered"), (500, "failed")])
def test_test_event_shows_its_delivery(
    dora: Staff, endpoint: Endpoint, receiver: Receiver, status: int, result: str
) -> None:
    receiver.answers = [answer(status, b"ok")]
    response = dora.client.post(page(endpoint, "test"), {"type": "payment.failed"})
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.is_test, delivery.type) == (result, True, "payment.failed")
    assert dora.client.get(response["Location"]).status_code == 200
    assert log() == [("webhook_tested", "dora", f"payment.failed: {result}")]


def test_test_without_a_url_sends_nothing(dora: Staff, endpoint: Endpoint) -> None:
    Endpoint.objects.update(url=None)
    assert dora.client.post(page(endpoint, "test"), {"type": "payment.failed"}).status_code == 302
    assert not Delivery.objects.exists()
    assert log() == []


def test_operator_configures_for_a_merchant_without_secret(admin_client: Client, merchant: Merchant) -> None:
    assert admin_client.get(ADD).status_code == 302
    assert admin_client.post(f"{ADD}?merchant={merchant.pk}", form()).status_code == 302
    endpoint = Endpoint.objects.get()
    assert endpoint.merchant == merchant
    for name in ("reveal", "rotate"):
        assert admin_client.post(page(endpoint, name), {"code": "000000"}).status_code == 403


def test_endpoint_of_another_merchant_is_not_there(
    endpoint: Endpoint, other_merchant: Merchant, secret: str
) -> None:
    mallory = Staff("mallory", "merchant", other_merchant)
    for name in ("configure", "test", "rotate", "reveal"):
        response = mallory.client.post(page(endpoint, name), {**form(), "code": mallory.fresh_code()})
        assert response.status_code == 404
    mallory.client.post(f"{ADD}?merchant={endpoint.merchant_id}", form())
    assert Endpoint.objects.get(merchant=other_merchant).url == URL
    assert secret_of(endpoint) == secret
    before = endpoint.url
    endpoint.refresh_from_db()
    assert endpoint.url == before


def test_changes_by_api_are_in_the_log_with_the_key(merchant: Merchant) -> None:
    key, text = issue_key(merchant=merchant, permissions=["manage_webhooks"])
    api = Api(text)
    assert api.put("/api/webhooks", {"url": "https://shop.example.com/hook"}).status_code == 200
    assert (
        api.put("/api/webhooks", {"url": "https://shop.example.com/hook", "rotate_secret": True}).status_code
        == 200
    )
    (changed, rotated) = AuditEntry.objects.order_by("id")
    for entry, what in ((changed, "webhook_changed"), (rotated, "secret_rotated")):
        assert (entry.what, entry.actor, entry.merchant) == (what, f"api key {key.prefix}", merchant)
        assert (entry.address, entry.by_operator) == ("127.0.0.1", False)


def test_empty_list_says_who_can_set_up_an_endpoint(dora: Staff, merchant: Merchant) -> None:
    client = signed_in(Role.FINANCE, merchant)
    hint = "Owners and members with the role developer can set up an endpoint."
    assert hint in client.get("/admin/webhooks/endpoint/").content.decode()
    dora.client.post(ADD, form())
    assert hint not in client.get("/admin/webhooks/endpoint/").content.decode()
