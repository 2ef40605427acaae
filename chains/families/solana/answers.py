"""Parse answers of Solana nodes; malformed ones raise ChainError."""

import base64
import binascii
from typing import Any

from solders.hash import Hash
from solders.pubkey import Pubkey

from chains.client import ChainError
from chains.rpc.json_rpc import sound as sound

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS = {character: place for place, character in enumerate(_ALPHABET)}
_DIGITS_AT_ONCE = 10
_LARGEST = 2**64 - 1
_LONGEST_KEY = 44


def mapping(answer: Any) -> dict[str, Any]:
    """Return an object."""
    if not isinstance(answer, dict):
        raise ChainError("the node's answer is not an object")
    return answer


def sequence(answer: Any) -> list[Any]:
    """Return a list; null counts as an empty one."""
    return [] if answer is None else listed(answer)


def listed(answer: Any) -> list[Any]:
    """Return a list. One that is missing is not an empty one."""
    if not isinstance(answer, list):
        raise ChainError("the node's answer is not a list")
    return answer


def value_of(answer: Any) -> Any:
    """Return the `value` of an answer that comes with its context."""
    return mapping(sound(answer)).get("value")


def whole(answer: Any) -> int:
    """Return an unsigned integer of at most 64 bits."""
    if isinstance(answer, bool) or not isinstance(answer, int) or not 0 <= answer <= _LARGEST:
        raise ChainError("the node's answer is not an unsigned integer")
    return answer


def whole_text(answer: Any) -> int:
    """Return an unsigned integer of at most 64 bits that is written as decimal text."""
    if not isinstance(answer, str) or not (answer.isascii() and answer.isdigit() and len(answer) <= 20):
        raise ChainError("the node's answer is not an amount")
    return whole(int(answer))


def key(answer: Any) -> str:
    """Return an account key: 32 bytes in base58."""
    if isinstance(answer, str) and len(answer) <= _LONGEST_KEY:
        try:
            return str(Pubkey.from_string(answer))
        except ValueError:
            pass
    raise ChainError("the node's answer is not an account key")


def blockhash(answer: Any) -> str:
    """Return a hash of 32 bytes, in base58."""
    if isinstance(answer, str) and len(answer) <= _LONGEST_KEY:
        try:
            return str(Hash.from_string(answer))
        except ValueError:
            pass
    raise ChainError("the node's answer is not a hash")


def base64_data(answer: Any) -> bytes:
    """Return bytes that come as ["…", "base64"]."""
    parts = sequence(answer)
    if len(parts) == 2 and parts[1] == "base64" and isinstance(parts[0], str):
        try:
            return base64.b64decode(parts[0], validate=True)
        except (binascii.Error, ValueError):
            pass
    raise ChainError("the node's answer is not base64")


def base58_data(text: str) -> bytes | None:
    """Return the bytes that `text` writes in base58, or None if it does not."""
    number = 0
    # Ten digits make a small number: the large one is multiplied a tenth as often.
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
