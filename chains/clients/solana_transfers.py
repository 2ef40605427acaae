"""What one Solana transaction moved: differences of balances, and the references on the instructions that moved them.

Pure, over what `getTransaction` answers in the `json` encoding. Amounts are never taken from an instruction: a mint may
keep a fee, and a program may move anything (Solana's RPC documentation, Transaction Structures).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chains.clients.base import ChainError, Mention, Transfer
from chains.clients.solana_accounts import SYSTEM, TOKEN_PROGRAMS
from chains.clients.solana_answers import base58_data, key, mapping, sequence, whole, whole_text
from chains.clients.solana_references import reference_of

Asset = tuple[str, str]
"""A mint (empty: the native coin) and the owner of the balance."""

_LONGEST_DATA = 128  # in base58; a transfer's data are 27 bytes at most
_LONGEST_OUTER_DATA = 1_700  # in base58; a whole transaction has 1,232 bytes at most
# Instruction codes of SPL Token: how many accounts come before the signers, and which of them receives.
_TOKEN_TRANSFERS = {b"\x03": (3, 1), b"\x0c": (4, 2), b"\x1a\x01": (4, 2)}
# Of the System Program: Transfer and TransferWithSeed.
_SYSTEM_TRANSFERS = {b"\x02\0\0\0": (2, 1), b"\x0b\0\0\0": (3, 2)}


@dataclass(frozen=True)
class Instruction:
    """One instruction, its accounts as indices into the transaction's keys."""

    program: int
    accounts: tuple[int, ...]
    data: str
    is_inner: bool
    """Whether a program called it, and not the transaction itself."""


@dataclass(frozen=True)
class Entry:
    """A transaction as it stands in the ledger. Keys are the static ones, then those loaded from lookup tables."""

    slot: int
    signature: str
    keys: tuple[str, ...]
    plain_keys: frozenset[int]
    """The keys that neither sign nor can be written to."""
    succeeded: bool
    fee: int
    lamports: tuple[tuple[int, int], ...]
    """Each key's balance before and after."""
    tokens_before: Mapping[int, tuple[str, str, int]]
    tokens_after: Mapping[int, tuple[str, str, int]]
    """Token accounts by index: mint, owner, base units."""
    instructions: tuple[Instruction, ...]

    @property
    def fee_payer(self) -> str:
        return self.keys[0]


def read_entry(answer: Any) -> Entry:
    """Return the transaction that a node answered with. Raises ChainError for anything that does not fit together."""
    fields = mapping(answer)
    meta, transaction = mapping(fields.get("meta")), mapping(fields.get("transaction"))
    message = mapping(transaction.get("message"))
    static = [key(text) for text in sequence(message.get("accountKeys"))]
    loaded = mapping(meta.get("loadedAddresses") or {})
    writable = [key(text) for text in sequence(loaded.get("writable"))]
    readonly = [key(text) for text in sequence(loaded.get("readonly"))]
    keys = (*static, *writable, *readonly)
    before, after = (_balances(meta.get(name), len(keys)) for name in ("preBalances", "postBalances"))
    signatures = sequence(transaction.get("signatures"))
    if not keys or not signatures or "err" not in meta:
        raise ChainError("the node's transaction is not whole")
    return Entry(
        slot=whole(fields.get("slot")),
        signature=str(signatures[0]),
        keys=keys,
        plain_keys=_plain_keys(mapping(message.get("header")), len(static), len(writable), len(keys)),
        succeeded=meta["err"] is None,
        fee=whole(meta.get("fee")),
        lamports=tuple(zip(before, after, strict=True)),
        tokens_before=_token_balances(meta.get("preTokenBalances"), len(keys)),
        tokens_after=_token_balances(meta.get("postTokenBalances"), len(keys)),
        instructions=tuple(_instructions(message, meta, len(keys))),
    )


def transfers(entry: Entry) -> tuple[Transfer, ...]:
    """Return each owner's gain of each mint, and of the native coin, with the references tied to it."""
    changes = _changes(entry)
    references = _references(entry)
    return tuple(
        Transfer(
            f"{mint}:{owner}",
            mint,
            (sender := _sender(mint, changes)),
            owner,
            change,
            references.get((mint, owner), ()),
            made_by=sender,
        )
        for (mint, owner), change in changes.items()
        if change > 0
    )


def mentions(entry: Entry, programs: Collection[str]) -> tuple[Mention, ...]:
    """Return what these programs were told by the transaction itself, in order. Raises ChainError.

    What one program tells another within is left out: its payer signed for none of those words, and any program could
    be made to repeat another swap's id.
    """
    found = []
    for instruction in entry.instructions:
        program = entry.keys[instruction.program]
        if program in programs and not instruction.is_inner:
            data = base58_data(instruction.data) if len(instruction.data) <= _LONGEST_OUTER_DATA else None
            if data is None:
                raise ChainError("the node's instruction has data that no transaction can hold")
            found.append(Mention(program, data))
    return tuple(found)


