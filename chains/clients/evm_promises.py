"""What a transaction's own bytes ask for, before any block proves it. Pure."""

from hashlib import sha256
from typing import Any

from eth_utils.address import to_checksum_address

from chains.clients.base import Transfer
from chains.clients.evm_calls import TRANSFER, reference_at, token_call
from chains.clients.quantities import address, data_bytes, quantity


def effect(transaction: dict[str, Any]) -> str:
    """Return a digest of recipient, value and data, without fees."""
    to, value = transaction.get("to"), quantity(transaction.get("value"))
    parts = (address(to) if to else "", hex(value), data_bytes(transaction.get("input")).hex())
    return sha256("|".join(parts).encode()).hexdigest()


def intended(transaction: dict[str, Any]) -> tuple[Transfer, ...]:
    """Return what a direct transfer would move: a token's `transfer`, or native coin."""
    to, sender = transaction.get("to"), address(transaction.get("from"))
    data, value = data_bytes(transaction.get("input")), quantity(transaction.get("value"))
    if not to:
        return ()
    to = to_checksum_address(address(to))
    call = token_call(sender, to, data) if data[:4] == TRANSFER else None
    if call is not None:
        references = (call.reference,) if call.reference else ()
        return (Transfer("0", to, sender, call.recipient, call.amount, references, made_by=sender),)
    if value:
        found = reference_at(data, 0)
        references = (found,) if found else ()
        return (Transfer("value", "", sender, to, value, references, made_by=sender),)
    return ()
