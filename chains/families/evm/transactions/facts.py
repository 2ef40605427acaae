"""Parse one node's results about transactions into facts: block, transfers, and calls of contracts.

An implausible result raises ChainError, as a missing result does. The error affects only the result's own transaction.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from chains.client import Block, ChainError, Head, Snapshot, TransactionFacts
from chains.families.evm.quantities import address, hash32, quantity
from chains.families.evm.transactions import binding, transfers, unknown_forms
from chains.families.evm.transactions.evidence import NO_EVIDENCE, Evidences, Unproven
from chains.families.evm.transactions.intended import effect, intended
from chains.families.evm.transactions.mentions import mentions
from chains.families.evm.transactions.network_fee import network_fee
from chains.families.evm.transactions.tracing import Mined, Traces
from chains.families.evm.transactions.unknown_forms import Pair
from chains.rpc.json_rpc import (
    Call,
    JsonRpc,
    TooLarge,
    Truncated,
    Unread,
    UnreadReason,
    is_too_large,
    json_object,
    result_of,
)

# Receipts from before Byzantium have no status; they don't count as successful.
_NO_STATUS = "0x0"

NeedsTrace = Callable[[dict[str, Any], dict[str, Any]], bool]


@dataclass(frozen=True)
class Found:
    """A node's results by transaction. `odd` has the transactions without a valid result.

    The receipts of `oversized` transactions must be read alone. For these transactions, `pairs` has no receipt, and
    `places` has the height and hash of the block. The receipts of `unreadable` transactions can't be read at all.
    """

    pairs: dict[str, Pair]
    odd: frozenset[str] = frozenset()
    oversized: frozenset[str] = frozenset()
    places: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    unreadable: frozenset[str] = frozenset()


def fetch(node: JsonRpc, transaction_hashes: Sequence[str], oversized: Collection[str]) -> Found:
    """Fetch transactions and their receipts, but not the receipts of `oversized` transactions. Raises ChainError.

    An odd result affects only its own transaction. If all results are odd, the node failed.
    """
    calls: list[Call] = []
    for transaction_hash in transaction_hashes:
        calls.append(("eth_getTransactionByHash", [transaction_hash]))
        if transaction_hash not in oversized:
            calls.append(("eth_getTransactionReceipt", [transaction_hash]))

    def read(results: list[Any]) -> Found:
        left = iter(results)
        both = {
            wanted: (next(left), None if wanted in oversized else next(left)) for wanted in transaction_hashes
        }
        return _found(both, frozenset(oversized))

    return node.batch(calls, read, isolating=True)


def fetch_alone(node: JsonRpc, transaction_hash: str, *, is_last_try: bool) -> Found:
    """Fetch one transaction from a node, with a receipt of any size. Raises ChainError.

    On the last try, a truncated receipt counts as unreadable.
    """
    found = fetch(node, [transaction_hash], {transaction_hash})
    pair = found.pairs.get(transaction_hash)
    if not pair or transaction_hash not in found.places:
        return found
    try:
        receipt = node.stream(("eth_getTransactionReceipt", [transaction_hash]), _compact)
        if is_too_large(receipt):
            raise TooLarge("the node does not send a receipt of this size")
    except TooLarge as error:
        if isinstance(error, Truncated) and not is_last_try:
            raise
        return replace(found, unreadable=frozenset({transaction_hash}))
    return Found({transaction_hash: _pair(transaction_hash, pair[0], receipt)})


def _compact(part: dict[str, Any]) -> Any:
    return transfers.read_log(part) if "topics" in part else part


def _found(results: Mapping[str, tuple[Any, Any]], oversized: frozenset[str]) -> Found:
    pairs: dict[str, Pair] = {}
    places: dict[str, tuple[int, str]] = {}
    alone: set[str] = set()
    failure: ChainError | None = None
    for wanted, (transaction, receipt) in results.items():
        is_oversized = wanted in oversized or (
            isinstance(receipt, Unread) and receipt.reason is not UnreadReason.SKIPPED
        )
        try:
            pairs[wanted] = pair = _pair(wanted, transaction, None if is_oversized else receipt)
            if is_oversized and pair and (place := _place(pair[0])):
                places[wanted] = place
        except ChainError as error:
            failure = error
            pairs.pop(wanted, None)
            continue
        if is_oversized:
            alone.add(wanted)
            failure = failure or (receipt.error if isinstance(receipt, Unread) else None)
    receipts = [receipt for _, receipt in results.values()]
    is_any_large = any(isinstance(receipt, Unread) and receipt.may_be_large for receipt in receipts)
    is_any_read = any(not isinstance(receipt, Unread) for receipt in receipts)
    if failure is not None and (not pairs or not (is_any_large or is_any_read)):
        raise failure
    odd = frozenset(wanted for wanted in results if wanted not in pairs)
    return Found(pairs, odd, frozenset(alone), places)


def _place(transaction: dict[str, Any]) -> tuple[int, str] | None:
    """Return the height and hash of the transaction's block; None while it is not mined."""
    if transaction.get("blockHash") is None or transaction.get("blockNumber") is None:
        return None
    return quantity(transaction["blockNumber"]), hash32(transaction["blockHash"])


