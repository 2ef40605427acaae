"""What a thief puts beside a customer's payment does not spoil it. The model found these; each is a pure test here."""

from datetime import UTC, datetime

from chains.clients.base import Block, Transfer
from payments.binding import AMBIGUOUS_DELIVERY, Bound, Claims, Unbound, bind

BLOCK = Block(10, "block", datetime(2026, 11, 22, tzinfo=UTC))
OURS, THEIRS = b"o" * 16, b"t" * 16
PAID = Transfer("0", "token", "wallet", "merchant", 3, (OURS,), "wallet")
BOTH = Transfer("1", "token", "thief", "merchant", 9, (THEIRS, OURS), "thief")


def test_a_transfer_with_two_references_is_left_out_and_the_clear_one_counts() -> None:
    claims = Claims(OURS, foreign=frozenset({THEIRS}))
    bound = bind([BOTH, PAID], claims, BLOCK)
    assert isinstance(bound, Bound)
    assert bound.transfers == (PAID,)
    alone = bind([BOTH], claims, BLOCK)
    assert isinstance(alone, Unbound)
    assert alone.code == "transaction_ambiguous"


def test_a_delivery_of_the_same_amount_that_is_there_beside_it_does_not_dispute_a_payment() -> None:
    delivered = Transfer("1", "token", "bridge", "merchant", 3)
    claims = Claims(OURS, elsewhere=(3,))
    bound = bind([PAID, delivered], claims, BLOCK)
    assert isinstance(bound, Bound)
    assert bound.transfers == (PAID,)
    assert bind([PAID], claims, BLOCK) == AMBIGUOUS_DELIVERY
    assert bind([PAID, delivered], Claims(OURS, elsewhere=(3, 3)), BLOCK) == AMBIGUOUS_DELIVERY
