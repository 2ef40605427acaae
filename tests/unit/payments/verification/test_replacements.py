"""If a transaction is missing, a node is queried for its replacement before the payment is decided."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from chains.client import ChainError, TransactionFacts
from payments.models import Payment, PaymentRequest
from payments.verification.replacements import MAX_SEARCHED
from tests.support.payments.world import Clock
from tests.unit.payments.verification.test_stuck_payments import (
    FAST,
    SLOW,
    Scripted,
    look_again,
    mined,
    submitted,
    waiting,
)
from webhooks.models import Event

Make = Callable[..., PaymentRequest]


class Nodes(Scripted):
    """A chain on which each sender's pending transaction was replaced.

    Queries for the nonces of `silent` senders fail.
    """

    def __init__(self) -> None:
        super().__init__()
        self.silent: set[str] = set()
        self.named: dict[str, str] = {}

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        return dict.fromkeys(senders, 8)

    def transaction_of_nonce(self, sender: str, nonce: int) -> str | None:
        if sender in self.silent:
            raise ChainError("no answer")
        return self.named.get(sender)


@pytest.mark.django_db(transaction=True)
def test_payment_waits_while_its_replacement_search_fails(
    request_for: Make,
) -> None:
    request, chain, clock = request_for(), Nodes(), Clock()
    chain.has(waiting(SLOW))
    payment = submitted(request, SLOW, chain)
    look_again(clock, chain)
    chain.has(mined(FAST, request))
    chain.silent = {"payer"}
    look_again(clock, chain, times=10)
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("processing", "")
    assert not Event.objects.exists()
    chain.silent, chain.named = set(), {"payer": FAST}
    look_again(clock, chain, times=4)
    payment.refresh_from_db()
    assert (payment.status, payment.transaction_hash) == ("completed", FAST)


def _sender(hash_: str) -> str:
    return f"sender {int(hash_, 16)}"


def _by(hash_: str, sender: str, facts: TransactionFacts | None = None) -> TransactionFacts:
    return replace(facts or waiting(hash_), sender=sender)


@pytest.mark.django_db(transaction=True)
def test_many_missing_transactions_leave_no_payment_unsearched(request_for: Make) -> None:
    """There are more than one lookup can search for, and queries for some of them fail."""
    chain, clock = Nodes(), Clock()
    hashes = [f"0x{number:064x}" for number in range(1, MAX_SEARCHED + 11)]
    requests = [request_for() for _ in hashes]
    chain.has(*(_by(hash_, _sender(hash_)) for hash_ in hashes))
    payments = [submitted(request, hash_, chain) for request, hash_ in zip(requests, hashes, strict=True)]
    look_again(clock, chain)
    own = payments[-1]
    fast = mined(FAST, own.request)
    chain.has(_by(FAST, _sender(hashes[-1]), fast))
    chain.named = {_sender(hashes[-1]): FAST}
    chain.silent = {_sender(hash_) for hash_ in hashes[:2]}
    look_again(clock, chain, times=12)
    own.refresh_from_db()
    assert (own.status, own.transaction_hash) == ("completed", FAST)
    assert set(
        Payment.objects.filter(pk__in=[p.pk for p in payments[:2]]).values_list("status", flat=True)
    ) == {"processing"}