def _pair(wanted: str, transaction: Any, receipt: Any) -> Pair:
    transaction, receipt = unknown_forms.with_known_block(wanted, transaction, receipt)
    transaction, receipt = result_of(transaction), result_of(receipt)
    if transaction is None:
        if receipt is not None:
            raise ChainError("the node has a receipt for a transaction that it does not know")
        return None
    transaction = json_object(transaction)
    if hash32(transaction.get("hash")) != wanted:
        raise ChainError("the node returned another transaction")
    if receipt is None or json_object(receipt).get("blockNumber") is None:
        return transaction, None
    if hash32(receipt.get("transactionHash")) != wanted:
        raise ChainError("the node returned another transaction's receipt")
    quantity(receipt["blockNumber"])
    hash32(receipt.get("blockHash"))
    return transaction, receipt


def set_apart(found: Found, oversized: Collection[str]) -> Found:
    """Mark these mined transactions as oversized, because their traces must be read alone."""
    if not oversized:
        return found
    places, pairs = dict(found.places), dict(found.pairs)
    for hash_ in oversized:
        if (pair := found.pairs.get(hash_)) and pair[1]:
            pairs[hash_] = (pair[0], None)
            places[hash_] = quantity(pair[1]["blockNumber"]), hash32(pair[1].get("blockHash"))
    return replace(found, pairs=pairs, places=places, oversized=found.oversized | frozenset(oversized))


def without(found: Found, failing: Collection[str]) -> Found:
    """Mark these transactions as odd, so that another node is queried."""
    pairs = {hash_: pair for hash_, pair in found.pairs.items() if hash_ not in failing}
    places = {hash_: place for hash_, place in found.places.items() if hash_ not in failing}
    return replace(found, pairs=pairs, places=places, odd=found.odd | frozenset(failing))


def mined(found: Found, is_wanted: NeedsTrace) -> dict[str, Mined]:
    """Return the successful transactions that need a trace."""
    wanted: dict[str, Mined] = {}
    for hash_, pair in found.pairs.items():
        with suppress(ChainError):  # `snapshot` reports a transaction of unknown form
            if pair and pair[1] and _succeeded(pair[1]) and is_wanted(pair[0], pair[1]):
                wanted[hash_] = Mined(pair[0], pair[1], hash32(pair[1].get("blockHash")))
    return wanted


def heights(found: Found) -> list[int]:

    named = {quantity(pair[1]["blockNumber"]) for pair in found.pairs.values() if pair and pair[1]}
    return sorted(named | {height for height, _ in found.places.values()})


def checked(found: Found, traces: Traces) -> Traces:
    """Remove the incomplete traces.

    A trace without logs counts as missing. A trace whose logs differ from the receipt's counts as unreadable.
    """
    by_hash = dict(traces.by_hash)
    missing, unreadable = set(traces.missing), set(traces.unreadable)
    for hash_, trace in traces.by_hash.items():
        pair = found.pairs.get(hash_)
        if pair is None or pair[1] is None:
            continue
        with suppress(ChainError):  # `snapshot` raises the same error again
            logs = transfers.logs_of(pair[1])
            if not binding.is_complete(transfers.token_transfers(logs), logs, trace):
                (missing if trace.logs is None else unreadable).add(hash_)
                del by_hash[hash_]
    return replace(traces, by_hash=by_hash, missing=frozenset(missing), unreadable=frozenset(unreadable))


def unproven(found: Found, traces: Traces, watched: Collection[str] = ()) -> list[Unproven]:
    """Return the transactions without a trace for which a node's state may be evidence."""
    found_unproven: list[Unproven] = []
    for hash_ in sorted(traces.missing | traces.unreadable):
        transaction, receipt = found.pairs.get(hash_) or (None, None)
        if transaction is None or receipt is None:
            continue
        with suppress(ChainError):
            is_unreadable = hash_ in traces.unreadable
            each = transfers.unproven(
                transaction, receipt, is_trace_unreadable=is_unreadable, watched=watched
            )
            found_unproven += [each] if each else []
    return found_unproven


