"""Parse hexadecimal values from Ethereum nodes; malformed ones raise ChainError."""

import re
from functools import lru_cache
from typing import Any

from eth_utils.address import to_checksum_address

from chains.client import ChainError

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


def quantity(answer: Any) -> int:
    """Return an unsigned integer of at most 256 bits."""
    if not isinstance(answer, str) or not _QUANTITY.fullmatch(answer):
        raise ChainError("the node's answer is not a quantity")
    return int(answer, 16)


def data_bytes(answer: Any) -> bytes:
    """Return a byte string."""
    if answer == "0x":
        return b""
    if not isinstance(answer, str) or not _DATA.fullmatch(answer):
        raise ChainError("the node's answer is not a byte string")
    return bytes.fromhex(answer[2:])


def hash32(answer: Any) -> str:
    """Return a 32-byte hash in lower-case hex."""
    data = data_bytes(answer)
    if len(data) != 32:
        raise ChainError("the node's answer is not a 32-byte hash")
    return to_hex(data)


def address(answer: Any) -> str:
    """Return a 20-byte address with its EIP-55 checksum."""
    if not isinstance(answer, str):
        raise ChainError("the node's answer is not an address")
    return _checksummed(answer)


# Cached: receipts and traces repeat a few addresses many times, and checksums are slow.
@lru_cache(maxsize=8192)
def _checksummed(answer: str) -> str:
    data = data_bytes(answer) if len(answer) == 42 else b""
    if len(data) != 20:
        raise ChainError("the node's answer is not an address")
    return to_checksum_address(data)


def json_object(answer: Any) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(answer, dict):
        raise ChainError("the node's answer is not an object")
    return answer


def to_hex(data: bytes) -> str:
    """Return `data` as 0x hex."""
    return "0x" + data.hex()
