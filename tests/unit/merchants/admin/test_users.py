"""Operators invite users and change their roles, but not their own. Each change is logged."""

import getpass
import re
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client

from merchants.models import AuditEntry, Merchant
from merchants.staff.roles import OPERATOR, Role, assign_role, merchant_of, role_of
from tests.support.portal.phone import PASSWORD, enrolled
from tests.support.portal.staff import Staff, signed_in

ADD = "/admin/auth/user/add/"


def user_form(user: User, **different: Any) -> dict[str, Any]:
    filled = {"username": user.username, "email": user.email, "is_active": "on", "role": role_of(user)}
    return {**filled, "merchant": "", **different}


def mel() -> User:
    return User.objects.get(username="mel")


@pytest.fixture
def olga(db: None) -> Staff:
    """An operator with a second factor."""
    return Staff("olga", OPERATOR)


@pytest.fixture
def support(db: None) -> User:
    user = User.objects.create_user("mel", "mel@example.com", PASSWORD)
    assign_role(user, "support")
    return user


def test_operators_invite_instead_of_typing_a_password(admin_client: Client) -> None:
    assert admin_client.get(ADD)["Location"] == "/admin/merchants/invitation/add/"
    form = {"username": "mel", "password1": PASSWORD, "password2": PASSWORD, "role": "support"}
    assert admin_client.post(ADD, form)["Location"] == "/admin/merchants/invitation/add/"
    assert User.objects.count() == 1


@pytest.mark.parametrize("wrong", ["", "01890000-0000-7000-8000-000000000000", "x"])
def test_members_role_needs_a_merchant(olga: Staff, support: User, wrong: str) -> None:
    form = user_form(support, role="finance", merchant=wrong, code=olga.fresh_code())
    assert olga.client.post(f"/admin/auth/user/{support.pk}/change/", form).status_code == 200
    assert role_of(mel()) == "support"
    assert not AuditEntry.objects.filter(subject="mel").exists()


def test_password_link_is_mailed_and_works_once(olga: Staff, support: User) -> None:
    page = f"/admin/auth/user/{support.pk}/password/"
    assert "mel@example.com" in olga.client.get(page).content.decode()
    mail.outbox.clear()
    form = {"password1": "typed by an operator", "password2": "typed by an operator"}
    assert olga.client.post(page, {**form, "code": olga.fresh_code()}).status_code == 302
    assert mel().check_password(PASSWORD)
    found = re.search(r"(/admin/password-reset/\S+/)", str(mail.outbox[0].body))
    assert found
    theirs = Client()
    chosen = theirs.get(found[1], follow=True).request["PATH_INFO"]
    new = "another horse, another staple"
    assert theirs.post(chosen, {"new_password1": new, "new_password2": new}).status_code == 302
    assert mel().check_password(new)
    assert "This link doesn’t work" in Client().get(found[1], follow=True).content.decode()
    assert [
        *AuditEntry.objects.filter(subject="mel").order_by("id").values_list("what", "actor", "subject")
    ] == [
        ("reset_requested", "olga", "mel"),
        ("password_reset", "", "mel"),
    ]


def test_password_link_is_shown_without_mail(olga: Staff, support: User) -> None:
    User.objects.update(email="")
    page = f"/admin/auth/user/{support.pk}/password/"
    response = olga.client.post(page, {"code": olga.fresh_code()})
    assert "/admin/password-reset/" in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    User.objects.filter(pk=support.pk).update(is_active=False)
    assert olga.client.post(page, {"code": olga.fresh_code()}).status_code == 302


def test_a_changed_role_takes_effect_at_once_and_is_written_down(
    olga: Staff, merchant: Merchant, support: User
) -> None:
    theirs = Client()
    theirs.force_login(mel())
    assert theirs.get("/admin/chains/chain/").status_code == 200
    change = f"/admin/auth/user/{mel().pk}/change/"
    form = user_form(mel(), role="merchant", merchant=str(merchant.pk), code=olga.fresh_code())
    assert olga.client.post(change, form).status_code == 302
    assert theirs.get("/admin/chains/chain/").status_code == 403
    line = AuditEntry.objects.get(what="role_changed")
    assert (line.actor, line.subject, line.detail, line.address) == (
        "olga",
        "mel",
        "Support → Owner of Alice's Bakery",
        "127.0.0.1",
    )
    other = User.objects.create_user("second")
    assign_role(other, "merchant", merchant)
    form = user_form(mel(), role="support", merchant=str(merchant.pk), code=olga.fresh_code())
    olga.client.post(change, form)
    assert merchant_of(mel()) is None, "support belongs to no merchant, whatever the form says"