def snapshot(
    found: Found,
    traces: Traces,
    evidences: Evidences,
    head: Sequence[Any],
    blocks: Sequence[Any],
    mentioning: Collection[str] = (),
    read_alone: Mapping[str, TransactionFacts] | None = None,
) -> Snapshot:
    """Return the facts.

    `head` has the blocks of the tags, `blocks` the current blocks at `heights(found)`. `read_alone` has the facts of
    the oversized transactions that were read. Transactions without a usable result are `contradicted`, and so are
    oversized transactions that were not read yet. A transaction of unknown form is marked as not readable instead.
    """
    now, unknown = _blocks(heights(found), blocks)
    alone = read_alone or {}
    odd = set(found.odd) | {wanted for wanted, (height, _) in found.places.items() if height in unknown}
    facts: dict[str, TransactionFacts | None] = dict.fromkeys(found.odd)
    of_unknown_form: set[str] = set()
    for wanted, pair in found.pairs.items():
        if pair and pair[1] and quantity(pair[1]["blockNumber"]) in unknown:
            facts[wanted] = None
            odd.add(wanted)
            continue
        try:
            facts[wanted] = _facts(wanted, pair, now, traces, evidences, mentioning)
        except ChainError:
            facts[wanted] = unknown_forms.facts(wanted, pair, now)
            of_unknown_form.add(wanted)
            continue
        if pair and wanted in found.places and now.get(found.places[wanted][0]):
            block = now[found.places[wanted][0]]
            if block.hash != found.places[wanted][1]:
                continue
            if wanted in found.unreadable:
                facts[wanted] = _unreadable(wanted, pair[0], block)
            elif wanted in alone:
                facts[wanted] = replace(alone[wanted], block=block)
            else:
                odd.add(wanted)
    failed = (traces.failed | evidences.failed) - found.oversized - of_unknown_form
    return Snapshot(_head(head), facts, failed | odd | (of_unknown_form & found.places.keys()))


def _blocks(heights: Sequence[int], results: Sequence[Any]) -> tuple[dict[int, Block], set[int]]:
    """Return the blocks at these heights, and the heights without a usable result. Raises ChainError if all queries
    failed.
    """
    blocks: dict[int, Block] = {}
    unknown: set[int] = set()
    failure: ChainError | None = None
    for height, result in zip(heights, results, strict=True):
        if result is None:
            continue
        try:
            block = _block(result_of(result))
        except ChainError as error:
            unknown.add(height)
            failure = error
        else:
            blocks[block.number] = block
    if failure is not None and not blocks:
        raise failure
    return blocks, unknown


def _unreadable(wanted: str, transaction: dict[str, Any], block: Block) -> TransactionFacts:
    sender, nonce = address(transaction.get("from")), quantity(transaction.get("nonce"))
    return TransactionFacts(
        wanted,
        sender,
        nonce,
        block,
        succeeded=False,
        transfers=(),
        is_complete=False,
        effect=effect(transaction),
        is_readable=False,
    )


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
    if receipt is None or not is_there or wanted in traces.failed | evidences.failed:
        own_call = mentions(transaction, (), None, mentioning).all
        return replace(waiting, intended=intended(transaction), mentions=own_call)
    trace, is_unreadable = traces.by_hash.get(wanted), wanted in traces.unreadable
    evidence = evidences.found.get(wanted, NO_EVIDENCE)
    executed = () if is_unreadable else transfers.executed_by_known(transaction, receipt, evidence)
    found = mentions(transaction, transfers.logs_of(receipt), trace, mentioning, executed)
    mined = replace(
        waiting,
        block=block,
        succeeded=_succeeded(receipt),
        mentions=found.all,
        network_fee=network_fee(transaction, receipt),
    )
    if not mined.succeeded:
        return mined
    moved = transfers.transfers(
        transaction,
        receipt,
        trace,
        is_trace_unreadable=is_unreadable,
        evidence=evidence,
        mentions=found,
    )
    is_shown = trace is None or trace.is_whole
    is_complete = (
        is_shown
        and not is_unreadable
        and (
            wanted not in traces.missing
            or transfers.is_complete_without_trace(transaction, receipt, evidence)
        )
    )
    return replace(mined, transfers=moved, is_complete=is_complete)


def _succeeded(receipt: dict[str, Any]) -> bool:
    return quantity(receipt.get("status", _NO_STATUS)) == 1


def _head(results: Sequence[Any]) -> Head:
    """Return the head.

    A tag's height is None if the node doesn't know the tag or doesn't return its block. Only payments that need this
    tag then wait.
    """
    latest = _block(json_object(result_of(results[0])))
    safe, finalized = [_tagged(result) for result in results[1:]] or (None, None)
    return Head(latest.number, safe, finalized)


def _tagged(result: Any) -> int | None:
    try:
        return _block(result_of(result)).number
    except ChainError:
        return None


def _block(result: Any) -> Block:
    block = json_object(result)
    try:
        time = datetime.fromtimestamp(quantity(block.get("timestamp")), UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise ChainError("the node's block has an impossible time") from error
    return Block(quantity(block.get("number")), hash32(block.get("hash")), time)
