"""Read the transfers of a Solana transaction, instruction by instruction, and who may claim each credit.

A reference or a proof can claim only a top-level transfer. An inner instruction is no proof, because a program may use
it to move another person's money within the claimant's transaction. A claim is at most the instruction's amount, and at
most the gain of the credited account.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from chains.client import ChainError, Mention, Transfer
from chains.families.solana.accounts import SYSTEM, TOKEN_2022, WRAPPED_SOL
from chains.families.solana.references import reference_of
from chains.families.solana.transactions.entries import Entry, read_entry
from chains.families.solana.transactions.fees import Fees
from chains.families.solana.transactions.moves import Kind, Move, moves
from chains.families.solana.transactions.wallet_programs import (
    executing_multisigs,
    is_called_by_wallet,
    is_vault,
)
from chains.families.solana.unsigned_transfers import token_account

__all__ = ["fee_mints", "mentions", "read_entry", "transfers"]

_NO_FEES = Fees()


@dataclass(frozen=True)
class _Credit:
    """An instruction's credit to an account.

    `gain` is the account's gain in the whole transaction. `cap` is the maximum that can be claimed. `cap` excludes the
    amounts that the recipient sent away in the same transaction. Otherwise the recipient's own money could leave, come
    back and pay a request.
    """

    move: Move
    token: str
    sender: str
    recipient: str
    amount: int
    gain: int
    cap: int


@dataclass
class _Reading:
    """The state while a transaction is read. `lamports` has each key's balance after the instructions that were
    read.
    """

    entry: Entry
    fees: Fees
    moves: tuple[Move, ...] = field(init=False)
    lamports: list[int] = field(init=False)
    unnamed: list[int] = field(init=False)
    """The change of each key's lamports that no instruction explains."""
    executing: Mapping[int, tuple[str, str]] = field(init=False)
    given: Mapping[tuple[str, str], int] = field(init=False)
    """The amounts that each owner sent to other owners, by token and owner."""
    lost: Mapping[tuple[str, str], int] = field(init=False)
    """The total by which the balances of each owner's token accounts fell, by token and owner."""

    def __post_init__(self) -> None:
        self.moves = tuple(moves(self.entry))
        self.given = _given(self.entry, self.moves)
        self.lost = _lost(self.entry)
        self.lamports = _lamports_before(self.entry)
        self.unnamed = _unnamed(self.entry, self.moves)
        self.executing = executing_multisigs(self.entry)


def transfers(entry: Entry, fees: Fees = _NO_FEES, programs: Collection[str] = ()) -> tuple[Transfer, ...]:
    """Return each instruction's credit to another owner's account, in order, and then the gains that no instruction
    explains.

    `fees` must include the mints that `fee_mints` returns. An instruction of one of the `programs` encloses the
    transfers of its inner instructions.
    """
    reading = _Reading(entry, fees)
    within = {top: (place,) for place, (top, _) in enumerate(_mentioned(entry, programs))}
    named = (
        _transfer(reading, credit, within.get(credit.move.instruction.top, ()))
        for credit in _credits(reading)
    )
    return (*named, *_unnamed_gains(reading))


def fee_mints(entry: Entry) -> set[str]:
    """Return the mints whose fee must be read: a Token-2022 transfer moves their tokens and doesn't contain the fee."""
    return {
        mint
        for move in moves(entry)
        if move.kind is Kind.TRANSFER and move.program == TOKEN_2022 and move.fee is None
        if (mint := _mint(entry, move))
    }


def mentions(entry: Entry, programs: Collection[str]) -> tuple[Mention, ...]:
    """Return the data of the top-level instructions of these programs, in order. Raises ChainError.

    Inner instructions are omitted: the payer did not sign their data, and any program could repeat another swap's id.
    """
    return tuple(mention for _, mention in _mentioned(entry, programs))


def _mentioned(entry: Entry, programs: Collection[str]) -> Iterator[tuple[int, Mention]]:
    """Yield the mentions, each with the index of its instruction."""
    for instruction in entry.instructions:
        program = entry.program_of(instruction)
        if program in programs and not instruction.is_inner:
            data = instruction.data
            if data is None:
                raise ChainError("the node's instruction has more data than a transaction can hold")
            yield instruction.top, Mention(program, data)


