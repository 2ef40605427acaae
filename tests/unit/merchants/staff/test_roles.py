"""Each page of the portal is open to the roles in its row of these tables, and to no other role."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.admin import site
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, reverse

from merchants.models import Merchant, StaffMembership
from merchants.staff.roles import MEMBER_ROLES, OPERATOR, RIGHTS, Role, assign_role, merchant_of
from merchants.staff.scope import MerchantScoped
from tests.unit.merchants.staff.estate import NO_ROLE, ROLES, Estate, furnish, global_rows, token, user_with

SUPPORT, OWNER, DEVELOPER, FINANCE, VIEWER = Role.values
READERS = {OPERATOR, *Role.values}
EVERYBODY = {*READERS, NO_ROLE}
STAFF = {OPERATOR, SUPPORT}
OWNERS = {OPERATOR, OWNER}
TECHNICAL = {OPERATOR, OWNER, DEVELOPER}
FINANCIAL = {OPERATOR, OWNER, FINANCE}

# For each model: the roles that can view its rows, and those that can create them. No role can delete rows.
MODELS: dict[str, tuple[set[str], set[str]]] = {
    "merchants_merchant": (READERS, {OPERATOR}),
    "merchants_apikey": ({*TECHNICAL, SUPPORT}, TECHNICAL),
    "merchants_auditentry": (OWNERS, set()),
    "merchants_invitation": (OWNERS, OWNERS),
    "merchants_staffmembership": (OWNERS, set()),
    "auth_user": ({OPERATOR}, {OPERATOR}),
    "chains_chain": (STAFF, set()),
    "chains_token": (READERS, set()),
    "chains_switch": ({OPERATOR}, {OPERATOR}),
    "payments_paymentrequest": (READERS, FINANCIAL),
    "payments_paymentlink": (READERS, FINANCIAL),
    "payments_payment": (READERS, set()),
    "payments_refund": (READERS, set()),
    "payments_depositaddress": (READERS, set()),
    "payments_consumedtransfer": (READERS, set()),
    "payments_transition": (READERS, set()),
    "webhooks_endpoint": (READERS, TECHNICAL),
    "webhooks_event": (READERS, set()),
    "webhooks_delivery": (READERS, set()),
}
# Pages for actions, and pages of the site itself.
PAGES: dict[str, set[str]] = {
    "merchants_apikey_rotate": TECHNICAL,
    "merchants_apikey_revoke": TECHNICAL,
    "merchants_merchant_allow_recipient": OWNERS,
    "merchants_merchant_disallow_recipient": OWNERS,
    "merchants_merchant_confirm_contract": OWNERS,
    "merchants_merchant_withdraw_contract": OWNERS,
    "merchants_staffmembership_role": OWNERS,
    "merchants_staffmembership_remove": OWNERS,
    "merchants_invitation_revoke": OWNERS,
    "auth_user_password_change": {OPERATOR},
    "auth_user_reset_two_factor": {OPERATOR},
    "payments_paymentrequest_print": READERS,
    "payments_paymentlink_print": READERS,
    "payments_paymentlink_switch-off": FINANCIAL,
    "payments_paymentlink_switch-on": FINANCIAL,
    "payments_paymentlink_rename": FINANCIAL,
    "payments_paymentrequest_cancel": FINANCIAL,
    "payments_paymentrequest_check-deposits": {*FINANCIAL, SUPPORT},
    "payments_paymentrequest_refund": FINANCIAL,
    "payments_paymentrequest_refund-excess": FINANCIAL,
    "payments_refund_export": {*FINANCIAL, SUPPORT},
    "payments_refund_cancel": FINANCIAL,
    "payments_refund_address": FINANCIAL,
    "payments_paymentrequest_export": {*FINANCIAL, SUPPORT},
    "payments_payment_retry": {*FINANCIAL, SUPPORT},
    "payments_payment_look": {*FINANCIAL, SUPPORT},
    "payments_payment_accept": FINANCIAL,
    "payments_payment_export": {*FINANCIAL, SUPPORT},
    "webhooks_endpoint_configure": TECHNICAL,
    "webhooks_endpoint_test": TECHNICAL,
    "webhooks_endpoint_rotate": {OWNER, DEVELOPER},
    "webhooks_endpoint_reveal": {OWNER, DEVELOPER},
    "webhooks_delivery_resend": {*TECHNICAL, SUPPORT},
    "password_change": EVERYBODY,
    "password_change_done": EVERYBODY,
    "search": EVERYBODY,
    "jsi18n": EVERYBODY,
    "two_factor": EVERYBODY,
    "time_zone": EVERYBODY,
    "notices": set(MEMBER_ROLES),
}
# Other tests cover these pages: the start page and lists of apps (below), sign-in and sign-out (test_sign_in
# and test_two_factor), password reset and invitations, which are open to all (test_password_reset,
# test_invitations), choices (test_roles_apart), and redirects.
ELSEWHERE = {
    "index",
    "app_list",
    "login",
    "logout",
    "sign_in_code",
    "autocomplete",
    "view_on_site",
    "password_reset",
    "password_reset_done",
    "password_reset_confirm",
    "password_reset_complete",
    "invitation",
}


def patterns(below: Any = None) -> Iterator[URLPattern]:
    for each in below if below is not None else site.get_urls():
        if isinstance(each, URLResolver):
            yield from patterns(each.url_patterns)
        else:
            yield each


def expected(name: str) -> set[str]:
    """Return the roles that can open the page. Fails for a page without a row in the tables."""
    if name in PAGES:
        return PAGES[name]
    model, _, page = name.rpartition("_")
    lookers, makers = MODELS[model]
    return {"changelist": lookers, "change": lookers, "history": lookers, "add": makers, "delete": set()}[
        page
    ]


NAMED = sorted({pattern.name for pattern in patterns() if pattern.name} - ELSEWHERE)


@pytest.fixture
def estate(db: None, _quick_settings: None) -> Estate:
    return furnish("Alice's Bakery", token(), "a")


def address_of(name: str, estate: Estate) -> str:
    """Return the page's URL, for the only row of its model."""
    try:
        return reverse(f"admin:{name}")
    except NoReverseMatch:
        rows = {**estate.owned, **global_rows()}
        label = "_".join(name.split("_")[:2])
        row = next(row for model, row in rows.items() if model._meta.label_lower.replace(".", "_") == label)
        return reverse(f"admin:{name}", args=(quote(row.pk) if isinstance(row.pk, str) else row.pk,))


