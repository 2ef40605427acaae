"""A thief can't spoil a customer's payment by adding to its transaction.

The model found these cases. Each is kept here as a test of a pure function.
"""

from datetime import UTC, datetime

from chains.client import Block, Transfer
from payments.evaluation.binding import (
    Bound,
    BoundBy,
    Delivery,
    Evidence,
    Taken,
    Unbound,
    bind,
)
from tests.support.payments.counting import counted

BLOCK = Block(10, "block", datetime(2026, 11, 22, tzinfo=UTC))
OURS, THEIRS = b"o" * 16, b"t" * 16
PAID = Transfer("0", "token", "wallet", "merchant", 3, (OURS,), "wallet")
BOTH = Transfer("1", "token", "thief", "merchant", 9, (THEIRS, OURS), "thief")


def test_transfer_with_two_references_yields_to_clear_transfer() -> None:
    evidence = Evidence(OURS, foreign=frozenset({THEIRS}))
    bound = bind([BOTH, PAID], evidence, BLOCK)
    assert isinstance(bound, Bound)
    assert bound.transfers == (PAID,)
    alone = bind([BOTH], evidence, BLOCK)
    assert isinstance(alone, Unbound)
    assert alone.code == "transaction_ambiguous"


SWAPPED = Transfer("1", "token", "router", "merchant", 3, within=(0,))
ITSELF = Delivery(3, Taken(), is_own=True)


def _own_swap(delivery: Delivery = ITSELF, elsewhere: tuple[int, ...] = ()) -> Evidence:
    return Evidence(
        OURS,
        elsewhere=elsewhere,
        names_ours=True,
        our_calls=frozenset({0}),
        routers=frozenset({"router"}),
        delivery=delivery,
    )


def test_own_swap_and_referenced_payment_both_count() -> None:
    bound = counted([PAID, SWAPPED], _own_swap(), BLOCK)
    assert isinstance(bound, Bound)
    assert (bound.transfers, bound.by) == ((PAID, SWAPPED), "reference")
    assert counted([SWAPPED], _own_swap(), BLOCK) == Bound((SWAPPED,), BoundBy.PROVIDER)


def test_credited_delivery_does_not_block_referenced_payment() -> None:
    taken = Delivery(3, Taken((("1", "", 3),)), is_own=True)
    bound = counted([PAID, SWAPPED], _own_swap(taken), BLOCK)
    assert isinstance(bound, Bound)
    assert bound.transfers == (PAID,)
    both = Delivery(3, Taken((("0", "", 3), ("1", "", 3))), is_own=True)
    refused = counted([PAID, SWAPPED], _own_swap(both), BLOCK)
    assert isinstance(refused, Unbound)
    assert refused.code == "transaction_already_used"


def test_reference_takes_no_possible_delivery_of_another_request() -> None:
    bound = counted([PAID, SWAPPED], _own_swap(elsewhere=(3,)), BLOCK)
    assert isinstance(bound, Bound)
    assert bound.transfers == (SWAPPED,)


def test_unexplained_transfer_by_credited_delivery_is_acceptable() -> None:
    unexplained = Transfer("0", "token", "wallet", "merchant", 3)
    taken = Delivery(3, Taken((("1", "", 3),)), is_own=True)
    refused = counted([unexplained, SWAPPED], _own_swap(taken), BLOCK, is_complete=False)
    assert isinstance(refused, Unbound)
    assert refused.code == "not_verifiable"
    explained = counted([unexplained, SWAPPED], _own_swap(taken), BLOCK)
    assert isinstance(explained, Unbound)
    assert explained.code == "transaction_already_used"
