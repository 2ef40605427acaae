"""Limit sign-in attempts. The database counts them, across processes and without Redis.

An attempt is recorded before the limit is checked. Each of many concurrent attempts then sees those recorded before
it, so that no more than the limit pass.
"""

from datetime import timedelta

from django.utils import timezone

from merchants.models import SignInAttempt
from merchants.models.accounts import digest_of

WINDOW = timedelta(minutes=15)
FROM_ONE_ADDRESS_TO_ONE_ACCOUNT = 5
TO_ONE_ACCOUNT = 30
FROM_ONE_ADDRESS = 30


def may_try(account: str, address: str) -> bool:
    """Record a sign-in attempt of `address` for `account`; return whether it is allowed.

    `account` is the typed user name, or a label such as `password reset of …`. It need not exist.
    """
    began = timezone.now() - WINDOW
    SignInAttempt.objects.filter(at__lt=began).delete()
    digest = _digest(account)
    SignInAttempt.objects.create(account=digest, address=address)
    to_account = SignInAttempt.objects.filter(account=digest)
    return (
        to_account.filter(address=address).count() <= FROM_ONE_ADDRESS_TO_ONE_ACCOUNT
        and to_account.count() <= TO_ONE_ACCOUNT
        and SignInAttempt.objects.filter(address=address).count() <= FROM_ONE_ADDRESS
    )


def forget(account: str, address: str) -> None:
    """Delete the attempts of `address` for `account` after a success."""
    SignInAttempt.objects.filter(account=_digest(account), address=address).delete()


def _digest(account: str) -> bytes:
    return digest_of(account.strip().casefold())
