"""Owners change roles and remove members. Each change takes effect immediately, and at least one owner remains."""

from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.test import RequestFactory

from merchants.models import AuditEntry, Invitation, Merchant, StaffMembership
from merchants.staff.roles import OnlyOwner, Role, assign_role, role_of
from merchants.team.members import change_role, remove_member
from tests.support.portal.staff import Staff
from tests.threads import at_once

TEAM = "/admin/merchants/staffmembership/"


@pytest.fixture
def olga(merchant: Merchant) -> Staff:
    return Staff("olga", "merchant", merchant)


@pytest.fixture
def bob(merchant: Merchant) -> Staff:
    return Staff("bob", "merchant", merchant)


@pytest.fixture
def operator(db: None) -> Staff:
    return Staff("admin", "operator")


def membership(user: User) -> StaffMembership:
    return StaffMembership.objects.get(user=user)


def give(actor: Staff, user: User, role: str) -> Any:
    page = f"{TEAM}{membership(user).pk}/role/"
    return actor.client.post(page, {"role": role, "code": actor.fresh_code()})


def remove(actor: Staff, user: User) -> Any:
    return actor.client.post(f"{TEAM}{membership(user).pk}/remove/", {"code": actor.fresh_code()})


def request_of(user: User) -> Any:
    request = RequestFactory().post(TEAM)
    request.user = User.objects.get(pk=user.pk)
    return request


def test_demoted_member_loses_rights_in_open_session(olga: Staff, bob: Staff) -> None:
    assert bob.client.get(TEAM).status_code == 200
    assert bob.client.get("/admin/merchants/apikey/add/").status_code == 200
    assert give(olga, bob.user, "viewer")["Location"] == TEAM
    for page in (TEAM, "/admin/merchants/apikey/add/", "/admin/merchants/auditentry/"):
        assert bob.client.get(page).status_code == 403
    assert bob.client.get("/admin/payments/payment/").status_code == 200
    line = AuditEntry.objects.get(what="role_changed")
    assert (line.actor, line.subject, line.detail) == (
        "olga",
        "bob",
        "Owner of Alice's Bakery → Viewer of Alice's Bakery",
    )


@pytest.mark.parametrize("model", [StaffMembership, Invitation, AuditEntry])
def test_members_see_every_column_but_the_merchant(olga: Staff, operator: Staff, model: type[Model]) -> None:
    page = site.get_model_admin(model)
    every, own = (page.get_list_display(request_of(staff.user)) for staff in (operator, olga))
    assert [*own, "merchant"] == list(every)


def test_removed_member_is_signed_out_at_once(olga: Staff, bob: Staff) -> None:
    assert remove(olga, bob.user)["Location"] == TEAM
    assert "/login/" in bob.client.get("/admin/")["Location"]
    bob.user.refresh_from_db()
    assert not bob.user.is_active
    assert not StaffMembership.objects.filter(user=bob.user).exists()
    line = AuditEntry.objects.get(what="member_removed")
    assert (line.actor, line.subject, line.merchant) == ("olga", "bob", membership(olga.user).merchant)


def test_last_owner_is_neither_demoted_nor_removed(olga: Staff) -> None:
    for attempt in (lambda: give(olga, olga.user, "viewer"), lambda: remove(olga, olga.user)):
        page = olga.client.get(attempt()["Location"]).content.decode()
        assert "olga is the only owner of Alice&#x27;s Bakery. Add another owner first." in page
    assert role_of(User.objects.get(pk=olga.user.pk)) == "merchant"
    assert not AuditEntry.objects.filter(what__in=("role_changed", "member_removed")).exists()


def test_deactivated_owner_does_not_count(olga: Staff, bob: Staff) -> None:
    User.objects.filter(pk=bob.user.pk).update(is_active=False)
    give(olga, olga.user, "viewer")
    assert membership(olga.user).role == Role.OWNER


def test_operator_keeps_the_last_owner_too(olga: Staff, operator: Staff) -> None:
    page = f"/admin/auth/user/{olga.user.pk}/change/"
    form = {"username": "olga", "is_active": "on", "role": "support"}
    response = operator.client.post(page, {**form, "code": operator.fresh_code()}, follow=True)
    assert "the only owner" in response.content.decode()
    assert membership(olga.user).role == Role.OWNER


def test_operator_cannot_deactivate_the_only_owner_by_mistake(olga: Staff, operator: Staff) -> None:
    page = f"/admin/auth/user/{olga.user.pk}/change/"
    form = {"username": "olga", "role": "merchant", "merchant": str(membership(olga.user).merchant_id)}
    text = operator.client.post(page, {**form, "code": operator.fresh_code()}, follow=True).content.decode()
    assert "olga is the only owner of Alice&#x27;s Bakery. Add another owner first." in text
    assert "If the account is stolen, choose “Leave the merchant without an owner”." in text
    assert User.objects.get(pk=olga.user.pk).is_active
    assert not AuditEntry.objects.filter(what="user_changed").exists()


def test_operator_can_deactivate_account_of_the_only_owner(olga: Staff, operator: Staff) -> None:
    page = f"/admin/auth/user/{olga.user.pk}/change/"
    assert 'name="leaves_no_owner"' in operator.client.get(page).content.decode()
    merchant_id = str(membership(olga.user).merchant_id)
    account = {"username": "olga", "email": olga.user.email, "role": "merchant", "merchant": merchant_id}
    form = {**account, "leaves_no_owner": "on"}
    text = operator.client.post(page, {**form, "code": operator.fresh_code()}, follow=True).content.decode()
    assert "Alice&#x27;s Bakery has no owner who can sign in." in text
    assert f"/admin/merchants/invitation/add/?merchant={merchant_id}" in text
    assert not User.objects.get(pk=olga.user.pk).is_active
    assert AuditEntry.objects.get(what="user_changed").detail == "is_active"


