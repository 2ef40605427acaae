"""Parse hexadecimal values from Ethereum nodes; malformed ones raise ChainError."""

import re
from functools import lru_cache
from typing import Any

from eth_utils.address import to_checksum_address

from chains.client import ChainError

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


def quantity(result: Any) -> int:
    """Return an unsigned integer of at most 256 bits."""
    if not isinstance(result, str) or not _QUANTITY.fullmatch(result):
        raise ChainError("the node's response is not a quantity")
    return int(result, 16)


def data_bytes(result: Any) -> bytes:
    if result == "0x":
        return b""
    if not isinstance(result, str) or not _DATA.fullmatch(result):
        raise ChainError("the node's response is not a byte string")
    return bytes.fromhex(result[2:])


def hash32(result: Any) -> str:
    """Return a 32-byte hash in lower-case hex."""
    data = data_bytes(result)
    if len(data) != 32:
        raise ChainError("the node's response is not a 32-byte hash")
    return to_hex(data)


def address(result: Any) -> str:
    """Return a 20-byte address with its EIP-55 checksum."""
    if not isinstance(result, str):
        raise ChainError("the node's response is not an address")
    return _checksummed(result)


# Cached, because checksums are slow and receipts and traces repeat a few addresses many times.
@lru_cache(maxsize=8192)
def _checksummed(result: str) -> str:
    data = data_bytes(result) if len(result) == 42 else b""
    if len(data) != 20:
        raise ChainError("the node's response is not an address")
    return to_checksum_address(data)


def to_hex(data: bytes) -> str:
    return "0x" + data.hex()
