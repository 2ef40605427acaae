"""Look up transactions by quorum, so that no payment depends on a single node.

With three or more nodes, two must agree on a transaction's block hash, status and transfers before it counts as mined.
Nodes differ in their abilities (traces, older state). So only the facts that both nodes prove are evidence of who may
claim a transfer. With fewer than three nodes, the first node that responds is believed. If a node doesn't know a
transaction, or doesn't send it because of its size, the other nodes are queried too.

A known limitation: two nodes that return the same wrong result are believed. Choose node providers that don't share a
backend.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeVar

from chains.client import ChainError, Head, Mention, Snapshot, TransactionFacts, Transfer
from chains.rpc.json_rpc import JsonRpc
from chains.rpc.nodes import Contradicted

NODES_FOR_QUORUM = 3
Query = Callable[[JsonRpc, Sequence[str]], Snapshot]
_Key = TypeVar("_Key")
_Result = TypeVar("_Result")


def nodes_needed(rpc: JsonRpc) -> int:
    """Return the number of nodes that must respond: two if a quorum is required, otherwise one."""
    return 2 if rpc.size >= NODES_FOR_QUORUM else 1


def look_up(rpc: JsonRpc, transaction_hashes: Sequence[str], query: Query) -> Snapshot:
    """Return the transactions that the nodes of `rpc` report.

    `query` reads the transactions from one node. If the nodes disagree on a transaction, it is reported as not mined
    and listed in `contradicted`. Raises ChainError if too few nodes sent a usable response.
    """
    needs_quorum = rpc.size >= NODES_FOR_QUORUM
    results: list[_NodeResult] = []
    failure: ChainError | None = None
    for node in rpc.each():
        if needs_quorum:
            wanted = _unsettled(transaction_hashes, results)
            is_enough = len(results) > 1 and not wanted and not _is_head_unsettled(results)
        else:
            wanted = _unknown(transaction_hashes, results)
            is_enough = len(results) > 0 and not wanted
        if is_enough:
            break
        try:
            snapshot = query(node, wanted)
            node.note_head(snapshot.head.latest)
        except ChainError as error:
            failure = error
        else:
            results.append(_NodeResult(node, snapshot))
    if not results:
        raise failure or ChainError("no node sent a usable response")
    if not needs_quorum:
        return _first_known(transaction_hashes, results)
    if len(results) < 2:
        after = failure.retry_after if failure else rpc.seconds_until_ready()
        raise ChainError(f"only one of {rpc.size} nodes responded, and two must agree", retry_after=after)
    return _agreed(transaction_hashes, results)


def query_enough(rpc: JsonRpc, query: Callable[[JsonRpc], _Result]) -> list[_Result]:
    """If a quorum is required, return the results of two nodes; otherwise, return one result. Raises ChainError."""
    return _query_until(rpc, query, len, "too few of {} nodes are available")


def query_until_agreed(rpc: JsonRpc, query: Callable[[JsonRpc], _Result]) -> _Result:
    """If a quorum is required, return the result on which two nodes agree; otherwise, return the first result. Raises
    ChainError.
    """
    no_two = "no two of {} nodes sent the same result"
    return _query_until(rpc, query, lambda reports: reports.count(reports[-1]), no_two)[-1]


def query_items(
    rpc: JsonRpc, keys: Collection[_Key], query: Callable[[JsonRpc, Collection[_Key]], Mapping[_Key, _Result]]
) -> dict[_Key, _Result]:
    """Return an item for each key.

    If a quorum is required, the item is the result on which two nodes agree; otherwise, it is the first node's result.
    Keys without an item are omitted. Raises ChainError if too few nodes sent a usable response.
    """
    needed = nodes_needed(rpc)
    items = _query_items_until(rpc, keys, query, _agreeing)
    return {key: reported[-1] for key, reported in items.items() if _agreeing(reported) >= needed}


def query_enough_items(
    rpc: JsonRpc, keys: Collection[_Key], query: Callable[[JsonRpc, Collection[_Key]], Mapping[_Key, _Result]]
) -> dict[_Key, list[_Result]]:
    """Return each key's items from two nodes if a quorum is required; otherwise, from one node.

    A key has fewer items if too few nodes returned an item for it. Raises ChainError if too few nodes sent a usable
    response.
    """
    return _query_items_until(rpc, keys, query, len)


def _agreeing(items: Sequence[Any]) -> int:
    """Return how many items equal the last item."""
    return items.count(items[-1]) if items else 0


def _query_items_until(
    rpc: JsonRpc,
    keys: Collection[_Key],
    query: Callable[[JsonRpc, Collection[_Key]], Mapping[_Key, _Result]],
    count: Callable[[list[_Result]], int],
) -> dict[_Key, list[_Result]]:
    """Query the nodes in turn for each key until `count(items)` reaches the quorum. Return each key's items."""
    needed = nodes_needed(rpc)
    items: dict[_Key, list[_Result]] = {key: [] for key in keys}
    responses = 0
    failure: ChainError | None = None
    for node in rpc.each():
        left = [key for key in keys if count(items[key]) < needed]
        if not left:
            return items
        try:
            reported = query(node, left)
        except ChainError as error:
            failure = error
            continue
        responses += 1
        for key, item in reported.items():
            items[key].append(item)
    if responses < needed and keys:
        raise failure or ChainError("too few nodes are available", retry_after=rpc.seconds_until_ready())
    return items


