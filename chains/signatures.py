"""Signatures under a text, in the forms in which wallets and tools give them, brought to the one that clients take."""

import base64
import binascii
import json
import re

from solders.signature import Signature

from chains.models import ChainType

LONGEST = 10_000
_HEX = re.compile(r"(?:0[xX])?((?:[0-9a-fA-F]{2})+)")
_SOLANA_BYTES = 64
_LONGEST_ON_SOLANA = 90


class SignatureError(ValueError):
    """A text that is no signature of its family of chains; the message says what would be one."""


def normalise_signature(chain_type: str, text: str) -> str:
    """Return the signature in `text`: lower-case 0x hex of any length on EVM, base58 of 64 bytes on Solana.

    Blanks and quotation marks around it are dropped. Some tools give JSON that names it `sig` or `signature`, beside
    what was signed; only the signature is read from that. Raises SignatureError for anything else.
    """
    if len(text) > LONGEST:
        raise SignatureError(f"A signature has {LONGEST} characters at most.")
    text = _within_json(text.strip()).strip().strip("\"'")
    if chain_type == ChainType.EVM:
        match = _HEX.fullmatch(text)
        if match is None:
            raise SignatureError(
                "This should be a signature: 0x and, of most wallets, 130 hexadecimal digits."
            )
        return "0x" + match[1].lower()
    signature = solana_signature(text) or _in_hex(text)
    if signature is None:
        raise SignatureError("This should be a signature of 64 bytes, in base58, base64 or hexadecimal.")
    return str(signature)


def _within_json(text: str) -> str:
    if not text.startswith("{"):
        return text
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return text
    given = told.get("sig", told.get("signature"))
    return given if isinstance(given, str) else text


def solana_signature(text: str) -> Signature | None:
    """Return the signature that `text` writes, 64 bytes in base58 or base64; None for anything else."""
    if len(text) > _LONGEST_ON_SOLANA:
        return None
    try:
        return Signature.from_string(text)
    except ValueError:
        pass
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Signature.from_bytes(data) if len(data) == _SOLANA_BYTES else None


def _in_hex(text: str) -> Signature | None:
    match = _HEX.fullmatch(text)
    data = bytes.fromhex(match[1]) if match else b""
    return Signature.from_bytes(data) if len(data) == _SOLANA_BYTES else None
