"""An invitation's link creates one account, once, with the invited role. The invited person chooses the password."""

import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from config.logs import redact
from merchants.models import AuditEntry, Invitation, Merchant, StaffMembership
from merchants.sign_in import two_factor
from merchants.staff.roles import assign_role, merchant_of, role_of
from merchants.team.invitations import MAX_OPEN, InvitationClosed, accept, invite
from tests.support.portal.phone import PASSWORD, Phone, enrolled
from tests.support.portal.staff import Staff
from tests.threads import at_once
from tests.unit.merchants.sign_in.test_sign_in import sign_in

INVITE = "/admin/merchants/invitation/add/"
EMAIL = "bob@example.com"
NEW = "another horse, another staple"


@pytest.fixture
def olga(merchant: Merchant) -> Staff:
    return Staff("olga", "merchant", merchant)


def path_of(link: str) -> str:
    assert link.startswith(f"{settings.BASE_URL}/admin/invitation/"), link
    return link.removeprefix(settings.BASE_URL)


def send_form(staff: Staff, email: str = EMAIL, role: str = "viewer", **more: str) -> Any:
    return staff.client.post(INVITE, {"email": email, "role": role, "code": staff.fresh_code(), **more})


def mailed_path(index: int = -1) -> str:
    found = re.search(r"(https?://\S+/admin/invitation/\S+)", str(mail.outbox[index].body))
    assert found
    return path_of(found[1])


def choose(path: str, password: str = NEW, again: str | None = None, client: Client | None = None) -> Any:
    values = {"password1": password, "password2": password if again is None else again}
    return (client or Client()).post(path, values)


def stored() -> list[Any]:
    tables = (User, StaffMembership, Invitation)
    return [list(table.objects.order_by("pk").values()) for table in tables]


def test_invited_person_chooses_password_and_second_factor(olga: Staff) -> None:
    assert send_form(olga, role="developer").status_code == 302
    assert [message.to for message in mail.outbox] == [[EMAIL]]
    assert "Alice's Bakery" in mail.outbox[0].subject
    client = Client()
    assert "Join Alice" in client.get(mailed_path()).content.decode()
    response = choose(mailed_path(), client=client)
    assert response["Location"] == "/admin/two-factor/"
    phone = Phone.scan(client.get("/admin/two-factor/").content.decode())
    client.post("/admin/two-factor/", {"code": phone.code()})
    bob = User.objects.get(username=EMAIL)
    assert (role_of(bob), merchant_of(bob), bob.email) == (
        "developer",
        olga.user.membership.merchant,
        EMAIL,
    )
    assert two_factor.authenticator_of(bob) is not None
    assert client.get("/admin/payments/payment/").status_code == 200
    assert sign_in(Client(), EMAIL, NEW).status_code == 302
    lines = AuditEntry.objects.filter(what__in=("member_invited", "invitation_accepted")).order_by("id")
    assert [(line.what, line.actor, line.subject, line.merchant) for line in lines] == [
        ("member_invited", "olga", EMAIL, merchant_of(bob)),
        ("invitation_accepted", EMAIL, EMAIL, merchant_of(bob)),
    ]


def test_invitation_works_once(olga: Staff) -> None:
    send_form(olga)
    path = mailed_path()
    assert choose(path).status_code == 302
    before = stored()
    for response in (Client().get(path), choose(path, "a third horse, a third staple")):
        assert response.status_code == 410
        assert "This invitation doesn’t work" in response.content.decode()
    assert stored() == before


@pytest.mark.django_db(transaction=True)
def test_concurrent_acceptances_make_one_account(merchant: Merchant) -> None:
    token = invite(EMAIL, "viewer", merchant, request=None).link.split("/")[-2]

    def take() -> object:
        try:
            return accept(token, NEW, request=None)  # type: ignore[arg-type]
        except InvitationClosed:
            return None

    accepted = [user for user in at_once([take] * 4) if user is not None]
    assert len(accepted) == 1
    assert User.objects.count() == 1


def test_link_works_seven_days_and_preview_does_not_use_it(olga: Staff) -> None:
    send_form(olga)
    path = mailed_path()
    for _ in range(3):
        assert Client().get(path).status_code == 200
    invitation = Invitation.objects.get()
    assert invitation.expires_at - invitation.created_at <= timedelta(days=7, seconds=1)
    Invitation.objects.update(expires_at=timezone.now())
    before = stored()
    assert choose(path).status_code == 410
    assert stored() == before


@pytest.mark.parametrize(
    ("password", "again", "problem"),
    [("short", "short", "too short"), (NEW, "different staple horse", "not the same"), ("", "", "required")],
)
def test_bad_password_uses_nothing_up(olga: Staff, password: str, again: str, problem: str) -> None:
    send_form(olga)
    before = stored()
    response = choose(mailed_path(), password, again)
    assert response.status_code == 200
    assert problem in response.content.decode()
    assert stored() == before
    assert choose(mailed_path()).status_code == 302


