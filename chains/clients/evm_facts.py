"""What one node says of transactions, made facts: where each stands, what it moved, and which contracts it spoke to.

Pure functions over a node's answers. An answer that makes no sense is no answer (ChainError).
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from chains.clients import evm_binding, evm_transfers
from chains.clients.base import Block, ChainError, Head, Snapshot, TransactionFacts
from chains.clients.evm_evidence import NO_EVIDENCE, Doubtful, Evidences
from chains.clients.evm_intended import effect, intended
from chains.clients.evm_mentions import mentions
from chains.clients.evm_tracing import Mined, Traces
from chains.clients.quantities import address, hash32, json_object, quantity
from chains.clients.rpc import RpcFault, sound

# Receipts from before Byzantium tell no status; what is not said to have succeeded has not.
_NO_STATUS = "0x0"

NeedsTrace = Callable[[dict[str, Any], dict[str, Any]], bool]
# A transaction with its receipt, if it has one; None where the node knows no such transaction.
Pair = tuple[dict[str, Any], dict[str, Any] | None] | None


@dataclass(frozen=True)
class Found:
    """What a node says of each transaction; `odd` are those that it could say nothing sound of."""

    pairs: dict[str, Pair]
    odd: frozenset[str]


def found(transaction_hashes: Sequence[str], answers: list[Any]) -> Found:
    """Return what was found. One odd answer spoils its own transaction alone; nothing but odd ones, the node."""
    pairs: dict[str, Pair] = {}
    failure: ChainError | None = None
    for wanted, transaction, receipt in zip(transaction_hashes, answers[::2], answers[1::2], strict=True):
        try:
            pairs[wanted] = _pair(wanted, transaction, receipt)
        except ChainError as error:
            failure = error
    if failure is not None and not pairs:
        raise failure
    return Found(pairs, frozenset(wanted for wanted in transaction_hashes if wanted not in pairs))


def _pair(wanted: str, transaction: Any, receipt: Any) -> Pair:
    transaction, receipt = sound(transaction), sound(receipt)
    if transaction is None:
        if receipt is not None:
            raise ChainError("the node has a receipt for a transaction that it does not know")
        return None
    transaction = json_object(transaction)
    if hash32(transaction.get("hash")) != wanted:
        raise ChainError("the node answered with another transaction")
    if receipt is None or json_object(receipt).get("blockNumber") is None:
        return transaction, None
    if hash32(receipt.get("transactionHash")) != wanted:
        raise ChainError("the node answered with another transaction's receipt")
    quantity(receipt["blockNumber"])
    hash32(receipt.get("blockHash"))
    quantity(receipt.get("status", _NO_STATUS))
    return transaction, receipt


def mined(found: Found, is_wanted: NeedsTrace) -> dict[str, Mined]:
    """Return the successful transactions among them of which a trace is wanted."""
    return {
        hash_: Mined(pair[0], hash32(pair[1].get("blockHash")))
        for hash_, pair in found.pairs.items()
        if pair and pair[1] and _succeeded(pair[1]) and is_wanted(pair[0], pair[1])
    }


def heights(found: Found) -> list[int]:
    """Return the heights that the receipts name."""
    return sorted({quantity(pair[1]["blockNumber"]) for pair in found.pairs.values() if pair and pair[1]})


def checked(found: Found, traces: Traces) -> Traces:
    """Return the traces without those that are not complete.

    A trace that does not report logs is as good as none; one whose logs are not the receipt's can't be read.
    """
    told = dict(traces.told)
    missing, unreadable = set(traces.missing), set(traces.unreadable)
    for hash_, trace in traces.told.items():
        pair = found.pairs.get(hash_)
        if pair is None or pair[1] is None:
            continue
        with suppress(ChainError):  # reading the receipt will raise it again
            logs = evm_transfers.logs_of(pair[1])
            if not evm_binding.is_complete(evm_transfers.token_transfers(logs), logs, trace):
                (missing if trace.logs is None else unreadable).add(hash_)
                del told[hash_]
    return replace(traces, told=told, missing=frozenset(missing), unreadable=frozenset(unreadable))


def doubtful(found: Found, traces: Traces) -> list[Doubtful]:
    """Return the transactions without a trace of which a node's state may prove more."""
    questions: list[Doubtful] = []
    for hash_ in sorted(traces.missing | traces.unreadable):
        transaction, receipt = found.pairs.get(hash_) or (None, None)
        if transaction is None or receipt is None:
            continue
        with suppress(ChainError):
            is_unreadable = hash_ in traces.unreadable
            question = evm_transfers.doubtful(transaction, receipt, is_trace_unreadable=is_unreadable)
            questions += [question] if question else []
    return questions


