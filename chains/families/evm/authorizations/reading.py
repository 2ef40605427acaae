"""Read from a node how tokens verify authorizations, and which of them were used.

A token's `authorizationState` is true once the authorization was used or cancelled.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from chains.client import Block, ChainError
from chains.facts.authorizations import AuthorizationStates
from chains.families.evm.abi import WORD, selector
from chains.families.evm.calls import address_word
from chains.families.evm.quantities import data_bytes, hash32, json_object, quantity, to_hex
from chains.families.evm.tokens import word
from chains.rpc import quorum
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault, is_execution_failure, result_of

_SEPARATOR: Final = to_hex(selector("DOMAIN_SEPARATOR()"))
_STATE: Final = selector("authorizationState(address,bytes32)")


class AuthorizationReader:
    """Authorizations on one EVM chain. `AuthorizationClient` documents the methods."""

    def __init__(self, rpc: JsonRpc) -> None:
        self._rpc = rpc

    def domain_separators(self, tokens: Sequence[str]) -> list[bytes]:
        calls: list[Call] = [("eth_call", [{"to": token, "data": _SEPARATOR}, "latest"]) for token in tokens]
        # Parsed outside the batch: a contract that is not such a token is not the node's fault.
        return [_separator(result) for result in self._rpc.batch(calls, list)] if calls else []

    def states(self, keys: Sequence[tuple[str, str, bytes]], *, at_block: int) -> AuthorizationStates:
        return quorum.query_until_agreed(self._rpc, partial(_states, keys=keys, at_block=at_block))


def _separator(result: Any) -> bytes:
    if isinstance(result, RpcFault) and is_execution_failure(result):
        return b""
    data = data_bytes(result_of(result))
    return data if len(data) == WORD else b""


def _states(node: JsonRpc, keys: Sequence[tuple[str, str, bytes]], *, at_block: int) -> AuthorizationStates:
    """Return the states at the block of this height, from one node.

    The block's hash pins the state (EIP-1898), so its time is that of the state. Raises ChainError if the node lacks
    the block or its state.
    """
    (header,) = node.batch([("eth_getBlockByNumber", [hex(at_block), False])], list)
    block = _block(header, at_block)
    pinned = {"blockHash": block.hash, "requireCanonical": True}
    calls: list[Call] = [
        ("eth_call", [{"to": token, "data": to_hex(_STATE + address_word(payer) + nonce)}, pinned])
        for token, payer, nonce in keys
    ]
    results = node.batch(calls, list) if calls else []
    return AuthorizationStates(
        block, {key: word(result) != 0 for key, result in zip(keys, results, strict=True)}
    )


def _block(header: Any, height: int) -> Block:
    block = json_object(result_of(header))
    if quantity(block.get("number")) != height:
        raise ChainError("the node returned another block")
    return Block(
        height,
        hash32(block.get("hash")),
        datetime.fromtimestamp(quantity(block.get("timestamp")), UTC),
    )
