"""Query one Solana node for transactions: their statuses, blocks and transfers."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from solana.rpc.commitment import Commitment

from chains.client import Block, ChainError, Head, Snapshot, TransactionFacts
from chains.families.solana.commitments import COMMITMENTS, CONFIRMED, FINALIZED
from chains.families.solana.results import blockhash, result_of, sequence, value_of, whole
from chains.families.solana.transactions import transfers
from chains.families.solana.transactions.entries import Entry, read_entry
from chains.families.solana.transactions.fees import EpochSchedule, FeeBook, Fees, MintFee
from chains.families.solana.transactions.moves import is_crowded
from chains.rpc.json_rpc import Call, Failing, JsonRpc, RpcFault, Unread, UnreadReason, json_object

logger = logging.getLogger(__name__)

# The newest version that this service reads. With this option, nodes also resolve the lookup tables of version 0.
# Version 1 has no lookup tables, and its JSON has the same header, keys and instructions. Source: SIMD-0385.
_NEWEST = {"maxSupportedTransactionVersion": 1}
_TRANSACTION = {"encoding": "json", **_NEWEST, **CONFIRMED}
_BLOCK = {"transactionDetails": "none", "rewards": False, **_NEWEST, **CONFIRMED}
# A node's error code for a transaction in a newer format.
_NEWER_FORMAT = -32015
_MAX_STATUSES = 256
# The largest transactions have about 1 MB (64 calls of 10 KiB each), and a response may have 32 MB.
_MAX_TRANSACTIONS = 25

_Meaning = TypeVar("_Meaning")


@dataclass(frozen=True)
class _Status:
    """A transaction's slot, its confirmation status, and whether it succeeded."""

    slot: int
    commitment: str
    succeeded: bool


@dataclass(frozen=True)
class _Unreadable:
    """A transaction that can't be read: its form is unknown, the node can't send it because of its size, or it has too
    many moves. Only in the last case, `sender` is set.
    """

    sender: str = ""
    is_known_form: bool = True


@dataclass(frozen=True)
class _Query:
    node: JsonRpc
    mentioning: Collection[str]
    fees: FeeBook
    failing: Failing


def look_up(
    node: JsonRpc,
    hashes: Sequence[str],
    *,
    with_finality: bool,
    mentioning: Collection[str] = (),
    fees: FeeBook | None = None,
    failing: Failing | None = None,
) -> Snapshot:
    """Return one node's snapshot, with about one HTTP request for 25 transactions.

    Raises ChainError. The statuses are read first, then the blocks of the confirmed transactions, then the contents of
    these transactions. A transaction is reported as not mined if it is only processed, or isn't in the block that its
    status names. A transaction is not readable if its form is unknown, if it is too large for the node, or if it has
    more than 1,000 moves. A transaction that the node can't return in full is omitted and `contradicted`. Anyone may
    submit such a transaction, so it must not delay the others.
    """
    tags = [CONFIRMED, FINALIZED] if with_finality else [CONFIRMED]
    calls: list[Call] = [("getSlot", [tag]) for tag in tags]
    for start in range(0, len(hashes), _MAX_STATUSES):
        part = list(hashes[start : start + _MAX_STATUSES])
        calls.append(("getSignatureStatuses", [part, {"searchTransactionHistory": True}]))
    head, statuses = node.batch(calls, lambda results: _statuses(hashes, len(tags), results))
    transactions: dict[str, TransactionFacts | None] = {
        name: _not_mined(name) if status else None for name, status in statuses.items()
    }
    settled = [
        (name, status)
        for name, status in statuses.items()
        if status and status.commitment != Commitment.PROCESSED
    ]
    blocks = _blocks(node, sorted({status.slot for _, status in settled}))
    query = _Query(node, mentioning, fees or FeeBook(), failing or Failing())
    settled.sort(key=lambda each: query.failing.includes(each[0]))
    failures: list[ChainError] = []
    for start in range(0, len(settled), _MAX_TRANSACTIONS):
        of_part, failed = _settled(query, settled[start : start + _MAX_TRANSACTIONS], blocks)
        transactions |= of_part
        failures += failed
    if failures and len(failures) == len(settled):
        raise failures[0]
    unreadable = frozenset(name for name, _ in settled if transactions[name] is None)
    shown = {name: facts for name, facts in transactions.items() if name not in unreadable}
    return Snapshot(head, shown, unreadable)


def _statuses(
    hashes: Sequence[str], tags: int, results: Sequence[Any]
) -> tuple[Head, dict[str, _Status | None]]:
    slots = [whole(result_of(result)) for result in results[:tags]]
    known = [_status(entry) for result in results[tags:] for entry in sequence(value_of(result))]
    if len(known) != len(hashes):
        raise ChainError("the node left out a transaction's status")
    head = Head(latest=slots[0], finalized=slots[1] if tags > 1 else None)
    return head, dict(zip(hashes, known, strict=True))


def _status(result: Any) -> _Status | None:
    if result is None:
        return None
    status = json_object(result)
    commitment = status.get("confirmationStatus")
    if commitment not in COMMITMENTS:
        raise ChainError("the node returned an unknown confirmation status")
    if "err" not in status:
        raise ChainError("the node's status lacks the transaction's result")
    return _Status(whole(status.get("slot")), commitment, status["err"] is None)