def test_token_is_stored_as_hash_and_masked_in_logs(olga: Staff) -> None:
    send_form(olga)
    token = mailed_path().split("/")[-2]
    assert len(token) >= 43
    everything = str(list(Invitation.objects.values())) + str(list(AuditEntry.objects.values()))
    assert token not in everything
    assert token not in redact(f"GET {mailed_path()} 200")


def test_second_invitation_replaces_the_first(olga: Staff) -> None:
    send_form(olga, role="merchant")
    send_form(olga, email=EMAIL.upper(), role="viewer")
    assert choose(mailed_path(0)).status_code == 410
    assert choose(mailed_path(1)).status_code == 302
    assert role_of(User.objects.get(username=EMAIL)) == "viewer"


def test_revoked_invitation_is_closed_and_logged(olga: Staff) -> None:
    send_form(olga)
    invitation = Invitation.objects.get()
    response = olga.client.post(f"/admin/merchants/invitation/{invitation.pk}/revoke/")
    assert response.status_code == 302
    before = stored()
    assert choose(mailed_path()).status_code == 410
    assert stored() == before
    assert AuditEntry.objects.filter(what="invitation_revoked", actor="olga", subject=EMAIL).exists()


@pytest.mark.parametrize("what_happened", ["removed", "demoted", "deactivated"])
def test_invitation_of_a_former_owner_is_closed(olga: Staff, what_happened: str) -> None:
    send_form(olga, role="merchant")
    merchant = merchant_of(olga.user)
    assert merchant is not None
    second = User.objects.create_user("second")
    assign_role(second, "merchant", merchant)
    if what_happened == "removed":
        StaffMembership.objects.filter(user=olga.user).delete()
    elif what_happened == "demoted":
        assign_role(olga.user, "viewer", merchant)
    else:
        User.objects.filter(pk=olga.user.pk).update(is_active=False)
    before = stored()
    assert choose(mailed_path()).status_code == 410
    assert stored() == before


def test_member_of_another_merchant_gets_a_second_account(olga: Staff, other_merchant: Merchant) -> None:
    bob = User.objects.create_user(EMAIL, EMAIL, PASSWORD)
    assign_role(bob, "merchant", other_merchant)
    enrolled(bob)
    send_form(olga)
    assert choose(mailed_path()).status_code == 302
    bob = User.objects.get(pk=bob.pk)
    assert bob.check_password(PASSWORD)
    assert (role_of(bob), merchant_of(bob)) == ("merchant", other_merchant)
    assert two_factor.authenticator_of(bob) is not None
    second = User.objects.get(username=f"{EMAIL}-2")
    assert (role_of(second), merchant_of(second)) == ("viewer", merchant_of(olga.user))
    assert not second.check_password(PASSWORD)


@pytest.mark.parametrize("active", [True, False])
def test_operators_account_is_not_taken_over(olga: Staff, active: bool) -> None:
    root = User.objects.create_superuser(EMAIL, EMAIL, PASSWORD, is_active=active)
    send_form(olga)
    assert choose(mailed_path()).status_code == 302
    root.refresh_from_db()
    assert root.check_password(PASSWORD)
    assert (root.is_superuser, root.is_active) == (True, active)
    assert role_of(User.objects.get(username=f"{EMAIL}-2")) == "viewer"


def test_deactivated_member_elsewhere_stays_deactivated(olga: Staff, other_merchant: Merchant) -> None:
    bob = User.objects.create_user(EMAIL, EMAIL, PASSWORD, is_active=False)
    assign_role(bob, "viewer", other_merchant)
    send_form(olga)
    assert choose(mailed_path()).status_code == 302
    bob.refresh_from_db()
    assert (bob.is_active, bob.check_password(PASSWORD)) == (False, True)


def test_removed_member_returns_without_old_secrets(olga: Staff) -> None:
    send_form(olga)
    choose(mailed_path())
    bob = User.objects.get(username=EMAIL)
    enrolled(bob)
    member = bob.membership
    olga.client.post(f"/admin/merchants/staffmembership/{member.pk}/remove/", {"code": olga.fresh_code()})
    assert not StaffMembership.objects.filter(user=bob).exists()
    send_form(olga, role="finance")
    assert choose(mailed_path(), "a third horse, a third staple").status_code == 302
    again = User.objects.get(username=EMAIL)
    assert (again.pk, role_of(again), again.is_active) == (bob.pk, "finance", True)
    assert not again.check_password(NEW)
    assert two_factor.authenticator_of(again) is None


def test_member_is_not_invited_again(olga: Staff) -> None:
    bob = User.objects.create_user("bob", EMAIL.upper())
    assign_role(bob, "viewer", merchant_of(olga.user))
    response = send_form(olga)
    assert f"{EMAIL} is a member already." in response.content.decode()
    assert not Invitation.objects.exists()
    assert mail.outbox == []


