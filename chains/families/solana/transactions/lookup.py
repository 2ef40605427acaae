"""Ask one Solana node for transactions: their status, the blocks they are in, and what they moved."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from solana.rpc.commitment import Commitment

from chains.client import Block, ChainError, Head, Snapshot, TransactionFacts
from chains.families.solana.answers import blockhash, mapping, sequence, sound, value_of, whole
from chains.families.solana.commitments import COMMITMENTS, CONFIRMED, FINALIZED
from chains.families.solana.transactions import transfers
from chains.families.solana.transactions.entries import Entry, read_entry
from chains.families.solana.transactions.fees import EpochSchedule, FeeBook, Fees, MintFee
from chains.families.solana.transactions.moves import is_crowded
from chains.rpc.json_rpc import Call, Failing, JsonRpc, RpcFault, Unread, Why

logger = logging.getLogger(__name__)

# Version 0 is the newest that this service reads; it is what makes nodes resolve lookup tables.
_TRANSACTION = {"encoding": "json", "maxSupportedTransactionVersion": 0, **CONFIRMED}
_BLOCK = {"transactionDetails": "none", "rewards": False, "maxSupportedTransactionVersion": 0, **CONFIRMED}
# What a node answers where a transaction's format is newer than that.
_NEWER_FORMAT = -32015
_MAX_STATUSES = 256
# An oversized transaction has about 1 MB (64 calls of 10 KiB each), and a response may contain 32 MB.
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
    """A transaction in a format that this service can't read, larger than what the node sends, or with too much in it.

    `sender` is known of the last.
    """

    sender: str = ""


@dataclass(frozen=True)
class _Looking:
    """One look at one node."""

    node: JsonRpc
    mentioning: Collection[str]
    fees: FeeBook
    failing: Failing


def look_up(
    node: JsonRpc,
    asked: Sequence[str],
    *,
    with_finality: bool,
    mentioning: Collection[str] = (),
    fees: FeeBook | None = None,
    failing: Failing | None = None,
) -> Snapshot:
    """Return what one node reports, in one HTTP request for each 25 transactions or so. Raises ChainError.

    First how settled each is, then the blocks of the confirmed ones, then what these did. What is only processed, or
    not in the block that its status names, is reported as not mined. A transaction in a newer format, too large for the
    node, or with more than 1,000 moves, is not readable. One that the node can't show, or not whole, is left out and
    `contradicted`: anyone may submit it, so it must not keep the others waiting.
    """
    tags = [CONFIRMED, FINALIZED] if with_finality else [CONFIRMED]
    calls: list[Call] = [("getSlot", [tag]) for tag in tags]
    for start in range(0, len(asked), _MAX_STATUSES):
        part = list(asked[start : start + _MAX_STATUSES])
        calls.append(("getSignatureStatuses", [part, {"searchTransactionHistory": True}]))
    head, statuses = node.batch(calls, lambda answers: _standing(asked, len(tags), answers))
    transactions: dict[str, TransactionFacts | None] = {
        name: _not_mined(name) if status else None for name, status in statuses.items()
    }
    settled = [
        (name, status)
        for name, status in statuses.items()
        if status and status.commitment != Commitment.PROCESSED
    ]
    blocks = _blocks(node, sorted({status.slot for _, status in settled}))
    looking = _Looking(node, mentioning, fees or FeeBook(), failing or Failing())
    settled.sort(key=lambda each: looking.failing.includes(each[0]))
    failures: list[ChainError] = []
    for start in range(0, len(settled), _MAX_TRANSACTIONS):
        of_part, failed = _settled(looking, settled[start : start + _MAX_TRANSACTIONS], blocks)
        transactions |= of_part
        failures += failed
    if failures and len(failures) == len(settled):
        raise failures[0]
    unreadable = frozenset(name for name, _ in settled if transactions[name] is None)
    shown = {name: facts for name, facts in transactions.items() if name not in unreadable}
    return Snapshot(head, shown, unreadable)


def _standing(
    asked: Sequence[str], tags: int, answers: Sequence[Any]
) -> tuple[Head, dict[str, _Status | None]]:
    slots = [whole(sound(answer)) for answer in answers[:tags]]
    known = [_status(entry) for answer in answers[tags:] for entry in sequence(value_of(answer))]
    if len(known) != len(asked):
        raise ChainError("the node left out a transaction's status")
    head = Head(latest=slots[0], finalized=slots[1] if tags > 1 else None)
    return head, dict(zip(asked, known, strict=True))


def _status(answer: Any) -> _Status | None:
    if answer is None:
        return None
    status = mapping(answer)
    commitment = status.get("confirmationStatus")
    if commitment not in COMMITMENTS:
        raise ChainError("the node's status is none of the known ones")
    if "err" not in status:
        raise ChainError("the node's status lacks the transaction's result")
    return _Status(whole(status.get("slot")), commitment, status["err"] is None)


def _blocks(node: JsonRpc, slots: Sequence[int]) -> dict[int, Block]:
    """Return the blocks in these slots, as far as the node has them at hand."""
    if not slots:
        return {}
    calls: list[Call] = []
    for slot in slots:
        calls += [("getBlock", [slot, _BLOCK]), ("getBlockTime", [slot])]
    answers = node.batch(calls, list)
    pairs = zip(slots, answers[::2], answers[1::2], strict=True)
    return {slot: block for slot, *answer in pairs if (block := _usable(_block, slot, *answer)) is not None}


def _settled(
    looking: _Looking, statuses: Sequence[tuple[str, _Status]], blocks: Mapping[int, Block]
) -> tuple[dict[str, TransactionFacts | None], list[ChainError]]:
    """Return what the node can show of these transactions, None for what it can't, and the calls' failures."""
    calls: list[Call] = [("getTransaction", [name, _TRANSACTION]) for name, _ in statuses]
    answers = looking.node.batch(calls, list, isolating=True)
    failures = [a.error for a in answers if isinstance(a, Unread) and a.why is not Why.LARGE]
    looking.failing.note(
        name
        for (name, _), answer in zip(statuses, answers, strict=True)
        if isinstance(answer, Unread) and answer.why is Why.FAILED
    )
    entries = [
        _usable(_entry, name, status, answer)
        for (name, status), answer in zip(statuses, answers, strict=True)
    ]
    mints = {
        mint
        for entry in entries
        if isinstance(entry, Entry) and entry.succeeded
        for mint in transfers.fee_mints(entry)
    }
    fees = looking.fees.ask(looking.node, mints)
    shown = {
        name: None
        if entry is None
        else _usable(_facts, name, status, entry, blocks.get(status.slot), looking.mentioning, fees)
        for (name, status), entry in zip(statuses, entries, strict=True)
    }
    return shown, failures


def _usable(read: Callable[..., _Meaning], name: str | int, *answers: Any) -> _Meaning | None:
    """Return what `read` makes of these answers, None where they are no use."""
    try:
        return read(name, *answers)
    except ChainError as error:
        logger.warning("no usable answer for %s: %s", name, error)
        return None


def _entry(name: str, status: _Status, answer: Any) -> Entry | _Unreadable | TransactionFacts:
    """Return the transaction, or what there is to report without it."""
    if isinstance(answer, Unread) and answer.why is Why.LARGE:
        return _Unreadable()
    if isinstance(answer, RpcFault) and answer.code == _NEWER_FORMAT:
        return _Unreadable()
    entry = read_entry(sound(answer))
    if entry.signature != name:
        raise ChainError("the node answered with another transaction")
    if entry.succeeded != status.succeeded:
        raise ChainError("the node contradicts itself about whether the transaction succeeded")
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
        raise ChainError("the node does not show the mint of a transfer")
    epoch = schedule.epoch_of(entry.slot) if schedule else None
    return Fees({mint: known[mint] for mint in mints}, epoch)


def _not_mined(name: str, sender: str = "") -> TransactionFacts:
    return TransactionFacts(name, sender, None, None, succeeded=False, transfers=())


def _block(slot: int, block: Any, time: Any) -> Block:
    """Return the slot's block.

    The time is getBlockTime's: some nodes' getBlock and getTransaction count it in other units.
    """
    try:
        block_time = datetime.fromtimestamp(whole(sound(time)), UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise ChainError("the node's block has an impossible time") from error
    return Block(slot, blockhash(mapping(sound(block)).get("blockhash")), block_time)
