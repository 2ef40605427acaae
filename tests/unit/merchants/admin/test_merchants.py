"""Merchants are created and changed in the portal. Customers can read every theme."""

from typing import Any

import pytest
from django.test import Client

from merchants.contrast import contrast_ratio
from merchants.models import ApiKey, AuditEntry, Merchant
from merchants.services import issue_key
from merchants.staff.roles import Role
from tests.support.portal.payment_rows import asked
from tests.support.portal.staff import Staff, signed_in

ADD = "/admin/merchants/merchant/add/"


def form(**different: str) -> dict[str, str]:
    filled = {
        "name": "Alice's Bakery",
        "email": "alice@bakery.example",
        "references": "on",
        "display_name": "Alice’s Bakery",
        "logo_url": "https://bakery.example/logo.svg",
        "accent_colour": "#8a3b12",
        "background_colour": "#f6f1ea",
        "support_url": "https://bakery.example/help",
        "support_email": "help@bakery.example",
        "default_language": "pt-BR",
        "embed_origins": "https://shop.bakery.example\r\n\r\nhttps://Bakery.example/\r\n",
        "api_keys-TOTAL_FORMS": "0",
        "api_keys-INITIAL_FORMS": "0",
    }
    return {**filled, **different}


def test_a_merchant_is_made(admin_client: Client, db: None) -> None:
    assert admin_client.post(ADD, form()).status_code == 302
    made = Merchant.objects.get()
    assert (made.name, made.accent_colour, made.default_language) == ("Alice's Bakery", "#8a3b12", "pt-BR")
    assert made.embed_origins == ["https://shop.bakery.example", "https://bakery.example"]
    assert made.references
    entry = AuditEntry.objects.get()
    assert (entry.what, entry.actor, entry.subject) == ("merchant_created", "admin", "Alice's Bakery")


def test_a_name_is_enough(admin_client: Client, db: None) -> None:
    assert admin_client.post(ADD, {"name": "Alice's Bakery", "references": "on"}).status_code == 302
    assert Merchant.objects.get().embed_origins == []


def test_deposit_addresses_are_switched_in_the_portal(admin_client: Client, merchant: Merchant) -> None:
    page = f"/admin/merchants/merchant/{merchant.pk}/change/"
    for value in ("on", ""):
        sent = form(deposit_addresses=value, **asked(admin_client, page))
        assert admin_client.post(page, sent).status_code == 302
        merchant.refresh_from_db()
        assert merchant.deposit_addresses is (value == "on")
        assert "deposit_addresses" in AuditEntry.objects.order_by("-id")[0].detail


def test_owners_switch_sponsored_payments_in_the_portal(merchant: Merchant) -> None:
    page = f"/admin/merchants/merchant/{merchant.pk}/change/"
    client = signed_in(Role.OWNER, merchant)
    assert "Allow payments without a network fee" in client.get(page).content.decode()
    for value in ("", "on"):
        sent = form(sponsored_payments=value, **asked(client, page))
        status = client.post(page, sent).status_code
        merchant.refresh_from_db()
        assert (status, merchant.sponsored_payments) == (302, value == "on")
        assert "sponsored_payments" in AuditEntry.objects.order_by("-id")[0].detail


def test_former_language_is_shown_as_its_replacement(admin_client: Client, merchant: Merchant) -> None:
    for kept, shown in (("zh-CN", "zh-Hans"), ("nl", "en"), ("", "en")):
        Merchant.objects.filter(pk=merchant.pk).update(default_language=kept)
        page = admin_client.get(f"/admin/merchants/merchant/{merchant.pk}/change/").content.decode()
        assert f'<option value="{shown}" selected>' in page


def test_a_merchant_is_changed_and_its_keys_stay(
    admin_client: Client, merchant: Merchant, api_key: tuple[ApiKey, str]
) -> None:
    page = f"/admin/merchants/merchant/{merchant.pk}/change/"
    assert api_key[0].prefix in admin_client.get(page).content.decode()
    changed = form(name="Alice & Sons", references="", embed_origins="", **asked(admin_client, page))
    assert admin_client.post(page, changed).status_code == 302
    merchant.refresh_from_db()
    assert (merchant.name, merchant.references, merchant.embed_origins) == ("Alice & Sons", False, [])
    assert ApiKey.objects.get().merchant == merchant


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "Alice\u202eecilA"),
        ("display_name", "Alice\u2066"),
        ("embed_origins", "https://good.example\nhttps://bad.example; script-src *"),
        ("logo_url", "javascript:alert(1)"),
        ("support_url", "https://alice:secret@bakery.example/"),
        ("accent_colour", "red"),
        ("accent_colour", "#8a3b12;}body{display:none"),
        ("accent_colour", "#ffe600"),
        ("default_language", "tlh"),
        ("email", "alice"),
    ],
)
def test_merchant_unusable_for_customers_is_rejected(
    admin_client: Client, db: None, field: str, value: str
) -> None:
    response = admin_client.post(ADD, form(**{field: value}))
    assert response.status_code == 200
    assert field in response.context["adminform"].form.errors
    assert Merchant.objects.count() == 0


