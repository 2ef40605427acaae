"""Asking one Solana node for transactions: where they stand, the blocks they are in, and what they moved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from chains.clients import solana_transfers
from chains.clients.base import Block, ChainError, Head, Snapshot, TransactionFacts
from chains.clients.rpc import Call, JsonRpc, RpcFault
from chains.clients.solana_answers import blockhash, mapping, sequence, sound, value_of, whole

CONFIRMED = {"commitment": "confirmed"}
_FINALIZED = {"commitment": "finalized"}
# Version 0 is the newest that this service reads; it is what makes nodes resolve lookup tables.
_TRANSACTION = {"encoding": "json", "maxSupportedTransactionVersion": 0, **CONFIRMED}
_BLOCK = {"transactionDetails": "none", "rewards": False, "maxSupportedTransactionVersion": 0, **CONFIRMED}
_MOST_STATUSES = 256
_UNSUPPORTED_VERSION = -32015
# Errors that say that a slot is not (or no longer) at hand, rather than that the node is at fault.
_SLOT_MISSING = {-32001, -32004, -32007, -32008, -32009, -32014}


@dataclass(frozen=True)
class _Status:
    """Where a transaction stands: its slot, and the cluster's own word for how settled that is."""

    slot: int
    commitment: str


@dataclass
class _Found:
    """What one round of questions brought: facts, and the transactions that can't be read here."""

    facts: dict[str, TransactionFacts] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)


def look_up(node: JsonRpc, asked: Sequence[str], *, with_finality: bool) -> Snapshot:
    """Return what one node says, in two rounds of questions, whatever their number. Raises ChainError.

    First how settled each transaction is, then the confirmed ones with their blocks. What is only processed, or not in
    the block that its status names, is reported as not mined. One that the node can't show to this service, in a newer
    format or without a record of what it did, is so too, and `contradicted`: that says nothing of the others.
    """
    tags = [CONFIRMED, _FINALIZED] if with_finality else [CONFIRMED]
    calls: list[Call] = [("getSlot", [tag]) for tag in tags]
    for start in range(0, len(asked), _MOST_STATUSES):
        part = list(asked[start : start + _MOST_STATUSES])
        calls.append(("getSignatureStatuses", [part, {"searchTransactionHistory": True}]))
    head, statuses = node.batch(calls, lambda answers: _standing(asked, len(tags), answers))
    found = _settled(node, {name: status for name, status in statuses.items() if status})
    transactions = {
        name: (found.facts.get(name) or _not_mined(name)) if status else None
        for name, status in statuses.items()
    }
    return Snapshot(head, transactions, frozenset(found.unreadable))


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


def _settled(node: JsonRpc, statuses: Mapping[str, _Status]) -> _Found:
    """Return the transactions that are confirmed at least, with the blocks that they stand in."""
    settled = {name: status for name, status in statuses.items() if status.commitment != "processed"}
    if not settled:
        return _Found()
    slots = sorted({status.slot for status in settled.values()})
    calls: list[Call] = [("getTransaction", [name, _TRANSACTION]) for name in settled]
    for slot in slots:
        calls += [("getBlock", [slot, _BLOCK]), ("getBlockTime", [slot])]
    return node.batch(calls, lambda answers: _read(settled, slots, answers))


def _read(statuses: Mapping[str, _Status], slots: Sequence[int], answers: Sequence[Any]) -> _Found:
    rest = answers[len(statuses) :]
    blocks = {
        slot: _block(slot, block, time)
        for slot, block, time in zip(slots, rest[::2], rest[1::2], strict=True)
    }
    found = _Found()
    for (name, status), answer in zip(statuses.items(), answers, strict=False):
        if _is_unreadable(answer):
            found.unreadable.add(name)
        elif answer is not None:
            found.facts[name] = _facts(name, status, answer, blocks[status.slot])
    return found


def _is_unreadable(answer: Any) -> bool:
    if isinstance(answer, RpcFault) and answer.code == _UNSUPPORTED_VERSION:
        return True
    return isinstance(sound(answer), dict) and answer.get("meta") is None


def _facts(name: str, status: _Status, answer: Any, block: Block | None) -> TransactionFacts:
    entry = solana_transfers.read_entry(answer)
    if entry.signature != name:
        raise ChainError("the node answered with another transaction")
    if block is None or entry.slot != status.slot:
        return _not_mined(name, entry.fee_payer)
    moved = solana_transfers.transfers(entry) if entry.succeeded else ()
    return TransactionFacts(
        name, entry.fee_payer, None, block, entry.succeeded, moved, commitment=status.commitment
    )


def _not_mined(name: str, sender: str = "") -> TransactionFacts:
    return TransactionFacts(name, sender, None, None, succeeded=False, transfers=())


def _block(slot: int, block: Any, time: Any) -> Block | None:
    """Return the slot's block, None where the node has none there (yet).

    The time is getBlockTime's: some nodes' getBlock and getTransaction count it in other units.
    """
    if _is_missing(block) or _is_missing(time):
        return None
    try:
        block_time = datetime.fromtimestamp(whole(time), UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise ChainError("the node's block has an impossible time") from error
    return Block(slot, blockhash(mapping(block).get("blockhash")), block_time)


def _is_missing(answer: Any) -> bool:
    if isinstance(answer, RpcFault) and answer.code in _SLOT_MISSING:
        return True
    return sound(answer) is None
