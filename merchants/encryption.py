"""Encrypt stored secrets with ENCRYPTION_KEYS, so that a database dump doesn't reveal them."""

from functools import lru_cache

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings


def encrypt(secret: bytes) -> bytes:
    return _keys(*settings.ENCRYPTION_KEYS).encrypt(secret)


def decrypt(stored: bytes | memoryview) -> bytes:
    """Return the secret. Raises cryptography.fernet.InvalidToken if none of ENCRYPTION_KEYS can decrypt it."""
    return _keys(*settings.ENCRYPTION_KEYS).decrypt(bytes(stored))


def renew(stored: bytes | memoryview) -> bytes:
    """Decrypt the secret, and encrypt it with the newest key. Raises InvalidToken as `decrypt` does."""
    return _keys(*settings.ENCRYPTION_KEYS).rotate(bytes(stored))


@lru_cache(4)
def _keys(*keys: str) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])
