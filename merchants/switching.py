"""Change kill switches (`chains.switches`). The same transaction writes an entry in the security log."""

from django.db import transaction
from django.http import HttpRequest

from chains.models import Switch
from chains.switches import Target, find_target
from merchants.staff import audit


def switch_off(name: str, *, reason: str, request: HttpRequest | None) -> tuple[Target, bool]:
    """Switch off the target. Return the target, and whether it was on. Raises UnknownSwitch."""
    target = find_target(name)
    actor = request.user.get_username() if request is not None else "command line"
    with transaction.atomic():
        _, was_on = Switch.objects.get_or_create(
            name=target.name, defaults={"actor": actor, "reason": reason[:200]}
        )
        if was_on:
            subject = f"{target.name} ({target.label})" if target.label != target.name else target.name
            audit.note(request, audit.What.SWITCHED_OFF, subject=subject, detail=reason)
    return target, was_on


def switch_on(name: str, *, request: HttpRequest | None) -> tuple[str, bool]:
    """Switch on the feature, chain or token with this name. Return the name, and whether it was off.

    The chain or token need not be in the catalogue any more. Raises UnknownSwitch.
    """
    if not Switch.objects.filter(name=name).exists():
        name = find_target(name).name
    with transaction.atomic():
        was_off = bool(Switch.objects.filter(name=name).delete()[0])
        if was_off:
            audit.note(request, audit.What.SWITCHED_ON, subject=name)
    return name, was_off
