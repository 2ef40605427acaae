"""One written form for each address and transaction hash, so that equal things compare equal."""

import re

from eth_utils.address import is_checksum_address, to_checksum_address
from solders.pubkey import Pubkey
from solders.signature import Signature

from chains.models import ChainType

_EVM_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_EVM_HASH = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})")
# Addresses up to here are the protocol's own: zero, and the precompiled contracts (EIP-7951's is the highest, 0x100).
_LAST_RESERVED = 0x1FF
_INCINERATOR = "1nc1nerator11111111111111111111111111111111"


class AddressError(ValueError):
    """An address that no payment may go to; the message says why."""


class HashError(ValueError):
    """A text that is no transaction hash of its chain."""


def normalise_address(chain_type: str, text: str) -> str:
    """Return the canonical address: EIP-55 checksummed on EVM, base58 of 32 bytes on Solana.

    Raises AddressError for a wrong checksum, an address that belongs to nobody and anything that is no address.
    """
    if chain_type == ChainType.EVM:
        return _evm_address(text)
    if len(text) > 44:
        raise AddressError("This should be a Solana address: 32 bytes in base58.")
    try:
        key = Pubkey.from_string(text)
    except ValueError as error:
        raise AddressError("This should be a Solana address: 32 bytes in base58.") from error
    if text == _INCINERATOR:
        raise AddressError("This is Solana's incinerator; what is sent there is destroyed.")
    if bytes(key) == bytes(Pubkey.LENGTH):
        raise AddressError(
            "This is the System Program, which some write for SOL itself; it is nobody's wallet."
        )
    return str(key)


def _evm_address(text: str) -> str:
    if not _EVM_ADDRESS.fullmatch(text):
        raise AddressError("This should be an EVM address: 0x and 40 hexadecimal digits.")
    digits = text[2:]
    mixed_case = digits != digits.lower() and digits != digits.upper()
    if mixed_case and not is_checksum_address(text):
        raise AddressError("The address's checksum (EIP-55) is wrong: a character may be mistyped.")
    if int(digits, 16) <= _LAST_RESERVED:
        raise AddressError(
            "The zero address and the precompiled contracts belong to nobody; what is sent there is lost."
        )
    return to_checksum_address(text)


def normalise_transaction_hash(chain_type: str, text: str) -> str:
    """Return the canonical hash, blanks around it dropped: lower-case 0x hex on EVM, base58 on Solana.

    Raises HashError for anything else.
    """
    text = text.strip(" \t\r\n")
    if chain_type == ChainType.EVM:
        match = _EVM_HASH.fullmatch(text)
        if match is None:
            raise HashError("This should be a transaction hash: 0x and 64 hexadecimal digits.")
        return "0x" + match[1].lower()
    if len(text) > 90:
        raise HashError("This should be a Solana transaction signature: 64 bytes in base58.")
    try:
        return str(Signature.from_string(text))
    except ValueError as error:
        raise HashError("This should be a Solana transaction signature: 64 bytes in base58.") from error
