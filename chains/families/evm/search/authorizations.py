"""Read tokens' domain separators and the states of authorizations from a node.

A token's `authorizationState` is true once the authorization was used or cancelled.
"""

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from chains.client import Block, ChainError, EvmCall
from chains.facts.authorizations import AuthorizationStates, Sent
from chains.families.evm.abi import WORD, selector
from chains.families.evm.authorizations.typed_data import ENDS
from chains.families.evm.building.fees import FeeRules, data_fee_calls, operator_fee, operator_fee_calls
from chains.families.evm.calls import address_word
from chains.families.evm.quantities import address, data_bytes, hash32, quantity, to_hex
from chains.families.evm.search.log_queries import check, log_call, logs
from chains.families.evm.tokens import word
from chains.rpc import quorum
from chains.rpc.json_rpc import (
    Call,
    JsonRpc,
    RpcFault,
    is_execution_failure,
    is_temporary,
    json_object,
    result_of,
)

logger = logging.getLogger(__name__)

_SEPARATOR: Final = to_hex(selector("DOMAIN_SEPARATOR()"))
_KNOWN = re.compile(r"already (known|imported|exists|in)|known transaction|alreadyknown", re.IGNORECASE)
_USED_UP = re.compile(r"nonce (is )?too low|nonce_too_low|oldnonce|old nonce", re.IGNORECASE)
# A cancelled authorization counts as used.
_ENDS: Final = [to_hex(each) for each in ENDS]
_STATE: Final = selector("authorizationState(address,bytes32)")
# The data fee follows Ethereum's base fee. The base fee can grow by 12.5 % a block, so it doubles in about six full
# blocks.
_FEE_GROWTH: Final = 2


class AuthorizationReader:
    """Authorizations on one EVM chain. `AuthorizationClient` documents the methods."""

    def __init__(self, rpc: JsonRpc, fee_rules: FeeRules, chain_id: int) -> None:
        self._rpc = rpc
        self._fee_rules = fee_rules
        self._chain_id = chain_id

    def domain_separators(self, tokens: Sequence[str]) -> list[bytes]:
        calls: list[Call] = [("eth_call", [{"to": token, "data": _SEPARATOR}, "latest"]) for token in tokens]
        # Parse outside the batch: the node isn't at fault if the contract isn't such a token.
        return [_separator(result) for result in self._rpc.batch(calls, list)] if calls else []

    def states(self, keys: Sequence[tuple[str, str, bytes]], *, at_block: int) -> AuthorizationStates:
        return quorum.query_until_agreed(self._rpc, partial(_states, keys=keys, at_block=at_block))

    def find_uses(
        self, keys: Collection[tuple[str, str, bytes]], *, since_block: int, until_block: int
    ) -> dict[tuple[str, str, bytes], frozenset[str]]:
        query = partial(_uses, keys=keys, first=since_block, last=until_block)
        found: dict[tuple[str, str, bytes], frozenset[str]] = {}
        for uses in quorum.query_enough(self._rpc, query):
            for key, transaction_hash in uses.items():
                found[key] = found.get(key, frozenset()) | {transaction_hash}
        return found

    def data_fee(self, transaction: Mapping[str, Any]) -> int:
        call = EvmCall(
            transaction["to"], data_bytes(transaction["data"]), value=quantity(transaction["value"])
        )
        calls = [
            *data_fee_calls(call, self._fee_rules, self._chain_id),
            *operator_fee_calls(quantity(transaction["gas"]), self._fee_rules),
        ]
        if not calls:
            return 0
        return (
            self._rpc.batch(calls, lambda results: word(results[0]) + operator_fee(results[1])) * _FEE_GROWTH
        )

    def used_nonces(self, account: str, *, at_block: int) -> int:
        call: Call = ("eth_getTransactionCount", [account, hex(at_block)])

        def query(node: JsonRpc) -> int:
            # Parse outside the batch: the node isn't at fault if it lacks the state of this block.
            (result,) = node.batch([call], list)
            return quantity(result_of(result))

        return quorum.query_until_agreed(self._rpc, query)

    def send(self, raw: str, *, to_all: bool = False) -> Sent:
        failure: ChainError | None = None
        accepted = False
        rejected: Sent | None = None
        for node in self._rpc.each():
            try:
                # Parse outside the batch: a node that rejects the transaction isn't at fault.
                (result,) = node.batch([("eth_sendRawTransaction", [raw])], list)
                sent = _sent(result)
            except ChainError as error:
                failure = error
                continue
            if sent is Sent.ACCEPTED and not to_all:
                return sent
            if sent is Sent.ACCEPTED:
                accepted = True
                continue
            rejected = sent if rejected is not Sent.USED_UP else rejected
            if isinstance(result, RpcFault):
                logger.warning("a node did not take a transaction: %s", result.message)
        if accepted:
            return Sent.ACCEPTED
        if rejected is None:
            raise failure or ChainError("no node sent a usable response")
        return rejected


def _uses(
    node: JsonRpc, keys: Collection[tuple[str, str, bytes]], first: int, last: int
) -> dict[tuple[str, str, bytes], str]:
    """Search the blocks from `first` to `last` for the uses of these authorizations. Raises ChainError."""
    topics: list[Any] = [_ENDS, None, sorted({to_hex(nonce) for _, _, nonce in keys})]
    tokens = sorted({token for token, _, _ in keys})
    found: dict[tuple[str, str, bytes], str] = {}
    size, is_checked = node.log_limits.blocks.size, False
    while keys and first <= last:
        end = min(last, first + size - 1)
        entries = logs(node, log_call(first, end, topics, tokens))
        if entries is None:
            if not is_checked:
                check(node, first)
                is_checked = True
            if end == first:
                raise ChainError(f"the node does not return the uses of authorizations in block {first}")
            size = (end - first + 1) // 2
            continue
        for entry in entries:
            log = json_object(entry)
            words = [data_bytes(topic) for topic in log.get("topics") or ()]
            if len(words) == len(topics) and len(words[1]) == WORD:
                key = address(log.get("address")), address(to_hex(words[1][12:])), words[2]
                if key in keys:
                    found[key] = hash32(log.get("transactionHash"))
        first = end + 1
    return found


def _sent(result: Any) -> Sent:
    """Classify the node's result. Error messages differ between geth, reth, Nethermind, Besu and anvil."""
    if not isinstance(result, RpcFault):
        return Sent.ACCEPTED
    if _KNOWN.search(result.message):
        return Sent.ACCEPTED
    if _USED_UP.search(result.message):
        return Sent.USED_UP
    if is_temporary(result):
        raise ChainError(f"the node did not take the transaction: {result.message}")
    return Sent.REJECTED


def _separator(result: Any) -> bytes:
    if isinstance(result, RpcFault) and is_execution_failure(result):
        return b""
    data = data_bytes(result_of(result))
    return data if len(data) == WORD else b""


def _states(node: JsonRpc, keys: Sequence[tuple[str, str, bytes]], *, at_block: int) -> AuthorizationStates:
    """Return the states at the block of this height, from one node.

    The query names the block by its hash (EIP-1898), so the node reads the state of exactly this block. Raises
    ChainError if the node lacks the block or its state.
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
