"""A node's responses to `getTransaction`, built here in the format of Solana's RPC documentation."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chains.families.solana.accounts import SYSTEM, TOKEN, TOKEN_2022
from chains.families.solana.references import reference_key
from chains.families.solana.transactions.fees import Fees
from chains.families.solana.transactions.transfers import Transfer, read_entry, transfers
from chains.families.solana.unsigned_transfers import token_account

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
FEE = 5_000
SIGNATURE = "1" * 64


def address() -> str:
    return str(Keypair().pubkey())


def base58(data: bytes) -> str:
    number, text = int.from_bytes(data), ""
    while number:
        number, digit = divmod(number, 58)
        text = _ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


@dataclass(frozen=True)
class Call:
    """An instruction, by its program's and accounts' addresses.

    `inner` are the calls that it caused, with their heights.
    """

    program: str
    accounts: Sequence[str]
    data: bytes
    inner: Sequence[tuple["Call", int | None]] = ()


@dataclass
class Ledger:
    """Balances in lamports and tokens before and after one transaction, by address. The first signer pays."""

    signers: list[str]
    lamports: dict[str, tuple[int, int]] = field(default_factory=dict)
    tokens: dict[str, tuple[tuple[str, str, int] | None, tuple[str, str, int] | None]] = field(
        default_factory=dict
    )
    program: str = TOKEN

    def holds(self, owner: str, mint: str, before: int | None, after: int | None) -> str:
        """Give the owner's associated account this balance before and after (None: no account); return its address."""
        account = token_account(owner, mint, self.program)
        self.has(account, mint, (owner, before), (owner, after))
        return account

    def has(
        self, account: str, mint: str, before: tuple[str, int | None], after: tuple[str, int | None]
    ) -> None:
        one, two = (None if amount is None else (mint, owner, amount) for owner, amount in (before, after))
        self.tokens[account] = one, two

    def answer(self, *calls: Call) -> dict[str, Any]:
        """Return the node's response for a transaction with these instructions."""
        plain = [
            key
            for call in _all(calls)
            for key in (*call.accounts, call.program)
            if key not in self.signers and not self._is_written(key)
        ]
        written = [*self.tokens, *(key for key in self.lamports if key not in self.signers)]
        keys = list(dict.fromkeys([*self.signers, *written, *plain]))
        at = {key: place for place, key in enumerate(keys)}
        lamports = [self.lamports.get(key, (10**9, 10**9)) for key in keys]
        lamports[0] = lamports[0][0], lamports[0][1] - FEE
        return {
            "slot": 7,
            "meta": {
                "err": None,
                "fee": FEE,
                "preBalances": [before for before, _ in lamports],
                "postBalances": [after for _, after in lamports],
                "preTokenBalances": list(_balances(at, {k: b for k, (b, _) in self.tokens.items()})),
                "postTokenBalances": list(_balances(at, {k: a for k, (_, a) in self.tokens.items()})),
                "innerInstructions": [
                    {
                        "index": place,
                        "instructions": [_raw(inner, at, height) for inner, height in call.inner],
                    }
                    for place, call in enumerate(calls)
                    if call.inner
                ],
            },
            "transaction": {
                "signatures": [SIGNATURE],
                "message": {
                    "header": {
                        "numRequiredSignatures": len(self.signers),
                        "numReadonlySignedAccounts": 0,
                        "numReadonlyUnsignedAccounts": len(dict.fromkeys(plain)),
                    },
                    "accountKeys": keys,
                    "instructions": [_raw(call, at, None) for call in calls],
                },
            },
        }

    def transfers(
        self, *calls: Call, fees: Fees | None = None, programs: Sequence[str] = ()
    ) -> list[Transfer]:
        return list(transfers(read_entry(self.answer(*calls)), fees or Fees(), programs))

    def _is_written(self, key: str) -> bool:
        return key in self.tokens or key in self.lamports


def move(
    source: str,
    mint: str,
    target: str,
    authority: str,
    amount: int,
    *references: bytes,
    program: str = TOKEN,
    extra: Iterable[str] = (),
) -> Call:
    keys = [*extra, *map(reference_key, references)]
    return Call(
        program, [source, mint, target, authority, *keys], b"\x0c" + struct.pack("<Q", amount) + b"\x06"
    )


def bare_move(source: str, target: str, authority: str, amount: int, *references: bytes) -> Call:
    """A token transfer that doesn't name the mint."""
    keys = [source, target, authority, *map(reference_key, references)]
    return Call(TOKEN, keys, b"\x03" + struct.pack("<Q", amount))


def fee_move(source: str, mint: str, target: str, authority: str, amount: int, fee: int) -> Call:
    data = b"\x1a\x01" + struct.pack("<QBQ", amount, 6, fee)
    return Call(TOKEN_2022, [source, mint, target, authority], data)


def minted(mint: str, target: str, authority: str, amount: int, program: str = TOKEN) -> Call:
    return Call(program, [mint, target, authority], b"\x07" + struct.pack("<Q", amount))


def closed(account: str, target: str, owner: str) -> Call:
    return Call(TOKEN, [account, target, owner], b"\x09")


def coins(source: str, target: str, amount: int, *references: bytes) -> Call:
    """A transfer of lamports by the System Program."""
    keys = [source, target, *map(reference_key, references)]
    return Call(SYSTEM, keys, struct.pack("<IQ", 2, amount))


def program() -> str:
    return str(Pubkey.new_unique())


def _all(calls: Iterable[Call]) -> Iterable[Call]:
    for call in calls:
        yield call
        yield from (inner for inner, _ in call.inner)


def _raw(call: Call, at: dict[str, int], height: int | None) -> dict[str, Any]:
    raw = {
        "programIdIndex": at[call.program],
        "accounts": [at[key] for key in call.accounts],
        "data": base58(call.data),
    }
    return raw if height is None else {**raw, "stackHeight": height}


def _balances(at: dict[str, int], held: dict[str, tuple[str, str, int] | None]) -> Iterable[dict[str, Any]]:
    for account, balance in held.items():
        if balance is not None:
            mint, owner, amount = balance
            yield {
                "accountIndex": at[account],
                "mint": mint,
                "owner": owner,
                "uiTokenAmount": {"amount": str(amount)},
            }
