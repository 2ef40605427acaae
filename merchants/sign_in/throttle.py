"""Limit sign-in attempts. The attempts are counted in the database, so the limits work without Redis.

Each attempt is recorded before the limit is checked. So concurrent attempts see each other, and can't exceed the limit
together.
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
    """Record a sign-in attempt by the IP address `address` for `account`. Return whether it is allowed.

    `account` is the user name as entered, even if no such account exists, or a label such as `password reset of …`.
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
    """Delete the attempts of `address` for `account`. Call it after a successful sign-in."""
    SignInAttempt.objects.filter(account=_digest(account), address=address).delete()


def _digest(account: str) -> bytes:
    return digest_of(account.strip().casefold())