def _query_until(
    rpc: JsonRpc, query: Callable[[JsonRpc], _Result], count: Callable[[list[_Result]], int], too_few: str
) -> list[_Result]:
    """Query the nodes in turn until `count(results)` reaches the quorum. Return the results."""
    needed = nodes_needed(rpc)
    reports: list[_Result] = []
    failure: ChainError | None = None
    for node in rpc.each():
        try:
            reports.append(query(node))
        except ChainError as error:
            failure = error
        else:
            if count(reports) == needed:
                return reports
    raise failure or ChainError(too_few.format(rpc.size), retry_after=rpc.seconds_until_ready())


@dataclass(frozen=True)
class _NodeResult:
    node: JsonRpc
    snapshot: Snapshot


def _of(wanted: str, results: Iterable[_NodeResult]) -> list[TransactionFacts | None]:
    return [
        result.snapshot.transactions[wanted] for result in results if wanted in result.snapshot.transactions
    ]


def _unknown(hashes: Sequence[str], results: Sequence[_NodeResult]) -> list[str]:
    return [wanted for wanted in hashes if not any(_is_shown(facts) for facts in _of(wanted, results))]


def _is_shown(facts: TransactionFacts | None) -> bool:
    """Whether a node returned the transaction in full. If it is too large for this node, other nodes may return it."""
    return facts is not None and facts.is_readable


def _first_known(hashes: Sequence[str], results: Sequence[_NodeResult]) -> Snapshot:
    """Return each transaction from the first node that knows it, and the head of the last node from which a transaction
    came.
    """
    transactions: dict[str, TransactionFacts | None] = dict.fromkeys(hashes)
    head = results[0].snapshot.head
    unresolved: set[str] = set()
    for result in results:
        reported = result.snapshot.transactions
        missing = {wanted for wanted in hashes if not _is_shown(transactions[wanted])}
        new = {
            wanted: facts
            for wanted in missing
            if (facts := reported.get(wanted)) is not None
            and (transactions[wanted] is None or (facts.is_readable and facts.block is not None))
        }
        unresolved = (unresolved - new.keys()) | (missing & result.snapshot.contradicted)
        transactions |= dict.fromkeys(missing & result.snapshot.contradicted)
        if new:
            transactions |= new
            head = result.snapshot.head
    return Snapshot(head, transactions, frozenset(unresolved))


def _unsettled(hashes: Sequence[str], results: Sequence[_NodeResult]) -> list[str]:
    """Return the hashes for which another node can change the result."""
    return list(hashes) if len(results) < 2 else [h for h in hashes if not _is_settled(_of(h, results))]


