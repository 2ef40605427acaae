"""Find payments whose hash was never submitted, by the recipients' `Transfer` logs.

A log has no reference, so the search fetches the logs' transactions. The search looks up only transactions whose input
contains a watched reference. Any other transaction costs only one small call, even if its receipt is large. Native coin
leaves no log, so this search doesn't find it.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from chains.client import ChainError, SearchLimits, Snapshot, Watch
from chains.facts.searches import Arrivals
from chains.families.evm.calls import REFERENCE_BYTES
from chains.families.evm.quantities import data_bytes, hash32
from chains.families.evm.search.log_queries import FoundLog, Region, query_nodes
from chains.rpc import quorum
from chains.rpc.json_rpc import MAX_BATCH, Call, JsonRpc, Unread, UnreadReason, json_object, result_of

logger = logging.getLogger(__name__)

MAX_BLOCKS = 1000
FIRST_LOOK_BACK = 20
MAX_TRANSACTIONS = 2000
LONGEST_SEARCH_SECONDS = 20.0
LIMITS = SearchLimits(by_block=True, watches=5000, searches=20)

# By transaction hash: the watches that the transaction may pay. The token reached the watch's recipient, and the
# reference is in the transaction's input.
Candidates = Mapping[str, Sequence[Watch]]


def block_range(since_block: int | None, latest: int) -> tuple[int, int] | None:
    """Return the first and the last block to search now; None if all blocks were searched."""
    first = max(latest - FIRST_LOOK_BACK, 0) if since_block is None else since_block
    return (first, min(latest, first + MAX_BLOCKS - 1)) if first <= latest else None


class Search:
    """One search of a bounded range of blocks for transfers of the watched tokens to their recipients.

    A search stops early after much work, but it searches at least one block. `next_block` is the first block that it
    did not search. `unreadable` counts the (block, recipient) pairs that were skipped because no node returns their
    logs.
    """

    def __init__(self, watches: Sequence[Watch]) -> None:
        self._watches = [watch for watch in watches if watch.token]
        self._logs: list[FoundLog] = []
        self.next_block = 0
        self.unreadable = 0

    def run(self, rpc: JsonRpc, first: int, last: int) -> None:
        """Search from `first` to `last`. Raises ChainError if no node responds."""
        self.next_block = last + 1
        if not self._watches:
            return
        deadline = time.monotonic() + LONGEST_SEARCH_SECONDS
        self.next_block = first
        while self.next_block <= last:
            self._search_next(rpc, last)
            hashes = {log.transaction_hash for log in self._logs}
            if len(hashes) > MAX_TRANSACTIONS or time.monotonic() > deadline:
                break
        self._stop_at_enough(first)

    def candidates(self, rpc: JsonRpc) -> Candidates:
        """Return the transactions that pay a watch's recipient and have the watch's reference in their input.

        Raises ChainError.
        """
        wanted: dict[tuple[str, str], dict[bytes, Watch]] = defaultdict(dict)
        for watch in self._watches:
            wanted[watch.token, watch.recipient][watch.reference] = watch
        moved: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for log in self._wanted():
            moved[log.transaction_hash].add((log.token, log.recipient))
        candidates: dict[str, list[Watch]] = {}
        for hash_, inputs in _inputs(rpc, sorted(moved)):
            watched = [wanted[pair] for pair in moved[hash_]]
            references: set[bytes] = set().union(*watched)
            carried: set[bytes] = set().union(*(_carried(data, references) for data in inputs))
            if found := [watches[ref] for watches in watched for ref in sorted(carried) if ref in watches]:
                candidates[hash_] = found
        return candidates

    def arrivals(self) -> tuple[tuple[str, str, int], ...]:
        """Return (recipient, transaction hash, amount) for each found transaction that paid a watch's recipient."""
        moved: dict[tuple[str, str], int] = defaultdict(int)
        for log in self._wanted():
            moved[log.recipient, log.transaction_hash] += log.amount
        return tuple((recipient, hash_, amount) for (recipient, hash_), amount in sorted(moved.items()))

    def _wanted(self) -> Iterator[FoundLog]:
        """Yield the logs of transfers of the watched tokens to their recipients."""
        wanted = {(watch.token, watch.recipient) for watch in self._watches}
        yield from (log for log in self._logs if (log.token, log.recipient) in wanted)

    def _search_next(self, rpc: JsonRpc, last: int) -> None:
        """Search as many blocks as the nodes accept in one query."""
        tokens = tuple(sorted({watch.token for watch in self._watches}))
        recipients = tuple(sorted({watch.recipient for watch in self._watches}))
        found = query_nodes(rpc, Region(self.next_block, last, recipients, tokens))
        self._logs += found.logs
        for region in found.unreadable:
            self.unreadable += 1
            logger.error(
                "block %s: no node returns the transfers to %s", region.first, ", ".join(region.recipients)
            )
        self.next_block = found.last + 1

    def _stop_at_enough(self, first: int) -> None:
        """Keep whole blocks with up to MAX_TRANSACTIONS in total, but always the first block.

        The next search reads the other blocks.
        """
        hashes: set[str] = set()
        for log in sorted(self._logs, key=lambda log: log.block):
            hashes.add(log.transaction_hash)
            if len(hashes) > MAX_TRANSACTIONS and log.block > first:
                self.next_block = log.block
                self._logs = [kept for kept in self._logs if kept.block < log.block]
                return