def _changes(entry: Entry) -> dict[Asset, int]:
    """Return what each owner's balance changed by; the fee is not counted as a loss of its payer's."""
    changes: dict[Asset, int] = defaultdict(int)
    for mint, owner, amount in entry.tokens_after.values():
        changes[mint, owner] += amount
    for mint, owner, amount in entry.tokens_before.values():
        changes[mint, owner] -= amount
    for account, (before, after) in zip(entry.keys, entry.lamports, strict=True):
        changes["", account] += after - before
    changes["", entry.fee_payer] += entry.fee
    return {asset: change for asset, change in changes.items() if change}


def _sender(mint: str, changes: Mapping[Asset, int]) -> str:
    """Return whose balance of this mint fell; empty where that was not exactly one owner's, since nobody can tell."""
    losers = [owner for (of, owner), change in changes.items() if of == mint and change < 0]
    return losers[0] if len(losers) == 1 else ""


def _references(entry: Entry) -> dict[Asset, tuple[bytes, ...]]:
    """Return the references found on the transfers to each owner, in order, each once."""
    found: dict[Asset, dict[bytes, None]] = defaultdict(dict)
    for instruction in entry.instructions:
        asset, extra = _moved(entry, instruction)
        for index in extra if asset else ():
            reference = reference_of(entry.keys[index]) if index in entry.plain_keys else None
            if asset and reference is not None:
                found[asset][reference] = None
    return {asset: tuple(references) for asset, references in found.items()}


def _moved(entry: Entry, instruction: Instruction) -> tuple[Asset | None, tuple[int, ...]]:
    """Return whose balance a transfer raises, and the accounts beyond those it needs; None for anything else."""
    program = entry.keys[instruction.program]
    if program in TOKEN_PROGRAMS:
        known = _TOKEN_TRANSFERS
    elif program == SYSTEM:
        known = _SYSTEM_TRANSFERS
    else:
        return None, ()
    data = base58_data(instruction.data) if len(instruction.data) <= _LONGEST_DATA else None
    shape = next((known[code] for code in known if data and data.startswith(code)), None)
    if shape is None or len(instruction.accounts) < shape[0]:
        return None, ()
    needed, receiving = shape
    account = instruction.accounts[receiving]
    return _asset(entry, account, is_native=program == SYSTEM), instruction.accounts[needed:]


def _asset(entry: Entry, account: int, *, is_native: bool) -> Asset | None:
    """Return what is held in `account`, by whoever owned it at the transaction's end."""
    if is_native:
        return "", entry.keys[account]
    held = entry.tokens_after.get(account)
    return (held[0], held[1]) if held else None


def _balances(answer: Any, count: int) -> list[int]:
    balances = [whole(balance) for balance in sequence(answer)]
    if len(balances) != count:
        raise ChainError("the node's balances do not fit the transaction's accounts")
    return balances


def _token_balances(answer: Any, count: int) -> dict[int, tuple[str, str, int]]:
    balances: dict[int, tuple[str, str, int]] = {}
    for entry in map(mapping, sequence(answer)):
        index = _index(entry.get("accountIndex"), count)
        if index in balances:
            raise ChainError("the node names an account's token balance twice")
        amount = whole_text(mapping(entry.get("uiTokenAmount")).get("amount"))
        balances[index] = key(entry.get("mint")), key(entry.get("owner")), amount
    return balances


def _plain_keys(header: dict[str, Any], static: int, loaded_writable: int, count: int) -> frozenset[int]:
    """Return the read-only keys that do not sign: the last of the static ones, and those loaded so."""
    plain = whole(header.get("numReadonlyUnsignedAccounts"))
    if plain + whole(header.get("numRequiredSignatures")) > static:
        raise ChainError("the node's transaction has more signers than accounts")
    return frozenset((*range(static - plain, static), *range(static + loaded_writable, count)))


def _instructions(message: dict[str, Any], meta: dict[str, Any], count: int) -> Iterator[Instruction]:
    """Yield the message's instructions, each followed by those that its program called."""
    inner: dict[int, list[Any]] = defaultdict(list)
    for group in map(mapping, sequence(meta.get("innerInstructions"))):
        inner[whole(group.get("index"))] += sequence(group.get("instructions"))
    for place, outer in enumerate(sequence(message.get("instructions"))):
        yield _instruction(mapping(outer), count, is_inner=False)
        for answer in inner[place]:
            yield _instruction(mapping(answer), count, is_inner=True)


def _instruction(answer: dict[str, Any], count: int, *, is_inner: bool) -> Instruction:
    accounts = tuple(_index(account, count) for account in sequence(answer.get("accounts")))
    data = answer.get("data")
    if not isinstance(data, str):
        raise ChainError("the node's instruction has no data")
    return Instruction(_index(answer.get("programIdIndex"), count), accounts, data, is_inner)


def _index(answer: Any, count: int) -> int:
    index = whole(answer)
    if index >= count:
        raise ChainError("the node's transaction names an account that it does not have")
    return index
