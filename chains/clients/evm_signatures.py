"""Whether an EVM account signed a message: by its key (EIP-191), or by its contract's own word (EIP-1271)."""

from collections.abc import Callable, Sequence
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_keys.exceptions import BadSignature, ValidationError
from eth_utils.crypto import keccak

from chains.clients.base import ChainError
from chains.clients.quantities import data_bytes, to_hex
from chains.clients.rpc import Call

# isValidSignature(bytes32,bytes) answers with its own selector where the signature is right.
_IS_VALID_SIGNATURE = bytes.fromhex("1626ba7e")
_LONGEST_SIGNATURE = 4096


def is_signed_by(
    address: str, message: str, signature: str, results: Callable[[Sequence[Call]], list[Any]]
) -> bool:
    """Return whether `address` signed `message`. `results` asks the chain, for an account that is a contract."""
    try:
        raw = data_bytes(signature)
    except ChainError:
        return False
    if len(raw) > _LONGEST_SIGNATURE:
        return False
    return _by_key(address, message, raw) or _by_contract(address, message, raw, results)


def _by_key(address: str, message: str, signature: bytes) -> bool:
    if len(signature) != 65:
        return False
    try:
        return bool(Account.recover_message(encode_defunct(text=message), signature=signature) == address)
    except (BadSignature, ValidationError, ValueError):
        return False


def _by_contract(
    address: str, message: str, signature: bytes, results: Callable[[Sequence[Call]], list[Any]]
) -> bool:
    (code,) = results([("eth_getCode", [address, "latest"])])
    if code in ("0x", "0x0"):
        return False
    body = message.encode()
    digest = keccak(b"\x19Ethereum Signed Message:\n" + str(len(body)).encode() + body)
    data = _IS_VALID_SIGNATURE + encode(["bytes32", "bytes"], [digest, signature])
    try:
        (answer,) = results([("eth_call", [{"to": address, "data": to_hex(data)}, "latest"])])
        return data_bytes(answer)[:4] == _IS_VALID_SIGNATURE
    except ChainError:
        # A contract that reverts says no. (A node that is down said so to the first question already.)
        return False
