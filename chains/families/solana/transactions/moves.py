"""Decode instructions of the token programs and the System Program that move money.

Sources: the instruction layouts of SPL Token, of Token-2022 with its transfer fee extension, and of the System Program.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice

from chains.families.solana.accounts import SYSTEM, TOKEN, TOKEN_2022, TOKEN_PROGRAMS
from chains.families.solana.transactions.entries import Entry, Instruction

MAX_MOVES = 1_000
"""The maximum number of moves. A transaction has at most 64 instructions, but batches can make thousands of moves."""
_U64 = 8
_BATCH = b"\xff"


class Kind(Enum):
    """How an instruction moves money."""

    TRANSFER = auto()
    """The token programs' and the System Program's own transfers."""
    MINT = auto()
    CLOSE = auto()
    """A token account is closed, and its lamports move to another account."""
    WITHDRAW = auto()
    """Lamports leave an account of a token program, which stays open."""
    FUND = auto()
    """Lamports fund a new account or leave a nonce account."""


@dataclass(frozen=True)
class Move:
    """One credit that an instruction makes.

    Accounts are indexes into the transaction's keys. `slot` is unique in the transaction. `source` is None for mints.
    `amount` is None if the instruction moves the whole balance. `fee` is None if the instruction doesn't contain it.
    `extra` has the accounts that the instruction doesn't need. `is_plain` is False for an instruction inside a Batch
    instruction.
    """

    instruction: Instruction
    slot: str
    program: str
    kind: Kind
    source: int | None
    target: int
    authority: int | None
    amount: int | None
    fee: int | None = None
    mint: int | None = None
    extra: tuple[int, ...] = ()
    is_plain: bool = True

    @property
    def is_native(self) -> bool:
        """Whether the instruction moves lamports instead of a token."""
        return self.program == SYSTEM or self.kind in (Kind.CLOSE, Kind.WITHDRAW)


@dataclass(frozen=True)
class _Shape:
    """The indexes of an instruction's accounts, and the offsets of its amount and fee."""

    kind: Kind
    needed: int
    source: int | None
    target: int
    authority: int | None = None
    mint: int | None = None
    amount_at: int | None = None
    fee_at: int | None = None


_TOKEN_SHAPES = {
    b"\x03": _Shape(Kind.TRANSFER, 3, 0, 1, 2, amount_at=1),
    b"\x0c": _Shape(Kind.TRANSFER, 4, 0, 2, 3, mint=1, amount_at=1),
    b"\x07": _Shape(Kind.MINT, 3, None, 1, mint=0, amount_at=1),
    b"\x0e": _Shape(Kind.MINT, 3, None, 1, mint=0, amount_at=1),
    b"\x09": _Shape(Kind.CLOSE, 3, 0, 1, 2),
    b"\x26": _Shape(Kind.WITHDRAW, 3, 0, 1, 2),  # WithdrawExcessLamports
    b"\x2d\x00": _Shape(Kind.WITHDRAW, 3, 0, 1, 2),  # UnwrapLamports, for the whole balance
    b"\x2d\x01": _Shape(Kind.WITHDRAW, 3, 0, 1, 2, amount_at=2),
}
_FEE_SHAPE = {b"\x1a\x01": _Shape(Kind.TRANSFER, 4, 0, 2, 3, mint=1, amount_at=2, fee_at=11)}
_SYSTEM_SHAPES = {
    b"\x02\0\0\0": _Shape(Kind.TRANSFER, 2, 0, 1, 0, amount_at=4),
    b"\x0b\0\0\0": _Shape(Kind.TRANSFER, 3, 0, 2, 1, amount_at=4),
    b"\0\0\0\0": _Shape(Kind.FUND, 2, 0, 1, 0, amount_at=4),
    b"\x05\0\0\0": _Shape(Kind.FUND, 2, 0, 1, amount_at=4),
}
_SHAPES = {TOKEN: _TOKEN_SHAPES, TOKEN_2022: _TOKEN_SHAPES | _FEE_SHAPE, SYSTEM: _SYSTEM_SHAPES}
_WITH_SEED = b"\x03\0\0\0"
_SEED_LENGTH_AT = 36


def is_crowded(entry: Entry) -> bool:
    """Whether a successful transaction has more than MAX_MOVES, which would take too long to read."""
    return entry.succeeded and any(islice(moves(entry), MAX_MOVES, None))


def moves(entry: Entry) -> Iterator[Move]:
    """Yield the moves of the transaction's instructions, in the order of execution."""
    for instruction in entry.instructions:
        program = entry.program_of(instruction)
        data = instruction.data if program in _SHAPES else None
        if data is None:
            continue
        if program in TOKEN_PROGRAMS and data.startswith(_BATCH):
            yield from _batched(instruction, program, data)
        else:
            move = _read(instruction, instruction.path, program, instruction.accounts, data)
            if move is not None:
                yield move


def _batched(instruction: Instruction, program: str, data: bytes) -> Iterator[Move]:
    """Yield the moves in SPL Token's instruction Batch. Each part has its number of accounts, the length of its
    data, and the data.
    """
    at, first, number = 1, 0, 0
    while at + 2 <= len(data):
        count, length = data[at], data[at + 1]
        part = data[at + 2 : at + 2 + length]
        accounts = instruction.accounts[first : first + count]
        if len(part) < length or len(accounts) < count:
            return
        move = _read(instruction, f"{instruction.path}.b{number}", program, accounts, part, is_plain=False)
        if move is not None:
            yield move
        at, first, number = at + 2 + length, first + count, number + 1


def _read(
    instruction: Instruction,
    slot: str,
    program: str,
    accounts: tuple[int, ...],
    data: bytes,
    *,
    is_plain: bool = True,
) -> Move | None:
    shape = next((shape for code, shape in _SHAPES[program].items() if data.startswith(code)), None)
    if shape is None and program == SYSTEM and data.startswith(_WITH_SEED):
        length = int.from_bytes(data[_SEED_LENGTH_AT : _SEED_LENGTH_AT + _U64], "little")
        shape = _Shape(Kind.FUND, 2, 0, 1, amount_at=_SEED_LENGTH_AT + _U64 + length)
    if shape is None or len(accounts) < shape.needed:
        return None
    amount, fee = _number(data, shape.amount_at), _number(data, shape.fee_at)
    if (amount is None and shape.amount_at is not None) or (fee is None and shape.fee_at is not None):
        return None
    source, authority, mint = (
        None if place is None else accounts[place] for place in (shape.source, shape.authority, shape.mint)
    )
    return Move(
        instruction,
        slot,
        program,
        shape.kind,
        source,
        accounts[shape.target],
        authority,
        amount,
        fee,
        mint,
        accounts[shape.needed :],
        is_plain,
    )


def _number(data: bytes, at: int | None) -> int | None:
    written = b"" if at is None else data[at : at + _U64]
    return int.from_bytes(written, "little") if len(written) == _U64 else None