def test_rights_given_by_hand_go_with_the_next_choice(olga: Staff, merchant: Merchant) -> None:
    user = User.objects.create_user("mel", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="delete_merchant"))
    form = user_form(user, role="merchant", merchant=str(merchant.pk), is_superuser="on", is_staff="")
    olga.client.post(f"/admin/auth/user/{user.pk}/change/", {**form, "code": olga.fresh_code()})
    assert not mel().has_perm("merchants.delete_merchant")
    assert (mel().is_superuser, mel().is_staff) == (False, True)


def test_users_keep_their_own_role_and_activity(admin_client: Client, admin_user: User) -> None:
    change = f"/admin/auth/user/{admin_user.pk}/change/"
    for wrong in ({"role": "support"}, {"is_active": ""}):
        form = {
            key: value
            for key, value in user_form(admin_user, **wrong).items()
            if value != "" or key == "merchant"
        }
        answer = admin_client.post(change, form)
        assert "change your own role" in answer.content.decode()
    admin_user.refresh_from_db()
    assert (admin_user.is_active, admin_user.is_superuser) == (True, True)
    assert admin_client.post(change, user_form(admin_user, first_name="Ada")).status_code == 302


def test_users_are_switched_off_and_not_deleted(olga: Staff, support: User) -> None:
    assert olga.client.post(f"/admin/auth/user/{mel().pk}/delete/", {"post": "yes"}).status_code == 403
    form = user_form(mel(), code=olga.fresh_code())
    del form["is_active"]
    olga.client.post(f"/admin/auth/user/{mel().pk}/change/", form)
    assert not mel().is_active
    assert AuditEntry.objects.get(what="user_changed").detail == "is_active"


@pytest.mark.parametrize("code", ["", "000000"])
def test_stolen_operator_session_takes_over_no_account(olga: Staff, merchant: Merchant, code: str) -> None:
    """The thief has the operator's cookie, but no code."""
    otto = Staff("otto", Role.OWNER, merchant)
    viewer = Staff("vera", Role.VIEWER, merchant)
    mail.outbox.clear()
    own = str(merchant.pk)
    for user, change in (
        (otto.user, {"email": "thief@example.com", "merchant": own}),
        (otto.user, {"is_active": "", "leaves_no_owner": "on", "merchant": own}),
        (viewer.user, {"role": OPERATOR}),
        (viewer.user, {"role": Role.OWNER, "merchant": own}),
    ):
        form = {
            name: value for name, value in user_form(user, **change).items() if name != "is_active" or value
        }
        _no_code(olga, f"/admin/auth/user/{user.pk}/change/", {**form, "code": code})
    for page in ("reset-two-factor", "password"):
        shown = _no_code(olga, f"/admin/auth/user/{otto.user.pk}/{page}/", {"code": code})
        assert "/admin/password-reset/" not in shown
    otto.user.refresh_from_db()
    viewer.user.refresh_from_db()
    assert (otto.user.email, otto.user.is_active) == ("otto@example.com", True)
    assert otto.user.authenticator_set.exists()
    assert (role_of(viewer.user), merchant_of(viewer.user)) == (Role.VIEWER, merchant)
    assert mail.outbox == []
    changes = ("role_changed", "user_changed", "two_factor_reset", "reset_requested")
    assert not AuditEntry.objects.filter(what__in=changes).exists()


def _no_code(staff: Staff, page: str, form: dict[str, Any]) -> str:
    """Post the form. Assert that the page shows an error of the code, and return the page."""
    staff.user.authenticator_set.update(throttling_failure_count=0)
    response = staff.client.post(page, form)
    assert response.status_code == 200
    shown = response.context.get("adminform") or response.context["form"]
    assert [*shown.errors] == ["code"]
    return response.content.decode()


