"""Transactions whose contents can't be parsed: their type is unknown to the node or this service, or they are garbage.

Only the block of such a transaction is known, so no verdict depends on its contents.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from chains.client import Block, ChainError, TransactionFacts
from chains.families.evm.quantities import address, hash32, quantity
from chains.rpc.json_rpc import RpcFault

# A transaction with its receipt, if there is a receipt; None if the node doesn't know the transaction.
Pair = tuple[dict[str, Any], dict[str, Any] | None] | None

# The message of nodes that don't know a type (geth: "transaction type not supported").
_UNDECODABLE = re.compile(r"(transaction|tx) ?type|(unknown|unsupported|invalid) type", re.IGNORECASE)


def with_known_block(wanted: str, transaction: Any, receipt: Any) -> tuple[Any, Any]:
    """Return both results. If the node can't decode one of them, replace that result by the block from the other
    result.
    """
    if _is_undecodable(transaction) and isinstance(receipt, dict):
        return {"hash": wanted}, receipt
    if _is_undecodable(receipt) and isinstance(transaction, dict) and transaction.get("blockNumber"):
        # Without a valid status, the other fields can't be parsed either.
        place = {name: transaction.get(name) for name in ("blockNumber", "blockHash")}
        return transaction, {"transactionHash": wanted, "status": None, **place}
    return transaction, receipt


def facts(wanted: str, pair: Pair, blocks: Mapping[int, Block]) -> TransactionFacts:
    """Return the known facts of a transaction whose contents can't be parsed: its block and perhaps its sender."""
    transaction, receipt = pair or ({}, None)
    block = None
    if receipt is not None:
        now = blocks.get(quantity(receipt["blockNumber"]))
        block = now if now is not None and now.hash == hash32(receipt.get("blockHash")) else None
    sender = ""
    with suppress(ChainError):
        sender = address(transaction.get("from"))
    return TransactionFacts(
        wanted,
        sender,
        None,
        block,
        succeeded=False,
        transfers=(),
        is_complete=block is None,
        is_readable=block is None,
        is_known_form=False,
    )


def _is_undecodable(result: Any) -> bool:
    return isinstance(result, RpcFault) and _UNDECODABLE.search(result.message) is not None
