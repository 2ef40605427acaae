"""Read how much native coin forwarders have swept, from their `Swept` logs.

Anyone can call a forwarder many thousand times in one block. Nodes then reject even the query for this forwarder in
this block, because the result is too large. The block's receipts have the same logs, and nodes don't limit their
number. So the receipts can be read instead, as they arrive. This takes time, so only the search of single addresses
does it. In other reads, such a forwarder is unreadable from this block on, and is in no further query.
"""

import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from eth_utils.crypto import keccak

from chains.client import ChainError
from chains.facts.deposits import ReceiptTime
from chains.families.evm.quantities import address, data_bytes, hash32, quantity, to_hex
from chains.families.evm.search.log_queries import check, log_call, logs
from chains.rpc.json_rpc import JsonRpc, json_object, result_of

logger = logging.getLogger(__name__)

SWEPT: Final = to_hex(keccak(text="Swept(uint256)"))
MAX_KNOWN = 1000
MAX_REJECTED = 50
"""After this many rejected queries about single blocks, a read doesn't split its contracts further."""
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

    A block is read at each pass until it is final, and its receipts may be large. The heights of the flooded blocks are
    known too, so that later reads don't send the queries that the node rejects.
    """

    def __init__(self) -> None:
        self._amounts: OrderedDict[tuple[tuple[str, ...], str, str], int] = OrderedDict()
        self._flooded: OrderedDict[tuple[tuple[str, ...], int], set[str]] = OrderedDict()
        self._lock = threading.Lock()

    def note_flooded(self, node: JsonRpc, block: int, contract: str) -> None:
        with self._lock:
            self._flooded.setdefault((node.urls, block), set()).add(contract)
            while len(self._flooded) > MAX_KNOWN:
                self._flooded.popitem(last=False)

    def flooded(
        self, node: JsonRpc, contracts: Collection[str], first: int, last: int
    ) -> dict[int, set[str]]:
        """Return which of the contracts are flooded, by height."""
        wanted = set(contracts)
        with self._lock:
            return {
                block: flooded
                for (urls, block), each in self._flooded.items()
                if urls == node.urls and first <= block <= last and (flooded := each & wanted)
            }

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
    node: JsonRpc,
    addresses: Sequence[str],
    first: int,
    last: int,
    *,
    stable_block: int,
    known: KnownReceipts,
    time: ReceiptTime | None = None,
) -> Sweeps:
    """Return what the forwarders swept from block `first` to `last`. Without `time`, read no receipts. Raises
    ChainError.
    """
    reader = _Reader(node, known, time, Sweeps(stable_block))
    size = node.log_limits.recipients.size
    for start in range(0, len(addresses), size):
        reader.read(addresses[start : start + size], first, last)
    return reader.sweeps


@dataclass
class _Reader:
    """One read of a node. `rejected` is the number of rejected queries about single blocks."""

    node: JsonRpc
    known: KnownReceipts
    time: ReceiptTime | None
    sweeps: Sweeps
    rejected: int = 0

    def read(self, contracts: Sequence[str], first: int, last: int) -> None:
        """Add these contracts' sweeps. Raises ChainError.

        If the node rejects a range of blocks, the range is halved, down to the block that is the cause. After this
        block, the search continues with the full range, and without the contracts that are unreadable. Other queries
        to this node still use the full range.
        """
        size = self.node.log_limits.blocks.size
        is_checked = False
        while contracts and first <= last:
            flooded = self.known.flooded(self.node, contracts, first, last)
            if first in flooded:
                contracts = self._read_block(contracts, flooded[first], first)
                first += 1
                continue
            end = min(last, first + size - 1, *(block - 1 for block in flooded if block > first))
            if not self._add_logs(contracts, first, end):
                if not is_checked:
                    check(self.node, first)
                    is_checked = True
                if end > first:
                    size = (end - first + 1) // 2
                    continue
                contracts = self._read_block(contracts, None, first)
                size = self.node.log_limits.blocks.size
            first = end + 1

    def _add_logs(self, contracts: Sequence[str], first: int, last: int) -> bool:
        """Add these contracts' sweeps. Return False if the node rejects the query."""
        started = self.time.clock() if self.time else 0.0
        entries = logs(self.node, log_call(first, last, [SWEPT], contracts))
        if entries is not None:
            _add(self.sweeps, entries, contracts, first, last)
        elif self.time:
            self.time.spend(self.node.urls, started)
        return entries is not None

    def _read_block(self, contracts: Sequence[str], known: Collection[str] | None, block: int) -> list[str]:
        """Add these contracts' sweeps in one block whose query the node rejects. Return the readable contracts.

        The query is halved by contract, unless the flooded contracts are `known`. The contracts whose logs the node
        still rejects are read from the receipts. If that fails too, their amounts are unknown. They must never count as
        zero: the coin of a real sweep would be lost.
        """
        flooded: list[str] = []
        parts = [contracts]
        if known is not None:
            flooded = [each for each in contracts if each in known]
            parts = self._rejected([[each for each in contracts if each not in known]], block)
        while parts:
            part = parts.pop()
            if len(part) == 1 or self.rejected >= MAX_REJECTED:
                flooded += part
                if len(part) == 1:
                    self.known.note_flooded(self.node, block, part[0])
                continue
            middle = len(part) // 2
            parts += self._rejected([part[:middle], part[middle:]], block)
        if not flooded:
            return list(contracts)
        try:
            amounts = self._from_receipts(flooded, block)
        except ChainError as error:
            logger.warning("block %s: the node does not return the sweeps of %s: %s", block, flooded, error)
            self.sweeps.unreadable.update(flooded)
            return [each for each in contracts if each not in self.sweeps.unreadable]
        for forwarder, amount in amounts.items():
            self.sweeps.add(forwarder, block, amount)
        return list(contracts)

    def _rejected(self, parts: Sequence[Sequence[str]], block: int) -> list[Sequence[str]]:
        """Add the sweeps of these parts. Return the parts whose query the node rejects."""
        rejected = [part for part in parts if part and not self._add_logs(part, block, block)]
        self.rejected += len(rejected)
        return rejected

    def _from_receipts(self, contracts: Sequence[str], block: int) -> dict[str, int]:
        """Return the amount that each contract swept in the block. Raises ChainError."""
        if self.time is None:
            raise ChainError("receipts are read later")
        header = self.node.batch([("eth_getBlockByNumber", [hex(block), False])], list)
        block_hash = hash32(json_object(result_of(header[0])).get("hash"))
        found = self.known.find(self.node, block_hash, contracts)
        amounts = {each: 0 for each in contracts if each not in found}
        if not amounts:
            return found
        seconds = self.time.left(self.node.urls)
        if seconds <= 0:
            raise ChainError("the time for receipts is over")
        started = self.time.clock()
        try:
            _stream_receipts(self.node, block, block_hash, amounts, seconds)
        finally:
            self.time.spend(self.node.urls, started)
        self.known.keep(self.node, block_hash, amounts)
        return found | amounts


def _add(sweeps: Sweeps, entries: Sequence[Any], contracts: Collection[str], first: int, last: int) -> None:
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


def _stream_receipts(
    node: JsonRpc, block: int, block_hash: str, amounts: dict[str, int], seconds: float
) -> None:
    """Add what the contracts in `amounts` swept in the block. Raises ChainError."""

    def convert(part: dict[str, Any]) -> Any:
        """Add the sweeps while the response arrives, and keep only the block's hash of each receipt."""
        if "topics" in part:
            forwarder = address(part.get("address"))
            if part["topics"] == [SWEPT] and forwarder in amounts:
                amounts[forwarder] += _amount(part)
            return None
        return part.get("blockHash") if "logs" in part else part

    hashes = result_of(node.stream(("eth_getBlockReceipts", [hex(block)]), convert, seconds=seconds))
    if not isinstance(hashes, list) or not hashes or any(hash32(each) != block_hash for each in hashes):
        raise ChainError("the node's response is not the receipts of this block")
