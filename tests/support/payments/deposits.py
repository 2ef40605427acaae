"""Requests' deposit addresses, and a chain with the test's transactions."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from chains.client import Block, Discovery, Head, SearchLimits, Snapshot, TransactionFacts, Transfer
from chains.facts.searches import Arrivals
from payments.models import DepositAddress, PaymentRequest

EXCHANGE = "0x00000000000000000000000000000000000e1111"


def give_address(request: PaymentRequest, number: int) -> str:
    """Store a deposit address as if the request's page had shown it; return it."""
    address = f"0x00000000000000000000000000000000DE{number:06}"
    DepositAddress.objects.create(
        request=request,
        chain=request.chain,
        address=address,
        recipient_address=request.recipient_address,
        factory="0xFactory",
        init_code_hash="0x" + "00" * 32,
    )
    PaymentRequest.objects.filter(pk=request.pk).update(deposit_address=address)
    request.deposit_address = address
    return address


def moved(
    request: PaymentRequest, amount: int, to: str, slot: str = "0", sender: str = EXCHANGE, **more: Any
) -> Transfer:
    """Return a transfer of the request's token."""
    return Transfer(slot, request.token.contract_address, sender, to, amount, **more)


@dataclass
class KnownTransactions:
    """A chain with the height `height` and these transactions. `searches` are the searched block ranges.

    All blocks are final, or those up to `finalized`. No two nodes know the `unconfirmed` transactions, although
    one node has their logs.
    """

    height: int = 100
    finalized: int | None = None
    blocks_at_once: int = 1000
    unconfirmed: set[str] = field(default_factory=set)
    searches: list[tuple[int, int]] = field(default_factory=list)
    facts: dict[str, TransactionFacts] = field(default_factory=dict)

    def add(self, number: int, *transfers: Transfer, block: int | None = None) -> str:
        """Mine a transaction with these transfers; return its hash."""
        hash_ = f"0x{number:064x}"
        mined = Block(block or self.height, f"0x{block or self.height:064x}", timezone.now())
        self.facts[hash_] = TransactionFacts(hash_, EXCHANGE, None, mined, True, tuple(transfers))
        return hash_

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        finalized = self.height if self.finalized is None else self.finalized
        known = {each: None if each in self.unconfirmed else self.facts.get(each) for each in hashes}
        return Snapshot(Head(self.height, finalized=finalized), known)

    def head(self) -> int:
        return self.height

    def block_at(self, moment: object) -> int:
        return 0

    def search_limits(self) -> SearchLimits:
        return SearchLimits(by_block=True, watches=5000, searches=20)

    def discover(self, watches: object, *, since_block: int | None, until_block: int) -> Discovery:
        return Discovery((), until_block + 1)

    def find_arrivals(self, tokens: Mapping[str, str], *, since_block: int, until_block: int) -> Arrivals:
        last = min(until_block, since_block + self.blocks_at_once - 1)
        self.searches.append((since_block, last))
        found: dict[tuple[str, str], int] = defaultdict(int)
        for hash_, facts in self.facts.items():
            if facts.block is not None and since_block <= facts.block.number <= last:
                for each in facts.transfers:
                    if each.amount and tokens.get(each.recipient) == each.token:
                        found[each.recipient, hash_] += each.amount
        return Arrivals(tuple((*key, amount) for key, amount in sorted(found.items())), last + 1)

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        return {}

    def of(self, chain: object) -> Any:
        return self
