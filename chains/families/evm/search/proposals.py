"""Search for the executions of proposals by the events that contain a proposal's id.

A Safe logs `ExecutionSuccess` or `ExecutionFailure` itself; its `txHash` is indexed since 1.4.0. An EntryPoint logs
`UserOperationEvent`. Only logs of the proposal's own account and of the canonical EntryPoints count: anyone can deploy
a contract that logs the same events. An EntryPoint computes the id from the operation, so its event counts for any
account. The logs show the candidates; `executions` returns those that a lookup confirms.
"""

import logging
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from chains.client import ChainError, Snapshot, TransactionFacts
from chains.facts.proposals import Execution, Proposal
from chains.families.evm.abi import WORD
from chains.families.evm.quantities import address, data_bytes, hash32, quantity, to_hex
from chains.families.evm.search.log_queries import check, log_call, logs, read_logs
from chains.families.evm.transactions.accounts import ENTRY_POINTS
from chains.families.evm.transactions.signed_calls import (
    EXECUTION_FAILURE,
    EXECUTION_SUCCESS,
    USER_OPERATION_EVENT,
)
from chains.rpc import quorum
from chains.rpc.json_rpc import Call, JsonRpc

logger = logging.getLogger(__name__)

# The maximum number of block ranges per search.
MAX_RANGES = 30
# The maximum number of candidates for a proposal in one account's logs. The account can log any number of events.
MAX_CANDIDATES = 3
# The maximum number of queries for one account's logs in one range.
_MAX_QUERIES = 40

# An event of an EntryPoint has this key, other events have their account.
_ENTRY_POINT = "EntryPoint"

Candidates = Mapping[Proposal, Sequence[str]]


