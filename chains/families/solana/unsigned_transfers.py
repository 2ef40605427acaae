"""Build unsigned Solana transfers: v0 messages with a compute budget and the reference as a read-only key."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from spl.memo.constants import MEMO_PROGRAM_ID
from spl.token.instructions import (
    create_idempotent_associated_token_account,
    get_associated_token_address,
    transfer_checked,
)
from spl.token.models import TransferCheckedParams

from chains.families.solana.references import reference_key

SIGNATURE_FEE = 5_000
"""Lamports for each signature."""
MAX_SPONSORED_FEE = 50_000
"""The maximum network fee of a sponsored transaction in lamports, whatever budget the wallet sets."""
_MICRO = 10**6


@dataclass(frozen=True)
class Budget:
    """A transaction's limit of compute units, the price per unit in millionths of a lamport, and the number of
    signatures.
    """

    units: int
    price: int
    signatures: int = 1

    @property
    def fee(self) -> int:
        """The fee in lamports."""
        return self.signatures * SIGNATURE_FEE + -(-self.units * self.price // _MICRO)

    def at_most(self, fee: int) -> "Budget":
        """Lower the price if the budget would cost more than this number of lamports."""
        price = max(fee - self.signatures * SIGNATURE_FEE, 0) * _MICRO // self.units
        return replace(self, price=min(self.price, price))


@dataclass(frozen=True)
class Mint:
    """A token's mint, its token program and its decimals."""

    address: str
    program: str
    decimals: int


@dataclass(frozen=True)
class Part:
    """The base units that one of the payer's token accounts sends."""

    account: str
    amount: int


def token_account(owner: str, mint: str, program: str) -> str:
    """Return the associated token account of `owner` under this token program."""
    keys = (Pubkey.from_string(text) for text in (owner, mint, program))
    return str(get_associated_token_address(*keys))


def coin_transfer(sender: str, recipient: str, amount: int, reference: bytes | None) -> list[Instruction]:
    source, target = Pubkey.from_string(sender), Pubkey.from_string(recipient)
    move = transfer(TransferParams(from_pubkey=source, to_pubkey=target, lamports=amount))
    return [_with_reference(move, reference)]


def token_transfer(
    mint: Mint,
    sender: str,
    recipient: str,
    parts: Sequence[Part],
    reference: bytes | None,
    *,
    memo: str | None = None,
    opened_by: str | None,
) -> list[Instruction]:
    """Return the instructions that create the recipient's token account if needed, and move the parts to this account.

    Each transfer contains the reference. With `memo`, a memo is directly before each transfer. `opened_by` pays the
    rent of a new token account. If it is None, no instruction creates the account.
    """
    payer, owner = Pubkey.from_string(sender), Pubkey.from_string(recipient)
    address, program = Pubkey.from_string(mint.address), Pubkey.from_string(mint.program)
    instructions = []
    if opened_by is not None:
        opener = Pubkey.from_string(opened_by)
        instructions.append(create_idempotent_associated_token_account(opener, owner, address, program))
    for part in parts:
        move = transfer_checked(
            TransferCheckedParams(
                program_id=program,
                source=Pubkey.from_string(part.account),
                mint=address,
                dest=get_associated_token_address(owner, address, program),
                owner=payer,
                amount=part.amount,
                decimals=mint.decimals,
            )
        )
        if memo is not None:
            instructions.append(Instruction(MEMO_PROGRAM_ID, memo.encode(), []))
        instructions.append(_with_reference(move, reference))
    return instructions


def unsigned(
    payer: str,
    instructions: Sequence[Instruction],
    budget: Budget,
    blockhash: str,
    tables: Sequence[AddressLookupTableAccount] = (),
) -> str:
    """Return the v0 transaction in base64. Zeros replace its signatures. `payer` pays the fee."""
    limits = [set_compute_unit_limit(budget.units), set_compute_unit_price(budget.price)]
    message = MessageV0.try_compile(
        Pubkey.from_string(payer), [*limits, *instructions], tables, Hash.from_string(blockhash)
    )
    signatures = [Signature.default()] * message.header.num_required_signatures
    transaction = VersionedTransaction.populate(message, signatures)
    return base64.b64encode(bytes(transaction)).decode("ascii")


def _with_reference(move: Instruction, reference: bytes | None) -> Instruction:
    if reference is None:
        return move
    key = AccountMeta(Pubkey.from_string(reference_key(reference)), is_signer=False, is_writable=False)
    return Instruction(move.program_id, move.data, [*move.accounts, key])
