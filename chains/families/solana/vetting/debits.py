"""Find a Solana transaction's instructions that debit a wallet or grant rights over its accounts.

An instruction can debit a wallet only if it contains the wallet's key. This module doesn't see inner calls; a
simulation does (`chains.families.solana.vetting.balance_changes`). Sources: the instructions of the System Program, SPL
Token, Token-2022 and the Associated Token Account program.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from chains.families.solana.accounts import SYSTEM, TOKEN_PROGRAMS
from chains.families.solana.vetting.messages import COMPUTE_BUDGET, MessageInstruction, SolanaMessage

ASSOCIATED_TOKEN = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"  # noqa: S105 - a program's address
MEMO_PROGRAMS = (
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
)
_HARMLESS = {COMPUTE_BUDGET, *MEMO_PROGRAMS}
_AMOUNT_BYTES = 8


class DebitKind(StrEnum):
    LAMPORTS = "lamports"
    TOKENS = "tokens"
    AUTHORITY = "authority"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Debit:
    """A top-level instruction's debit from the wallet, or another effect on the wallet.

    `what` is the instruction's name, for display. `amount` is in base units; None if the instruction has no amount.
    `account` is debited and `to` receives the amount. `account` and `to` are None if the instruction has no such
    account, or its key is in a lookup table. `mint` is set if the instruction contains it. If the kind is `UNKNOWN`,
    only the program is known, and the instruction gives the program the wallet's signature.
    """

    kind: DebitKind
    program: str
    what: str
    amount: int | None = None
    account: str | None = None
    to: str | None = None
    mint: str | None = None


@dataclass(frozen=True)
class _Shape:
    """The layout of an instruction: the offset of its amount and the roles of its accounts."""

    kind: DebitKind
    what: str
    amount_at: int | None = None
    account: int | None = None
    to: int | None = None
    mint: int | None = None


_LAMPORTS, _TOKENS, _AUTHORITY = DebitKind.LAMPORTS, DebitKind.TOKENS, DebitKind.AUTHORITY
_TRANSFER, _CREATE_WITH_SEED, _ADVANCE_NONCE = 2, 3, 4
# The key is the 4 bytes of the instruction's number.
_SYSTEM: Mapping[int, _Shape] = {
    0: _Shape(_LAMPORTS, "create_account", 4, account=0, to=1),
    1: _Shape(_AUTHORITY, "assign", account=0),
    _TRANSFER: _Shape(_LAMPORTS, "transfer", 4, account=0, to=1),
    6: _Shape(_AUTHORITY, "initialize_nonce", account=0),
    7: _Shape(_AUTHORITY, "authorize_nonce", account=0),
    8: _Shape(_AUTHORITY, "allocate", account=0),
    9: _Shape(_AUTHORITY, "allocate_with_seed", account=0),
    10: _Shape(_AUTHORITY, "assign_with_seed", account=0),
    11: _Shape(_LAMPORTS, "transfer_with_seed", 4, account=0, to=2),
}
# The key is the first byte, both in SPL Token and in Token-2022. None means that the instruction debits nothing.
_TOKEN: Mapping[int, _Shape | None] = {
    1: None,  # initialize_account
    3: _Shape(_TOKENS, "transfer", 1, account=0, to=1),
    4: _Shape(_AUTHORITY, "approve", 1, account=0, to=1),
    5: None,  # revoke
    6: _Shape(_AUTHORITY, "set_authority", account=0),
    8: _Shape(_TOKENS, "burn", 1, account=0, mint=1),
    12: _Shape(_TOKENS, "transfer_checked", 1, account=0, mint=1, to=2),
    13: _Shape(_AUTHORITY, "approve_checked", 1, account=0, mint=1, to=2),
    15: _Shape(_TOKENS, "burn_checked", 1, account=0, mint=1),
    16: None,  # initialize_account_2
    17: None,  # sync_native
    18: None,  # initialize_account_3
    22: None,  # initialize_immutable_owner
}
_CLOSE_ACCOUNT = 9
_TRANSFER_WITH_FEE = b"\x1a\x01"
_WITH_FEE = _Shape(_TOKENS, "transfer_checked_with_fee", 2, account=0, mint=1, to=2)
# The Associated Token Account program: create (also with empty data) and create_idempotent.
_CREATE_ASSOCIATED = {b"", b"\x00", b"\x01"}


def debits(message: SolanaMessage, owner: str) -> list[Debit]:
    """Return each instruction's debit from `owner`, in order.

    A durable nonce counts as `UNKNOWN`, because the transaction could then be sent at any later time. The network fee
    and the deposit for a new associated token account don't count: `highest_fee` and the simulation cover them.
    """
    found = (_debit(instruction, owner) for instruction in message.instructions)
    return [debit for debit in found if debit is not None]


def _debit(instruction: MessageInstruction, owner: str) -> Debit | None:
    if instruction.program == SYSTEM and _number(instruction) == _ADVANCE_NONCE:
        return Debit(DebitKind.UNKNOWN, SYSTEM, "advance_nonce")
    if instruction.program in _HARMLESS or not instruction.names(owner):
        return None
    read = _READERS.get(instruction.program)
    return read(instruction, owner) if read else Debit(DebitKind.UNKNOWN, instruction.program, "call")


def _system(instruction: MessageInstruction, owner: str) -> Debit | None:
    number = _number(instruction)
    if number == _TRANSFER and instruction.accounts[0].key != owner:
        return None
    if number == _CREATE_WITH_SEED:
        return _created_with_seed(instruction)
    return _shaped(instruction, _SYSTEM.get(number), is_known=number in _SYSTEM)


def _token(instruction: MessageInstruction, owner: str) -> Debit | None:
    data = instruction.data
    if data.startswith(_TRANSFER_WITH_FEE):
        return _shaped(instruction, _WITH_FEE, is_known=True)
    number = data[0] if data else -1
    if number == _CLOSE_ACCOUNT and len(instruction.accounts) > 1:
        heir = instruction.accounts[1].key
        shape = _Shape(_LAMPORTS, "close_account", account=0, to=1)
        return None if heir == owner else _shaped(instruction, shape, is_known=True)
    return _shaped(instruction, _TOKEN.get(number), is_known=number in _TOKEN)


def _associated(instruction: MessageInstruction, _owner: str) -> Debit | None:
    if instruction.data in _CREATE_ASSOCIATED:
        return None
    return Debit(DebitKind.UNKNOWN, instruction.program, "call")


_Reader = Callable[[MessageInstruction, str], Debit | None]
_READERS: Mapping[str, _Reader] = {
    SYSTEM: _system,
    ASSOCIATED_TOKEN: _associated,
    **dict.fromkeys(TOKEN_PROGRAMS, _token),
}


def _shaped(instruction: MessageInstruction, shape: _Shape | None, *, is_known: bool) -> Debit | None:
    """Return the debit of an instruction with this shape; UNKNOWN if the instruction does not match the shape."""
    if not is_known:
        return Debit(DebitKind.UNKNOWN, instruction.program, "call")
    if shape is None:
        return None
    amount = None
    if shape.amount_at is not None:
        written = instruction.data[shape.amount_at : shape.amount_at + _AMOUNT_BYTES]
        amount = int.from_bytes(written, "little") if len(written) == _AMOUNT_BYTES else None
    places = [place for place in (shape.account, shape.to, shape.mint) if place is not None]
    is_short = shape.amount_at is not None and amount is None
    if is_short or max(places, default=-1) >= len(instruction.accounts):
        return Debit(DebitKind.UNKNOWN, instruction.program, shape.what)
    account, to, mint = (
        None if place is None else instruction.accounts[place].key
        for place in (shape.account, shape.to, shape.mint)
    )
    return Debit(shape.kind, instruction.program, shape.what, amount, account, to, mint)


def _created_with_seed(instruction: MessageInstruction) -> Debit:
    """Return the debit for a new account. In the instruction, the lamports come after the base key and the
    length-prefixed seed.
    """
    data = instruction.data
    length = int.from_bytes(data[36:44], "little")
    at = 44 + length
    if len(data) < at + _AMOUNT_BYTES or len(instruction.accounts) < 2:
        return Debit(DebitKind.UNKNOWN, SYSTEM, "create_account_with_seed")
    lamports = int.from_bytes(data[at : at + _AMOUNT_BYTES], "little")
    payer, new = (account.key for account in instruction.accounts[:2])
    return Debit(_LAMPORTS, SYSTEM, "create_account_with_seed", lamports, payer, new)


def _number(instruction: MessageInstruction) -> int:
    """Return the number of a System instruction; -1 if it has none."""
    return int.from_bytes(instruction.data[:4], "little") if len(instruction.data) >= 4 else -1