@pytest.mark.parametrize("role", ["operator", "support", "king", ""])
def test_owner_invites_only_to_own_roles(olga: Staff, other_merchant: Merchant, role: str) -> None:
    assert send_form(olga, role=role).status_code == 200
    assert not Invitation.objects.exists()
    send_form(olga, role="viewer", merchant=str(other_merchant.pk))
    assert Invitation.objects.get().merchant == merchant_of(olga.user)


def test_invitation_page_ignores_invalid_merchant(merchant: Merchant) -> None:
    page = Staff("root", "operator").client.get(INVITE, {"merchant": "x"})
    assert page.status_code == 200
    assert page.context["form"]["merchant"].value() is None


@pytest.mark.parametrize("code", ["", "000000"])
def test_invitation_needs_a_fresh_code(olga: Staff, code: str) -> None:
    assert olga.client.post(INVITE, {"email": EMAIL, "role": "viewer", "code": code}).status_code == 200
    assert not Invitation.objects.exists()
    assert mail.outbox == []


def test_open_invitations_of_a_merchant_are_limited(olga: Staff) -> None:
    merchant = merchant_of(olga.user)
    for number in range(MAX_OPEN):
        invite(f"{number}@example.com", "viewer", merchant, request=None)
    assert f"{MAX_OPEN} invitations are open" in send_form(olga).content.decode()
    assert Invitation.objects.count() == MAX_OPEN
    assert mail.outbox == []


def test_mails_to_one_address_are_limited(olga: Staff) -> None:
    for _ in range(5):
        send_form(olga)
    assert "Too many attempts" in send_form(olga).content.decode()
    assert len(mail.outbox) == 5


def test_link_is_shown_once_if_mail_is_not_set_up(olga: Staff, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    page = send_form(olga).content.decode()
    found = re.search(r'<code id="one-time-link"[^>]*>(\S+)</code>', page)
    assert found
    assert choose(path_of(found[1])).status_code == 302
    assert found[1] not in olga.client.get("/admin/merchants/invitation/").content.decode()


def test_link_is_shown_if_the_mail_server_fails(olga: Staff, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr("merchants.team.invitations.mail.send", fail)
    page = send_form(olga).content.decode()
    assert "could not be sent" in page
    assert 'id="one-time-link"' in page


def test_operator_invites_to_each_role(merchant: Merchant) -> None:
    root = Staff("root", "operator")
    for role, whose in (("operator", ""), ("support", ""), ("finance", str(merchant.pk))):
        send_form(root, f"{role}@example.com", role, merchant=whose)
        assert choose(mailed_path()).status_code == 302
        user = User.objects.get(username=f"{role}@example.com")
        assert (role_of(user), user.is_superuser) == (role, role == "operator")
        assert merchant_of(user) == (merchant if whose else None)
    for wrong in ({"role": "finance", "merchant": ""}, {"role": "finance", "merchant": "x"}):
        assert send_form(root, "eve@example.com", **wrong).status_code == 200
    assert not Invitation.objects.filter(email="eve@example.com").exists()


def test_command_prints_the_link_alone(merchant: Merchant) -> None:
    out = StringIO()
    call_command("add_member", merchant.name, "Bob@Example.com", "--role", "owner", stdout=out)
    link = out.getvalue().removesuffix("\n")
    assert "\n" not in link
    assert mail.outbox == []
    assert choose(path_of(link)).status_code == 302
    bob = User.objects.get(username=EMAIL)
    assert (role_of(bob), merchant_of(bob)) == ("merchant", merchant)
    line = AuditEntry.objects.get(what="member_invited")
    assert (line.actor, line.merchant, line.by_operator) == ("command line", merchant, True)


@pytest.mark.parametrize(
    ("merchant_name", "email", "role"),
    [
        ("Alice's Bakery", "not an address", "owner"),
        ("Nobody's", EMAIL, "owner"),
        ("Alice's Bakery", EMAIL, "merchant"),
        ("Alice's Bakery", EMAIL, "operator"),
    ],
)
def test_command_rejects_bad_arguments(merchant: Merchant, merchant_name: str, email: str, role: str) -> None:
    with pytest.raises(CommandError):
        call_command("add_member", merchant_name, email, "--role", role)
    assert not Invitation.objects.exists()


def test_database_rejects_invitations_that_make_no_sense(merchant: Merchant) -> None:
    wrong: list[dict[str, Any]] = [
        {"role": "operator", "merchant": merchant},
        {"role": "viewer", "merchant": None},
        {"role": "king", "merchant": merchant},
    ]
    for number, values in enumerate(wrong):
        with pytest.raises(IntegrityError), transaction.atomic():
            Invitation.objects.create(
                email=EMAIL, digest=bytes([number]), expires_at=timezone.now(), **values
            )
