"""Query logs in ranges that adapt to the node: blocks, recipients and tokens.

Nodes limit the range, the number of results, the response's size or the number of topics. The nodes' error codes and
messages differ. So a failed query is always halved, and the size that works is remembered for each node. A query that
can't be halved further may fail even on a healthy node. Such a query is skipped as unreadable. An attacker can cause
this with very many tiny transfers, and must not stop the search for others.
"""

import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from chains.client import ChainError
from chains.families.evm.abi import TRANSFER_TOPIC
from chains.families.evm.quantities import address, data_bytes, hash32, quantity, to_hex
from chains.rpc import quorum
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault, Unread
from chains.rpc.nodes import Limiting

_IS_RATE = re.compile(r"rate.?limit|too many requests|request limit|compute unit|throttl", re.IGNORECASE)
_NOTHING = "0x" + "00" * 31 + "01"  # a topic that no event has


@dataclass(frozen=True)
class Region:
    """The transfers of these tokens to these recipients in the blocks from `first` to `last`."""

    first: int
    last: int
    recipients: tuple[str, ...]
    tokens: tuple[str, ...]

    def halves(self) -> list["Region"]:
        """Split a region of one block by recipients, else by tokens.

        A region with one recipient and one token stays whole.
        """
        if len(self.recipients) > 1:
            return self.by_recipients((len(self.recipients) + 1) // 2)
        middle = len(self.tokens) // 2
        parts = [self.tokens[:middle], self.tokens[middle:]] if middle else [self.tokens]
        return [replace(self, tokens=part) for part in parts]

    def by_recipients(self, size: int) -> list["Region"]:
        """Return the region in parts of at most `size` recipients."""
        return [
            replace(self, recipients=self.recipients[start : start + size])
            for start in range(0, len(self.recipients), size)
        ]


@dataclass(frozen=True)
class FoundLog:
    """A log with the shape of a token transfer whose amount is not zero."""

    block: int
    transaction_hash: str
    token: str
    recipient: str
    amount: int


@dataclass(frozen=True)
class RegionLogs:
    """The logs of a region up to the block `last`, without its `unreadable` parts."""

    last: int
    logs: tuple[FoundLog, ...]
    unreadable: tuple[Region, ...]


class _TooWide(Exception):
    """The node rejects block ranges this large."""


def query_nodes(rpc: JsonRpc, region: Region) -> RegionLogs:
    """Return the logs of the region, or of its first blocks. Query other nodes for the parts that a node can't return.

    On a chain with a quorum, two nodes are queried, and each log that one of them returns counts: a single node can't
    hide a transfer. Raises ChainError if too few nodes respond.
    """
    needed, nodes = quorum.nodes_needed(rpc), rpc.each()
    if needed > 1:
        # Both nodes search the same blocks, so the smaller limit applies to both.
        nodes.sort(key=lambda node: node.log_limits.blocks.size, reverse=True)
    size = min(node.log_limits.blocks.size for node in nodes[:needed])
    region = replace(region, last=min(region.last, region.first + size - 1))
    whole: list[RegionLogs] = []
    found: Counter[FoundLog] = Counter()
    lacking: Counter[Region] = Counter()  # how many more nodes must return a part
    failure: ChainError | None = None
    for node in nodes:
        try:
            if len(whole) < needed:
                results = [query(node, region)]
                whole += results
                region = replace(region, last=results[0].last)
                lacking.update(results[0].unreadable)
            else:
                results = [query(node, part) for part in lacking]
                lacking -= Counter(
                    part for part, result in zip(lacking, results, strict=True) if not result.unreadable
                )
        except ChainError as error:
            failure = error
            continue
        # A node returns each log once, and a transaction can have equal logs.
        found |= Counter(log for result in results for log in result.logs)
        if len(whole) == needed and not lacking:
            break
    if len(whole) < needed:
        raise failure or ChainError("too few nodes are available", retry_after=rpc.seconds_until_ready())
    logs = tuple(log for log in found.elements() if log.block <= region.last)
    unreadable = tuple(
        part for part, missing in lacking.items() if missing == needed and part.last <= region.last
    )
    return RegionLogs(region.last, logs, unreadable)


def query(node: JsonRpc, region: Region) -> RegionLogs:
    """Return one node's logs of the region, or of its first blocks. Raises ChainError if the node is down."""
    limits = node.log_limits
    region = replace(region, last=min(region.last, region.first + limits.blocks.size - 1))
    checked = False
    while True:
        try:
            found = _query(node, region, is_checked=checked)
        except _TooWide:
            checked = True
            blocks = region.last - region.first + 1
            limits.blocks.failed(blocks)
            region = replace(region, last=region.first + blocks // 2 - 1)
        else:
            limits.blocks.worked(region.last - region.first + 1)
            return found


def _query(node: JsonRpc, region: Region, *, is_checked: bool) -> RegionLogs:
    limits = node.log_limits
    pending = deque([region])
    logs: list[FoundLog] = []
    unreadable: list[Region] = []
    while pending:
        part = pending.popleft()
        if len(part.recipients) > limits.recipients.size:
            pending.extendleft(reversed(part.by_recipients(limits.recipients.size)))
            continue
        result = _result(node, part)
        if isinstance(result, list):
            logs += [log for entry in result if (log := _read(entry, part)) is not None]
            limits.recipients.worked(len(part.recipients))
            continue
        if not is_checked:
            check(node, part.first)
            is_checked = True
        if part.last > part.first:
            raise _TooWide
        if len(part.recipients) > 1:
            limits.recipients.failed(len(part.recipients))
        smaller = part.halves()
        if len(smaller) > 1:
            pending.extendleft(reversed(smaller))
        else:
            unreadable.append(part)
    return RegionLogs(region.last, tuple(logs), tuple(unreadable))


def _result(node: JsonRpc, part: Region) -> list[Any] | None:
    """Return the region's logs; see `logs`."""
    topics = [to_hex(TRANSFER_TOPIC), None, [_topic(recipient) for recipient in part.recipients]]
    return logs(node, log_call(part.first, part.last, topics, part.tokens))


def check(node: JsonRpc, block: int) -> None:
    """Send a query about this block that has no results; raise ChainError if the node fails it.

    A node that fails this small query is down. The node's other failures then show nothing about its limits or the
    block.
    """
    if logs(node, log_call(block, block, [_NOTHING], ())) is None:
        raise ChainError("the node answers no log query")


def logs(node: JsonRpc, call: Call) -> list[Any] | None:
    """Return the logs, or None if the node rejects this query. Raises ChainError if the node is at fault."""
    (result,) = node.batch([call], list, isolating=True)
    return read_logs(result)


def is_rate(fault: RpcFault) -> bool:
    """Whether the node's error is about our rate."""
    return bool(_IS_RATE.search(fault.message))


def read_logs(result: Any) -> list[Any] | None:
    """Return one query's logs, or None if the node rejected it. Raises ChainError if the node is at fault."""
    if isinstance(result, RpcFault):
        if is_rate(result):
            raise Limiting("the node is limiting our rate")
        return None
    if isinstance(result, Unread):
        return None
    if not isinstance(result, list):
        raise ChainError("the node's response is not a list of logs")
    return result


def log_call(first: int, last: int, topics: list[Any], contracts: Sequence[str]) -> Call:
    """Return the query for the logs of these contracts, or of all contracts if there are none."""
    filters = {"fromBlock": hex(first), "toBlock": hex(last), "topics": topics}
    return ("eth_getLogs", [{**filters, "address": list(contracts)} if contracts else filters])


def _read(entry: Any, part: Region) -> FoundLog | None:
    """Return the log, or None if its amount is zero or it has another shape. Raises ChainError."""
    if not isinstance(entry, dict) or not isinstance(entry.get("topics"), list):
        raise ChainError("the node's response is not a list of logs")
    topics, amount = [data_bytes(topic) for topic in entry["topics"]], data_bytes(entry.get("data"))
    block, transaction_hash = quantity(entry.get("blockNumber")), hash32(entry.get("transactionHash"))
    if len(topics) != 3 or len(topics[2]) != 32 or len(amount) != 32 or not any(amount):
        return None
    if not part.first <= block <= part.last:
        raise ChainError("the node's response has logs of other blocks")
    return FoundLog(
        block,
        transaction_hash,
        address(entry.get("address")),
        address(to_hex(topics[2][12:])),
        int.from_bytes(amount),
    )


def _topic(address: str) -> str:
    return "0x" + address[2:].lower().rjust(64, "0")
