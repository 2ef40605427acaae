"""Portal roles: operators, support for all merchants, and staff of one merchant.

An operator is a superuser. The other roles are rows of StaffMembership. This code defines their permissions, so a
role means the same in every deployment and needs no migration.
"""

from typing import Any, TypeVar

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet

from merchants.models import Merchant, StaffMembership

SEE_EVERY_MERCHANT = "merchants.see_every_merchant"
OPERATOR = "operator"

_MERCHANTS_BUSINESS = frozenset(
    {
        "merchants.view_merchant",
        "merchants.view_apikey",
        "payments.view_paymentrequest",
        "payments.view_payment",
        "payments.view_refund",
        "payments.view_consumedtransfer",
        "payments.view_transition",
        "webhooks.view_endpoint",
        "webhooks.view_event",
        "webhooks.view_delivery",
    }
)
_CATALOGUE = frozenset({"chains.view_chain", "chains.view_token"})

ROLE_PERMISSIONS: dict[str, frozenset[str]] = {
    StaffMembership.Role.SUPPORT: _MERCHANTS_BUSINESS
    | _CATALOGUE
    | {SEE_EVERY_MERCHANT, "payments.retry_payment", "webhooks.resend_delivery"},
    StaffMembership.Role.MERCHANT: _MERCHANTS_BUSINESS
    | {
        "chains.view_token",
        "merchants.add_apikey",
        "merchants.change_apikey",
        "merchants.change_allowed_recipients",
        "payments.cancel_paymentrequest",
        "payments.refund_paymentrequest",
        "payments.cancel_refund",
        "payments.retry_payment",
        "payments.accept_payment",
        "webhooks.resend_delivery",
    },
}
"""What each role may do; operators may do everything. Permissions that Django does not make by itself are names of
actions: `merchants.change_allowed_recipients`, `payments.cancel_paymentrequest`,
`payments.refund_paymentrequest`, `payments.cancel_refund`, `payments.retry_payment`,
`payments.accept_payment`, `webhooks.resend_delivery`."""

Account = AbstractBaseUser | AnonymousUser
_Row = TypeVar("_Row", bound=Model)


class RoleBackend(ModelBackend):
    """Django's model backend, with the permissions of the user's role added."""

    def get_all_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        given = super().get_all_permissions(user_obj, obj)
        if obj is not None or not user_obj.is_active or user_obj.is_anonymous:
            return given
        membership = membership_of(user_obj)
        return given | ROLE_PERMISSIONS[membership.role] if membership else given


def membership_of(user: Account) -> StaffMembership | None:
    """Return the user's role row; operators have none."""
    return getattr(user, "membership", None)


def merchant_of(user: Account) -> Merchant | None:
    """Return the user's merchant; None for users who see every merchant.

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
    """Return the rows that this user may see; `path` is the lookup from a row to its merchant."""
    try:
        merchant = merchant_of(user)
    except PermissionDenied:
        return rows.none()
    return rows if merchant is None else rows.filter(**{path: merchant.pk})


def role_of(user: User) -> str:
    """Return `operator`, `support`, `merchant` or an empty string."""
    membership = membership_of(user)
    if membership is not None:
        return membership.role
    return OPERATOR if user.is_superuser else ""


def assign_role(user: User, role: str, merchant: Merchant | None = None) -> None:
    """Make this saved user an operator, support, or staff of `merchant`, and remove other roles.

    Raises ValueError for an unknown role, for merchant staff without a merchant, and for other roles with one.
    """
    if role not in (OPERATOR, *StaffMembership.Role.values):
        raise ValueError(f"there is no role {role!r}")
    if (merchant is not None) != (role == StaffMembership.Role.MERCHANT):
        raise ValueError("the merchant role needs a merchant; other roles can't have one")
    with transaction.atomic():
        user.groups.clear()
        user.user_permissions.clear()
        user.is_staff, user.is_superuser = True, role == OPERATOR
        user.save(update_fields=("is_staff", "is_superuser"))
        StaffMembership.objects.filter(user=user).delete()
        if role != OPERATOR:
            StaffMembership.objects.create(user=user, role=role, merchant=merchant)
    user.refresh_from_db()
