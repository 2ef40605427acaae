"""Nodes that know only the transactions that a test gives them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from chains.client import Block, Head, Snapshot, TransactionFacts, Transfer
from payments.models import PaymentRequest

PAYER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


class ScriptedNodes:
    """A chain whose transactions a test sets. `mentioning` has the contracts of the last lookup."""

    def __init__(self) -> None:
        self.transactions: dict[str, TransactionFacts] = {}
        self.head = 100
        self.finalized = 100
        self.mentioning: Collection[str] = ()

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        self.mentioning = mentioning
        known = {wanted: self.transactions.get(wanted) for wanted in hashes}
        return Snapshot(Head(self.head, finalized=self.finalized), known)

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        return {}

    def of(self, chain: object) -> Any:
        return self

    def has(self, *known: TransactionFacts) -> None:
        """Set the transactions that the nodes know."""
        self.transactions = {facts.hash: facts for facts in known}


def transfer_to(
    request: PaymentRequest, units: int, slot: str = "3", *, token: str = "", references: bool = True
) -> Transfer:
    """Return a transfer of the request's token, or another `token`, to its recipient."""
    return Transfer(
        slot,
        token or request.token.contract_address,
        PAYER,
        request.recipient_address,
        units,
        (bytes(request.reference),) if references else (),
    )


def mined(
    hash_: str, *transfers: Transfer, number: int = 100, block: str = "a", at: datetime | None = None
) -> TransactionFacts:
    """Return a transaction that made these transfers in the block `number`. `block` is a digit of its hash."""
    mined_in = Block(number, "0x" + block * 64, at or timezone.now())
    return TransactionFacts(hash_, PAYER, 7, mined_in, succeeded=True, transfers=transfers)
