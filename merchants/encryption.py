"""What has to be read again and must not stand in a dump of the database: encrypted under ENCRYPTION_KEYS."""

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings


def encrypt(secret: bytes) -> bytes:
    """Return `secret` encrypted under the newest key."""
    return _keys().encrypt(secret)


def decrypt(stored: bytes | memoryview) -> bytes:
    """Return the secret. Raises cryptography.fernet.InvalidToken when no key of ENCRYPTION_KEYS opens it."""
    return _keys().decrypt(bytes(stored))


def _keys() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.ENCRYPTION_KEYS])