def _blocks(node: JsonRpc, slots: Sequence[int]) -> dict[int, Block]:
    """Return the blocks in these slots that the node has."""
    if not slots:
        return {}
    calls: list[Call] = []
    for slot in slots:
        calls += [("getBlock", [slot, _BLOCK]), ("getBlockTime", [slot])]
    results = node.batch(calls, list)
    pairs = zip(slots, results[::2], results[1::2], strict=True)
    return {slot: block for slot, *result in pairs if (block := _usable(_block, slot, *result)) is not None}


def _settled(
    query: _Query, statuses: Sequence[tuple[str, _Status]], blocks: Mapping[int, Block]
) -> tuple[dict[str, TransactionFacts | None], list[ChainError]]:
    """Return the facts of these transactions, and the calls' failures. The facts are None if the node can't return
    a transaction.
    """
    calls: list[Call] = [("getTransaction", [name, _TRANSACTION]) for name, _ in statuses]
    results = query.node.batch(calls, list, isolating=True)
    failures = [a.error for a in results if isinstance(a, Unread) and a.reason is not UnreadReason.LARGE]
    query.failing.note(
        name
        for (name, _), result in zip(statuses, results, strict=True)
        if isinstance(result, Unread) and result.reason is UnreadReason.FAILED
    )
    entries = [
        _usable(_entry, name, status, result)
        for (name, status), result in zip(statuses, results, strict=True)
    ]
    mints = {
        mint
        for entry in entries
        if isinstance(entry, Entry) and entry.succeeded
        for mint in transfers.fee_mints(entry)
    }
    fees = query.fees.fetch(query.node, mints)
    shown = {
        name: None
        if entry is None
        else _usable(_facts, name, status, entry, blocks.get(status.slot), query.mentioning, fees)
        for (name, status), entry in zip(statuses, entries, strict=True)
    }
    return shown, failures


def _usable(read: Callable[..., _Meaning], name: str | int, *results: Any) -> _Meaning | None:
    """Return `read(name, *results)`; None if the results can't be used."""
    try:
        return read(name, *results)
    except ChainError as error:
        logger.warning("no usable response for %s: %s", name, error)
        return None


def _entry(name: str, status: _Status, result: Any) -> Entry | _Unreadable | TransactionFacts:
    """Return the transaction.

    If the transaction is not readable, return the reason. If it is not mined, return its facts.
    """
    if isinstance(result, Unread) and result.reason is UnreadReason.LARGE:
        return _Unreadable()
    if isinstance(result, RpcFault) and result.code == _NEWER_FORMAT:
        return _Unreadable(is_known_form=False)
    try:
        entry = read_entry(result_of(result))
    except ChainError:
        if isinstance(result, dict) and result.get("slot") == status.slot:
            return _Unreadable(is_known_form=False)
        raise
    if entry.signature != name:
        raise ChainError("the node returned another transaction")
    if entry.succeeded != status.succeeded:
        raise ChainError("the node's status and transaction disagree on success")
    if entry.slot != status.slot:
        return _not_mined(name, entry.fee_payer)
    return _Unreadable(entry.fee_payer) if is_crowded(entry) else entry


def _facts(
    name: str,
    status: _Status,
    entry: Entry | _Unreadable | TransactionFacts,
    block: Block | None,
    mentioning: Collection[str],
    fees: tuple[Mapping[str, MintFee], EpochSchedule | None],
) -> TransactionFacts:
    if isinstance(entry, TransactionFacts):
        return entry
    if block is None:
        raise ChainError("the node does not have its block")
    if isinstance(entry, _Unreadable):
        return TransactionFacts(
            name,
            entry.sender,
            None,
            block,
            status.succeeded,
            (),
            commitment=status.commitment,
            is_readable=False,
            is_known_form=entry.is_known_form,
        )
    moved = transfers.transfers(entry, _fees_of(entry, *fees), mentioning) if entry.succeeded else ()
    return TransactionFacts(
        name,
        entry.fee_payer,
        None,
        block,
        entry.succeeded,
        moved,
        commitment=status.commitment,
        is_complete=entry.has_inner,
        mentions=transfers.mentions(entry, mentioning),
        network_fee=entry.fee,
    )


def _fees_of(entry: Entry, known: Mapping[str, MintFee], schedule: EpochSchedule | None) -> Fees:
    mints = transfers.fee_mints(entry)
    if not mints <= known.keys():
        raise ChainError("the node does not return the mint of a transfer")
    epoch = schedule.epoch_of(entry.slot) if schedule else None
    return Fees({mint: known[mint] for mint in mints}, epoch)


def _not_mined(name: str, sender: str = "") -> TransactionFacts:
    return TransactionFacts(name, sender, None, None, succeeded=False, transfers=())


def _block(slot: int, block: Any, time: Any) -> Block:
    """Return the slot's block.

    The time comes from getBlockTime, because some nodes use other units in getBlock and getTransaction.
    """
    try:
        block_time = datetime.fromtimestamp(whole(result_of(time)), UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise ChainError("the node's block has an impossible time") from error
    return Block(slot, blockhash(json_object(result_of(block)).get("blockhash")), block_time)