def test_one_of_two_owners_is_deactivated_without_a_choice(
    olga: Staff, operator: Staff, merchant: Merchant
) -> None:
    second = Staff("otto", "merchant", merchant)
    page = f"/admin/auth/user/{olga.user.pk}/change/"
    assert 'name="leaves_no_owner"' not in operator.client.get(page).content.decode()
    form = {"username": "olga", "role": "merchant", "merchant": str(merchant.pk)}
    assert operator.client.post(page, {**form, "code": operator.fresh_code()}).status_code == 302
    assert not User.objects.get(pk=olga.user.pk).is_active
    assert second.user.is_active


def test_owner_with_a_second_owner_may_step_down(olga: Staff, bob: Staff) -> None:
    assert give(olga, olga.user, "finance")["Location"] == "/admin/"
    assert membership(olga.user).role == Role.FINANCE
    assert give(bob, bob.user, "finance")["Location"] == TEAM
    assert membership(bob.user).role == Role.OWNER


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["demote", "remove", "both"])
def test_owners_who_demote_each_other_leave_one(merchant: Merchant, way: str) -> None:
    owners = [User.objects.create_user(name) for name in ("olga", "bob")]
    for user in owners:
        assign_role(user, "merchant", merchant)

    def against(actor: User, other: User) -> Any:
        request, member = request_of(actor), membership(other)
        is_removal = way == "remove" or (way == "both" and actor == owners[0])

        def attempt() -> object:
            try:
                if is_removal:
                    remove_member(member, request=request)
                else:
                    change_role(member, "viewer", request=request)
            except (OnlyOwner, PermissionDenied) as error:
                return error
            return None

        return attempt

    results = at_once([against(*owners), against(*reversed(owners))])
    assert sorted(result is None for result in results) == [False, True]
    left = StaffMembership.objects.filter(merchant=merchant, role=Role.OWNER, user__is_active=True)
    assert left.count() == 1


@pytest.mark.django_db(transaction=True)
def test_owners_who_step_down_at_once_leave_one(merchant: Merchant) -> None:
    owners = [User.objects.create_user(name) for name in ("olga", "bob")]
    for user in owners:
        assign_role(user, "merchant", merchant)

    def step_down(user: User) -> Any:
        request, member = request_of(user), membership(user)

        def attempt() -> object:
            try:
                change_role(member, "viewer", request=request)
            except OnlyOwner as error:
                return error
            return None

        return attempt

    results = at_once([step_down(user) for user in owners])
    assert sorted(result is None for result in results) == [False, True]
    assert StaffMembership.objects.filter(merchant=merchant, role=Role.OWNER).count() == 1


def test_owner_demoted_meanwhile_changes_nothing(olga: Staff, bob: Staff) -> None:
    request, member = request_of(bob.user), membership(olga.user)
    give(olga, bob.user, "viewer")
    with pytest.raises(PermissionDenied):
        change_role(member, "viewer", request=request)
    assert membership(olga.user).role == Role.OWNER


def test_members_of_another_merchant_are_out_of_reach(olga: Staff, other_merchant: Merchant) -> None:
    mallory = Staff("mallory", "merchant", other_merchant)
    page = mallory.client.get(TEAM).content.decode()
    assert "olga" not in page
    for response in (give(mallory, olga.user, "viewer"), remove(mallory, olga.user)):
        assert response.status_code == 302
    assert mallory.client.get(f"{TEAM}{membership(olga.user).pk}/change/").status_code == 404
    assert membership(olga.user).role == Role.OWNER


def test_support_is_not_in_a_team(olga: Staff, admin_client: Any) -> None:
    support = User.objects.create_user("sam")
    assign_role(support, "support")
    assert "sam" not in admin_client.get(TEAM).content.decode()
    response = admin_client.get(f"{TEAM}{membership(support).pk}/role/")
    assert response.status_code == 302


def test_without_a_fresh_code_nothing_changes_in_the_team(olga: Staff, bob: Staff) -> None:
    member = membership(bob.user)
    for page, values in (("role", {"role": "viewer"}), ("remove", {})):
        response = olga.client.post(f"{TEAM}{member.pk}/{page}/", {**values, "code": "000000"})
        assert response.status_code == 200
    assert membership(bob.user).role == Role.OWNER


def test_owner_reads_the_own_log_without_operators_names(
    olga: Staff, other_merchant: Merchant, operator: Staff, bob: Staff
) -> None:
    give(olga, bob.user, "viewer")
    mallory = Staff("mallory", "merchant", other_merchant)
    form = {"username": "bob", "is_active": "on", "role": "finance", "code": operator.fresh_code()}
    merchant = membership(bob.user).merchant
    assert merchant is not None
    operator.client.post(f"/admin/auth/user/{bob.user.pk}/change/", {**form, "merchant": str(merchant.pk)})
    own = olga.client.get("/admin/merchants/auditentry/").content.decode()
    assert "Owner of Alice&#x27;s Bakery → Viewer of Alice&#x27;s Bakery" in own
    assert "Viewer of Alice&#x27;s Bakery → Finance of Alice&#x27;s Bakery" in own
    assert "the operator" in own
    assert "mallory" not in own
    theirs = mallory.client.get("/admin/merchants/auditentry/").content.decode()
    assert "mallory" in theirs
    assert "bob" not in theirs
    for term in ("admin", "127.0.0.1"):
        found = olga.client.get("/admin/merchants/auditentry/", {"q": term, "what": "role_changed"})
        assert {row.by_operator for row in found.context["cl"].queryset} <= {False}
    assert "admin" in operator.client.get("/admin/merchants/auditentry/").content.decode()
