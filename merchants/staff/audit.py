"""The security log: who did what to sign-in, staff and keys, when and from where. It never holds a secret."""

from django.http import HttpRequest

from config.api.limits.client_address import client_address
from merchants.models import AuditEntry
from merchants.staff.roles import Account

What = AuditEntry.What


def note(
    request: HttpRequest | None,
    what: str,
    *,
    actor: Account | None = None,
    subject: object = "",
    detail: str = "",
) -> None:
    """Write one line. The actor is the request's user unless another is named; without a request, the command line."""
    if actor is None and request is not None:
        actor = request.user
    name = actor.get_username() if actor is not None and not actor.is_anonymous else ""
    AuditEntry.objects.create(
        what=what,
        actor=name if request is not None else "command line",
        subject=str(subject)[:200],
        detail=detail[:300],
        address=str(client_address(request) or "") if request is not None else "",
    )
