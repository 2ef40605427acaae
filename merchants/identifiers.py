"""Generate identifiers. Identifiers of objects are ordered by time. Identifiers in checkout URLs can't be guessed."""

import secrets
import uuid

from uuid_utils.compat import uuid7 as _uuid7

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
# The alphabet has no similar characters, such as 0 and O. So a code can be read aloud. 12 characters have 69 bits.
_SHORTCODE = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz"


def uuid7() -> uuid.UUID:
    """Return a time-ordered UUID (RFC 9562, version 7)."""
    return _uuid7()


def parse_uuid(text: str) -> uuid.UUID | None:
    """Parse a UUID, with or without hyphens. Return None if `text` isn't one."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def prefixed_id(prefix: str) -> str:
    """Return `prefix` and 24 random characters, such as `pay_…` or `evt_…` (140 bits)."""
    return prefix + _random_text(_BASE58, 24)


def shortcode() -> str:
    """Return 12 random characters that can't be confused."""
    return _random_text(_SHORTCODE, 12)


def _random_text(alphabet: str, length: int) -> str:
    """Return uniformly distributed random characters. One system call is enough for all of them."""
    number, characters = secrets.randbelow(len(alphabet) ** length), []
    for _ in range(length):
        number, place = divmod(number, len(alphabet))
        characters.append(alphabet[place])
    return "".join(characters)