def test_user_is_renamed_without_a_code(olga: Staff, support: User) -> None:
    change = f"/admin/auth/user/{support.pk}/change/"
    assert olga.client.post(change, user_form(support, first_name="Mel")).status_code == 302
    assert mel().first_name == "Mel"


def test_code_is_used_once_and_is_no_change_of_the_user(olga: Staff, support: User) -> None:
    change = f"/admin/auth/user/{support.pk}/change/"
    code = olga.fresh_code()
    taken = user_form(support, username="olga", email="new@example.com", code=code)
    assert "code" not in olga.client.post(change, taken).context["adminform"].errors
    form = user_form(support, email="new@example.com", code=code)
    assert olga.client.post(change, form).status_code == 302
    assert AuditEntry.objects.get(what="user_changed").detail == "email"
    assert olga.client.post(change, {**form, "email": "other@example.com"}).status_code == 200
    assert mel().email == "new@example.com"


@pytest.mark.parametrize("page", ["change", "password", "reset-two-factor"])
def test_operator_without_second_factor_sets_it_up_first(
    admin_client: Client, support: User, page: str
) -> None:
    enrolled(support)
    form = user_form(support, role=OPERATOR, code="123456")
    response = admin_client.post(f"/admin/auth/user/{support.pk}/{page}/", form)
    assert response["Location"].startswith("/admin/two-factor/?next=")
    assert role_of(mel()) == "support"
    assert mel().authenticator_set.exists()
    assert mail.outbox == []
    assert not AuditEntry.objects.exists()


def test_createsuperuser_makes_an_operator(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", "--noinput", username="mel", email="mel@example.com", verbosity=0)
    assert role_of(mel()) == "operator"
    assert merchant_of(mel()) is None
    line = AuditEntry.objects.get()
    assert (line.what, line.actor, line.subject, line.detail) == (
        "user_made",
        "command line",
        "mel",
        "operator",
    )


def test_password_changed_by_command_is_logged_without_it(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    new = "an even longer password 7d1e"
    User.objects.create_superuser("mel", password=PASSWORD)
    monkeypatch.setattr(getpass, "getpass", lambda **_: new)
    call_command("changepassword", "mel", stdout=StringIO())
    assert mel().check_password(new)
    line = AuditEntry.objects.get()
    assert (line.what, line.actor, line.subject, line.detail) == (
        "password_changed",
        "command line",
        "mel",
        "",
    )


def test_a_command_that_changed_no_user_leaves_no_line(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.create_superuser("mel", password=PASSWORD)
    monkeypatch.setattr(getpass, "getpass", lambda **_: "short")
    with pytest.raises(CommandError):
        call_command("changepassword", "mel", stdout=StringIO(), stderr=StringIO())
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    with pytest.raises(CommandError):
        call_command("createsuperuser", "--noinput", username="mel", email="mel@example.com", verbosity=0)
    assert mel().check_password(PASSWORD)
    assert User.objects.count() == 1
    assert not AuditEntry.objects.exists()


def test_key_operations_are_logged_without_the_key(admin_client: Client, key_form: Any) -> None:
    page = admin_client.post("/admin/merchants/apikey/add/", key_form()).content.decode()
    key = page.split('id="api-key" class="q-key-text">')[1].split("<")[0]
    line = AuditEntry.objects.get()
    assert (line.what, line.actor, line.address) == ("key_issued", "admin", "127.0.0.1")
    assert line.subject.startswith(key[:12])
    assert key[13:] not in line.subject + line.detail


def test_merchant_staff_issue_rotate_and_revoke_their_own_keys(merchant: Merchant, key_form: Any) -> None:
    client = signed_in(Role.OWNER, merchant)
    assert client.post("/admin/merchants/apikey/add/", key_form()).status_code == 200
    key = merchant.api_keys.get()
    rotated = client.post(
        f"/admin/merchants/apikey/{key.pk}/rotate/",
        {"overlap": "0", "lifetime": "", "form_id": "01890000-0000-7000-8000-000000000000"},
    )
    assert rotated.status_code == 200
    new = merchant.api_keys.exclude(pk=key.pk).get()
    assert client.post(f"/admin/merchants/apikey/{new.pk}/revoke/").status_code == 302
    assert [line.what for line in AuditEntry.objects.order_by("id")] == [
        "key_issued",
        "key_rotated",
        "key_revoked",
    ]
