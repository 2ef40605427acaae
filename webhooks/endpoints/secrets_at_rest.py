"""Create, encrypt and decrypt webhook secrets. Secrets are stored encrypted: a database dump doesn't reveal them."""

import secrets
import string

from merchants import encryption

SECRET_PREFIX = "whsec_"  # noqa: S105 - what secrets begin with, not one
_ALPHABET = string.ascii_letters + string.digits


def new_secret() -> str:
    """Return a new secret: `whsec_` and 32 alphanumeric characters, 190 random bits."""
    return SECRET_PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(32))


def encrypt(secret: str) -> bytes:
    return encryption.encrypt(secret.encode("ascii"))


def decrypt(stored: bytes | memoryview) -> str:
    """Return the secret. Raises cryptography.fernet.InvalidToken if none of ENCRYPTION_KEYS can decrypt it."""
    return encryption.decrypt(stored).decode("ascii")
