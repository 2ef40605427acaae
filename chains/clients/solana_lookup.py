"""Asking one Solana node for transactions: where they stand, the blocks they are in, and what they moved."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from chains.clients import solana_transfers
from chains.clients.base import Block, ChainError, Head, Snapshot, TransactionFacts
from chains.clients.rpc import Call, JsonRpc
from chains.clients.solana_answers import blockhash, mapping, sequence, sound, value_of, whole

logger = logging.getLogger(__name__)

CONFIRMED = {"commitment": "confirmed"}
_FINALIZED = {"commitment": "finalized"}
# Version 0 is the newest that this service reads; it is what makes nodes resolve lookup tables.
_TRANSACTION = {"encoding": "json", "maxSupportedTransactionVersion": 0, **CONFIRMED}
_BLOCK = {"transactionDetails": "none", "rewards": False, "maxSupportedTransactionVersion": 0, **CONFIRMED}
_MOST_STATUSES = 256
# A transaction made to be large fills about 1 MB (64 calls of 10 KiB each), and an answer may hold 32.
_MOST_TRANSACTIONS = 25

_Meaning = TypeVar("_Meaning")


@dataclass(frozen=True)
class _Status:
    """Where a transaction stands: its slot, and the cluster's own word for how settled that is."""

    slot: int
    commitment: str


def look_up(
    node: JsonRpc, asked: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
) -> Snapshot:
    """Return what one node says, in one HTTP request for each 25 transactions or so. Raises ChainError.

    First how settled each is, then the blocks of the confirmed ones, and what these did. What is only processed, or not
    in the block that its status names, is reported as not mined. One that the node can't show, in a newer format or not
    whole, is left out and `contradicted`: anybody may submit it, so it must not keep the others waiting.
    """
    tags = [CONFIRMED, _FINALIZED] if with_finality else [CONFIRMED]
    calls: list[Call] = [("getSlot", [tag]) for tag in tags]
    for start in range(0, len(asked), _MOST_STATUSES):
        part = list(asked[start : start + _MOST_STATUSES])
        calls.append(("getSignatureStatuses", [part, {"searchTransactionHistory": True}]))
    head, statuses = node.batch(calls, lambda answers: _standing(asked, len(tags), answers))
    transactions: dict[str, TransactionFacts | None] = {
        name: _not_mined(name) if status else None for name, status in statuses.items()
    }
    settled = [
        (name, status) for name, status in statuses.items() if status and status.commitment != "processed"
    ]
    blocks = _blocks(node, sorted({status.slot for _, status in settled}))
    for start in range(0, len(settled), _MOST_TRANSACTIONS):
        transactions |= _settled(node, settled[start : start + _MOST_TRANSACTIONS], blocks, mentioning)
    unreadable = frozenset(name for name, _ in settled if transactions[name] is None)
    shown = {name: facts for name, facts in transactions.items() if name not in unreadable}
    return Snapshot(head, shown, unreadable)


def _standing(
    asked: Sequence[str], tags: int, answers: Sequence[Any]
) -> tuple[Head, dict[str, _Status | None]]:
    slots = [whole(sound(answer)) for answer in answers[:tags]]
    told = [_status(entry) for answer in answers[tags:] for entry in sequence(value_of(answer))]
    if len(told) != len(asked):
        raise ChainError("the node did not tell every transaction's status")
    head = Head(latest=slots[0], finalized=slots[1] if tags > 1 else None)
    return head, dict(zip(asked, told, strict=True))


def _status(answer: Any) -> _Status | None:
    if answer is None:
        return None
    status = mapping(answer)
    commitment = status.get("confirmationStatus")
    if commitment not in ("processed", "confirmed", "finalized"):
        raise ChainError("the node's status is none of the known ones")
    return _Status(whole(status.get("slot")), commitment)


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
    node: JsonRpc,
    statuses: Sequence[tuple[str, _Status]],
    blocks: Mapping[int, Block],
    mentioning: Collection[str],
) -> dict[str, TransactionFacts | None]:
    """Return what the node can show of these transactions, None for what it can't."""
    answers = node.batch([("getTransaction", [name, _TRANSACTION]) for name, _ in statuses], list)
    return {
        name: _usable(_facts, name, status, answer, blocks.get(status.slot), mentioning)
        for (name, status), answer in zip(statuses, answers, strict=True)
    }


def _usable(read: Callable[..., _Meaning], name: str | int, *answers: Any) -> _Meaning | None:
    """Return what `read` makes of these answers, None where they are no use."""
    try:
        return read(name, *answers)
    except ChainError as error:
        logger.warning("no usable answer for %s: %s", name, error)
        return None


def _facts(
    name: str, status: _Status, answer: Any, block: Block | None, mentioning: Collection[str]
) -> TransactionFacts:
    entry = solana_transfers.read_entry(sound(answer))
    if entry.signature != name:
        raise ChainError("the node answered with another transaction")
    if entry.slot != status.slot:
        return _not_mined(name, entry.fee_payer)
    if block is None:
        raise ChainError("the node does not have its block")
    moved = solana_transfers.transfers(entry) if entry.succeeded else ()
    return TransactionFacts(
        name,
        entry.fee_payer,
        None,
        block,
        entry.succeeded,
        moved,
        commitment=status.commitment,
        mentions=solana_transfers.mentions(entry, mentioning),
    )


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