def _is_settled(reports: Sequence[TransactionFacts | None]) -> bool:
    """Whether no other node is needed: two nodes agree and no node proves more, or the transaction is known but not
    mined.
    """
    known = [facts for facts in reports if facts is not None]
    agreed = _common(reports)
    if agreed is None:
        return bool(known) and not any(facts.block for facts in known)
    return agreed.is_complete or not any(_proves_more(facts, agreed) for facts in known)


def _proves_more(facts: TransactionFacts, agreed: TransactionFacts) -> bool:
    """Whether a node proves more than the facts on which two nodes agree. A third node may confirm the additional
    facts.
    """
    if facts.is_readable > agreed.is_readable or facts.is_complete > agreed.is_complete:
        return True
    agreed_on = {_moved(transfer): transfer for transfer in agreed.transfers}
    return any(
        transfer != agreed_on[moved]
        for transfer in facts.transfers
        if (moved := _moved(transfer)) in agreed_on
    )


def _is_head_unsettled(results: Sequence[_NodeResult]) -> bool:
    """Whether only one node reports a safe or finalized block. Other nodes may not support these tags."""
    heads = [result.snapshot.head for result in results]
    return any(
        sum(number is not None for number in numbers) == 1
        for numbers in ([head.safe for head in heads], [head.finalized for head in heads])
    )


def _agreed(hashes: Sequence[str], results: Sequence[_NodeResult]) -> Snapshot:
    transactions: dict[str, TransactionFacts | None] = {}
    contradicted = set()
    for wanted in hashes:
        reports = _of(wanted, results)
        agreed = _common(reports)
        if agreed is not None:
            _set_contradicting_nodes_aside(wanted, agreed, results)
        elif sum(facts is not None and facts.block is not None for facts in reports) > 1 or any(
            wanted in result.snapshot.contradicted for result in results
        ):
            contradicted.add(wanted)
        transactions[wanted] = agreed or _not_mined(reports)
    return Snapshot(_head(results), transactions, frozenset(contradicted))


def _common(reports: Sequence[TransactionFacts | None]) -> TransactionFacts | None:
    """Return the most complete facts on which two nodes agree, from the reports of the transaction as mined."""
    mined = [facts for facts in reports if facts is not None and facts.block is not None]
    agreed = [both for one, other in combinations(mined, 2) if (both := _both(one, other)) is not None]
    return max(agreed, key=lambda facts: (facts.is_readable, facts.is_complete), default=None)


def _both(one: TransactionFacts, other: TransactionFacts) -> TransactionFacts | None:
    """Return the facts that both reports prove; None if they contradict each other.

    A node that can't trace may miss transfers in inner calls, and the evidence of who may claim them. The result then
    has only the facts that both prove, and is incomplete.
    """
    if one.commitment != other.commitment:  # nodes learn of finality at different times
        one, other = (replace(facts, commitment="confirmed") for facts in (one, other))
    if one.network_fee != other.network_fee:  # for display only, so a difference is no contradiction
        one, other = (replace(facts, network_fee=None) for facts in (one, other))
    if one == other:
        return one
    if _without_contents(one) != _without_contents(other):
        return None
    if not (one.is_readable and other.is_readable):
        return one if other.is_readable else other
    less, more = (other, one) if one.is_complete else (one, other)
    transfers = _moved_in_both(less, more)
    if transfers is None or (one.is_complete and other.is_complete and _is_contradicted(less, more)):
        return None
    if [mention for mention in less.mentions if mention.is_log] != [m for m in more.mentions if m.is_log]:
        return None
    mentions = tuple(mention for mention in less.mentions if mention in more.mentions)
    return replace(less, transfers=transfers, mentions=mentions, intended=(), is_complete=False)


def _without_contents(facts: TransactionFacts) -> TransactionFacts:
    return replace(facts, transfers=(), mentions=(), intended=(), is_complete=True, is_readable=True)


def _moved_in_both(less: TransactionFacts, more: TransactionFacts) -> tuple[Transfer, ...] | None:
    """Return the transfers that both nodes report. None if a node doesn't report a transfer that it must have seen."""
    seen = {_moved(transfer): transfer for transfer in more.transfers}
    moved = [_moved(transfer) for transfer in less.transfers]
    if not all(transfer in seen for transfer in moved):
        return None
    if less.is_complete == more.is_complete and len(moved) != len(seen):
        return None
    kept = [mention for mention in less.mentions if mention in more.mentions]
    return tuple(
        replace(
            _bound_by_both(transfer, seen[_moved(transfer)]),
            within=_within_both(transfer, less, seen[_moved(transfer)], more, kept),
        )
        for transfer in less.transfers
    )


