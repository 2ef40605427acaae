"""Identifiers: time-ordered for objects, unguessable for checkout URLs."""

import secrets
import uuid

from uuid_utils.compat import uuid7 as _uuid7

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# Look-alikes such as 0, 1, l, I and O are left out, so that a code can be read aloud; 12 characters hold 69 bits.
_SHORTCODE = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz"


def uuid7() -> uuid.UUID:
    """Return a time-ordered UUID (RFC 9562, version 7)."""
    return _uuid7()


def prefixed_id(prefix: str) -> str:
    """Return `prefix` and 24 random characters, such as `pay_…` or `evt_…` (140 bits)."""
    return prefix + _random_text(_BASE58, 24)


def shortcode() -> str:
    """Return 12 random characters without look-alikes."""
    return _random_text(_SHORTCODE, 12)


def _random_text(alphabet: str, length: int) -> str:
    """Return random characters, uniformly distributed, with one system call."""
    number, characters = secrets.randbelow(len(alphabet) ** length), []
    for _ in range(length):
        number, place = divmod(number, len(alphabet))
        characters.append(alphabet[place])
    return "".join(characters)
