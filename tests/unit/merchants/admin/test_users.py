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
from merchants.staff.roles import Role, assign_role, merchant_of, role_of
from tests.support.portal.phone import PASSWORD
from tests.support.portal.staff import signed_in

ADD = "/admin/auth/user/add/"


def user_form(user: User, **different: Any) -> dict[str, Any]:
    filled = {"username": user.username, "is_active": "on", "role": role_of(user), "merchant": ""}
    return {**filled, **different}


def mel() -> User:
    return User.objects.get(username="mel")


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
def test_members_role_needs_a_merchant(admin_client: Client, support: User, wrong: str) -> None:
    form = user_form(support, role="finance", merchant=wrong)
    assert admin_client.post(f"/admin/auth/user/{support.pk}/change/", form).status_code == 200
    assert role_of(mel()) == "support"
    assert not AuditEntry.objects.exists()


def test_password_link_is_mailed_and_works_once(admin_client: Client, support: User) -> None:
    page = f"/admin/auth/user/{support.pk}/password/"
    assert "mel@example.com" in admin_client.get(page).content.decode()
    assert mail.outbox == []
    form = {"password1": "typed by an operator", "password2": "typed by an operator"}
    assert admin_client.post(page, form).status_code == 302
    assert mel().check_password(PASSWORD)
    found = re.search(r"(/admin/password-reset/\S+/)", str(mail.outbox[0].body))
    assert found
    theirs = Client()
    chosen = theirs.get(found[1], follow=True).request["PATH_INFO"]
    new = "another horse, another staple"
    assert theirs.post(chosen, {"new_password1": new, "new_password2": new}).status_code == 302
    assert mel().check_password(new)
    assert "This link doesn’t work" in Client().get(found[1], follow=True).content.decode()
    assert [*AuditEntry.objects.order_by("id").values_list("what", "actor", "subject")] == [
        ("reset_requested", "admin", "mel"),
        ("password_reset", "", "mel"),
    ]


def test_password_link_is_shown_without_mail(admin_client: Client, support: User) -> None:
    User.objects.update(email="")
    response = admin_client.post(f"/admin/auth/user/{support.pk}/password/")
    assert "/admin/password-reset/" in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    User.objects.filter(pk=support.pk).update(is_active=False)
    assert admin_client.post(f"/admin/auth/user/{support.pk}/password/").status_code == 302


def test_a_changed_role_takes_effect_at_once_and_is_written_down(
    admin_client: Client, merchant: Merchant, support: User
) -> None:
    theirs = Client()
    theirs.force_login(mel())
    assert theirs.get("/admin/chains/chain/").status_code == 200
    change = f"/admin/auth/user/{mel().pk}/change/"
    form = user_form(mel(), role="merchant", merchant=str(merchant.pk))
    assert admin_client.post(change, form).status_code == 302
    assert theirs.get("/admin/chains/chain/").status_code == 403
    line = AuditEntry.objects.get(what="role_changed")
    assert (line.actor, line.subject, line.detail, line.address) == (
        "admin",
        "mel",
        "Support → Owner of Alice's Bakery",
        "127.0.0.1",
    )
    other = User.objects.create_user("second")
    assign_role(other, "merchant", merchant)
    admin_client.post(change, user_form(mel(), role="support", merchant=str(merchant.pk)))
    assert merchant_of(mel()) is None, "support belongs to no merchant, whatever the form says"


def test_rights_given_by_hand_go_with_the_next_choice(admin_client: Client, merchant: Merchant) -> None:
    user = User.objects.create_user("mel", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="delete_merchant"))
    form = user_form(user, role="merchant", merchant=str(merchant.pk), is_superuser="on", is_staff="")
    admin_client.post(f"/admin/auth/user/{user.pk}/change/", form)
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


def test_users_are_switched_off_and_not_deleted(admin_client: Client, support: User) -> None:
    assert admin_client.post(f"/admin/auth/user/{mel().pk}/delete/", {"post": "yes"}).status_code == 403
    form = user_form(mel(), email="mel@example.com")
    del form["is_active"]
    admin_client.post(f"/admin/auth/user/{mel().pk}/change/", form)
    assert not mel().is_active
    assert AuditEntry.objects.get(what="user_changed").detail == "is_active"


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
