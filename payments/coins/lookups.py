"""Look up payments on their chain: transactions by hash, and native coin at deposit addresses by balance.

Each balance is stored with the block at which it was read. The balance stays valid while that block is on the
chain. If a reorganisation removes the block, the balance is read again at the head.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from chains.client import Block, ChainClient, ChainError, Head, Snapshot, TransactionFacts, Transfer
from payments.coins.sums import accounted_beside, parts_of
from payments.evaluation.proof_windows import CLOCK_ALLOWANCE
from payments.models import DepositAddress, DiscoveryCursor, Lookup, Payment

NATIVE = ""


@dataclass(frozen=True)
class Reading:
    """All coin that an address has received up to `block`, in base units. Sweeps don't reduce this total."""

    block: Block
    received: int


def look_up(
    client: ChainClient,
    lookups: Sequence[Lookup],
    *,
    with_finality: bool,
    mentioning: Collection[str] = (),
) -> Snapshot:
    """Return the chain's head and, by hash, what the nodes know about each lookup. Raises ChainError."""
    differences = [each for each in lookups if each.is_difference]
    hashes = sorted({each.transaction_hash for each in lookups} - {d.transaction_hash for d in differences})
    snapshot = client.look_up(hashes, with_finality=with_finality, mentioning=mentioning)
    if not differences:
        return snapshot
    # The head was read before the blocks of these balances. So a block that still exists is at least as deep
    # as the head implies.
    facts, unclear = _facts_of(client, differences, snapshot.head)
    return replace(
        snapshot,
        transactions={**snapshot.transactions, **facts},
        contradicted=snapshot.contradicted | unclear,
    )


def since_blocks(client: ChainClient, rows: Collection[DepositAddress]) -> dict[UUID, int]:
    """Return, by request id, the first block whose sweeps are not yet counted in `DepositAddress.swept`. Raises
    ChainError.

    Load the rows before this call, since a search may store new sweeps in between. The computed total is then too low
    for a moment. If the rows were loaded after this call, the total would count those sweeps twice.
    """
    chains = {row.chain_id for row in rows}
    cursors = dict(DiscoveryCursor.objects.filter(pk__in=chains).values_list("pk", "coins_next_block"))
    blocks: dict[UUID, int] = {}
    for row in rows:
        block = cursors.get(row.chain_id) if row.next_block is None else row.next_block
        blocks[row.pk] = client.block_at(row.shown_at - CLOCK_ALLOWANCE) if block is None else block
    return blocks


def facts_of_reading(lookup: Lookup, reading: Reading, before: int) -> TransactionFacts | None:
    """Describe a balance as if one transaction had transferred the payment's amount.

    `before` is the part of the balance that belongs to the request's other payments. Return None if the rest is 0, or
    less than was credited. The transfer's `gain` is the total that the address received. The request's credits can't
    exceed that total.
    """
    payment, left = lookup.payment, reading.received - before
    amount = left if payment.amount is None else min(left, payment.amount)
    # If less coin is left than was credited, a reorganisation reversed the payment.
    is_short = payment.status == Payment.Status.COMPLETED and left < (payment.amount_received or 0)
    if amount <= 0 or is_short:
        return None
    address, _, sequence = lookup.transaction_hash.partition(":")
    moved = Transfer(sequence, NATIVE, "", address, amount, account=address, gain=reading.received)
    return TransactionFacts(lookup.transaction_hash, "", None, reading.block, True, (moved,))


def _facts_of(
    client: ChainClient, lookups: Sequence[Lookup], head: Head
) -> tuple[dict[str, TransactionFacts | None], set[str]]:
    """Return each balance as transaction facts, by hash, and the hashes whose balance no node could read now."""
    heights = {each.block_number for each in lookups if each.block_number is not None}
    blocks = client.blocks(heights)
    readings: dict[str, Reading | None] = {}
    removed: list[Lookup] = []
    for each in lookups:
        block = blocks.get(each.block_number) if each.block_number is not None else None
        if each.block_number is None or (block is not None and block.hash != each.block_hash):
            removed.append(each)
        elif block is not None:
            readings[each.transaction_hash] = Reading(block, each.received or 0)
    readings |= _read_again(client, removed, head)
    others = parts_of({each.payment.request_id for each in lookups})
    facts: dict[str, TransactionFacts | None] = {}
    unclear: set[str] = set()
    for each in lookups:
        reading = readings.get(each.transaction_hash)
        if reading is None:
            unclear.add(each.transaction_hash)
            facts[each.transaction_hash] = None
            continue
        before = accounted_beside(each.payment, others.get(each.payment.request_id, ()))
        facts[each.transaction_hash] = facts_of_reading(each, reading, before)
    return facts, unclear


def _read_again(client: ChainClient, lookups: Sequence[Lookup], head: Head) -> Mapping[str, Reading | None]:
    """Read the balances at the head, by hash. If no node can read a balance now, its hash is missing."""
    rows = DepositAddress.objects.in_bulk({each.payment.request_id for each in lookups})
    since = since_blocks(client, rows.values())
    groups: dict[int, list[Lookup]] = defaultdict(list)
    for each in lookups:
        if each.payment.request_id in rows:
            groups[since[each.payment.request_id]].append(each)
    readings: dict[str, Reading | None] = {}
    for first, group in groups.items():
        addresses = sorted({rows[each.payment.request_id].address for each in group})
        try:
            read = client.coins_received(addresses, since_block=first, at_block=head.latest)
        except ChainError:
            continue
        for each in group:
            row = rows[each.payment.request_id]
            if row.address in read.amounts:
                received = row.swept + read.amounts[row.address]
                readings[each.transaction_hash] = Reading(read.block, received)
    return readings