@pytest.mark.parametrize("role", ROLES)
def test_each_page_opens_to_its_roles_alone(estate: Estate, role: str) -> None:
    client = Client(raise_request_exception=False)
    user = user_with(role, estate)
    if user is not None:
        client.force_login(user)
    wrong = []
    for name in NAMED:
        answer = client.get(address_of(name, estate))
        to_login = "/login/" in answer.headers.get("Location", "")
        if role == "stranger":
            right = answer.status_code == 302 and to_login
        elif role in expected(name):
            # Some pages redirect to the object, because the action isn't possible in its current state.
            right = answer.status_code in (200, 302) and not to_login
        else:
            right = answer.status_code in (403, 404)
        if not right:
            wrong.append((name, answer.status_code))
    assert wrong == []


@pytest.mark.parametrize("role", [*Role.values, NO_ROLE])
def test_what_a_role_may_only_look_at_it_can_not_post_to(estate: Estate, role: str) -> None:
    client = Client()
    user = user_with(role, estate)
    assert user is not None
    client.force_login(user)
    own = {"merchants_apikey_change", "two_factor", "password_change", "password_change_done"}
    if role == OWNER:
        own.add("merchants_merchant_change")
    refused = [
        name for name in NAMED if role not in expected(name) or (name.endswith("_change") and name not in own)
    ]
    global_rows()
    before = everything()
    for name in refused:
        answer = client.post(address_of(name, estate), {"name": "changed", "post": "yes", "username": "eve"})
        assert answer.status_code in (403, 404), name
    assert everything() == before


def everything() -> list[Any]:
    tables = (
        Merchant,
        User,
        StaffMembership,
        *site._registry,
    )
    return [[*table.objects.order_by("pk").values()] for table in tables if table.__name__ != "AuditEntry"]


@pytest.mark.parametrize("role", [OPERATOR, *Role.values])
def test_the_first_page_and_the_side_bar_offer_what_opens(estate: Estate, role: str) -> None:
    client = Client()
    user = user_with(role, estate)
    assert user is not None
    client.force_login(user)
    page = client.get("/admin/")
    assert page.status_code == 200
    for section in page.context["sidebar_navigation"]:
        for item in section["items"]:
            assert client.get(item["link"]).status_code == 200, item["title"]
    for app in ("merchants", "payments", "webhooks"):
        assert client.get(f"/admin/{app}/").status_code == 200
    assert (client.get("/admin/auth/").status_code == 200) is (role == "operator")