def _transfer(reading: _Reading, credit: _Credit, within: tuple[int, ...]) -> Transfer:
    entry, move = reading.entry, credit.move
    is_claimable = _is_claimable(reading, move)
    owns_source = move.authority is not None and entry.keys[move.authority] == credit.sender
    return Transfer(
        move.slot,
        credit.token,
        credit.sender,
        credit.recipient,
        credit.amount,
        references=tuple(_references(entry, move)) if is_claimable else (),
        is_marked=not entry.plain_keys.isdisjoint(move.extra),
        made_by=credit.sender if is_claimable and owns_source else "",
        claimable=max(credit.cap, 0) if is_claimable and credit.sender else 0,
        within=within if move.instruction.is_inner else (),
        account=entry.keys[move.target],
        gain=credit.gain,
    )


def _is_claimable(reading: _Reading, move: Move) -> bool:
    """Whether the transaction's signers, or the members of a multisig, approved exactly this transfer."""
    if move.kind is not Kind.TRANSFER or not move.is_plain:
        return False
    if not move.instruction.is_inner:
        return True
    wallet = reading.executing.get(move.instruction.top)
    if wallet is None or move.authority is None or not is_called_by_wallet(move.instruction):
        return False
    return is_vault(*wallet, reading.entry.keys[move.authority])


def _references(entry: Entry, move: Move) -> dict[bytes, None]:
    """Return the references in the instruction's extra accounts, in order, each once."""
    found = (reference_of(entry.keys[index]) for index in move.extra if index in entry.plain_keys)
    return {reference: None for reference in found if reference is not None}


def _credits(reading: _Reading) -> Iterator[_Credit]:
    """Yield the credits of more than zero whose recipient is not the sender."""
    for move in reading.moves:
        amount = _apply(reading.entry, reading.lamports, move)
        credit = (
            _coin_credit(reading, move, amount) if move.is_native else _token_credit(reading, move, amount)
        )
        if credit is not None and credit.amount > 0 and credit.sender != credit.recipient:
            yield credit


def _lamports_before(entry: Entry) -> list[int]:
    lamports = [before for before, _ in entry.lamports]
    lamports[0] -= entry.fee
    return lamports


def _unnamed(entry: Entry, moved: Iterable[Move]) -> list[int]:
    """Return the change of each key's lamports that no instruction explains: a program can move the lamports of its
    accounts without an instruction.
    """
    lamports = _lamports_before(entry)
    for move in moved:
        _apply(entry, lamports, move)
    return [after - followed for (_, after), followed in zip(entry.lamports, lamports, strict=True)]


def _unnamed_gains(reading: _Reading) -> Iterator[Transfer]:
    """If all instructions are known, yield the gains that no instruction explains. Such a gain can't be claimed."""
    entry = reading.entry
    for index, amount in enumerate(reading.unnamed if entry.has_inner else ()):
        gain, owner = _coin_gain(entry, index), entry.keys[index]
        if min(amount, gain) > 0:
            yield Transfer(
                f"gain.{index}", "", "", owner, min(amount, gain), claimable=0, account=owner, gain=gain
            )


def _apply(entry: Entry, lamports: list[int], move: Move) -> int:
    """Apply a move to `lamports`; return its amount. A closed account moves its whole balance."""
    amount = move.amount
    if amount is None:
        kept = 0 if move.source is None or move.kind is Kind.CLOSE else entry.lamports[move.source][1]
        amount = max(lamports[move.source] - kept, 0) if move.source is not None else 0
    if move.source is not None and (move.is_native or _mint(entry, move) == WRAPPED_SOL):
        lamports[move.source] -= amount
        lamports[move.target] += amount
    return amount


def _coin_gain(entry: Entry, account: int) -> int:
    before, after = entry.lamports[account]
    return after - before + (entry.fee if account == 0 else 0)


