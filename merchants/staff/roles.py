"""Portal roles: operators, support for all merchants, and the members of a merchant.

An operator is a superuser. The other roles are rows of StaffMembership. The permissions of these roles are defined here
and not in the database. So a role is the same in every deployment.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet

from merchants.models import Merchant, NoticeWatch, StaffMembership

Role = StaffMembership.Role

SEE_EVERY_MERCHANT = "merchants.see_every_merchant"
MANAGE_TEAM = "merchants.manage_team"
EXPORT = "payments.export_payment"
OPERATOR = "operator"

MEMBER_ROLES = (Role.OWNER, Role.DEVELOPER, Role.FINANCE, Role.VIEWER)
"""The roles in a merchant's team."""


@dataclass(frozen=True)
class Right:
    """A line of the permission table: a group of permissions, and the roles that have these permissions."""

    label: str
    permissions: frozenset[str]
    roles: frozenset[str]


def _right(label: str, permissions: str, *roles: str) -> Right:
    return Right(label, frozenset(permissions.split()), frozenset(roles))


RIGHTS = (
    _right(
        "See payment requests, payment links, payments, refunds, deposit addresses, the webhook endpoint, events and "
        "deliveries",
        "merchants.view_merchant payments.view_paymentrequest payments.view_paymentlink payments.view_payment "
        "payments.view_refund payments.view_depositaddress "
        "payments.view_consumedtransfer payments.view_transition webhooks.view_endpoint webhooks.view_event "
        "webhooks.view_delivery chains.view_token",
        Role.SUPPORT,
        *MEMBER_ROLES,
    ),
    _right(
        "See every merchant, and the state of chains", f"{SEE_EVERY_MERCHANT} chains.view_chain", Role.SUPPORT
    ),
    _right("Export CSV", EXPORT, Role.SUPPORT, Role.OWNER, Role.FINANCE),
    _right("Retry and check payments", "payments.retry_payment", Role.SUPPORT, Role.OWNER, Role.FINANCE),
    _right(
        "Create payment requests, and create and change payment links",
        "payments.add_paymentrequest payments.add_paymentlink payments.change_paymentlink",
        Role.OWNER,
        Role.FINANCE,
    ),
    _right(
        "Cancel payment requests and accept payments",
        "payments.cancel_paymentrequest payments.accept_payment",
        Role.OWNER,
        Role.FINANCE,
    ),
    _right(
        "Create and cancel refunds, and change their address",
        "payments.refund_paymentrequest payments.cancel_refund",
        Role.OWNER,
        Role.FINANCE,
    ),
    _right(
        "Get the transactions that sweep deposit addresses",
        "payments.sweep_depositaddress",
        Role.OWNER,
        Role.FINANCE,
    ),
    _right("See API keys", "merchants.view_apikey", Role.SUPPORT, Role.OWNER, Role.DEVELOPER),
    _right(
        "Issue, change, rotate and revoke API keys",
        "merchants.add_apikey merchants.change_apikey",
        Role.OWNER,
        Role.DEVELOPER,
    ),
    _right("Resend webhooks", "webhooks.resend_delivery", Role.SUPPORT, Role.OWNER, Role.DEVELOPER),
    _right(
        "Set up and test the webhook endpoint, rotate and reveal its secret",
        "webhooks.configure_endpoint",
        Role.OWNER,
        Role.DEVELOPER,
    ),
    _right("Change the settings and the look of the checkout", "merchants.change_merchant", Role.OWNER),
    _right(
        "Change the allowed recipients, and confirm contract recipients",
        "merchants.change_allowed_recipients merchants.confirm_contract_recipients",
        Role.OWNER,
    ),
    _right(
        "See and change the team",
        f"merchants.view_staffmembership merchants.view_invitation merchants.add_invitation {MANAGE_TEAM}",
        Role.OWNER,
    ),
    _right("See the security log", "merchants.view_auditentry", Role.OWNER),
)
"""The permission table, as `docs/team.md` shows it. Operators may do everything. Permissions that Django doesn't make
by itself are names of actions, such as `payments.accept_payment`."""

ROLE_PERMISSIONS: dict[str, frozenset[str]] = {
    role: frozenset().union(*(right.permissions for right in RIGHTS if role in right.roles))
    for role in Role.values
}

