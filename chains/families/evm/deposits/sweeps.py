"""Read how much native coin forwarders have swept, from their `Swept` logs.

Anyone can call a forwarder many thousand times in one block. Nodes then reject even the query for this forwarder in
this block, because the result is too large. The block's receipts have the same logs, and nodes don't limit their
number. So the receipts are read instead, as they arrive.
"""

import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from eth_utils.crypto import keccak

from chains.client import ChainError
from chains.families.evm.quantities import address, data_bytes, hash32, json_object, quantity, to_hex
from chains.families.evm.search.log_queries import check, log_call, logs
from chains.rpc.json_rpc import JsonRpc, result_of

logger = logging.getLogger(__name__)

SWEPT: Final = to_hex(keccak(text="Swept(uint256)"))
MAX_KNOWN = 1000
MAX_REJECTED = 50
"""After this many rejected queries about one block, the remaining contracts are not split further."""
_WORD = 32


@dataclass
class Sweeps:
    """The amounts swept by forwarder: all, and those up to the block `stable_block`.

    The amounts of the `unreadable` forwarders are incomplete, and show nothing.
    """

    stable_block: int
    total: Counter[str] = field(default_factory=Counter)
    stable: Counter[str] = field(default_factory=Counter)
    unreadable: set[str] = field(default_factory=set)

    def add(self, forwarder: str, block: int, amount: int) -> None:
        self.total[forwarder] += amount
        if block <= self.stable_block:
            self.stable[forwarder] += amount


class KnownReceipts:
    """The amounts that were read from receipts, by node, block hash and forwarder. Thread-safe.

    A block is read at each pass until it is final, and its receipts may be large.
    """

    def __init__(self) -> None:
        self._amounts: OrderedDict[tuple[tuple[str, ...], str, str], int] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, node: JsonRpc, block_hash: str, contracts: Collection[str]) -> dict[str, int]:
        with self._lock:
            keys = {each: (node.urls, block_hash, each) for each in contracts}
            return {each: self._amounts[key] for each, key in keys.items() if key in self._amounts}

    def keep(self, node: JsonRpc, block_hash: str, amounts: dict[str, int]) -> None:
        with self._lock:
            for forwarder, amount in amounts.items():
                self._amounts[node.urls, block_hash, forwarder] = amount
            while len(self._amounts) > MAX_KNOWN:
                self._amounts.popitem(last=False)


def read_sweeps(
    node: JsonRpc, addresses: Sequence[str], first: int, last: int, *, stable_block: int, known: KnownReceipts
) -> Sweeps:
    """Return what the forwarders swept from block `first` to `last`. Raises ChainError."""
    sweeps = Sweeps(stable_block)
    size = node.log_limits.recipients.size
    for start in range(0, len(addresses), size):
        _read(node, addresses[start : start + size], first, last, sweeps, known)
    return sweeps


def _read(
    node: JsonRpc, contracts: Sequence[str], first: int, last: int, sweeps: Sweeps, known: KnownReceipts
) -> None:
    """Add these contracts' sweeps. Raises ChainError.

    If the node rejects a range of blocks, the range is halved, down to the block that is the cause. After this block,
    the search continues with the full range. Other queries to this node still use the full range.
    """
    size = node.log_limits.blocks.size
    is_checked = False
    while first <= last:
        end = min(last, first + size - 1)
        entries = logs(node, log_call(first, end, [SWEPT], contracts))
        if entries is None:
            if not is_checked:
                check(node, first)
                is_checked = True
            if end > first:
                size = (end - first + 1) // 2
                continue
            _read_block(node, contracts, first, sweeps, known)
            size = node.log_limits.blocks.size
        else:
            _add(entries, contracts, first, end, sweeps)
        first = end + 1


def _add(entries: Sequence[Any], contracts: Collection[str], first: int, last: int, sweeps: Sweeps) -> None:
    for entry in entries:
        log = json_object(entry)
        block = quantity(log.get("blockNumber"))
        if not first <= block <= last:
            raise ChainError("the node's response has logs of other blocks")
        forwarder = address(log.get("address"))
        if forwarder not in contracts:
            raise ChainError("the node's response has logs of other contracts")
        sweeps.add(forwarder, block, _amount(log))


def _amount(log: dict[str, Any]) -> int:
    amount = data_bytes(log.get("data"))
    if len(amount) != _WORD:
        raise ChainError("the node's response has a sweep without an amount")
    return int.from_bytes(amount)


def _read_block(
    node: JsonRpc, contracts: Sequence[str], block: int, sweeps: Sweeps, known: KnownReceipts
) -> None:
    """Add these contracts' sweeps in one block, after the node rejected the query for all.

    The query is halved by contract. The contracts whose logs the node still rejects are read from the receipts. If that
    fails too, their amounts are unknown. They must never count as zero: the coin of a real sweep would be lost.
    """
    flooded: list[str] = []
    parts, rejected = [contracts], 0
    while parts:
        part = parts.pop()
        if len(part) == 1 or rejected >= MAX_REJECTED:
            flooded += part
            continue
        middle = len(part) // 2
        for half in (part[:middle], part[middle:]):
            entries = logs(node, log_call(block, block, [SWEPT], half))
            if entries is None:
                rejected += 1
                parts.append(half)
            else:
                _add(entries, half, block, block, sweeps)
    try:
        amounts = _from_receipts(node, flooded, block, known)
    except ChainError as error:
        logger.error("block %s: the node does not return the sweeps of %s: %s", block, flooded, error)
        sweeps.unreadable.update(flooded)
        return
    for forwarder, amount in amounts.items():
        sweeps.add(forwarder, block, amount)


def _from_receipts(
    node: JsonRpc, contracts: Sequence[str], block: int, known: KnownReceipts
) -> dict[str, int]:
    """Return the amount that each contract swept in the block. Raises ChainError."""
    header = node.batch([("eth_getBlockByNumber", [hex(block), False])], list)
    block_hash = hash32(json_object(result_of(header[0])).get("hash"))
    found = known.find(node, block_hash, contracts)
    missing = [each for each in contracts if each not in found]
    if not missing:
        return found
    amounts = dict.fromkeys(missing, 0)

    def convert(part: dict[str, Any]) -> Any:
        """Add the sweeps while the response arrives, and keep only the block's hash of each receipt."""
        if "topics" in part:
            forwarder = address(part.get("address"))
            if part["topics"] == [SWEPT] and forwarder in amounts:
                amounts[forwarder] += _amount(part)
            return None
        return part.get("blockHash") if "logs" in part else part

    hashes = result_of(node.stream(("eth_getBlockReceipts", [hex(block)]), convert))
    if not isinstance(hashes, list) or not hashes or any(hash32(each) != block_hash for each in hashes):
        raise ChainError("the node's response is not the receipts of this block")
    known.keep(node, block_hash, amounts)
    return found | amounts
