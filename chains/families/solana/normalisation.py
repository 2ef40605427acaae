"""Normalise Solana addresses, transaction signatures and message signatures to base58."""

import base64
import binascii
import re
import secrets

from solders.pubkey import Pubkey
from solders.signature import Signature

from chains.families.base import AddressError, HashError, SignatureError

_INCINERATOR = "1nc1nerator11111111111111111111111111111111"
_ADDRESS = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}")
_LONGEST_ADDRESS = 44
_HEX = re.compile(r"(?:0[xX])?((?:[0-9a-fA-F]{2})+)")
_SIGNATURE_BYTES = 64
_LONGEST_SIGNATURE = 90


def normalise_address(text: str) -> str:
    """Return the address in base58. Raises AddressError for an invalid address, and for an address without an owner."""
    if len(text) > _LONGEST_ADDRESS:
        raise AddressError("This should be a Solana address: 32 bytes in base58.")
    try:
        key = Pubkey.from_string(text)
    except ValueError as error:
        raise AddressError("This should be a Solana address: 32 bytes in base58.") from error
    if text == _INCINERATOR:
        raise AddressError("This is Solana's incinerator; funds sent there are destroyed.")
    if bytes(key) == bytes(Pubkey.LENGTH):
        raise AddressError(
            "This is the System Program, which some tools use to denote SOL; it is not a wallet."
        )
    return str(key)


def find_address(text: str) -> str:
    """Return `text` if it looks like an address, or else "". The address need not be payable."""
    return text if _ADDRESS.fullmatch(text) else ""


def address_bytes(address: str) -> bytes:
    return bytes(Pubkey.from_string(address))


def normalise_transaction_hash(text: str) -> str:
    """Return the transaction signature in base58, without surrounding whitespace. Raises HashError for other text."""
    text = text.strip(" \t\r\n")
    if len(text) > _LONGEST_SIGNATURE:
        raise HashError("This should be a Solana transaction signature: 64 bytes in base58.")
    try:
        return str(Signature.from_string(text))
    except ValueError as error:
        raise HashError("This should be a Solana transaction signature: 64 bytes in base58.") from error


def make_hash(beginning: bytes) -> str:
    return str(Signature.from_bytes(beginning + secrets.token_bytes(_SIGNATURE_BYTES - len(beginning))))


def read_signature(text: str) -> str:
    """Return a signature of 64 bytes in base58. Raises SignatureError."""
    signature = solana_signature(text) or _in_hex(text)
    if signature is None:
        raise SignatureError("This should be a signature of 64 bytes, in base58, base64 or hexadecimal.")
    return str(signature)


def solana_signature(text: str) -> Signature | None:
    """Parse a signature: 64 bytes in base58 or base64. Return None for anything else."""
    if len(text) > _LONGEST_SIGNATURE:
        return None
    try:
        return Signature.from_string(text)
    except ValueError:
        pass
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Signature.from_bytes(data) if len(data) == _SIGNATURE_BYTES else None


def _in_hex(text: str) -> Signature | None:
    match = _HEX.fullmatch(text)
    data = bytes.fromhex(match[1]) if match else b""
    return Signature.from_bytes(data) if len(data) == _SIGNATURE_BYTES else None