Account = AbstractBaseUser | AnonymousUser
_Row = TypeVar("_Row", bound=Model)


class RoleBackend(ModelBackend):
    """Django's model backend with the permissions of the user's role."""

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        given = super().get_all_permissions(user_obj, obj)
        if obj is not None or not user_obj.is_active or user_obj.is_anonymous:
            return given
        membership = membership_of(user_obj)
        return given | ROLE_PERMISSIONS[membership.role] if membership else given


def membership_of(user: Account) -> StaffMembership | None:
    """Return the row with the user's role. Operators have no row."""
    return getattr(user, "membership", None)


def merchant_of(user: Account) -> Merchant | None:
    """Return the user's merchant, or None if the user sees every merchant.

    Raises PermissionDenied for a user without a role.
    """
    membership = membership_of(user)
    if membership is not None and membership.merchant is not None:
        return membership.merchant
    if isinstance(user, User) and user.has_perm(SEE_EVERY_MERCHANT):
        return None
    raise PermissionDenied


def sees_every_merchant(user: Account) -> bool:
    try:
        return merchant_of(user) is None
    except PermissionDenied:
        return False


def visible_to(user: Account, rows: QuerySet[_Row], path: str) -> QuerySet[_Row]:
    """Return the rows that this user may see. `path` is the ORM lookup from a row to its merchant."""
    try:
        merchant = merchant_of(user)
    except PermissionDenied:
        return rows.none()
    return rows if merchant is None else rows.filter(**{path: merchant.pk})


def role_of(user: User) -> str:
    """Return `operator`, a `StaffMembership.Role` or an empty string."""
    membership = membership_of(user)
    if membership is not None:
        return membership.role
    return OPERATOR if user.is_superuser else ""


class OnlyOwner(ValueError):
    """The change would leave the merchant without an owner who can sign in."""


def lock_team(merchant: Merchant) -> None:
    """Lock the merchant's team against other changes until the transaction ends."""
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)


def require_other_owner(membership: StaffMembership) -> None:
    """Raise OnlyOwner if this member is the only active owner. Lock the team before the call."""
    others = StaffMembership.objects.filter(
        merchant=membership.merchant, role=Role.OWNER, user__is_active=True
    ).exclude(pk=membership.pk)
    if membership.role == Role.OWNER and not others.exists():
        raise OnlyOwner(
            f"{membership.user} is the only owner of {membership.merchant}. Add another owner first."
        )


def assign_role(user: User, role: str, merchant: Merchant | None = None) -> None:
    """Give this saved user one role: operator, support, or a role within `merchant`.

    Raises OnlyOwner if a merchant would lose its only owner. Raises ValueError for an unknown role. Also raises it if
    `merchant` is missing for a role within a merchant, or is given for operator or support.
    """
    if role not in (OPERATOR, *Role.values):
        raise ValueError(f"there is no role {role!r}")
    if (merchant is not None) != (role in MEMBER_ROLES):
        raise ValueError("a member's role needs a merchant; other roles can't have one")
    with transaction.atomic():
        leave_owner_behind(user, role, merchant)
        user.groups.clear()
        user.user_permissions.clear()
        user.is_staff, user.is_superuser = True, role == OPERATOR
        user.save(update_fields=("is_staff", "is_superuser"))
        if role == OPERATOR:
            StaffMembership.objects.filter(user=user).delete()
        else:
            member, _ = StaffMembership.objects.update_or_create(
                user=user, defaults={"role": role, "merchant": merchant}
            )
            if merchant is not None:
                # The member keeps the choice of notices. Another merchant may not be watched yet.
                NoticeWatch.start(merchant, member.notices or ())
    user.refresh_from_db()


def leave_owner_behind(user: User, role: str, merchant: Merchant | None) -> None:
    """Lock the user's current team. Raise OnlyOwner if the user is its only owner and would get another role."""
    present = StaffMembership.objects.filter(user=user).select_related("user", "merchant").first()
    if present is None or present.merchant is None:
        return
    lock_team(present.merchant)
    present.refresh_from_db()
    if (role, merchant) != (Role.OWNER, present.merchant):
        require_other_owner(present)
