"""Links and mail headers that unsubscribe a member from one kind of notice, without sign-in.

A link is signed and doesn't expire. A link without expiry is safe enough, because it can only unsubscribe.
"""

from django.conf import settings
from django.core import signing
from django.urls import reverse

from merchants.models import Mail, NoticeKind

_SALT = "unsubscribe"


class UnknownLink(LookupError):
    """The link is incomplete or wrongly signed."""


def unsubscribe_url(member_id: int, kind: str) -> str:
    token = signing.dumps([member_id, kind], salt=_SALT)
    return f"{settings.BASE_URL}{reverse('unsubscribe', args=(token,))}"


def read_token(token: str) -> tuple[int, NoticeKind]:
    """Return the member's id and the kind of notice that the link turns off. Raises UnknownLink."""
    try:
        member_id, kind = signing.loads(token, salt=_SALT)
        return int(member_id), NoticeKind(kind)
    except (signing.BadSignature, TypeError, ValueError) as error:
        raise UnknownLink from error


def footer(mail: Mail) -> str:
    """Return the lines below a notice: why it was sent, and the unsubscribe link. Other e-mails have no footer."""
    if mail.member_id is None:
        return ""
    kind = NoticeKind(mail.kind).label
    return (
        f"\n--\nYou chose this notice in the portal: {kind}.\n"
        f"Unsubscribe: {unsubscribe_url(mail.member_id, mail.kind)}\n"
    )


def headers(mail: Mail) -> dict[str, str]:
    """Return the headers for one-click unsubscription (RFC 8058)."""
    if mail.member_id is None:
        return {}
    return {
        "List-Unsubscribe": f"<{unsubscribe_url(mail.member_id, mail.kind)}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
