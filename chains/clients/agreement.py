"""Looking transactions up on several nodes, so that no single one is believed where money depends on it.

With three nodes or more, two have to agree before a transaction counts as mined: on its block's hash, its status and
what it moved. With fewer there is only fail-over. In both cases a node that does not know a transaction is not believed
before the others were asked.

What this can't do: two nodes that tell the same lie are believed. Choose providers that do not share a backend.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeVar

from chains.clients.base import ChainError, Head, Snapshot, TransactionFacts, Transfer
from chains.clients.nodes import Contradicted
from chains.clients.rpc import JsonRpc

NODES_FOR_AGREEMENT = 3
Look = Callable[[JsonRpc, Sequence[str]], Snapshot]
_Said = TypeVar("_Said")


def look_up(rpc: JsonRpc, transaction_hashes: Sequence[str], look: Look) -> Snapshot:
    """Return what the nodes of `rpc` say of these transactions; `look` asks one node, all its questions.

    A transaction on which nodes contradict each other is reported as not mined, and named in `contradicted`. Raises
    ChainError when no node answered or, where agreement is needed, only one.
    """
    needs_agreement = rpc.size >= NODES_FOR_AGREEMENT
    answers: list[_Answer] = []
    failure: ChainError | None = None
    for node in rpc.each():
        if needs_agreement:
            wanted = _unsettled(transaction_hashes, answers)
            is_enough = len(answers) > 1 and not wanted and not _is_head_unsettled(answers)
        else:
            wanted = _unknown(transaction_hashes, answers)
            is_enough = len(answers) > 0 and not wanted
        if is_enough:
            break
        try:
            snapshot = look(node, wanted)
            node.note_head(snapshot.head.latest)
        except ChainError as error:
            failure = error
        else:
            answers.append(_Answer(node, snapshot))
    if not answers:
        raise failure or ChainError("no node gave an answer")
    if not needs_agreement:
        return _first_known(transaction_hashes, answers)
    if len(answers) < 2:
        after = failure.retry_after if failure else rpc.soonest()
        raise ChainError(f"only one of {rpc.size} nodes answered, and two have to agree", retry_after=after)
    return _agreed(transaction_hashes, answers)


def ask_enough(rpc: JsonRpc, ask: Callable[[JsonRpc], _Said]) -> list[_Said]:
    """Return what two nodes say, asked one by one, where two have to agree; otherwise what one says.

    Raises ChainError when too few answered.
    """
    needed = 2 if rpc.size >= NODES_FOR_AGREEMENT else 1
    said: list[_Said] = []
    failure: ChainError | None = None
    for node in rpc.each():
        try:
            said.append(ask(node))
        except ChainError as error:
            failure = error
        if len(said) == needed:
            return said
    raise failure or ChainError(f"too few of {rpc.size} nodes could be asked", retry_after=rpc.soonest())


@dataclass(frozen=True)
class _Answer:
    node: JsonRpc
    snapshot: Snapshot


def _of(wanted: str, answers: Iterable[_Answer]) -> list[TransactionFacts | None]:
    """Return what each node that was asked said of one transaction."""
    return [
        answer.snapshot.transactions[wanted] for answer in answers if wanted in answer.snapshot.transactions
    ]


def _unknown(hashes: Sequence[str], answers: Sequence[_Answer]) -> list[str]:
    return [wanted for wanted in hashes if all(facts is None for facts in _of(wanted, answers))]


def _first_known(hashes: Sequence[str], answers: Sequence[_Answer]) -> Snapshot:
    """Fail-over: each transaction from the first node that knows it, under the head of the last that was needed."""
    transactions: dict[str, TransactionFacts | None] = dict.fromkeys(hashes)
    head = answers[0].snapshot.head
    open_questions: set[str] = set()
    for answer in answers:
        asked = {wanted for wanted in answer.snapshot.transactions if transactions[wanted] is None}
        open_questions -= {wanted for wanted in asked if answer.snapshot.transactions[wanted] is not None}
        open_questions |= asked & answer.snapshot.contradicted
        new = {
            wanted: facts
            for wanted, facts in answer.snapshot.transactions.items()
            if facts is not None and transactions[wanted] is None
        }
        if new:
            transactions |= new
            head = answer.snapshot.head
    return Snapshot(head, transactions, frozenset(open_questions))


def _unsettled(hashes: Sequence[str], answers: Sequence[_Answer]) -> list[str]:
    """Return those on which one more node's word may matter."""
    return list(hashes) if len(answers) < 2 else [h for h in hashes if not _is_settled(_of(h, answers))]