class Search:
    """One search for the proposals' executions up to the block `until`.

    `candidates` has the transactions that logged each proposal's id. `next_blocks` has the block at which the search
    for each proposal continues. `unreadable` has the proposals for which too few nodes return the logs of that block:
    nodes may have deleted old logs.
    """

    def __init__(self, proposals: Sequence[Proposal], until: int) -> None:
        self._proposals = proposals
        self._until = until
        self.candidates: dict[Proposal, list[str]] = defaultdict(list)
        self.next_blocks = {proposal: proposal.first_block for proposal in proposals}
        self.unreadable: set[Proposal] = set()

    def run(self, rpc: JsonRpc) -> None:
        """Search with one node, or with two on a chain with a quorum: a single node can't hide an execution.

        Raises ChainError if too few nodes respond.
        """
        reached = quorum.query_enough_items(rpc, self._proposals, self._searched)
        needed = quorum.nodes_needed(rpc)
        self.unreadable = {proposal for proposal in self._proposals if len(reached[proposal]) < needed}
        self.next_blocks |= {
            proposal: min(blocks) for proposal, blocks in reached.items() if proposal not in self.unreadable
        }
        if self.unreadable:
            first = min(proposal.first_block for proposal in self.unreadable)
            logger.warning(
                "the logs from block %s on, for %s proposals, are unreadable", first, len(self.unreadable)
            )

    def _searched(self, node: JsonRpc, proposals: Collection[Proposal]) -> dict[Proposal, int]:
        """Search with one node, and add its candidates.

        Return the next block of each proposal, except of those whose blocks the node doesn't return.
        """
        search = Search(list(proposals), self._until)
        search._run(node)
        for proposal, hashes in search.candidates.items():
            known = self.candidates[proposal]
            known += [hash_ for hash_ in hashes if hash_ not in known]
        return {each: block for each, block in search.next_blocks.items() if each not in search.unreadable}

    def _run(self, node: JsonRpc) -> None:
        """Search in groups of proposals whose next blocks are near each other. The groups nearest to the head come
        first. If a group's blocks are unreadable, split the group, and continue with the others.

        Raises ChainError if the node is down before it returns logs.
        """
        groups = deque(self._groups(node.log_limits.blocks.size))
        is_working = False
        for _ in range(MAX_RANGES):
            if not groups:
                return
            group = groups.popleft()
            first = min(self.next_blocks[each] for each in group)
            try:
                last = self._range(node, group, first)
            except ChainError as error:
                if _is_down(node, self._until):
                    if not is_working:
                        raise
                    logger.warning("the search for executions stopped early: %s", error)
                    self._leave(proposal for each in (group, *groups) for proposal in each)
                    return
                if len(group) == 1:
                    self._leave(group)
                else:
                    # Only the far blocks may be unreadable, so search the nearer half first.
                    middle = len(group) // 2
                    groups.appendleft(group[:middle])
                    groups.append(group[middle:])
                continue
            is_working = True
            self.next_blocks |= dict.fromkeys(group, last + 1)
            if last < self._until:
                groups.append(group)

    def _leave(self, proposals: Iterable[Proposal]) -> None:
        """Note the proposals as unreadable, except those whose search already advanced."""
        self.unreadable |= {each for each in proposals if self.next_blocks[each] <= each.first_block}

    def _groups(self, size: int) -> list[list[Proposal]]:
        groups: list[list[Proposal]] = []
        unfinished = [each for each in self.next_blocks if self.next_blocks[each] <= self._until]
        for proposal in sorted(unfinished, key=lambda each: -self.next_blocks[each]):
            is_near = groups and self.next_blocks[groups[-1][0]] - self.next_blocks[proposal] < size
            groups[-1].append(proposal) if is_near else groups.append([proposal])
        return groups

    def _range(self, node: JsonRpc, group: Sequence[Proposal], first: int) -> int:
        """Search as many blocks as the node accepts for the group; return the last block. Raises ChainError."""
        limit = node.log_limits.blocks
        last = min(self._until, first + limit.size - 1)
        by_account: dict[str, list[Proposal]] = defaultdict(list)
        for proposal in group:
            by_account[proposal.account].append(proposal)
        while True:
            calls = [
                _of_entry_points(group, first, last),
                *(_of_account(account, first, last) for account in by_account),
            ]
            operations, *own = node.batch(calls, list, isolating=True)
            found = read_logs(operations)
            if found is not None:
                break
            # No account can enlarge this query's result, so the node rejects it only for the number of blocks.
            check(node, first)
            if first == last:
                raise ChainError("the node does not return the logs of one block")
            limit.failed(last - first + 1)
            last = first + (last - first + 1) // 2 - 1
        limit.worked(last - first + 1)
        self._take(found, group)
        for (account, proposals), result in zip(by_account.items(), own, strict=True):
            entries = read_logs(result)
            if entries is None:
                entries = _in_parts(node, account, first, last)
            self._take(entries, proposals)
        return last

    def _take(self, entries: Sequence[Any], proposals: Sequence[Proposal]) -> None:
        for entry in entries:
            event = _read(entry)
            if event is None:
                continue
            for proposal in (each for each in proposals if _names(event[:2], each)):
                hashes = self.candidates[proposal]
                if event[2] in hashes:
                    continue
                # Each EntryPoint executes an operation once.
                if event[0] == _ENTRY_POINT:
                    hashes.insert(0, event[2])
                elif len(hashes) < MAX_CANDIDATES:
                    hashes.append(event[2])


def _is_down(node: JsonRpc, newest: int) -> bool:
    """Whether the node doesn't even return the logs of the newest block."""
    try:
        check(node, newest)
    except ChainError:
        return True
    return False


def _in_parts(node: JsonRpc, account: str, first: int, last: int) -> list[Any]:
    """Return the account's logs, queried in parts that the node accepts. Blocks that the node can't return
    are left out.
    """
    check(node, first)
    found: list[Any] = []
    parts = deque([(first, last)])
    for _ in range(_MAX_QUERIES):
        if not parts:
            break
        start, end = parts.popleft()
        result = logs(node, _of_account(account, start, end))
        if result is not None:
            found += result
        elif start < end:
            middle = (start + end) // 2
            parts.extend([(start, middle), (middle + 1, end)])
        else:
            logger.error("block %s: the node does not return the logs of account %s", start, account)
    if parts:
        logger.error("account %s logs too much: blocks %s to %s are not searched", account, first, last)
    return found


