"""What a thief puts beside a customer's payment does not spoil it. The model found these; each is a pure test here."""

from datetime import UTC, datetime

from chains.client import Block, Transfer
from payments.evaluation.binding import (
    AMBIGUOUS_DELIVERY,
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


def test_a_transfer_with_two_references_is_left_out_and_the_clear_one_counts() -> None:
    evidence = Evidence(OURS, foreign=frozenset({THEIRS}))
    bound = bind([BOTH, PAID], evidence, BLOCK)
    assert isinstance(bound, Bound)
    assert bound.transfers == (PAID,)
    alone = bind([BOTH], evidence, BLOCK)
    assert isinstance(alone, Unbound)
    assert alone.code == "transaction_ambiguous"


def test_a_delivery_of_the_same_amount_that_is_there_beside_it_does_not_dispute_a_payment() -> None:
    delivered = Transfer("1", "token", "bridge", "merchant", 3)
    evidence = Evidence(OURS, elsewhere=(3,))
    bound = bind([PAID, delivered], evidence, BLOCK)
    assert isinstance(bound, Bound)
    assert bound.transfers == (PAID,)
    assert bind([PAID], evidence, BLOCK) == AMBIGUOUS_DELIVERY
    assert bind([PAID, delivered], Evidence(OURS, elsewhere=(3, 3)), BLOCK) == AMBIGUOUS_DELIVERY


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


def test_a_swap_for_the_same_request_beside_a_referenced_payment_takes_nothing_from_it() -> None:
    bound = counted([PAID, SWAPPED], _own_swap(), BLOCK)
    assert isinstance(bound, Bound)
    assert (bound.transfers, bound.by) == ((PAID, SWAPPED), "reference")
    assert counted([SWAPPED], _own_swap(), BLOCK) == Bound((SWAPPED,), BoundBy.PROVIDER)


def test_a_swaps_delivery_that_was_credited_before_spoils_no_referenced_payment_beside_it() -> None:
    taken = Delivery(3, Taken((("1", "", 3),)), is_own=True)
    bound = counted([PAID, SWAPPED], _own_swap(taken), BLOCK)
    assert isinstance(bound, Bound)
    assert bound.transfers == (PAID,)
    both = Delivery(3, Taken((("0", "", 3), ("1", "", 3))), is_own=True)
    refused = counted([PAID, SWAPPED], _own_swap(both), BLOCK)
    assert isinstance(refused, Unbound)
    assert refused.code == "transaction_already_used"


def test_what_another_requests_provider_may_have_delivered_is_not_taken_by_a_reference_beside_a_swap() -> (
    None
):
    bound = counted([PAID, SWAPPED], _own_swap(elsewhere=(3,)), BLOCK)
    assert isinstance(bound, Bound)
    assert bound.transfers == (SWAPPED,)


def test_money_beside_a_credited_delivery_that_no_node_can_explain_can_be_accepted() -> None:
    unexplained = Transfer("0", "token", "wallet", "merchant", 3)
    taken = Delivery(3, Taken((("1", "", 3),)), is_own=True)
    refused = counted([unexplained, SWAPPED], _own_swap(taken), BLOCK, is_complete=False)
    assert isinstance(refused, Unbound)
    assert refused.code == "not_verifiable"
    explained = counted([unexplained, SWAPPED], _own_swap(taken), BLOCK)
    assert isinstance(explained, Unbound)
    assert explained.code == "transaction_already_used"