def test_user_without_role_sees_no_merchants_data(estate: Estate) -> None:
    client = Client()
    user = user_with(NO_ROLE, estate)
    assert user is not None
    client.force_login(user)
    for path in ("", "merchants/", "merchants/merchant/", "payments/payment/"):
        answer = client.get(f"/admin/{path}")
        assert estate.merchant.name not in answer.content.decode()
        assert answer.status_code in ((200, 403) if not path else (403, 404))


def test_rejected_member_is_told_to_ask_an_owner(estate: Estate) -> None:
    client = Client()
    user = user_with(Role.FINANCE, estate)
    assert user is not None
    client.force_login(user)
    page = client.get("/admin/merchants/apikey/")
    assert page.status_code == 403
    assert "ask an owner of your team" in page.content.decode()


def test_every_page_is_merchant_scoped_or_listed_as_unscoped() -> None:
    """A new page must have the base class that limits it to a merchant, or be added here on purpose."""
    known = {"chains.chain", "chains.token", "chains.switch", "auth.user"}
    unscoped = {
        model._meta.label_lower
        for model, page in site._registry.items()
        if not isinstance(page, MerchantScoped)
    }
    assert unscoped == known
    for page in site._registry.values():
        for inline in page.inlines:
            assert issubclass(inline, MerchantScoped), f"{inline} shows rows without asking whose they are"


def test_the_database_refuses_a_role_that_makes_no_sense(estate: Estate) -> None:
    user = User.objects.create_user("eve")
    for wrong in (
        {"role": SUPPORT, "merchant": estate.merchant},
        {"role": OWNER, "merchant": None},
        {"role": VIEWER, "merchant": None},
        {"role": "king", "merchant": estate.merchant},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            StaffMembership.objects.create(user=user, **wrong)
    for role, merchant in ((SUPPORT, estate.merchant), (OWNER, None), ("king", None)):
        with pytest.raises(ValueError, match="role|merchant"):
            assign_role(user, role, merchant)
    assert not StaffMembership.objects.filter(user=user).exists()


def test_a_role_replaces_all_rights_one_had(estate: Estate) -> None:
    user = User.objects.create_superuser("olga")
    assert merchant_of(user) is None
    assign_role(user, OWNER, estate.merchant)
    user = User.objects.get(pk=user.pk)
    assert merchant_of(user) == estate.merchant
    assert not user.is_superuser
    assert not user.has_perm("merchants.add_merchant")
    assign_role(user, "support")
    assert merchant_of(User.objects.get(pk=user.pk)) is None


def test_no_page_has_a_script_or_a_handler_in_its_text(estate: Estate) -> None:
    """The portal's content security policy would block them."""
    client = Client()
    operator = user_with("operator", estate)
    assert operator is not None
    client.force_login(operator)
    for address in ["/admin/", *(address_of(name, estate) for name in NAMED)]:
        page = client.get(address)
        if page.headers["Content-Type"].startswith("text/html") and page.status_code == 200:
            text = page.content.decode()
            assert (
                re.findall(r"<script(?![^>]*\ssrc=)(?![^>]*\stype=\"application/json\")[^>]*>", text) == []
            ), address
            assert re.findall(r"\son(?:click|change|submit|load|error|input)=", text) == [], address
            policy = page.headers["Content-Security-Policy"]
            assert "default-src 'none'; script-src 'self' 'unsafe-eval'; " in policy, address
            assert policy.endswith("form-action 'self'; frame-ancestors 'none'"), address


def test_docs_show_the_permission_table_of_the_code() -> None:
    columns = [Role.SUPPORT, *MEMBER_ROLES]
    head = "| | operator | " + " | ".join(role.label.lower() for role in columns) + " |"
    lines = [head, "|---" * (len(columns) + 2) + "|"]
    for right in RIGHTS:
        cells = ["yes" if role in right.roles else "" for role in columns]
        lines.append(f"| {right.label} | yes | " + " | ".join(cells) + " |")
    page = (settings.BASE_DIR / "docs/team.md").read_text()
    assert re.sub(r" +", " ", "\n".join(lines)) in re.sub(r" +", " ", page)


@pytest.mark.parametrize("role", [OWNER, VIEWER])
def test_pages_link_only_to_pages_that_open_to_the_role(estate: Estate, role: str) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(user_with(role, estate))
    linked: dict[str, str] = {}
    for name in NAMED:
        page = client.get(address_of(name, estate))
        if page.status_code == 200 and not page.streaming and not name.endswith("_export"):
            for link in re.findall(r'href="(/admin/[^"?#]*)"', page.content.decode()):
                linked.setdefault(link, name)
    assert len(linked) > 20
    for link, name in linked.items():
        assert client.get(link).status_code in (200, 302), f"{name} links to {link}"
