"""Validate and normalise values in providers' JSON.

A missing member counts as `None`. Any value of a wrong type or range makes the whole response unusable
(ProviderDown), because a guess could cost money. Error messages never contain the value.
"""

import math
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

from chains.families import AddressError, HashError, candidate_families, families, read_address
from chains.fields import UINT256_MAX
from config.api.serializers import has_unsafe_characters
from payments.providers.base import ProviderDown

LARGEST_CHAIN_ID = 2**63 - 1
MAX_DECIMALS = 36
LONGEST_WORD = 64
_LONGEST_URL = 500
# Providers write the native coin of EVM chains in two ways.
_SECOND_EVM_NATIVE = "0x" + "e" * 40
_DECIMAL_DIGITS = re.compile(r"[0-9]{1,90}")
_HEX_QUANTITY = re.compile(r"0[xX][0-9a-fA-F]{1,80}")
_HEX_DATA = re.compile(r"0[xX](?:[0-9a-fA-F]{2})*")
_DOLLARS = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,40})?|[0-9](?:\.[0-9]{1,40})?[eE]-[0-9]{1,2}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._:/+-]*")
_MAX_DOLLARS = Decimal(10) ** 18
_HTTPS = re.compile(
    r"https://[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/?#-]*)?"
)


def malformed(what: str) -> ProviderDown:
    return ProviderDown(f"the response has no valid {what}")


def require_equal(one: object, other: object, what: str) -> None:
    """Raise ProviderDown if two values of the response differ, though both say the same thing."""
    if one != other:
        raise ProviderDown(f"the response contradicts itself about {what}")


def members(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise malformed(what)
    return value


def items(value: Any, what: str, *, limit: int) -> list[Any]:
    """Return a JSON array of at most `limit` items. None becomes an empty list."""
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > limit:
        raise malformed(what)
    return value


def text(value: Any, what: str, *, limit: int = 500) -> str:
    """Return a non-empty string of at most `limit` characters without control characters."""
    if not isinstance(value, str) or not 0 < len(value) <= limit:
        raise malformed(what)
    if not _is_plain(value) and has_unsafe_characters(value):
        raise malformed(what)
    return value


def word(value: Any, what: str, *, limit: int = LONGEST_WORD) -> str:
    """Return an identifier: ASCII letters, digits and a few separators."""
    if not isinstance(value, str) or len(value) > limit or not _WORD.fullmatch(value):
        raise malformed(what)
    return value


def shown(value: Any, *, limit: int) -> str:
    """Return text that is safe to show: one line, truncated, without control characters. Never raises."""
    if not isinstance(value, str):
        return ""
    cleaned = value[: 4 * limit]
    if not _is_plain(cleaned):
        cleaned = "".join(" " if c in "\t\r\n" else c for c in cleaned)
        cleaned = "".join(
            c for c in cleaned if not has_unsafe_characters(c) and unicodedata.category(c) != "Cf"
        )
    return " ".join(cleaned.split())[:limit].strip()


def _is_plain(value: str) -> bool:
    """Check quickly whether the string is printable ASCII, since lists of tokens are long."""
    return value.isascii() and value.isprintable()


def flag(value: Any, what: str) -> bool:
    """Return a JSON boolean. None becomes False."""
    if value is None:
        return False
    if not isinstance(value, bool):
        raise malformed(what)
    return value


def amount(value: Any, what: str) -> int:
    """Return base units (0 to 2^256 - 1) from a string of decimal digits or a JSON integer."""
    if isinstance(value, str) and _DECIMAL_DIGITS.fullmatch(value):
        return _uint256(int(value), what)
    if isinstance(value, int) and not isinstance(value, bool):
        return _uint256(value, what)
    raise malformed(what)


def quantity(value: Any, what: str) -> int:
    """Return an integer from 0x hex, or from a value that `amount` accepts."""
    if isinstance(value, str) and _HEX_QUANTITY.fullmatch(value):
        return _uint256(int(value, 16), what)
    return amount(value, what)


def _uint256(number: int, what: str) -> int:
    if not 0 <= number <= UINT256_MAX:
        raise malformed(what)
    return number


def data_bytes(value: Any, what: str, *, limit: int) -> bytes:
    """Return the bytes of a 0x hex string: at most `limit` bytes."""
    if not isinstance(value, str) or len(value) > 2 + 2 * limit or not _HEX_DATA.fullmatch(value):
        raise malformed(what)
    return bytes.fromhex(value[2:])


def bytes32(value: Any, what: str) -> bytes:
    """Return exactly 32 bytes from 0x hex."""
    data = data_bytes(value, what, limit=32)
    if len(data) != 32:
        raise malformed(what)
    return data


def whole(value: Any, what: str, *, limit: int) -> int:
    """Return a JSON integer from 0 to `limit`."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= limit:
        raise malformed(what)
    return value


def chain_id(value: Any, what: str = "chain id") -> int:
    """Return a chain id: a positive integer that fits the catalogue's column."""
    number = whole(value, what, limit=LARGEST_CHAIN_ID)
    if not number:
        raise malformed(what)
    return number


def seconds(value: Any, what: str, *, limit: int) -> int | None:
    """Return a duration in whole seconds, rounded up and at most `limit`. A missing value is None."""
    if value is None:
        return None
    if not isinstance(value, int | Decimal) or isinstance(value, bool) or not value >= 0:
        raise malformed(what)
    # Compare before the conversion: 1e999999 has a million digits.
    return limit if value > limit else math.ceil(value)


def dollars(value: Any, what: str) -> Decimal | None:
    """Return US dollars from a decimal string or a JSON number. A missing value is None."""
    if value is None or value == "":
        return None
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        if not 0 <= value < _MAX_DOLLARS:
            raise malformed(what)
        value = f"{Decimal(value):.18f}" if isinstance(value, Decimal) else str(value)
    if not isinstance(value, str) or not _DOLLARS.fullmatch(value):
        raise malformed(what)
    return Decimal(value)


def signs(account: str, action: type) -> bool:
    """Whether a wallet with this address can sign this type of action (`chains.client.Action`)."""
    return any(action in family.actions for family in candidate_families(account))


def account(value: Any, what: str) -> str:
    """Return an account's canonical address: EIP-55 checksum, or base58."""
    spelled = text(value, what, limit=64)
    try:
        return read_address(spelled)[1]
    except AddressError:
        raise malformed(what) from None


def token(value: Any, what: str) -> str:
    """Return a token's canonical address. All spellings of native coin become ""."""
    spelled = text(value, what, limit=64)
    return "" if is_native(spelled) else account(spelled, what)


def is_native(spelled: str) -> bool:
    if spelled.lower() == _SECOND_EVM_NATIVE:
        return True
    return any(spelled in (each.native_alias, each.native_alias.lower()) for each in families().values())


def native_coin(of_account: str) -> str:
    """Return how providers write the native coin of this account's chain."""
    alias = read_address(of_account)[0].native_alias
    if not alias:
        raise malformed("native coin")
    return alias


def transaction_hash(value: Any, what: str) -> str:
    """Return a canonical transaction hash: lower-case 0x hex, or base58."""
    spelled = text(value, what, limit=100)
    for family in candidate_families(spelled):
        with suppress(HashError):
            return family.normalise_transaction_hash(spelled)
    raise malformed(what)


def web_address(value: Any) -> str | None:
    """Return the https URL if it is safe to link to, else None. Never raises."""
    if not isinstance(value, str) or len(value) > _LONGEST_URL or not _HTTPS.fullmatch(value):
        return None
    return value
