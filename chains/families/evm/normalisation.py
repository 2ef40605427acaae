"""Normalise EVM addresses, transaction hashes and signatures, so that equal values compare equal."""

import re
import secrets
from functools import lru_cache

from eth_utils.address import is_checksum_address, to_checksum_address

from chains.families.base import AddressError, HashError, SignatureError

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_PASTED_ADDRESS = re.compile(r"0[xX]([0-9a-fA-F]{40})")
_HASH = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})")
_HASH_BYTES = 32
_SIGNATURE = re.compile(r"(?:0[xX])?((?:[0-9a-fA-F]{2})+)")
# Addresses up to this number are reserved: zero and the precompiled contracts, of which 0x100 (EIP-7951) is the last.
_LAST_RESERVED = 0x1FF


# Cached, because checksums are slow and merchants reuse a few addresses.
@lru_cache(maxsize=4096)
def normalise_address(text: str) -> str:
    """Return the address with its EIP-55 checksum.

    Raises AddressError for a malformed address, a wrong checksum, or an address without an owner.
    """
    if not _ADDRESS.fullmatch(text):
        raise AddressError("This should be an EVM address: 0x and 40 hexadecimal digits.")
    digits = text[2:]
    mixed_case = digits != digits.lower() and digits != digits.upper()
    if mixed_case and not is_checksum_address(text):
        raise AddressError("The address's checksum (EIP-55) is wrong: a character may be mistyped.")
    if int(digits, 16) <= _LAST_RESERVED:
        raise AddressError(
            "The zero address and the precompiled contracts have no owner; funds sent there are lost."
        )
    return to_checksum_address(text)


def find_address(text: str) -> str:
    """Return the address in `text`, in any letter case, with its checksum; "" if `text` is not an address."""
    match = _PASTED_ADDRESS.fullmatch(text)
    return to_checksum_address("0x" + match[1]) if match else ""


def normalise_transaction_hash(text: str) -> str:
    """Return the hash as lower-case 0x hex, without surrounding whitespace. Raises HashError for anything else."""
    match = _HASH.fullmatch(text.strip(" \t\r\n"))
    if match is None:
        raise HashError("This should be a transaction hash: 0x and 64 hexadecimal digits.")
    return "0x" + match[1].lower()


def make_hash(beginning: bytes) -> str:
    return "0x" + (beginning + secrets.token_bytes(_HASH_BYTES - len(beginning))).hex()


def read_signature(text: str) -> str:
    """Return a signature as lower-case 0x hex. Contracts' signatures may have any length. Raises SignatureError."""
    match = _SIGNATURE.fullmatch(text)
    if match is None:
        raise SignatureError("This should be a signature: 0x and, for most wallets, 130 hexadecimal digits.")
    return "0x" + match[1].lower()
