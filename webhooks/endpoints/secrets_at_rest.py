"""Webhook secrets, stored encrypted under ENCRYPTION_KEYS so that a database dump reveals none."""

import secrets
import string
from functools import lru_cache

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings

SECRET_PREFIX = "whsec_"  # noqa: S105 - what secrets begin with, not one
_ALPHABET = string.ascii_letters + string.digits


def new_secret() -> str:
    """Return a new secret: `whsec_` and 32 alphanumeric characters, 190 random bits."""
    return SECRET_PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(32))


def encrypt(secret: str) -> bytes:
    """Return `secret` encrypted under the newest key."""
    return _keys(*settings.ENCRYPTION_KEYS).encrypt(secret.encode("ascii"))


def decrypt(stored: bytes | memoryview) -> str:
    """Return the secret. Raises cryptography.fernet.InvalidToken when no key of ENCRYPTION_KEYS opens it."""
    return _keys(*settings.ENCRYPTION_KEYS).decrypt(bytes(stored)).decode("ascii")


@lru_cache(4)
def _keys(*keys: str) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])
