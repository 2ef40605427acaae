"""Parse a Solana transaction from `getTransaction` in the `json` encoding.

Source: Solana's RPC documentation, Transaction Structures.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chains.client import ChainError
from chains.families.solana.results import base58_data, key, listed, sequence, whole, whole_text
from chains.rpc.json_rpc import json_object

MAX_TEXT = 5_600
"""The maximum length of an instruction's data in base58: a whole transaction has at most 4,096 bytes (version 1)."""


@dataclass(frozen=True)
class TokenBalance:
    """A token account's balance at one moment, in base units."""

    mint: str
    owner: str
    amount: int


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    `program` and `accounts` are indexes into the transaction's keys. `top` is the index of the top-level instruction,
    such as 2. `path` is `2` for the top-level instruction itself, and `2.5` for number 5 in the flat list of its inner
    instructions. `height` is the depth of the call, if the node reports it: 2 if the top-level instruction's program
    made the call.
    """

    path: str
    top: int
    is_inner: bool
    height: int | None
    program: int
    accounts: tuple[int, ...]
    text: str

    @cached_property
    def data(self) -> bytes | None:
        """The instruction's data; None if it is longer than a transaction or not base58."""
        return base58_data(self.text) if len(self.text) <= MAX_TEXT else None


@dataclass(frozen=True)
class Entry:
    """A transaction from the ledger. `keys` has the static keys, then the keys from lookup tables."""

    slot: int
    signature: str
    keys: tuple[str, ...]
    plain_keys: frozenset[int]
    """The keys that neither sign nor can be written to."""
    succeeded: bool
    fee: int
    lamports: tuple[tuple[int, int], ...]
    """Each key's balance before and after the transaction."""
    tokens_before: Mapping[int, TokenBalance]
    tokens_after: Mapping[int, TokenBalance]
    """The token accounts before and after the transaction, by the index of the account's key."""
    instructions: tuple[Instruction, ...]
    has_inner: bool
    """Whether the node recorded inner instructions."""

    @property
    def fee_payer(self) -> str:
        return self.keys[0]

    def program_of(self, instruction: Instruction) -> str:
        return self.keys[instruction.program]


def read_entry(result: Any) -> Entry:
    """Parse the transaction. Raises ChainError if it is malformed or inconsistent."""
    fields = json_object(result)
    meta, transaction = json_object(fields.get("meta")), json_object(fields.get("transaction"))
    message = json_object(transaction.get("message"))
    static = [key(text) for text in listed(message.get("accountKeys"))]
    loaded = json_object(meta.get("loadedAddresses") or {})
    writable = [key(text) for text in sequence(loaded.get("writable"))]
    readonly = [key(text) for text in sequence(loaded.get("readonly"))]
    keys = (*static, *writable, *readonly)
    before, after = (_balances(meta.get(name), len(keys)) for name in ("preBalances", "postBalances"))
    signatures = listed(transaction.get("signatures"))
    if not keys or not signatures or "err" not in meta:
        raise ChainError("the node's transaction is not whole")
    if meta["err"] is None and len(set(keys)) != len(keys):
        raise ChainError("the node's transaction names an account twice")
    return Entry(
        slot=whole(fields.get("slot")),
        signature=str(signatures[0]),
        keys=keys,
        plain_keys=_plain_keys(json_object(message.get("header")), len(static), len(writable), len(keys)),
        succeeded=meta["err"] is None,
        fee=whole(meta.get("fee")),
        lamports=tuple(zip(before, after, strict=True)),
        tokens_before=_token_balances(meta.get("preTokenBalances"), len(keys)),
        tokens_after=_token_balances(meta.get("postTokenBalances"), len(keys)),
        instructions=tuple(_instructions(message, meta, len(keys))),
        has_inner=meta.get("innerInstructions") is not None,
    )


def _balances(result: Any, count: int) -> list[int]:
    balances = [whole(balance) for balance in listed(result)]
    if len(balances) != count:
        raise ChainError("the node's balances do not fit the transaction's accounts")
    return balances


def _token_balances(result: Any, count: int) -> dict[int, TokenBalance]:
    balances: dict[int, TokenBalance] = {}
    for entry in map(json_object, listed(result)):
        index = _index(entry.get("accountIndex"), count)
        if index in balances:
            raise ChainError("the node names an account's token balance twice")
        amount = whole_text(json_object(entry.get("uiTokenAmount")).get("amount"))
        balances[index] = TokenBalance(key(entry.get("mint")), key(entry.get("owner")), amount)
    return balances


def _plain_keys(header: dict[str, Any], static: int, loaded_writable: int, count: int) -> frozenset[int]:
    """Return the read-only keys that don't sign. Read-only keys are the last of the static keys, and the last of the
    loaded keys.
    """
    plain = whole(header.get("numReadonlyUnsignedAccounts"))
    if plain + whole(header.get("numRequiredSignatures")) > static:
        raise ChainError("the node's transaction has more signers than accounts")
    return frozenset((*range(static - plain, static), *range(static + loaded_writable, count)))


def _instructions(message: dict[str, Any], meta: dict[str, Any], count: int) -> Iterator[Instruction]:
    """Yield the message's instructions, each followed by its inner instructions."""
    instructions = listed(message.get("instructions"))
    inner: dict[int, list[Any]] = defaultdict(list)
    for group in map(json_object, sequence(meta.get("innerInstructions"))):
        inner[_index(group.get("index"), len(instructions))] += listed(group.get("instructions"))
    for place, outer in enumerate(instructions):
        yield _instruction(json_object(outer), count, str(place), place, is_inner=False)
        for number, result in enumerate(inner[place]):
            yield _instruction(json_object(result), count, f"{place}.{number}", place, is_inner=True)


def _instruction(result: dict[str, Any], count: int, path: str, top: int, *, is_inner: bool) -> Instruction:
    accounts = tuple(_index(account, count) for account in listed(result.get("accounts")))
    text, height = result.get("data"), result.get("stackHeight")
    if not isinstance(text, str):
        raise ChainError("the node's instruction has no data")
    program = _index(result.get("programIdIndex"), count)
    return Instruction(
        path, top, is_inner, None if height is None else whole(height), program, accounts, text
    )


def _index(result: Any, count: int) -> int:
    index = whole(result)
    if index >= count:
        raise ChainError("the node's transaction names an account that it does not have")
    return index