def executions(candidates: Candidates, looked_up: Snapshot) -> dict[Proposal, Execution]:
    """Return each proposal's execution that a lookup confirms.

    If a proposal has several executions, prefer one that is certain, then one that succeeded, then the earliest.

    A transaction that is too large to read counts as a success; its verification then reports the problem.
    """
    found: dict[Proposal, Execution] = {}
    for proposal, hashes in candidates.items():
        confirmed = [
            execution
            for hash_ in hashes
            if (execution := _execution(proposal, looked_up.transactions.get(hash_))) is not None
        ]
        if confirmed:
            found[proposal] = min(
                confirmed, key=lambda each: (not each.is_certain, not each.succeeded, each.block.number)
            )
    return found


def watched_contracts(candidates: Candidates) -> frozenset[str]:
    """Return the contracts whose logs confirm an execution."""
    return ENTRY_POINTS | {proposal.account for proposal in candidates}


def _execution(proposal: Proposal, facts: TransactionFacts | None) -> Execution | None:
    if facts is None or facts.block is None:
        return None
    if not facts.is_readable:
        return Execution(facts.hash, facts.block, succeeded=True)
    named = [
        event
        for mention in facts.mentions
        if mention.is_log and (event := _event(mention.contract, mention.data)) is not None
        if _names(event[:2], proposal)
    ]
    certain = [event for event in named if event[0] == _ENTRY_POINT]
    succeeded = any(event[2] for event in certain or named)
    return Execution(facts.hash, facts.block, succeeded, is_certain=bool(certain)) if named else None


def _names(event: tuple[str, str], proposal: Proposal) -> bool:
    account, id_ = event
    return id_ == proposal.id and account in (proposal.account, _ENTRY_POINT)


def _event(contract: str, data: bytes) -> tuple[str, str, bool] | None:
    """Parse an event from its topics followed by its data: the account (or "EntryPoint"), the id and the success.

    The id may be indexed or not.
    """
    name, id_ = data[:WORD], data[WORD : 2 * WORD]
    if len(data) == 3 * WORD and name in (EXECUTION_SUCCESS, EXECUTION_FAILURE):
        return contract, to_hex(id_), name == EXECUTION_SUCCESS
    # id, sender, paymaster; nonce, success, cost, gas
    if contract in ENTRY_POINTS and len(data) == 8 * WORD and name == USER_OPERATION_EVENT:
        return _ENTRY_POINT, to_hex(id_), any(data[5 * WORD : 6 * WORD])
    return None


def _read(entry: Any) -> tuple[str, str, str] | None:
    """Return the account, the id and the transaction of a log; None if it is another event. Raises ChainError."""
    if not isinstance(entry, dict) or not isinstance(entry.get("topics"), list):
        raise ChainError("the node's response is not a list of logs")
    data = b"".join(data_bytes(topic) for topic in entry["topics"]) + data_bytes(entry.get("data"))
    quantity(entry.get("blockNumber"))
    event = _event(address(entry.get("address")), data)
    return (*event[:2], hash32(entry.get("transactionHash"))) if event is not None else None


def _of_entry_points(proposals: Sequence[Proposal], first: int, last: int) -> Call:
    ids = sorted({proposal.id for proposal in proposals})
    return log_call(first, last, [to_hex(USER_OPERATION_EVENT), ids], sorted(ENTRY_POINTS))


def _of_account(account: str, first: int, last: int) -> Call:
    return log_call(first, last, [[to_hex(EXECUTION_SUCCESS), to_hex(EXECUTION_FAILURE)]], [account])
