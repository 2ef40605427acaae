"""Merchant staff see only their own merchant: in lists, searches, choices, filters, pages and actions."""

import json
from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import quote
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from merchants.models import ApiKey, Merchant
from merchants.staff.scope import MerchantScoped
from payments.models import DepositAddress, Payment, PaymentRequest
from tests.unit.merchants.staff.estate import Estate, furnish, token
from tests.unit.merchants.staff.test_roles import NAMED
from webhooks.models import Delivery

OWNED = [model for model, page in site._registry.items() if isinstance(page, MerchantScoped)]
OBJECT_PAGES = [
    (model, name)
    for model in OWNED
    for name in NAMED
    if name.startswith(f"{model._meta.app_label}_{model._meta.model_name}_")
    and not name.endswith(("_changelist", "_add", "_export"))
]


@pytest.fixture
def estates(db: None) -> tuple[Estate, Estate]:
    """Alice's and Mallory's estates, with the same token."""
    coin = token()
    return furnish("Alice's Bakery", coin, "a"), furnish("Mallory's", coin, "b")


@pytest.fixture
def mallory(estates: tuple[Estate, Estate]) -> Client:
    """Signed-in staff of Mallory's."""
    client = Client()
    client.force_login(estates[1].staff)
    return client


def page_of(name: str, row: Model) -> str:
    key = quote(row.pk) if isinstance(row.pk, str) else row.pk
    return reverse(f"admin:{name}", args=(key,))


def stored() -> list[Any]:
    return [[*model.objects.order_by("pk").values()] for model in OWNED]


def assert_shows_nothing_of(estate: Estate, response: Any, *, typed: str = "") -> None:
    body = b"".join(response.streaming_content) if response.streaming else response.content
    shown = body.decode().replace("&#x27;", "'")
    for mark in estate.marks():
        assert mark == typed or mark not in shown, mark


@pytest.mark.parametrize("model", OWNED)
def test_anothers_object_is_not_there(
    estates: tuple[Estate, Estate], mallory: Client, model: type[Model]
) -> None:
    alice, _ = estates
    theirs = alice.owned[model]
    before = stored()
    for name in (name for owner, name in OBJECT_PAGES if owner is model):
        address = page_of(name, theirs)
        answers = {"reason": "mine", "overlap": "0", "name": "mine", "post": "yes", "seen": ""}
        for answer in (mallory.get(address), mallory.post(address, answers)):
            assert answer.status_code in (302, 403, 404), name
            if answer.status_code == 302:
                assert not answer["Location"].endswith("/change/"), name
                assert_shows_nothing_of(alice, mallory.get(answer["Location"]), typed=str(theirs.pk))
    assert stored() == before


# Members see no list of merchants, and the page of deposit addresses has no rows. Both have separate tests.
@pytest.mark.parametrize("model", [model for model in OWNED if model not in (Merchant, DepositAddress)])
def test_lists_show_only_own_rows_in_any_search_or_filter(
    estates: tuple[Estate, Estate], mallory: Client, model: type[Model]
) -> None:
    alice, own = estates
    listed = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    plain = mallory.get(listed)
    assert [row.pk for row in plain.context["cl"].queryset] == [own.owned[model].pk]
    assert_shows_nothing_of(alice, plain)
    for mark in alice.marks():
        found = mallory.get(listed, {"q": mark})
        assert {row.pk for row in found.context["cl"].queryset} <= {own.owned[model].pk}
    for sneaky in (
        "merchant__id__exact",
        "merchant__name__startswith",
        "request__merchant__id__exact",
        "id__gt",
    ):
        odd = mallory.get(listed, {sneaky: str(alice.merchant.pk)}, follow=True)
        assert_shows_nothing_of(alice, odd, typed=str(alice.merchant.pk))


