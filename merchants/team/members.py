"""Change members' roles, and remove members. Each change takes effect at once, also in open sessions."""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest

from merchants.models import Merchant, StaffMembership
from merchants.sign_in import two_factor
from merchants.staff import audit
from merchants.staff.roles import Role, assign_role, lock_team, require_other_owner


class MemberGone(LookupError):
    """Another user has removed the member."""


def may_manage(user: User, merchant: Merchant | None) -> bool:
    """Whether this user is now an operator, or an owner of `merchant`.

    For the operator's own team, `merchant` is None.
    """
    current = User.objects.filter(pk=user.pk, is_active=True)
    if current.filter(is_superuser=True).exists():
        return True
    owns = {"membership__role": Role.OWNER, "membership__merchant": merchant}
    return merchant is not None and current.filter(**owns).exists()


def change_role(member: StaffMembership, role: str, *, request: HttpRequest) -> None:
    """Change the role of a merchant's member. Raises OnlyOwner, MemberGone and PermissionDenied."""
    with transaction.atomic():
        held = _held(member, request)
        before = held.position
        if held.role == role:
            return
        assign_role(held.user, role, held.merchant)
        audit.note(
            request,
            audit.What.ROLE_CHANGED,
            subject=held.user,
            detail=f"{before} → {StaffMembership.objects.get(pk=held.pk).position}",
        )


def remove_member(member: StaffMembership, *, request: HttpRequest) -> None:
    """Remove a member from the merchant. Deactivate the account: its sessions end.

    Raises OnlyOwner, MemberGone and PermissionDenied.
    """
    with transaction.atomic():
        held = _held(member, request)
        require_other_owner(held)
        held.delete()
        user = held.user
        user.is_active = False
        user.save(update_fields=("is_active",))
        two_factor.remove(user)
        audit.note(
            request, audit.What.MEMBER_REMOVED, subject=user, detail=held.position, merchant=held.merchant
        )


def _held(member: StaffMembership, request: HttpRequest) -> StaffMembership:
    """Lock the team, and check that the actor may change it. Return the member's current row."""
    merchant = member.merchant
    assert merchant is not None, "support and operators belong to no team"
    lock_team(merchant)
    actor = request.user
    # The actor may have lost the role while this call waited for the lock.
    if not isinstance(actor, User) or not may_manage(actor, merchant):
        raise PermissionDenied
    held = (
        StaffMembership.objects.filter(pk=member.pk, merchant=merchant)
        .select_related("user", "merchant")
        .first()
    )
    if held is None:
        raise MemberGone
    return held
