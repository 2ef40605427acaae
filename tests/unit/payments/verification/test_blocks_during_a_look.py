"""If a block arrives during a lookup, it is not missed: the payment is looked up again immediately."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chains.client import ChainError, Head, Snapshot, TransactionFacts
from chains.models import Token
from merchants.models import Merchant
from payments.models import Payment
from payments.waking.on_new_heads import make_due
from tests.support.payments.world import make_request, submit
from tests.verifying import verify_due

pytestmark = pytest.mark.django_db

RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
HASH = "0x" + "1" * 64


class Scripted:
    """A chain with an unmined transaction. `during_the_look` runs during each lookup."""

    def __init__(self) -> None:
        self.known: TransactionFacts | None = TransactionFacts(
            HASH, "payer", 7, None, succeeded=False, transfers=(), effect="0xeffect"
        )
        self.during_the_look: Callable[[], object] = lambda: None

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        self.during_the_look()
        return Snapshot(Head(1000, finalized=900), dict.fromkeys(hashes, self.known))

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        return {}

    def of(self, chain: object) -> Any:
        return self


@pytest.fixture
def nodes() -> Scripted:
    return Scripted()


@pytest.fixture
def payment(merchant: Merchant, usdc: Token) -> Payment:
    return submit(make_request(merchant, usdc, "10", RECIPIENT), HASH)


def is_due(payment: Payment) -> bool:
    payment.refresh_from_db()
    assert (payment.status, payment.lookup.claim_id, payment.lookup.lease_until) == ("processing", None, None)
    return payment.lookup.next_check_at is not None and payment.lookup.next_check_at <= timezone.now()


def test_payment_is_due_again_if_a_block_arrives_during_lookup(payment: Payment, nodes: Scripted) -> None:
    nodes.during_the_look = lambda: make_due(payment.chain_id)
    assert verify_due(client=nodes.of) == 1
    assert is_due(payment)
    assert payment.lookup.seen_at is not None


def test_without_a_new_block_it_waits_for_the_next_one(payment: Payment, nodes: Scripted) -> None:
    assert verify_due(client=nodes.of) == 1
    assert not is_due(payment)
    assert payment.lookup.seen_at is not None


def test_the_second_look_needs_another_block_to_be_repeated(payment: Payment, nodes: Scripted) -> None:
    nodes.during_the_look = lambda: make_due(payment.chain_id)
    verify_due(client=nodes.of)
    nodes.during_the_look = lambda: None
    assert verify_due(client=nodes.of) == 1
    assert not is_due(payment)


def test_blocks_use_up_no_check_of_a_hash_that_no_node_knows(payment: Payment, nodes: Scripted) -> None:
    nodes.known = None
    nodes.during_the_look = lambda: make_due(payment.chain_id)
    assert verify_due(client=nodes.of) == 1
    assert not is_due(payment)
    assert payment.attempts == 1


def test_unresponsive_nodes_keep_their_pause_despite_new_block(payment: Payment, nodes: Scripted) -> None:
    def block_and_no_answer() -> None:
        make_due(payment.chain_id)
        raise ChainError("no answer", retry_after=30)

    nodes.during_the_look = block_and_no_answer
    assert verify_due(client=nodes.of) == 1
    assert not is_due(payment)
    assert payment.lookup.next_check_at is not None
    assert payment.lookup.next_check_at - timezone.now() > timedelta(seconds=20)