def _coin_credit(reading: _Reading, move: Move, amount: int) -> _Credit | None:
    entry, recipient = reading.entry, reading.entry.keys[move.target]
    if move.source is None:
        return None
    gain = _coin_gain(entry, move.target)
    is_of_system = move.program == SYSTEM
    sender = entry.keys[move.source] if is_of_system else _owner(entry, move.source)
    # Perhaps the credit only returns lamports that a program took from the recipient without an instruction.
    given = reading.given.get(("", recipient), 0) + max(-reading.unnamed[move.target], 0)
    cap = min(gain, amount - given)
    return _Credit(move, "", sender, recipient, amount, gain, cap)


def _token_credit(reading: _Reading, move: Move, amount: int) -> _Credit | None:
    """Return the credit to a token account; None if the account no longer exists.

    The recipient is the account's owner after the transaction.
    """
    entry = reading.entry
    before, after = entry.tokens_before.get(move.target), entry.tokens_after.get(move.target)
    if after is None or move.source == move.target or not _is_of(entry, move, after.mint):
        return None
    fee = move.fee
    if fee is None:
        has_fee = move.kind is Kind.TRANSFER and move.program == TOKEN_2022
        fee = reading.fees.of(after.mint, amount) if has_fee else 0
    is_same = before is None or (before.mint, before.owner) == (after.mint, after.owner)
    gain = after.amount - (before.amount if before else 0) if is_same else 0
    is_own = before is not None or entry.keys[move.target] == token_account(
        after.owner, after.mint, move.program
    )
    given = reading.given.get((after.mint, after.owner), 0)
    # Money from the recipient's other accounts doesn't count.
    lost_elsewhere = reading.lost.get((after.mint, after.owner), 0) - (
        _loss(entry, move.target) if is_same else 0
    )
    cap = min(gain - lost_elsewhere, amount - fee - given) if is_own else 0
    sender = "" if move.source is None else _owner(entry, move.source)
    return _Credit(move, after.mint, sender, after.owner, amount - fee, gain, cap)


def _given(entry: Entry, moved: Iterable[Move]) -> dict[tuple[str, str], int]:
    """Return the amounts that each owner's accounts sent to other owners, by token and owner."""
    given: dict[tuple[str, str], int] = defaultdict(int)
    for move in moved:
        if move.source is None or move.amount is None:
            continue
        places = move.source, move.target
        giver, taker = (entry.keys[at] if move.is_native else _owner(entry, at) for at in places)
        if giver != taker:
            given[_mint(entry, move), giver] += move.amount
    return given


def _lost(entry: Entry) -> dict[tuple[str, str], int]:
    lost: dict[tuple[str, str], int] = defaultdict(int)
    for account, held in entry.tokens_before.items():
        lost[held.mint, held.owner] += _loss(entry, account)
    return lost


def _loss(entry: Entry, account: int) -> int:
    """Return the decrease of a token account's balance. If the owner or the mint changed, this is the whole old
    balance.
    """
    held, left = entry.tokens_before.get(account), entry.tokens_after.get(account)
    if held is None:
        return 0
    is_kept = left is not None and (left.mint, left.owner) == (held.mint, held.owner)
    return max(held.amount - (left.amount if left and is_kept else 0), 0)


def _owner(entry: Entry, account: int) -> str:
    """Return the token account's owner before the transaction.

    For a new account, return its owner after the transaction. Empty if the account existed only during the transaction.
    """
    held = entry.tokens_before.get(account) or entry.tokens_after.get(account)
    return held.owner if held else ""


def _is_of(entry: Entry, move: Move, mint: str) -> bool:
    """Whether the move transfers tokens of this mint. An account can be closed and opened again for another mint."""
    if move.mint is not None:
        return entry.keys[move.mint] == mint
    held = None if move.source is None else entry.tokens_before.get(move.source)
    return held is None or held.mint == mint


def _mint(entry: Entry, move: Move) -> str:
    """Return the mint of the moved tokens; empty if it is unknown."""
    if move.is_native:
        return ""
    if move.mint is not None:
        return entry.keys[move.mint]
    places = [place for place in (move.target, move.source) if place is not None]
    held = (balances.get(place) for place in places for balances in (entry.tokens_after, entry.tokens_before))
    return next((balance.mint for balance in held if balance), "")