def test_names_are_text_and_never_markup(admin_client: Client, merchant: Merchant) -> None:
    merchant.name = merchant.display_name = "<script>alert(1)</script>"
    merchant.save()
    for path in ("", f"{merchant.pk}/change/", f"{merchant.pk}/history/"):
        page = admin_client.get(f"/admin/merchants/merchant/{path}").content.decode()
        assert "<script>alert" not in page


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast_ratio("#000000", "#ffffff") == pytest.approx(21)
    assert contrast_ratio("#ffffff", "#ffffff") == 1
    assert contrast_ratio("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(
    "search", ["Bakery", "x" * 2000, "%", "\\", "''", "01890000-0000-7000-8000-000000000000"]
)
def test_any_search_text_returns_a_page(admin_client: Client, merchant: Merchant, search: Any) -> None:
    for model in ("merchant", "apikey"):
        assert admin_client.get(f"/admin/merchants/{model}/", {"q": search}).status_code == 200


def test_owner_changes_the_settings_but_not_the_name(merchant: Merchant) -> None:
    olga = Staff("olga", "merchant", merchant)
    page = f"/admin/merchants/merchant/{merchant.pk}/change/"
    assert olga.client.get(page).status_code == 200
    changed = form(name="Mallory's", display_name="Alice & Sons", reporting_currency="EUR")
    assert olga.client.post(page, {**changed, **asked(olga.client, page)}).status_code == 302
    merchant.refresh_from_db()
    assert (merchant.name, merchant.display_name) == ("Alice's Bakery", "Alice & Sons")
    assert (merchant.logo_url, merchant.support_email) == (changed["logo_url"], changed["support_email"])
    assert merchant.embed_origins == ["https://shop.bakery.example", "https://bakery.example"]
    entry = AuditEntry.objects.get(what="merchant_changed")
    assert (entry.actor, entry.merchant) == ("olga", merchant)
    assert "embed_origins" in entry.detail, "the log has room for the names of all changed settings"
    olga.client.post(page, {**changed, "display_name": "Alice", **asked(olga.client, page)})
    assert AuditEntry.objects.filter(what="merchant_changed").latest("id").detail == "display_name: Alice"


def test_older_tab_does_not_restore_a_merchants_settings(owner: Client, merchant: Merchant) -> None:
    page = f"/admin/merchants/merchant/{merchant.pk}/change/"
    older = form(accent_colour="#1f6feb", **asked(owner, page))
    Merchant.objects.filter(pk=merchant.pk).update(references=False)
    for sent in (older, {**older, "seen": ""}):
        response = owner.post(page, sent)
        assert response.status_code == 200
        assert "Nothing was saved, because the merchant has changed" in response.content.decode()
    (stored,) = Merchant.objects.filter(pk=merchant.pk).values()
    merchant.references = False
    assert stored == {name: getattr(merchant, name) for name in stored}
    assert not AuditEntry.objects.filter(what="merchant_changed").exists()
    owner.post(page, {**older, "references": "", **asked(owner, page)})
    merchant.refresh_from_db()
    assert (merchant.references, merchant.accent_colour) == (False, "#1f6feb")


@pytest.fixture
def owner(merchant: Merchant) -> Client:
    return signed_in(Role.OWNER, merchant)


def test_members_menu_leads_to_their_merchants_settings(owner: Client, merchant: Merchant) -> None:
    own = f"/admin/merchants/merchant/{merchant.pk}/change/"
    for query in ({}, {"q": "bakery"}, {"id__gt": "0"}):
        assert owner.get("/admin/merchants/merchant/", query)["Location"] == own
    sections = {
        each.get("title"): each["items"] for each in owner.get("/admin/").context["sidebar_navigation"]
    }
    assert [(item["title"], item["link"]) for item in sections["Merchant"]][0] == ("Settings", own)
    page = owner.get(own).content.decode()
    assert 'href="/admin/merchants/merchant/"' not in page
    assert "Save and continue editing" not in page
    assert 'href="/admin/merchants/"' not in owner.get("/admin/merchants/staffmembership/").content.decode()


def test_settings_list_keys_only_if_there_are_any(admin_client: Client, merchant: Merchant) -> None:
    page = f"/admin/merchants/merchant/{merchant.pk}/change/"
    assert "Last used" not in admin_client.get(page).content.decode()
    issue_key(merchant=merchant, permissions=[], name="web shop")
    assert "web shop" in admin_client.get(page).content.decode()


def test_missing_page_of_the_portal_leads_to_the_dashboard(admin_client: Client) -> None:
    link = '<a href="/admin/">Open the dashboard</a>'
    assert link in admin_client.get("/admin/merchants/nothing/x/").content.decode()
    assert link not in admin_client.get("/nothing").content.decode()


def test_operators_menu_leads_to_the_list_of_merchants(admin_client: Client, merchant: Merchant) -> None:
    page = admin_client.get("/admin/merchants/merchant/")
    assert list(page.context["cl"].queryset) == [merchant]
    assert 'href="/admin/merchants/merchant/"' in page.content.decode()


@pytest.mark.parametrize(
    "model",
    [
        "payments/paymentrequest",
        "payments/paymentlink",
        "webhooks/event",
        "webhooks/delivery",
        "merchants/apikey",
    ],
)
def test_members_lists_have_no_column_of_merchants(owner: Client, admin_client: Client, model: str) -> None:
    columns = [client.get(f"/admin/{model}/").context["cl"].list_display for client in (owner, admin_client)]
    assert {"merchant", "owner"}.isdisjoint(columns[0])
    assert not {"merchant", "owner"}.isdisjoint(columns[1])


def test_reader_of_settings_sees_the_labels_of_the_form(merchant: Merchant) -> None:
    client = signed_in(Role.VIEWER, merchant)
    page = client.get(f"/admin/merchants/merchant/{merchant.pk}/change/").content.decode()
    assert "Sites that may embed the checkout" in page
    assert "Embed origins" not in page
    assert "owners, members with the role finance, and each API key" in page