def _moved(transfer: Transfer) -> Transfer:
    return replace(transfer, references=(), is_marked=False, made_by="", claimable=None, within=())


def _bound_by_both(one: Transfer, other: Transfer) -> Transfer:
    references = tuple(ref for ref in one.references if ref in other.references)
    made_by = one.made_by if one.made_by == other.made_by else ""
    claimable = min(one.claimable_amount, other.claimable_amount)
    return replace(
        one,
        references=references,
        # `is_marked` can only prevent a proof, so the report of one node is enough.
        is_marked=one.is_marked or other.is_marked,
        made_by=made_by,
        claimable=None if claimable >= one.amount else claimable,
    )


def _within_both(
    one: Transfer, of_one: TransactionFacts, other: Transfer, of_other: TransactionFacts, kept: list[Mention]
) -> tuple[int, ...]:
    """Return the indexes in `kept` of the calls that enclose the transfer in the reports of both nodes."""
    theirs = [of_other.mentions[place] for place in other.within]
    ours = [of_one.mentions[place] for place in one.within]
    return tuple(sorted({kept.index(mention) for mention in ours if mention in theirs and mention in kept}))


def _is_contradicted(one: TransactionFacts, other: TransactionFacts) -> bool:
    """Whether two complete reports contain different claimants. A missing claimant is no contradiction."""
    others = {_moved(transfer): transfer for transfer in other.transfers}
    pairs = [(transfer, others[_moved(transfer)]) for transfer in one.transfers]
    return any(
        (a.references and b.references and a.references != b.references)
        or (a.made_by and b.made_by and (a.made_by, a.is_marked) != (b.made_by, b.is_marked))
        for a, b in pairs
    )


def _not_mined(reports: Sequence[TransactionFacts | None]) -> TransactionFacts | None:
    """Return the transaction as pending, because no two nodes report it in the same block. None if no node knows it.

    The intended transfer can come from one node, because a pending transaction pays nothing yet. Two nodes must agree
    on the nonce and the effect, because these decide whether the transaction was replaced.
    """
    known = [facts for facts in reports if facts is not None]
    if not known:
        return None
    (sender, nonce), nodes = Counter((facts.sender, facts.nonce) for facts in known).most_common(1)[0]
    effect, agreeing = Counter(facts.effect for facts in known).most_common(1)[0]
    of_sender = [facts for facts in known if facts.sender == sender]
    first = next((facts for facts in of_sender if facts.block is None), None)
    return replace(
        first or of_sender[0],
        nonce=nonce if nodes > 1 else None,
        effect=effect if agreeing > 1 else "",
        block=None,
        succeeded=False,
        transfers=(),
        commitment=None,
        is_complete=True,
        is_readable=True,
        mentions=first.mentions if first else (),
    )


def _set_contradicting_nodes_aside(
    wanted: str, agreed: TransactionFacts, results: Sequence[_NodeResult]
) -> None:
    for result in results:
        facts = result.snapshot.transactions.get(wanted)
        if facts is None or facts.block is None or facts.is_readable != agreed.is_readable:
            continue  # a node that can't return a large transaction doesn't contradict
        if _both(facts, agreed) is None:
            result.node.set_aside(Contradicted("two other nodes agree on another result"))


def _head(results: Sequence[_NodeResult]) -> Head:
    """Return the heights that at least two nodes have reached, so that no confirmation depends on one node."""
    heads = [result.snapshot.head for result in results]
    latest = _second([head.latest for head in heads])
    return Head(
        0 if latest is None else latest,
        _second([head.safe for head in heads]),
        _second([head.finalized for head in heads]),
    )


def _second(numbers: Sequence[int | None]) -> int | None:
    known = sorted((number for number in numbers if number is not None), reverse=True)
    return known[1] if len(known) > 1 else None
