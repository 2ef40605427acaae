"""Write the security log: actions on sign-in, staff and keys, with actor, time and IP address. No secrets."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import User
from django.db.models.signals import post_save
from django.http import HttpRequest

from config.api.limits.client_address import client_address
from merchants.models import AuditEntry, Merchant
from merchants.staff.roles import Account, membership_of

What = AuditEntry.What


def note(
    request: HttpRequest | None,
    what: str,
    *,
    actor: Account | None = None,
    actor_name: str | None = None,
    subject: object = "",
    detail: str = "",
    merchant: Merchant | None = None,
) -> None:
    """Write one entry. The default actor is the request's user, or the command line without a request.

    `actor_name` is the name of an API key, for a call of the API. The owners of `merchant` see the entry; by default
    the merchant of the subject, else of the actor.
    """
    if actor is None and actor_name is None and request is not None:
        actor = request.user
    is_known = actor is not None and not actor.is_anonymous
    actors_merchant = _merchant_of(actor)
    AuditEntry.objects.create(
        what=what,
        actor=_name(request, actor, actor_name),
        subject=str(subject)[:200],
        detail=detail[:300],
        address=str(client_address(request) or "") if request is not None else "",
        merchant=merchant or _merchant_of(subject) or actors_merchant,
        by_operator=actor_name is None and (request is None or (is_known and actors_merchant is None)),
    )


def _name(request: HttpRequest | None, actor: Account | None, actor_name: str | None) -> str:
    if actor_name is not None:
        return actor_name
    if request is None:
        return "command line"
    return actor.get_username() if actor is not None and not actor.is_anonymous else ""


def _merchant_of(thing: object) -> Merchant | None:
    if isinstance(thing, Merchant):
        return thing
    if isinstance(thing, Account):
        membership = membership_of(thing)
        return membership.merchant if membership is not None else None
    merchant = getattr(thing, "merchant", None)
    return merchant if isinstance(merchant, Merchant) else None


@contextmanager
def of_saved_users(what: str, *, detail: str = "") -> Iterator[None]:
    """Write one entry for each user saved inside the context, with the command line as the actor.

    Django's commands ask for the user's name themselves. The entry follows the change without a transaction around
    both: it would stay open while the command waits for a password.
    """

    def record(instance: User, **_: object) -> None:
        note(None, what, subject=instance, detail=detail)

    post_save.connect(record, sender=User)
    try:
        yield
    finally:
        post_save.disconnect(record, sender=User)