def snapshot(
    found: Found,
    traces: Traces,
    evidences: Evidences,
    head: Sequence[Any],
    blocks: Sequence[Any],
    mentioning: Collection[str] = (),
) -> Snapshot:
    """Return the facts, given the head's blocks and the blocks at the receipts' heights, as the node has them now."""
    known = [_block(sound(answer)) for answer in blocks if answer is not None]
    by_height = {block.number: block for block in known}
    odd = set(found.odd)
    facts: dict[str, TransactionFacts | None] = dict.fromkeys(found.odd)
    for wanted, pair in found.pairs.items():
        try:
            facts[wanted] = _facts(wanted, pair, by_height, traces, evidences, mentioning)
        except ChainError:
            facts[wanted] = None
            odd.add(wanted)
    return Snapshot(_head(head), facts, traces.unanswered | evidences.unanswered | odd)


def _facts(
    wanted: str,
    pair: Pair,
    blocks: dict[int, Block],
    traces: Traces,
    evidences: Evidences,
    mentioning: Collection[str],
) -> TransactionFacts | None:
    if pair is None:
        return None
    transaction, receipt = pair
    block = blocks.get(quantity(receipt["blockNumber"])) if receipt else None
    is_there = receipt is not None and block is not None and hash32(receipt.get("blockHash")) == block.hash
    waiting = TransactionFacts(
        wanted,
        address(transaction.get("from")),
        quantity(transaction.get("nonce")),
        None,
        succeeded=False,
        transfers=(),
        effect=effect(transaction),
    )
    if receipt is None or not is_there or wanted in traces.unanswered | evidences.unanswered:
        own_call = mentions(transaction, (), None, mentioning).all
        return replace(waiting, intended=intended(transaction), mentions=own_call)
    trace, is_unreadable = traces.told.get(wanted), wanted in traces.unreadable
    found = mentions(transaction, evm_transfers.logs_of(receipt), trace, mentioning)
    mined = replace(waiting, block=block, succeeded=_succeeded(receipt), mentions=found.all)
    if not mined.succeeded:
        return mined
    evidence = evidences.found.get(wanted, NO_EVIDENCE)
    moved = evm_transfers.transfers(
        transaction,
        receipt,
        trace,
        is_trace_unreadable=is_unreadable,
        evidence=evidence,
        mentions=found,
    )
    is_complete = not is_unreadable and (
        wanted not in traces.missing
        or evm_transfers.is_complete_without_trace(transaction, receipt, evidence)
    )
    return replace(mined, transfers=moved, is_complete=is_complete)


def _succeeded(receipt: dict[str, Any]) -> bool:
    return quantity(receipt.get("status", _NO_STATUS)) == 1


def _head(answers: Sequence[Any]) -> Head:
    """Return the head; a node that does not know a tag leaves it unknown rather than guessed."""
    latest = _block(json_object(sound(answers[0])))
    numbers = [
        None if isinstance(answer, RpcFault) or answer is None else _block(json_object(answer)).number
        for answer in answers[1:]
    ]
    safe, finalized = numbers if numbers else (None, None)
    return Head(latest.number, safe, finalized)


def _block(answer: Any) -> Block:
    block = json_object(answer)
    try:
        time = datetime.fromtimestamp(quantity(block.get("timestamp")), UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise ChainError("the node's block has an impossible time") from error
    return Block(quantity(block.get("number")), hash32(block.get("hash")), time)
