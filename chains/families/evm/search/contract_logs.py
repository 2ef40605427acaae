"""Search the logs of a few contracts for words, such as the ids of swaps in the logs of a provider's router.

Busy contracts can have more logs in a range of blocks than a node returns. The range is then halved, as in
`log_queries`. The size that works is not remembered, because other queries don't depend on it.
"""

import logging
import time
from collections.abc import Collection, Sequence
from typing import Any

from chains.client import ChainError
from chains.facts.searches import LoggedWords
from chains.families.evm.quantities import address, data_bytes, hash32, quantity
from chains.families.evm.search.log_queries import check, log_call, logs
from chains.rpc import quorum
from chains.rpc.json_rpc import JsonRpc

logger = logging.getLogger(__name__)

WORD_BYTES = 32
LONGEST_SEARCH_SECONDS = 5.0
MAX_FOUND = 1000


def find(
    rpc: JsonRpc, words: Collection[bytes], contracts: Collection[str], first: int, last: int
) -> LoggedWords:
    """Search the blocks from `first` to `last`. Stop earlier if time runs out.

    On a chain with a quorum, two nodes are queried, and each log that one of them returns counts. A block whose logs
    too few nodes return is skipped, so that a contract with very many logs can't stop the search. Raises ChainError if
    too few nodes respond.
    """
    needed = quorum.nodes_needed(rpc)
    failure: ChainError | None = None
    results: list[LoggedWords] = []
    skipped: list[LoggedWords] = []
    for node in rpc.each():
        if len(results) == needed:
            break
        try:
            results.append(_Search(node, words, contracts).run(first, last))
        except _Unreadable as error:
            failure = error
            skipped.append(error.found)
        except ChainError as error:
            failure = error
        else:
            last = min(last, results[-1].next_block - 1)
    furthest = sorted(skipped, key=lambda found: found.next_block, reverse=True)[: needed - len(results)]
    for found in furthest:
        logger.error("block %s: too few nodes return the logs of the pinned contracts", found.next_block - 1)
    results += furthest
    if len(results) < needed:
        raise failure or ChainError("too few nodes are available", retry_after=rpc.seconds_until_ready())
    union = dict.fromkeys(pair for result in results for pair in result.found)
    return LoggedWords(tuple(union), min(result.next_block for result in results))


class _Unreadable(ChainError):
    """The node rejects the query even for one block.

    `found` has the logs before this block. The next search begins after this block.
    """

    def __init__(self, found: LoggedWords) -> None:
        super().__init__("the node does not return the logs of one block")
        self.found = found


class _Search:
    def __init__(self, node: JsonRpc, words: Collection[bytes], contracts: Collection[str]) -> None:
        self._node = node
        self._words = frozenset(words)
        self._contracts = sorted(contracts)
        self._found: dict[tuple[bytes, str], None] = {}

    def run(self, first: int, last: int) -> LoggedWords:
        """Search range by range until time runs out. The first range is always searched."""
        deadline = time.monotonic() + LONGEST_SEARCH_SECONDS
        size = self._node.log_limits.blocks.size
        is_checked = False
        while first <= last:
            end = min(last, first + size - 1)
            entries = logs(self._node, log_call(first, end, [], self._contracts))
            if entries is None:
                if not is_checked:
                    check(self._node, first)
                    is_checked = True
                if end == first:
                    raise _Unreadable(self._until(first + 1))
                size = (end - first + 1) // 2
                continue
            for entry in entries:
                self._note(entry, first, end)
            first = end + 1
            if len(self._found) > MAX_FOUND or time.monotonic() > deadline:
                break
        return self._until(first)

    def _until(self, next_block: int) -> LoggedWords:
        return LoggedWords(tuple(self._found), next_block)

    def _note(self, entry: Any, first: int, last: int) -> None:
        if not isinstance(entry, dict) or not isinstance(entry.get("topics"), list):
            raise ChainError("the node's response is not a list of logs")
        if not first <= quantity(entry.get("blockNumber")) <= last:
            raise ChainError("the node's response has logs of other blocks")
        if address(entry.get("address")) not in self._contracts:
            raise ChainError("the node's response has logs of other contracts")
        parts: Sequence[Any] = [*entry["topics"], entry.get("data")]
        data = b"".join(data_bytes(part) for part in parts)
        hash_ = hash32(entry.get("transactionHash"))
        for place in range(0, len(data) - WORD_BYTES + 1, WORD_BYTES):
            word = data[place : place + WORD_BYTES]
            if word in self._words:
                self._found[word, hash_] = None
