"""Probe a node with the largest requests that verification makes."""

from typing import Any

from chains.client import ChainError, NodeAbilities
from chains.families.evm.quantities import quantity
from chains.families.evm.search.log_queries import Region, query
from chains.rpc.json_rpc import MAX_BATCH, Call, JsonRpc
from chains.rpc.nodes import MAX_LOG_BLOCKS

# No token is at this address, so the query has no results. So a node rejects the query only if its range of blocks is
# too large.
_NONE = "0x0000000000000000000000000000000000000001"
_DEPTHS = (128, 1_024, 16_384, 131_072, 1_048_576)


def find(node: JsonRpc, *, traces: bool) -> NodeAbilities:
    """Return the node's head and limits. Raises ChainError."""
    head = node.batch([("eth_blockNumber", [])], lambda results: quantity(results[0]))
    node.batch([("eth_chainId", [])] * MAX_BATCH, list)
    query(node, Region(max(head - MAX_LOG_BLOCKS + 1, 0), head, (_NONE,), (_NONE,)))
    blocks = node.log_limits.blocks.size
    return NodeAbilities(
        head=head,
        batch=node.batch_limit,
        log_blocks=blocks if blocks < MAX_LOG_BLOCKS else None,
        traces=traces,
        history=_history(node, head),
    )


def _history(node: JsonRpc, head: int) -> int:
    """Return the largest of `_DEPTHS` (blocks below the head) at which the node still has account state."""
    depths = [*(depth for depth in _DEPTHS if depth < head), head]
    calls: list[Call] = [("eth_getBalance", [_NONE, hex(head - depth)]) for depth in depths]
    results = node.batch(calls, list)
    reached = 0
    for depth, result in zip(depths, results, strict=True):
        if not _is_quantity(result):
            break
        reached = depth
    return reached


def _is_quantity(result: Any) -> bool:
    try:
        quantity(result)
    except ChainError:
        return False
    return True
