"""Decide whether the operator's account may sign the transaction that a wallet returned. Pure, and safe for hostile
input.

Wallets may change a transaction before the customer signs it. Wallets set another compute budget. Wallets also add
assertions of the Lighthouse program: the transaction then fails if its effect isn't the effect that the wallet showed.
The service accepts both changes within limits. Everything else must be as the service built it.

Sources: the Compute Budget program, and Lighthouse's instructions, which begin with one byte for their kind
(github.com/Jac0xb/lighthouse).
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Final

from solders.message import MessageV0
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chains.facts.cosigning import PayerSigned
from chains.families.base import SignatureError
from chains.families.solana.cosigning.signing import with_signatures
from chains.families.solana.unsigned_transfers import MAX_SPONSORED_FEE
from chains.families.solana.vetting.messages import (
    COMPUTE_BUDGET,
    MAX_BYTES,
    MessageInstruction,
    SolanaMessage,
    highest_fee,
    read_message,
)

LIGHTHOUSE: Final = "L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95"
# The excluded kinds: 0 and 1 write and close a memory account, whose rent a signer pays; 16 and 17 call other programs.
_ASSERTIONS: Final = range(2, 16)
# The instructions that set the limit and the price of compute units, with the lengths of their data.
_BUDGET_BYTES: Final = {2: 5, 3: 9}
_LONGEST: Final = MAX_BYTES * 2


def read_signed(built: bytes, text: str, payer: str, sponsor: str) -> PayerSigned:
    """Parse the transaction that the wallet returned (base64), and remove the fee payer's signature.

    Raises SignatureError if the payer did not sign the built transaction.
    """
    serialized = _decoded(text)
    try:
        message, expected = read_message(serialized), read_message(built)
    except ValueError as error:
        raise SignatureError(f"This is not a signed transaction: {error}.") from None
    transaction = VersionedTransaction.from_bytes(serialized)
    original = VersionedTransaction.from_bytes(built).message
    signed = transaction.message
    if not isinstance(signed, MessageV0) or not isinstance(original, MessageV0):
        raise SignatureError("The transaction has another version than the one that was built.")
    if message.fee_payer != sponsor or message.signers != (sponsor, payer):
        raise SignatureError("The transaction has other signers than the one that was built.")
    if payer not in message.signatures:
        raise SignatureError("The transaction lacks the signature of the route's wallet.")
    if message.lookup_tables:
        raise SignatureError("The transaction uses lookup tables; the one that was built does not.")
    if signed.recent_blockhash != original.recent_blockhash:
        raise SignatureError("The transaction has another blockhash than the one that was built last.")
    if set(message.writable) != set(expected.writable):
        raise SignatureError("The transaction can write to other accounts than the one that was built.")
    if _own_instructions(message, sponsor) != _own_instructions(expected, sponsor):
        raise SignatureError("The transaction has other instructions than the one that was built.")
    if (fee := highest_fee(message)) > MAX_SPONSORED_FEE:
        raise SignatureError(
            f"The network fee is too high: {fee} lamports; the maximum is {MAX_SPONSORED_FEE}."
        )
    signature = transaction.signatures[1]
    return PayerSigned(with_signatures(signed, [Signature.default(), signature]), bytes(signature), fee)


def _decoded(text: str) -> bytes:
    if len(text) <= _LONGEST:
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise SignatureError("This should be the signed transaction in base64.")


def _own_instructions(message: SolanaMessage, sponsor: str) -> Sequence[MessageInstruction]:
    """Return the instructions other than the compute budget and the assertions. Raises SignatureError if one of
    these is not allowed.
    """
    own, budget_kinds = [], []
    for instruction in message.instructions:
        kind = instruction.data[0] if instruction.data else None
        if instruction.program == COMPUTE_BUDGET:
            if (
                kind not in _BUDGET_BYTES
                or len(instruction.data) != _BUDGET_BYTES[kind]
                or instruction.accounts
            ):
                raise SignatureError("Only a limit of compute units and their price may be set.")
            budget_kinds.append(kind)
        elif instruction.program == LIGHTHOUSE:
            if kind not in _ASSERTIONS:
                raise SignatureError("Of Lighthouse's instructions, only assertions may be added.")
            if instruction.names(sponsor):
                raise SignatureError("An assertion may not name the account that pays the network fee.")
        else:
            own.append(instruction)
    if len(set(budget_kinds)) != len(budget_kinds):
        raise SignatureError("The compute budget is set twice.")
    return own
