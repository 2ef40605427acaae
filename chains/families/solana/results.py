"""Parse values from Solana nodes; malformed ones raise ChainError."""

import base64
import binascii
from collections.abc import Callable
from typing import Any

from solders.hash import Hash
from solders.pubkey import Pubkey

from chains.client import ChainError
from chains.rpc.json_rpc import json_object
from chains.rpc.json_rpc import result_of as result_of

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS = {character: place for place, character in enumerate(_ALPHABET)}
_DIGITS_AT_ONCE = 10
_LARGEST = 2**64 - 1
_LONGEST_KEY = 44


def sequence(result: Any) -> list[Any]:
    """Return a list; null counts as an empty list."""
    return [] if result is None else listed(result)


def listed(result: Any) -> list[Any]:
    """Return a list; null is malformed."""
    if not isinstance(result, list):
        raise ChainError("the node's response is not a list")
    return result


def value_of(result: Any) -> Any:
    """Return the `value` of a result with context."""
    return json_object(result_of(result)).get("value")


def whole(result: Any) -> int:
    """Return an unsigned integer of at most 64 bits."""
    if isinstance(result, bool) or not isinstance(result, int) or not 0 <= result <= _LARGEST:
        raise ChainError("the node's response is not an unsigned integer")
    return result


def whole_text(result: Any) -> int:
    """Return an unsigned integer of at most 64 bits from decimal text."""
    if not isinstance(result, str) or not (result.isascii() and result.isdigit() and len(result) <= 20):
        raise ChainError("the node's response is not an amount")
    return whole(int(result))


def key(result: Any) -> str:
    """Return an account key: 32 bytes in base58."""
    return _base58(result, Pubkey.from_string, "an account key")


def blockhash(result: Any) -> str:
    """Return a hash of 32 bytes, in base58."""
    return _base58(result, Hash.from_string, "a hash")


def _base58(result: Any, parse: Callable[[str], object], name: str) -> str:
    if isinstance(result, str) and len(result) <= _LONGEST_KEY:
        try:
            return str(parse(result))
        except ValueError:
            pass
    raise ChainError(f"the node's response is not {name}")


def base64_data(result: Any) -> bytes:
    """Return the bytes of ["…", "base64"]."""
    parts = sequence(result)
    if len(parts) == 2 and parts[1] == "base64" and isinstance(parts[0], str):
        try:
            return base64.b64decode(parts[0], validate=True)
        except (binascii.Error, ValueError):
            pass
    raise ChainError("the node's response is not base64")


def base58_data(text: str) -> bytes | None:
    """Decode base58; None if `text` is not base58."""
    number = 0
    # Ten digits at once: this multiplies the large number a tenth as often.
    for start in range(0, len(text), _DIGITS_AT_ONCE):
        part, small = text[start : start + _DIGITS_AT_ONCE], 0
        for character in part:
            digit = _DIGITS.get(character)
            if digit is None:
                return None
            small = small * 58 + digit
        number = number * 58 ** len(part) + small
    zeros = len(text) - len(text.lstrip(_ALPHABET[0]))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)
