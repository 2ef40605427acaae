"""Deposit addresses of requests, and a chain that knows the transactions that a test tells it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from chains.client import Block, Head, Snapshot, TransactionFacts, Transfer
from payments.models import DepositAddress, PaymentRequest

EXCHANGE = "0x00000000000000000000000000000000000e1111"


def give_address(request: PaymentRequest, number: int) -> str:
    """Store a deposit address for the request, as if it had been shown; return it."""
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
    """A chain at the height `head` that knows these transactions."""

    head: int = 100
    facts: dict[str, TransactionFacts] = field(default_factory=dict)

    def add(self, number: int, *transfers: Transfer, block: int | None = None) -> str:
        """Mine a transaction with these transfers; return its hash."""
        hash_ = f"0x{number:064x}"
        mined = Block(block or self.head, f"0x{block or self.head:064x}", timezone.now())
        self.facts[hash_] = TransactionFacts(hash_, EXCHANGE, None, mined, True, tuple(transfers))
        return hash_

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        return Snapshot(Head(self.head, finalized=self.head), {each: self.facts.get(each) for each in hashes})

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        return {}

    def of(self, chain: object) -> Any:
        return self
