"""Verify signatures of EVM accounts: by key (EIP-191) or by contract (EIP-1271)."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_keys.exceptions import BadSignature
from eth_utils.crypto import keccak
from eth_utils.exceptions import ValidationError

from chains.client import ChainError
from chains.families.evm.abi import WORD
from chains.families.evm.quantities import data_bytes, to_hex
from chains.rpc.json_rpc import Call, RpcFault, is_execution_failure

_REVERTED = re.compile(r"revert|out of gas|invalid opcode|EVM error", re.IGNORECASE)
# isValidSignature(bytes32,bytes) returns its own selector if the signature is valid.
_IS_VALID_SIGNATURE = bytes.fromhex("1626ba7e")
_YES = _IS_VALID_SIGNATURE.ljust(WORD, b"\0")
_LONGEST_SIGNATURE = 4096
_DELEGATION = bytes.fromhex("ef0100")  # EIP-7702, followed by an address
_DELEGATION_BYTES = 23
# EIP-1271 sets no limit, but a contract that burns gas could keep a node busy until the request times out. Common
# wallets need far less.
_MAX_GAS = 10_000_000


def is_signed_by_key(address: str, message: str, signature: str) -> bool:
    """Return whether the key of `address` signed `message` (EIP-191). Queries no node."""
    raw = _read(signature)
    if raw is None or len(raw) != 65:
        return False
    try:
        return bool(Account.recover_message(encode_defunct(text=message), signature=raw) == address)
    except (BadSignature, ValidationError, ValueError):
        return False


def has_own_key(code: bytes) -> bool:
    """Whether an account with this code signs with a key. This is true for no code and for an EIP-7702 delegation."""
    return code == b"" or (code.startswith(_DELEGATION) and len(code) == _DELEGATION_BYTES)


def is_signed_by_contract(
    address: str,
    message: str,
    signature: str,
    results: Callable[[Sequence[Call]], list[Any]],
    block: str = "latest",
) -> bool:
    """Whether the contract at `address` accepts the signature of `message` (EIP-1271).

    `results` sends calls to the chain. `block` is the tag or height of the block whose state the calls read.
    """
    raw = _read(signature)
    if raw is None:
        return False
    (code,) = results([("eth_getCode", [address, block])])
    if isinstance(code, RpcFault):
        raise ChainError(f"the node rejected a call: {code.message}")
    if code in ("0x", "0x0"):
        return False
    body = message.encode()
    digest = keccak(b"\x19Ethereum Signed Message:\n" + str(len(body)).encode() + body)
    data = _IS_VALID_SIGNATURE + encode(["bytes32", "bytes"], [digest, raw])
    (result,) = results([("eth_call", [{"to": address, "data": to_hex(data), "gas": hex(_MAX_GAS)}, block])])
    if (
        isinstance(result, RpcFault)
        and not is_execution_failure(result)
        and not _REVERTED.search(result.message)
    ):
        raise ChainError(f"the node rejected a call: {result.message}")
    # The contract rejects the signature by reverting. Compare the whole word: a contract that echoes its input returns
    # the selector, followed by other bytes.
    return not isinstance(result, RpcFault) and data_bytes(result)[:WORD] == _YES


def _read(signature: str) -> bytes | None:
    try:
        raw = data_bytes(signature)
    except ChainError:
        return None
    return raw if len(raw) <= _LONGEST_SIGNATURE else None