@pytest.mark.parametrize(
    ("app", "model", "field"),
    [
        ("merchants", "apikey", "merchant"),
        ("merchants", "staffmembership", "merchant"),
        ("payments", "paymentrequest", "merchant"),
        ("payments", "payment", "request"),
        ("payments", "transition", "payment"),
        ("webhooks", "endpoint", "merchant"),
        ("webhooks", "delivery", "event"),
    ],
)
def test_choices_offer_ones_own_rows_alone(
    estates: tuple[Estate, Estate], mallory: Client, app: str, model: str, field: str
) -> None:
    alice, _ = estates
    for term in ("", "Alice", alice.owned[PaymentRequest].shortcode, alice.owned[Payment].pk):
        answer = mallory.get(
            reverse("admin:autocomplete"),
            {"app_label": app, "model_name": model, "field_name": field, "term": term},
        )
        assert answer.status_code in (200, 403)
        if answer.status_code == 200:
            assert len(json.loads(answer.content)["results"]) <= 1
            assert_shows_nothing_of(alice, answer)


def test_issued_key_belongs_to_own_merchant_despite_form_data(
    estates: tuple[Estate, Estate], mallory: Client
) -> None:
    alice, own = estates
    address = f"/admin/merchants/apikey/add/?merchant={alice.merchant.pk}"
    page = mallory.get(address)
    assert_shows_nothing_of(alice, page, typed=str(alice.merchant.pk))
    form_id = page.context["adminform"].form["form_id"].value()
    answer = mallory.post(
        address,
        {"merchant": str(alice.merchant.pk), "name": "sneaky", "permissions": [], "form_id": str(form_id)},
    )
    assert answer.status_code == 200
    assert ApiKey.objects.get(name="sneaky").merchant == own.merchant
    assert ApiKey.objects.filter(merchant=alice.merchant).count() == 1


def test_actions_on_lists_reach_ones_own_rows_alone(estates: tuple[Estate, Estate], mallory: Client) -> None:
    alice, own = estates
    theirs = alice.owned[Delivery]
    before = stored()
    for name in ("resend_selected", "delete_selected"):
        answer = mallory.post(
            "/admin/webhooks/delivery/",
            {"action": name, "_selected_action": [theirs.pk], "index": "0", "post": "yes"},
        )
        assert answer.status_code in (200, 302, 403)
        assert_shows_nothing_of(alice, mallory.get("/admin/webhooks/delivery/"))
    assert stored() == before
    assert own.owned[Delivery].pk != theirs.pk


@pytest.mark.parametrize("name", [name for name in NAMED if name.endswith("_export")])
def test_exports_hold_ones_own_rows_alone(estates: tuple[Estate, Estate], mallory: Client, name: str) -> None:
    alice, own = estates
    answer = mallory.get(reverse(f"admin:{name}"))
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    text = body.decode()
    assert own.owned[PaymentRequest].shortcode in text or own.owned[Payment].pk in text
    assert not any(mark in text for mark in alice.marks())


def test_the_first_page_and_the_search_show_nothing_of_others(
    estates: tuple[Estate, Estate], mallory: Client
) -> None:
    alice, _ = estates
    LogEntry.objects.create(
        user=estates[0].staff,
        content_type=ContentType.objects.get_for_model(Merchant),
        object_id=str(alice.merchant.pk),
        object_repr=alice.merchant.name,
        action_flag=2,
    )
    for path in ("", "merchants/", "payments/", "webhooks/"):
        assert_shows_nothing_of(alice, mallory.get(f"/admin/{path}"))
    for extended in ({}, {"extended": "1"}):
        assert_shows_nothing_of(alice, mallory.get("/admin/search/", {"s": "Alice", **extended}))


def test_admin_redirect_of_another_merchant_is_404(estates: tuple[Estate, Estate], mallory: Client) -> None:
    kind = ContentType.objects.get_for_model(Merchant)
    assert mallory.get(f"/admin/r/{kind.pk}/{estates[0].merchant.pk}/").status_code == 404
