"""Parse the transfer that a transaction's own bytes request. The transaction need not be mined."""

from typing import Any

from eth_utils.crypto import keccak

from chains.client import Transfer
from chains.families.evm.abi import WORD
from chains.families.evm.authorizations.typed_data import authorized_transfer
from chains.families.evm.calls import reference_at, token_call
from chains.families.evm.quantities import address, data_bytes, quantity

_NO_ADDRESS = bytes(20)


def intended(transaction: dict[str, Any]) -> tuple[Transfer, ...]:
    """Return the transfer that the transaction requests: its value, or its direct call of a token's transfer.

    The token may move less, or nothing. Raises ChainError for a malformed transaction.
    """
    to = transaction.get("to")
    if to is None:
        return ()
    sender, recipient, value = (
        address(transaction.get("from")),
        address(to),
        quantity(transaction.get("value")),
    )
    data = data_bytes(transaction.get("input"))
    found: list[Transfer] = []
    if value:
        references = _references(reference_at(data, 0))
        found.append(Transfer("value", "", sender, recipient, value, references, made_by=sender))
    if call := token_call(sender, recipient, data):
        found.append(
            Transfer(
                "call",
                call.token,
                call.sender,
                call.recipient,
                call.amount,
                _references(call.reference),
                made_by=sender if call.is_own else "",
            )
        )
    if signed := authorized_transfer(recipient, data):
        found.append(signed)
    return tuple(found)


def effect(transaction: dict[str, Any]) -> str:
    """Return a digest of the transaction's recipient, value and data, without its fees. Raises ChainError."""
    to = transaction.get("to")
    content = b"".join(
        (
            b"\0" + _NO_ADDRESS if to is None else b"\1" + bytes.fromhex(address(to)[2:]),
            quantity(transaction.get("value")).to_bytes(WORD),
            data_bytes(transaction.get("input")),
        )
    )
    return "0x" + keccak(content).hex()


def _references(reference: bytes | None) -> tuple[bytes, ...]:
    return () if reference is None else (reference,)
