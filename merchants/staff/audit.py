"""Write the security log.

An entry has an action, such as a sign-in or a new key, with the actor, time and IP address. It contains no secrets.
"""

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
    """Write one entry. The default actor is the request's user or, without a request, the command line.

    For an API call, `actor_name` is the name of the API key. The owners of `merchant` see the entry. By default,
    `merchant` is the subject's merchant. If the subject has no merchant, it is the actor's merchant.
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
    """Write an entry for each user that is saved inside the context. The actor is the command line.

    Use it for Django's commands, which prompt for the user. The user and the entry are not saved in one transaction,
    because the transaction would stay open while the command waits for a password.
    """

    def record(instance: User, **_: object) -> None:
        note(None, what, subject=instance, detail=detail)

    post_save.connect(record, sender=User)
    try:
        yield
    finally:
        post_save.disconnect(record, sender=User)
