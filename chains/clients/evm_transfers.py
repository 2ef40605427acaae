"""What moved in an EVM transaction, and which bytes the payer tied to it; pure functions over a node's answers.

For a token what counts is the contract's own `Transfer` log, never the call data (a contract may move less than it was
asked to, or nothing). The call data is read for one thing alone: the reference directly after the arguments of the
very call that produced the log. This file knows the direct form, in which that call is the transaction itself.
"""

from typing import Any

from eth_utils.address import to_checksum_address

from chains.clients.base import ChainError, Transfer
from chains.clients.quantities import address, data_bytes, quantity

REFERENCE_BYTES = 16

# keccak256("Transfer(address,address,uint256)")
TRANSFER_TOPIC = bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
_TRANSFER = bytes.fromhex("a9059cbb")  # transfer(address,uint256)
_TRANSFER_FROM = bytes.fromhex("23b872dd")  # transferFrom(address,address,uint256)
_WORD = 32


def encode_transfer(
    token: str, recipient: str, amount: int, reference: bytes | None
) -> tuple[str, int, bytes]:
    """Return (to, value in wei, data) of a direct transfer that carries `reference` (contract 7)."""
    tail = reference or b""
    if token == "":
        return recipient, amount, tail
    arguments = bytes.fromhex(recipient[2:]).rjust(_WORD, b"\0") + amount.to_bytes(_WORD)
    return token, 0, _TRANSFER + arguments + tail


def transfers(transaction: dict[str, Any], receipt: dict[str, Any]) -> tuple[Transfer, ...]:
    """Return every transfer that a successful transaction's receipt and value prove, in order."""
    logs = receipt.get("logs")
    if not isinstance(logs, list):
        raise ChainError("the node's receipt has no logs")
    found = [transfer for log in logs if (transfer := _token_transfer(log, transaction))]
    native = _native_transfer(transaction)
    return (*found, native) if native else tuple(found)


def _token_transfer(log: Any, transaction: dict[str, Any]) -> Transfer | None:
    """Return the ERC-20 transfer that `log` records, if it is one: three topics and one word of data, exactly.

    Any contract may log what it likes, so a log of another shape is passed over and spoils nothing.
    """
    if not isinstance(log, dict) or not isinstance(log.get("topics"), list):
        raise ChainError("the node's log is malformed")
    topics = [data_bytes(topic) for topic in log["topics"]]
    data = data_bytes(log.get("data"))
    if len(topics) != 3 or topics[0] != TRANSFER_TOPIC or len(data) != _WORD:
        return None
    if any(len(topic) != _WORD or topic[:12] != bytes(12) for topic in topics[1:]):
        return None
    token = address(log.get("address"))
    recipient = _topic_address(topics[2])
    return Transfer(
        slot=str(quantity(log.get("logIndex"))),
        token=token,
        sender=_topic_address(topics[1]),
        recipient=recipient,
        amount=int.from_bytes(data),
        references=_references_of_call(transaction, token, recipient),
    )


def _references_of_call(transaction: dict[str, Any], token: str, recipient: str) -> tuple[bytes, ...]:
    """Return the reference in the transaction's own call to `token`, if that call pays `recipient`.

    Bytes after the reference are left alone: wallets append attribution suffixes of their own.
    """
    to = transaction.get("to")
    if to is None or address(to) != token:
        return ()
    data = data_bytes(transaction.get("input"))
    words = {_TRANSFER: 2, _TRANSFER_FROM: 3}.get(data[:4])
    if words is None:
        return ()
    end_of_arguments = 4 + words * _WORD
    recipient_word = data[end_of_arguments - 2 * _WORD : end_of_arguments - _WORD]
    if recipient_word != bytes.fromhex(recipient[2:]).rjust(_WORD, b"\0"):
        return ()
    return _references(data[end_of_arguments:])


def _native_transfer(transaction: dict[str, Any]) -> Transfer | None:
    """Return the transaction's own value, whose reference is its data. (Inner calls need a trace: another source.)"""
    value = quantity(transaction.get("value"))
    to = transaction.get("to")
    if value == 0 or to is None:
        return None
    return Transfer(
        slot="value",
        token="",
        sender=address(transaction.get("from")),
        recipient=address(to),
        amount=value,
        references=_references(data_bytes(transaction.get("input"))),
    )


def _references(tail: bytes) -> tuple[bytes, ...]:
    return (tail[:REFERENCE_BYTES],) if len(tail) >= REFERENCE_BYTES else ()


def _topic_address(topic: bytes) -> str:
    return to_checksum_address(topic[12:])
