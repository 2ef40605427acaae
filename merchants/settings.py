"""Log changes of a merchant's settings."""

from collections.abc import Iterable

from django.http import HttpRequest

from merchants.models import AuditEntry, Merchant
from merchants.staff import audit

_ROOM = AuditEntry._meta.get_field("detail").max_length or 0


def note_settings(merchant: Merchant, names: Iterable[str], *, request: HttpRequest | None) -> None:
    """Write the new values of these fields to the security log. If the values are too long, write only the names."""
    values = {name: _shown(getattr(merchant, name)) for name in names}
    detail = "; ".join(f"{name}: {value}" for name, value in values.items())
    if len(detail) > _ROOM:
        detail = ", ".join(values)
    audit.note(request, audit.What.MERCHANT_CHANGED, subject=merchant, detail=detail)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return " ".join(map(str, value)) or "none"
    return str(value) or "none"
