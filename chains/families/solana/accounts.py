"""Parse Solana accounts: wallets, mints, token accounts and programs (SPL Token and Token-2022 layouts)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from solders.pubkey import Pubkey

from chains.client import ChainError
from chains.families.solana.results import base64_data, key, whole
from chains.rpc.json_rpc import json_object

SYSTEM = "11111111111111111111111111111111"
TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"  # noqa: S105 - a program's address
TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"  # noqa: S105 - a program's address
TOKEN_PROGRAMS = (TOKEN, TOKEN_2022)
WRAPPED_SOL = "So11111111111111111111111111111111111111112"
_SYSVARS = "Sysvar1111111111111111111111111111111111111"
_LOADERS = {
    "NativeLoader1111111111111111111111111111111",
    "BPFLoader1111111111111111111111111111111111",
    "BPFLoader2111111111111111111111111111111111",
    "BPFLoaderUpgradeab1e11111111111111111111111",
    "LoaderV411111111111111111111111111111111111",
}
_MINT_BYTES = 82
_TOKEN_ACCOUNT_BYTES = 165
# Token-2022 marks the kind of account in the byte after a token account's fields.
_EXTENDED_MINT, _EXTENDED_TOKEN_ACCOUNT = 1, 2
_FROZEN = 2
_EXTENSIONS_AT = _TOKEN_ACCOUNT_BYTES + 1
# Extensions of Token-2022. The first is for token accounts, the other two are for mints.
_MEMO_TRANSFER = 8
_INTEREST_BEARING, _SCALED_UI_AMOUNT = 10, 25

MAX_SOURCES = 5
"""The maximum number of a wallet's token accounts that one payment spends from."""


@dataclass(frozen=True)
class Account:
    """An account from a node. `lamports` is its balance of the native coin."""

    lamports: int
    owner: str
    data: bytes
    executable: bool

    @property
    def is_mint(self) -> bool:
        return self._is(_MINT_BYTES, _EXTENDED_MINT)

    @property
    def is_token_account(self) -> bool:
        return self._is(_TOKEN_ACCOUNT_BYTES, _EXTENDED_TOKEN_ACCOUNT)

    def _is(self, plain_bytes: int, extended_kind: int) -> bool:
        if self.owner not in TOKEN_PROGRAMS:
            return False
        size = len(self.data)
        extended = size > _TOKEN_ACCOUNT_BYTES and self.data[_TOKEN_ACCOUNT_BYTES] == extended_kind
        return size == plain_bytes or (self.owner == TOKEN_2022 and extended)


@dataclass(frozen=True)
class Holding:
    """A token account of a wallet; `amount` is in base units."""

    address: str
    amount: int
    is_frozen: bool
    mint: str


@dataclass(frozen=True)
class TokenAccount:
    """A token account: its owner, its balance, and other accounts with rights over it."""

    mint: str
    owner: str
    amount: int
    is_frozen: bool
    delegate: str | None
    delegated: int
    """Base units that the delegate may move."""
    close_authority: str | None


def read_account(result: Any) -> Account | None:
    if result is None:
        return None
    fields = json_object(result)
    executable = fields.get("executable")
    if not isinstance(executable, bool):
        raise ChainError("the node's account lacks `executable`")
    return Account(
        whole(fields.get("lamports")), key(fields.get("owner")), base64_data(fields.get("data")), executable
    )


def read_holding(result: Any) -> Holding:
    """Parse one entry of `getTokenAccountsByOwner`. Raises ChainError."""
    entry = json_object(result)
    account = read_account(entry.get("account"))
    if account is None or not account.is_token_account:
        raise ChainError("the node's response is not a token account")
    token = read_token_account(account)
    return Holding(key(entry.get("pubkey")), token.amount, token.is_frozen, token.mint)


def read_token_account(account: Account) -> TokenAccount:
    """Parse an SPL Token or Token-2022 account. Raises ChainError for other accounts."""
    data = account.data
    if not account.is_token_account:
        raise ChainError("there is no token account at this address")
    return TokenAccount(
        mint=str(Pubkey(data[:32])),
        owner=str(Pubkey(data[32:64])),
        amount=int.from_bytes(data[64:72], "little"),
        is_frozen=data[108] == _FROZEN,
        delegate=_optional_key(data[72:108]),
        delegated=int.from_bytes(data[121:129], "little"),
        close_authority=_optional_key(data[129:165]),
    )


def spendable(holdings: Iterable[Holding]) -> list[Holding]:
    """Return the token accounts that one payment can spend: the MAX_SOURCES largest that aren't frozen."""
    usable = [holding for holding in holdings if holding.amount > 0 and not holding.is_frozen]
    return sorted(usable, key=lambda holding: holding.amount, reverse=True)[:MAX_SOURCES]


def requires_memo(account: Account | None) -> bool:
    """Whether a token account requires a memo directly before each transfer to it (Token-2022)."""
    return account is not None and extension(account, _MEMO_TRANSFER) == b"\x01"


def extension(account: Account, kind: int) -> bytes | None:
    """Return the data of a Token-2022 extension of a mint or token account; None if the account lacks it."""
    if account.owner != TOKEN_2022:
        return None
    data, at = account.data, _EXTENSIONS_AT
    while at + 4 <= len(data):
        found, length = (int.from_bytes(data[place : place + 2], "little") for place in (at, at + 2))
        if found == kind:
            return data[at + 4 : at + 4 + length]
        at += 4 + length
    return None


def mint_decimals(account: Account | None) -> int:
    """Return a mint's decimals. Raises ChainError if the account isn't an initialised mint."""
    if account is None or not account.is_mint or account.data[45] != 1:
        raise ChainError("there is no token mint at this address; check the token's address")
    return account.data[44]


def mint_problem(account: Account) -> str:
    """Return why merchants can't request this mint's token: its displayed amounts change with time. "" if they can."""
    if any(extension(account, kind) is not None for kind in (_INTEREST_BEARING, _SCALED_UI_AMOUNT)):
        return (
            "its mint scales amounts (the ScaledUiAmount or InterestBearing extension), so wallets show other "
            "amounts than this service; remove it from the catalogue"
        )
    return ""


def why_not_payable(account: Account | None) -> str | None:
    """Return a sentence on why this account can't receive payments, or None if it can.

    An address without an account is an unused wallet. If the address isn't on the curve, it may be a program's vault.
    """
    if account is None:
        return None
    if account.executable or account.owner in _LOADERS:
        return "This is the address of a program; money sent there can't be moved again."
    if account.owner == _SYSVARS:
        return "This is one of the network's own accounts (a sysvar); it is not a wallet."
    if account.is_mint:
        return "This is the address of a token itself (its mint), not of a wallet."
    if account.is_token_account:
        return "This is a token account; give the address of the wallet that owns it."
    return None


def _optional_key(data: bytes) -> str | None:
    """Parse a COption: a four-byte tag, then the key."""
    return str(Pubkey(data[4:36])) if any(data[:4]) else None