def _is_settled(said: Sequence[TransactionFacts | None]) -> bool:
    """Whether two told of the same block and the same transfers, or nobody saw it in a block but it is known."""
    agreed = _common(said)
    if agreed is not None:
        return agreed.is_complete or not any(facts and facts.is_complete for facts in said)
    known = [facts for facts in said if facts is not None]
    return bool(known) and not any(facts.block for facts in known)


def _is_head_unsettled(answers: Sequence[_Answer]) -> bool:
    """Whether only one node knows a safe or finalized block: it may be that the other can't tell."""
    heads = [answer.snapshot.head for answer in answers]
    return any(
        sum(number is not None for number in numbers) == 1
        for numbers in ([head.safe for head in heads], [head.finalized for head in heads])
    )


def _agreed(hashes: Sequence[str], answers: Sequence[_Answer]) -> Snapshot:
    transactions: dict[str, TransactionFacts | None] = {}
    contradicted = set()
    for wanted in hashes:
        said = _of(wanted, answers)
        agreed = _common(said)
        if agreed is not None:
            _set_liars_aside(wanted, agreed, answers)
        elif sum(facts is not None and facts.block is not None for facts in said) > 1 or any(
            wanted in answer.snapshot.contradicted for answer in answers
        ):
            contradicted.add(wanted)
        transactions[wanted] = agreed or _not_mined(said)
    return Snapshot(_head(answers), transactions, frozenset(contradicted))


def _common(said: Sequence[TransactionFacts | None]) -> TransactionFacts | None:
    """Return what two nodes agree on of a mined transaction, the fullest first."""
    mined = [facts for facts in said if facts is not None and facts.block is not None]
    agreed = [both for one, other in combinations(mined, 2) if (both := _both(one, other)) is not None]
    return max(agreed, key=lambda facts: facts.is_complete, default=None)


def _both(one: TransactionFacts, other: TransactionFacts) -> TransactionFacts | None:
    """Return what both say, or None where they say different things.

    A node that can't trace may miss what moved in inner calls; then only what both saw is agreed on.
    """
    if one.commitment != other.commitment:  # one hears of finality sooner than the other
        one, other = (replace(facts, commitment="confirmed") for facts in (one, other))
    if one.is_complete == other.is_complete:
        return one if one == other else None
    less, more = (other, one) if one.is_complete else (one, other)
    if replace(less, transfers=(), is_complete=True) != replace(more, transfers=()):
        return None
    seen = {_moved(transfer): transfer for transfer in more.transfers}
    if not all(_moved(transfer) in seen for transfer in less.transfers):
        return None
    return replace(less, transfers=tuple(_bound_by_both(t, seen[_moved(t)]) for t in less.transfers))


def _moved(transfer: Transfer) -> Transfer:
    return replace(transfer, references=(), made_by="", claimable=None, within=())


def _bound_by_both(one: Transfer, other: Transfer) -> Transfer:
    references = tuple(ref for ref in one.references if ref in other.references)
    made_by = one.made_by if one.made_by == other.made_by else ""
    return replace(one, references=references, made_by=made_by)


def _not_mined(said: Sequence[TransactionFacts | None]) -> TransactionFacts | None:
    """Return a transaction that no two nodes place in the same block as one still awaited; None if nobody knows it."""
    known = [facts for facts in said if facts is not None]
    if not known:
        return None
    origins = Counter((facts.sender, facts.nonce) for facts in known)
    (sender, nonce), nodes = origins.most_common(1)[0]
    first = next(facts for facts in known if facts.sender == sender)
    # By the nonce a transaction is called replaced, so that one node's word for it is not enough.
    nonce = nonce if nodes > 1 else None
    return replace(
        first, nonce=nonce, block=None, succeeded=False, transfers=(), commitment=None, mentions=()
    )


def _set_liars_aside(wanted: str, agreed: TransactionFacts, answers: Sequence[_Answer]) -> None:
    for answer in answers:
        facts = answer.snapshot.transactions.get(wanted)
        if facts is None or facts.block is None or facts.is_readable != agreed.is_readable:
            continue  # a node that can't show so large a transaction does not lie
        if _both(facts, agreed) is None:
            answer.node.set_aside(Contradicted("two other nodes agree on another answer"))


def _head(answers: Sequence[_Answer]) -> Head:
    """Return the heights that at least two nodes have reached, so that no depth rests on one node's word."""
    heads = [answer.snapshot.head for answer in answers]
    latest = _second([head.latest for head in heads])
    return Head(
        0 if latest is None else latest,
        _second([head.safe for head in heads]),
        _second([head.finalized for head in heads]),
    )


def _second(numbers: Sequence[int | None]) -> int | None:
    known = sorted((number for number in numbers if number is not None), reverse=True)
    return known[1] if len(known) > 1 else None
