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
_SOLANA_HEX_DIGITS = 2 * _SOLANA_BYTES


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
    signature = _solana(text)
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


def _solana(text: str) -> Signature | None:
    digits = text.removeprefix("0x")
    if len(digits) == _SOLANA_HEX_DIGITS and _HEX.fullmatch(digits):
        return Signature.from_bytes(bytes.fromhex(digits))
    try:
        return Signature.from_string(text) if len(text) < _SOLANA_HEX_DIGITS else None
    except ValueError:
        pass
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Signature.from_bytes(data) if len(data) == _SOLANA_BYTES else None
