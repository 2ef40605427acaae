"""What one node says of transactions, made facts: where each stands, what it moved, and which contracts it spoke to.

Pure functions over a node's answers. An answer that makes no sense is no answer (ChainError).
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from chains.clients import evm_promises, evm_transfers
from chains.clients.base import Block, ChainError, Head, Mention, Snapshot, TransactionFacts
from chains.clients.evm_tracing import Mined, Traces
from chains.clients.quantities import address, data_bytes, hash32, json_object, quantity
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


def snapshot(
    found: Found, traces: Traces, head: Sequence[Any], blocks: Sequence[Any], mentioning: Collection[str] = ()
) -> Snapshot:
    """Return the facts, given the head's blocks and the blocks at the receipts' heights, as the node has them now."""
    known = [_block(sound(answer)) for answer in blocks if answer is not None]
    by_height = {block.number: block for block in known}
    odd = set(found.odd)
    facts: dict[str, TransactionFacts | None] = dict.fromkeys(found.odd)
    for wanted, pair in found.pairs.items():
        try:
            facts[wanted] = _facts(wanted, pair, by_height, traces, mentioning)
        except ChainError:
            facts[wanted] = None
            odd.add(wanted)
    return Snapshot(_head(head), facts, traces.unanswered | odd)


def _facts(
    wanted: str, pair: Pair, blocks: dict[int, Block], traces: Traces, mentioning: Collection[str]
) -> TransactionFacts | None:
    if pair is None:
        return None
    transaction, receipt = pair
    sender, nonce = address(transaction.get("from")), quantity(transaction.get("nonce"))
    block = blocks.get(quantity(receipt["blockNumber"])) if receipt else None
    is_there = receipt is not None and block is not None and hash32(receipt.get("blockHash")) == block.hash
    if receipt is None or not is_there or wanted in traces.unanswered:
        return TransactionFacts(
            wanted,
            sender,
            nonce,
            None,
            succeeded=False,
            transfers=(),
            intended=evm_promises.intended(transaction),
            effect=evm_promises.effect(transaction),
        )
    succeeded = _succeeded(receipt)
    trace = traces.told.get(wanted)
    return TransactionFacts(
        wanted,
        sender,
        nonce,
        block,
        succeeded,
        evm_transfers.transfers(transaction, receipt, trace) if succeeded else (),
        is_complete=trace is not None or wanted not in traces.missing,
        mentions=_mentions(transaction, receipt, mentioning) if mentioning else (),
        effect=evm_promises.effect(transaction),
    )


def _mentions(
    transaction: dict[str, Any], receipt: dict[str, Any], mentioning: Collection[str]
) -> tuple[Mention, ...]:
    """Return the call to one of these contracts, if the payer signed it itself, and the logs of each."""
    to = transaction.get("to")
    contract = address(to) if to is not None else ""
    call = (Mention(contract, data_bytes(transaction.get("input"))),) if contract in mentioning else ()
    return (
        *call,
        *(
            Mention(log.address, b"".join(log.topics) + log.data, is_log=True)
            for log in evm_transfers.logs_of(receipt)
            if log.address in mentioning
        ),
    )


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
