"""Send e-mail notices to a merchant's address, and to members of the merchant. Members choose the kinds of notices.

Each change of a member's choice is logged, so that a thief can't secretly turn off the notices of sign-ins.
"""

import logging
from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest

from config import mail
from merchants.mail.outbox import enqueue
from merchants.models import Merchant, NoticeKind, NoticeWatch, StaffMembership
from merchants.staff import audit

logger = logging.getLogger(__name__)


def notify(
    merchant: Merchant, kind: NoticeKind, subject: str, text: str, *, to_merchant: bool = False
) -> int:
    """Store a notice for each member who wants this kind. Return how many e-mails were stored.

    If `to_merchant` is True, also store an e-mail to the merchant's address, without an unsubscribe link. Call this
    function in the same database transaction as the change that the notice reports.
    """
    members = [] if mail.is_off() else list(_subscribed(merchant, kind))
    addresses = {member.user.email.lower() for member in members}
    for member in members:
        enqueue(merchant, kind, member.user.email, subject, text, member=member)
    if to_merchant and merchant.email and merchant.email.lower() not in addresses:
        enqueue(merchant, kind, merchant.email, subject, text)
        return len(members) + 1
    if to_merchant and not members and not merchant.email:
        logger.warning(
            "merchant %s has no e-mail address for this notice: %s. Set one in the portal.", merchant.pk, kind
        )
    return len(members)


def notify_member(member: StaffMembership, kind: NoticeKind, subject: str, text: str) -> bool:
    """Store a notice for this member, if the member wants this kind. Return whether it was stored."""
    if member.merchant is None or mail.is_off() or not _wants(member, kind):
        return False
    enqueue(member.merchant, kind, member.user.email, subject, text, member=member)
    return True


def are_wanted(merchant: Merchant, kinds: Collection[NoticeKind]) -> bool:
    members = StaffMembership.objects.filter(merchant=merchant, user__is_active=True)
    return any(set(chosen or ()) & set(kinds) for chosen in members.values_list("notices", flat=True))


def choose(member: StaffMembership, kinds: Collection[NoticeKind], *, request: HttpRequest) -> None:
    """Store the member's choice, and log what changed."""
    with transaction.atomic():
        locked = StaffMembership.objects.select_for_update(no_key=True, of=("self",)).get(pk=member.pk)
        _store(locked, {*kinds}, request=request, how="in the portal")


def unsubscribe(member_id: int, kind: NoticeKind, *, request: HttpRequest) -> None:
    """Turn off one kind of notice. Do nothing if the member left or has already unsubscribed."""
    with transaction.atomic():
        members = StaffMembership.objects.select_for_update(no_key=True, of=("self",))
        member = members.filter(pk=member_id).select_related("user", "merchant").first()
        if member is not None:
            left = {NoticeKind(each) for each in member.notices or ()} - {kind}
            _store(member, left, request=request, how="by the link in an e-mail")


def _store(member: StaffMembership, kinds: set[NoticeKind], *, request: HttpRequest, how: str) -> None:
    before = {NoticeKind(each) for each in member.notices or ()}
    if member.merchant is not None:
        NoticeWatch.start(member.merchant, kinds)
    if before == kinds:
        return
    StaffMembership.objects.filter(pk=member.pk).update(notices=sorted(kinds) or None)
    changes = [f"{kind}: on" for kind in sorted(kinds - before)]
    changes += [f"{kind}: off" for kind in sorted(before - kinds)]
    user: User = member.user
    audit.note(
        request,
        audit.What.NOTICES_CHANGED,
        actor=user,
        subject=user.get_username(),
        detail=f"{', '.join(changes)}, {how}",
        merchant=member.merchant,
    )


def _subscribed(merchant: Merchant, kind: NoticeKind) -> list[StaffMembership]:
    members = StaffMembership.objects.filter(merchant=merchant, notices__contains=[kind])
    return [member for member in members.select_related("user").order_by("pk") if _wants(member, kind)]


def _wants(member: StaffMembership, kind: NoticeKind) -> bool:
    user: User = member.user
    return kind in (member.notices or ()) and user.is_active and bool(user.email)
