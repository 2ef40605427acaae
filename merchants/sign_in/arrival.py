"""Record a sign-in in the security log. If the member chose notices of sign-ins, also send an e-mail."""

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone

from config.api.limits.client_address import client_address
from merchants.mail.notices import notify_member
from merchants.models import NoticeKind
from merchants.staff import audit
from merchants.staff.roles import membership_of


def note_sign_in(request: HttpRequest) -> None:
    user = request.user
    with transaction.atomic():
        audit.note(request, audit.What.SIGNED_IN)
        member = membership_of(user)
        if member is None or member.merchant is None or not isinstance(user, User):
            return
        context = {
            "user": user,
            "merchant": member.merchant,
            "at": timezone.now(),
            "address": client_address(request),
            "base_url": settings.BASE_URL,
        }
        text = render_to_string("admin/sign_in_email.txt", context)
        notify_member(member, NoticeKind.SIGN_IN, f"{member.merchant}: a sign-in to your account", text)
