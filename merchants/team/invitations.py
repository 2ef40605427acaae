"""Invite people to a role.

A link works once, within 7 days. If the inviter loses the right to invite, the link no longer works.

The invited person chooses the password. The account's name is the e-mail address. An account belongs to one merchant,
so a person who works for two merchants has two accounts. The name of the second account is the address with a number.
"""

import re
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from config import mail
from merchants.models import Invitation, Merchant, StaffMembership
from merchants.models.accounts import digest_of
from merchants.sign_in import two_factor
from merchants.staff import audit
from merchants.staff.roles import OPERATOR, Role, assign_role, lock_team
from merchants.team.members import may_manage

LIFETIME = timedelta(days=7)
MAX_OPEN = 50
"""The maximum number of a merchant's open invitations, so that the service can't be used to send mail to strangers."""
_LONGEST_NAME = 150
_NOT_IN_NAMES = re.compile(r"[^\w.@+-]")


class NotInvitable(ValueError):
    """The person can't be invited. The message has the reason."""


class InvitationClosed(LookupError):
    """The link was used, revoked or replaced, it has expired, or the inviter may no longer invite."""


@dataclass(frozen=True)
class Invited:
    invitation: Invitation
    link: str


def role_label(role: str) -> str:
    return "Operator" if role == OPERATOR else str(Role(role).label)


def invite(
    email: str, role: str, merchant: Merchant | None = None, *, request: HttpRequest | None
) -> Invited:
    """Create an invitation, and return it with its link. The new invitation replaces an open invitation to the same
    address.

    `request` is the request of the portal, or None on the command line. Raises NotInvitable.
    """
    email, now, token = email.strip().lower(), timezone.now(), secrets.token_urlsafe(32)
    with transaction.atomic():
        if merchant is not None:
            lock_team(merchant)
        _check_invitable(email, merchant)
        _open(merchant).filter(email=email).update(revoked_at=now)
        invitation = Invitation.objects.create(
            merchant=merchant,
            email=email,
            role=role,
            digest=digest_of(token),
            invited_by=request.user if request is not None and isinstance(request.user, User) else None,
            expires_at=now + LIFETIME,
        )
        detail = role_label(role)
        audit.note(request, audit.What.MEMBER_INVITED, subject=email, detail=detail, merchant=merchant)
    return Invited(invitation, f"{settings.BASE_URL}{reverse('admin:invitation', args=(token,))}")


def send(invited: Invited) -> None:
    """Send the link. Raises OSError if the mail server doesn't accept the mail."""
    invitation = invited.invitation
    context = {
        "place": invitation.merchant or "the operators of Quittance",
        "role": role_label(invitation.role),
        "link": invited.link,
        "inviter": invitation.invited_by if invitation.merchant else None,
    }
    text = render_to_string("admin/invitation_email.txt", context)
    mail.send(invitation.email, f"Your invitation to {context['place']}", text)


def revoke(invitation: Invitation, *, request: HttpRequest) -> bool:
    """Revoke the invitation. Return False if it was no longer open."""
    with transaction.atomic():
        was_open = bool(_open(invitation.merchant).filter(pk=invitation.pk).update(revoked_at=timezone.now()))
        if was_open:
            audit.note(
                request,
                audit.What.INVITATION_REVOKED,
                subject=invitation.email,
                detail=role_label(invitation.role),
                merchant=invitation.merchant,
            )
    return was_open


def find_open(token: str) -> Invitation:
    """Return the invitation of this link. Raises InvitationClosed."""
    row = Invitation.objects.filter(digest=digest_of(token)).select_related("merchant", "invited_by").first()
    if row is None or not row.is_open(timezone.now()):
        raise InvitationClosed
    if row.invited_by is not None and not may_manage(row.invited_by, row.merchant):
        raise InvitationClosed
    return row


def accept(token: str, password: str, *, request: HttpRequest) -> User:
    """Use up the link.

    Return the account, which has the invitation's role and this password. Raises InvitationClosed.
    """
    merchant = find_open(token).merchant
    with transaction.atomic():
        if merchant is not None:
            lock_team(merchant)
        # Check again under the lock: the inviter may have been removed meanwhile.
        invitation = find_open(token)
        if not _open(merchant).filter(pk=invitation.pk).update(accepted_at=timezone.now()):
            raise InvitationClosed
        user = _account(invitation.email)
        user.set_password(password)
        user.is_active, user.email = True, invitation.email
        user.save()
        two_factor.remove(user)
        assign_role(user, invitation.role, merchant)
        detail = role_label(invitation.role)
        audit.note(
            request,
            audit.What.INVITATION_ACCEPTED,
            actor=user,
            subject=user.get_username(),
            detail=detail,
            merchant=merchant,
        )
    return user


def _open(merchant: Merchant | None) -> QuerySet[Invitation]:
    return Invitation.objects.filter(merchant=merchant, accepted_at=None, revoked_at=None)


def _check_invitable(email: str, merchant: Merchant | None) -> None:
    members = StaffMembership.objects.filter(merchant=merchant, user__email__iexact=email)
    if merchant is not None and members.exists():
        raise NotInvitable(f"{email} is a member already.")
    others = _open(merchant).filter(expires_at__gt=timezone.now()).exclude(email=email)
    if others.count() >= MAX_OPEN:
        raise NotInvitable(f"{MAX_OPEN} invitations are open. Revoke one that you don’t need first.")


def _account(email: str) -> User:
    """Return a new account named after `email`.

    If a former member's deactivated account has this address, return that account instead.
    """
    name = _NOT_IN_NAMES.sub("-", email)
    for number in range(1, 1000):
        suffix = f"-{number}" if number > 1 else ""
        username = name[: _LONGEST_NAME - len(suffix)] + suffix
        former = User.objects.select_for_update().filter(username=username).first()
        if former is not None and _is_former_member(former, email):
            return former
        if former is None:
            try:
                with transaction.atomic():
                    return User.objects.create_user(username, email)
            except IntegrityError:  # another call has just created an account with this name
                continue
    raise InvitationClosed


def _is_former_member(user: User, email: str) -> bool:
    is_removed = not user.is_active and not user.is_superuser and not hasattr(user, "membership")
    return is_removed and user.email.lower() == email