def matches(candidates: Candidates, looked_up: Snapshot) -> tuple[tuple[bytes, str], ...]:
    """Return (reference, hash) of each candidate that pays or can't be ruled out yet."""
    found = set()
    for hash_, watches in candidates.items():
        facts = looked_up.transactions.get(hash_)
        if hash_ in looked_up.contradicted:
            found |= {(watch.reference, hash_) for watch in watches}
        elif facts is None or facts.block is None:
            continue
        elif not facts.is_readable:
            found |= {(watch.reference, hash_) for watch in watches}
        elif facts.succeeded:
            paying = {
                (reference, transfer.token, transfer.recipient)
                for transfer in facts.transfers
                for reference in transfer.references
                if min(transfer.amount, transfer.claimable_amount)
            }
            found |= {
                (watch.reference, hash_)
                for watch in watches
                if not facts.is_complete or (watch.reference, watch.token, watch.recipient) in paying
            }
    return tuple(sorted(found))


def find_arrivals(rpc: JsonRpc, tokens: Mapping[str, str], since_block: int, until_block: int) -> Arrivals:
    """Return the amounts that transactions moved to these recipients, in each recipient's token."""
    blocks = block_range(since_block, until_block)
    if blocks is None:
        return Arrivals((), since_block)
    search = Search([Watch(b"", token, recipient) for recipient, token in tokens.items()])
    search.run(rpc, *blocks)
    return Arrivals(search.arrivals(), search.next_block, search.unreadable)


def _inputs(rpc: JsonRpc, hashes: Sequence[str]) -> Iterator[tuple[str, set[bytes]]]:
    """Yield the inputs of the transactions that a node has, one batch at a time.

    On a chain with a quorum, two nodes are queried. A transaction has two inputs if they disagree.
    """
    for start in range(0, len(hashes), MAX_BATCH):
        part = hashes[start : start + MAX_BATCH]
        inputs: dict[str, set[bytes]] = defaultdict(set)
        for known in quorum.query_enough(rpc, partial(_query_inputs, part)):
            for hash_, data in known.items():
                inputs[hash_].add(data)
        yield from inputs.items()


def _query_inputs(hashes: Sequence[str], node: JsonRpc) -> dict[str, bytes]:
    calls: list[Call] = [("eth_getTransactionByHash", [hash_]) for hash_ in hashes]
    return node.batch(calls, partial(_read_inputs, hashes), isolating=True)


def _read_inputs(hashes: Sequence[str], results: Sequence[Any]) -> dict[str, bytes]:
    """Return the inputs by transaction hash. Raises ChainError if none could be read."""
    inputs: dict[str, bytes] = {}
    failure: ChainError | None = None
    for hash_, result in zip(hashes, results, strict=True):
        if isinstance(result, Unread) and result.reason is UnreadReason.SKIPPED:
            raise result.error
        try:
            transaction = result_of(result)
            if transaction is not None and hash32(json_object(transaction).get("hash")) == hash_:
                inputs[hash_] = data_bytes(transaction.get("input"))
        except ChainError as error:
            logger.warning("transaction %s could not be read: %s", hash_, error)
            failure = error
    if failure is not None and not inputs:
        raise failure
    return inputs


def _carried(data: bytes, references: Collection[bytes]) -> set[bytes]:
    """Return the references that occur anywhere in `data`. The cost doesn't depend on the number of references."""
    runs = (data[at : at + REFERENCE_BYTES] for at in range(len(data) - REFERENCE_BYTES + 1))
    return {run for run in runs if run in references}
