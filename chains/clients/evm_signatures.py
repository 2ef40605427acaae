"""Whether an EVM account signed a message: by its key (EIP-191), or by its contract's own word (EIP-1271)."""

from collections.abc import Callable, Sequence
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_keys.exceptions import BadSignature
from eth_utils.crypto import keccak
from eth_utils.exceptions import ValidationError

from chains.clients.base import ChainError
from chains.clients.quantities import data_bytes, to_hex
from chains.clients.rpc import Call, RpcFault

# isValidSignature(bytes32,bytes) answers with its own selector where the signature is right.
_IS_VALID_SIGNATURE = bytes.fromhex("1626ba7e")
_LONGEST_SIGNATURE = 4096
# EIP-1271 sets no limit, and the wallets in use need far less. Without one, a contract that only burns gas would keep a
# node busy for longer than its answer is waited for.
_MOST_GAS = 10_000_000


def is_signed_by(
    address: str, message: str, signature: str, answers: Callable[[Sequence[Call]], list[Any]]
) -> bool:
    """Return whether `address` signed `message`. `answers` asks the chain, for an account that is a contract."""
    try:
        raw = data_bytes(signature)
    except ChainError:
        return False
    if len(raw) > _LONGEST_SIGNATURE:
        return False
    return _by_key(address, message, raw) or _by_contract(address, message, raw, answers)


def _by_key(address: str, message: str, signature: bytes) -> bool:
    if len(signature) != 65:
        return False
    try:
        return bool(Account.recover_message(encode_defunct(text=message), signature=signature) == address)
    except (BadSignature, ValidationError, ValueError):
        return False


def _by_contract(
    address: str, message: str, signature: bytes, answers: Callable[[Sequence[Call]], list[Any]]
) -> bool:
    (code,) = answers([("eth_getCode", [address, "latest"])])
    if isinstance(code, RpcFault):
        raise ChainError(f"the node refused a call: {code.message}")
    if code in ("0x", "0x0"):
        return False
    body = message.encode()
    digest = keccak(b"\x19Ethereum Signed Message:\n" + str(len(body)).encode() + body)
    data = _IS_VALID_SIGNATURE + encode(["bytes32", "bytes"], [digest, signature])
    (answer,) = answers(
        [("eth_call", [{"to": address, "data": to_hex(data), "gas": hex(_MOST_GAS)}, "latest"])]
    )
    # A contract that reverts says no.
    return not isinstance(answer, RpcFault) and data_bytes(answer)[:4] == _IS_VALID_SIGNATURE
