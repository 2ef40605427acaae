"""Read address lookup tables from the chain (Solana's Address Lookup Table program)."""

from collections.abc import Mapping, Sequence

from solders.pubkey import Pubkey

from chains.families.solana.accounts import Account
from chains.families.solana.vetting.messages import SolanaMessage

_PROGRAM = "AddressLookupTab1e1111111111111111111111111"
_HEAD_BYTES, _KEY_BYTES = 56, 32
_INITIALISED = 1
_NEVER = 2**64 - 1

Tables = Mapping[str, Sequence[str]]
"""The keys of each table, in order."""


def read_table(account: Account | None) -> tuple[str, ...]:
    """Return the keys of a table. Raises ValueError if it isn't a table, or is being closed."""
    if account is None or account.owner != _PROGRAM or len(account.data) < _HEAD_BYTES:
        raise ValueError("there is no lookup table at one of the transaction's addresses")
    head, keys = account.data[:_HEAD_BYTES], account.data[_HEAD_BYTES:]
    if int.from_bytes(head[:4], "little") != _INITIALISED or len(keys) % _KEY_BYTES:
        raise ValueError("one of the transaction's lookup tables is malformed")
    if int.from_bytes(head[4:12], "little") != _NEVER:
        raise ValueError("one of the transaction's lookup tables is being closed")
    return tuple(str(Pubkey(keys[at : at + _KEY_BYTES])) for at in range(0, len(keys), _KEY_BYTES))


def writable_accounts(message: SolanaMessage, tables: Tables) -> tuple[str, ...]:
    """Return all accounts that the transaction may change, each once. Raises ValueError for a missing table entry."""
    found = dict.fromkeys(message.writable)
    for use in message.lookup_tables:
        keys = tables.get(use.table, ())
        if any(place >= len(keys) for place in (*use.writable, *use.readonly)):
            raise ValueError("the transaction names an account that its lookup table does not have")
        found |= dict.fromkeys(keys[place] for place in use.writable)
    return tuple(found)
