"""Each rule of `evaluate` as one row: a transaction and its verdict."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chains.client import Block, Head, TransactionFacts, Transfer
from payments.evaluation.binding import Delivery, Evidence, Taken
from payments.evaluation.proof_windows import Proof
from payments.evaluation.verdicts import (
    Finality,
    NotFound,
    NotYet,
    Paid,
    Refused,
    SwapStarted,
    Terms,
    evaluate,
    evaluate_possible_swap_start,
    evaluate_swap_start,
)
from payments.models import FailureCode

OURS, THEIRS = bytes(range(16)), bytes(range(16, 32))
TOKEN, OTHER_TOKEN, MERCHANT = "0xToken", "0xOther", "0xMerchant"
PAYER, STRANGER, ROUTER = "0xPayer", "0xStranger", "0xRouter"
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
CREATED = NOON - timedelta(hours=1)
BLOCK = Block(100, "0xblock", NOON)
DEEP = Head(latest=110)
THREE = Finality(confirmations=3)


def moved(amount: int = 10, slot: str = "0", **different: Any) -> Transfer:
    """Return a transfer from the payer to the merchant, with these changes."""
    usual = Transfer(slot, TOKEN, PAYER, MERCHANT, amount)
    return replace(usual, **different)


def mined(*transfers: Transfer, **different: Any) -> TransactionFacts:
    """Return a successful transaction of the payer in `BLOCK`."""
    usual = TransactionFacts("0xhash", PAYER, 1, BLOCK, succeeded=True, transfers=transfers)
    return replace(usual, **different)


def terms(evidence: Evidence, **different: Any) -> Terms:
    """Return the terms of a request for 10 base units that was created an hour before noon."""
    usual = Terms(1, TOKEN, "USDC", 6, MERCHANT, CREATED, evidence, {OTHER_TOKEN: "DAI"}, NOON)
    return replace(usual, **different)


def outcome(verdict: Any) -> tuple[Any, ...]:
    """Return a verdict in the notation of the tables."""
    if isinstance(verdict, Paid):
        return ("paid", verdict.bound.amount, verdict.bound.by.value)
    if isinstance(verdict, Refused):
        return ("refused", verdict.code.value, verdict.arrived)
    return (type(verdict).__name__,)


REFERENCED = moved(references=(OURS,))
PROOF = Proof(PAYER, NOON - timedelta(minutes=10), NOON + timedelta(minutes=10), NOON - timedelta(minutes=5))
BY_REFERENCE = Evidence(OURS)
BY_PROOF = Evidence(OURS, proofs=(PROOF,))
BY_SWAP = Evidence(OURS, names_ours=True, our_calls=frozenset({0}), routers=frozenset({ROUTER}))
LATE = Block(200, "0xlater", NOON + timedelta(hours=2))


def delivery(reported: int | None, *taken: tuple[str, str, int], **different: Any) -> Evidence:
    """Return the evidence for a transaction that the provider reports as its delivery."""
    return Evidence(OURS, delivery=Delivery(reported, Taken(taken)), **different)


def no(code: FailureCode, arrived: int | None = None) -> tuple[Any, ...]:
    """Return a rejection in the notation of the tables."""
    return ("refused", code.value, arrived)


PAYING = {
    "by reference": (BY_REFERENCE, mined(REFERENCED), ("paid", 10, "reference")),
    "by proof": (BY_PROOF, mined(moved(made_by=PAYER)), ("paid", 10, "payer")),
    "by the merchant's acceptance": (
        Evidence(OURS, is_accepted=True),
        mined(moved()),
        ("paid", 10, "manual"),
    ),
    "by the acceptance of an ambiguous transfer": (
        Evidence(OURS, foreign=frozenset({THEIRS}), is_accepted=True),
        mined(moved(references=(OURS, THEIRS))),
        ("paid", 10, "manual"),
    ),
    "by the acceptance of what a provider may report for another request": (
        Evidence(OURS, elsewhere=(10,), is_accepted=True),
        mined(REFERENCED),
        ("paid", 10, "manual"),
    ),
    "by the acceptance of what the recipient may have lent": (
        Evidence(OURS, is_accepted=True),
        mined(moved(slot="0", sender=MERCHANT, recipient=STRANGER), moved(slot="1", references=(OURS,))),
        ("paid", 10, "manual"),
    ),
    "by its reference, although it was accepted as well": (
        Evidence(OURS, is_accepted=True),
        mined(REFERENCED),
        ("paid", 10, "reference"),
    ),
    "by a swap in its own transaction": (
        BY_SWAP,
        mined(moved(sender=ROUTER, within=(0,))),
        ("paid", 10, "provider"),
    ),
    "by a reported delivery": (delivery(10), mined(moved(sender=ROUTER)), ("paid", 10, "provider")),
    "in part": (BY_REFERENCE, mined(moved(4, references=(OURS,))), ("paid", 4, "reference")),
    "too much": (BY_REFERENCE, mined(moved(11, references=(OURS,))), ("paid", 11, "reference")),
    "in two transfers": (
        BY_REFERENCE,
        mined(REFERENCED, moved(5, "1", references=(OURS,))),
        ("paid", 15, "reference"),
    ),
    "beside an unbound transfer": (BY_REFERENCE, mined(REFERENCED, moved(5, "1")), ("paid", 10, "reference")),
    "by a stranger with the reference": (
        BY_REFERENCE,
        mined(moved(sender=STRANGER, references=(OURS,)), sender=STRANGER),
        ("paid", 10, "reference"),
    ),
    "seconds before its request, by a miner's clock": (
        BY_REFERENCE,
        mined(REFERENCED, block=replace(BLOCK, time=CREATED - timedelta(seconds=30))),
        ("paid", 10, "reference"),
    ),
}

REFUSED = {
    "another token": (
        BY_REFERENCE,
        mined(moved(token=OTHER_TOKEN, references=(OURS,))),
        no(FailureCode.WRONG_TOKEN),
    ),
    "another recipient": (
        BY_REFERENCE,
        mined(moved(recipient=STRANGER, references=(OURS,))),
        no(FailureCode.WRONG_RECIPIENT),
    ),
    "no transfer": (BY_REFERENCE, mined(), no(FailureCode.WRONG_AMOUNT)),
    "a transfer of nothing": (
        BY_REFERENCE,
        mined(moved(0, references=(OURS,))),
        no(FailureCode.WRONG_AMOUNT),
    ),
    "the recipient paid itself": (
        BY_REFERENCE,
        mined(moved(sender=MERCHANT, references=(OURS,))),
        no(FailureCode.WRONG_AMOUNT),
    ),
    "reverted": (
        BY_REFERENCE,
        mined(REFERENCED, succeeded=False),
        no(FailureCode.TRANSACTION_REVERTED),
    ),
    "too old": (
        BY_REFERENCE,
        mined(REFERENCED, block=replace(BLOCK, time=CREATED - timedelta(seconds=31))),
        no(FailureCode.TRANSACTION_TOO_OLD),
    ),
    "not bound": (BY_REFERENCE, mined(moved()), no(FailureCode.TRANSACTION_NOT_BOUND, 10)),
    "a proof of an account, given for another request": (
        Evidence(OURS, proofs=(replace(PROOF, is_ours=False),)),
        mined(moved(made_by=PAYER)),
        no(FailureCode.TRANSACTION_NOT_BOUND, 10),
    ),
    "mined after the proof's time": (
        BY_PROOF,
        mined(moved(made_by=PAYER), block=LATE),
        no(FailureCode.TRANSACTION_NOT_BOUND, 10),
    ),
    "two requests' references on one transfer": (
        Evidence(OURS, foreign=frozenset({THEIRS})),
        mined(moved(references=(OURS, THEIRS))),
        no(FailureCode.TRANSACTION_AMBIGUOUS, 10),
    ),
    "evidence that is not complete": (
        BY_REFERENCE,
        mined(moved(), is_complete=False),
        no(FailureCode.NOT_VERIFIABLE, 10),
    ),
    "evidence that is too large to read": (
        BY_REFERENCE,
        mined(is_readable=False),
        no(FailureCode.NOT_VERIFIABLE),
    ),
    "the price of a token that the recipient gave away": (
        BY_REFERENCE,
        mined(REFERENCED, moved(1, "1", token=OTHER_TOKEN, sender=MERCHANT, recipient=STRANGER)),
        no(FailureCode.NOT_VERIFIABLE, 10),
    ),
    "a delivery that was credited before": (
        delivery(10, ("0", MERCHANT, 10)),
        mined(moved(sender=ROUTER)),
        no(FailureCode.TRANSACTION_ALREADY_USED),
    ),
    "a delivery beside which only another request's money came": (
        delivery(7, foreign=frozenset({THEIRS})),
        mined(moved(references=(THEIRS,))),
        no(FailureCode.TRANSACTION_NOT_BOUND, 10),
    ),
    "several amounts, none of them reported": (
        delivery(99),
        mined(moved(10, sender=ROUTER), moved(4, "1", sender=ROUTER)),
        no(FailureCode.TRANSACTION_AMBIGUOUS, 14),
    ),
}


@pytest.mark.parametrize(("evidence", "facts", "expected"), PAYING.values(), ids=PAYING.keys())
def test_it_pays(evidence: Evidence, facts: TransactionFacts, expected: tuple[Any, ...]) -> None:
    assert outcome(evaluate(terms(evidence), 1, facts, Head(latest=300), THREE)) == expected


@pytest.mark.parametrize(("evidence", "facts", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_it_pays_nothing(evidence: Evidence, facts: TransactionFacts, expected: tuple[Any, ...]) -> None:
    assert outcome(evaluate(terms(evidence), 1, facts, Head(latest=300), THREE)) == expected


OWN_MOVES = {
    "sends another token": moved(1, "1", token=OTHER_TOKEN, sender=MERCHANT, recipient=STRANGER),
    "sends a coin first": moved(1, "00", sender=MERCHANT, recipient=STRANGER),
    "has a coin brought back": moved(1, "1", sender=MERCHANT, recipient=STRANGER),
}


@pytest.mark.parametrize("move", OWN_MOVES)
def test_refund_succeeds_although_its_recipient_sends_tokens(move: str) -> None:
    back = moved(1, "2", sender=STRANGER, recipient=PAYER)
    facts = (
        mined(OWN_MOVES[move], REFERENCED, back)
        if "first" in move
        else mined(REFERENCED, OWN_MOVES[move], back)
    )
    refused = no(FailureCode.NOT_VERIFIABLE, 10)
    assert outcome(evaluate(terms(BY_REFERENCE), 1, facts, DEEP, THREE)) == refused
    refund = terms(BY_REFERENCE, is_refund=True)
    assert outcome(evaluate(refund, 1, facts, DEEP, THREE)) == ("paid", 10, "reference")
    returned = mined(REFERENCED, moved(4, "1", sender=MERCHANT, recipient=PAYER))
    assert outcome(evaluate(refund, 1, returned, DEEP, THREE)) == ("paid", 6, "reference")


@pytest.mark.parametrize("facts", [mined(REFERENCED), None])
def test_transaction_on_another_chain_is_rejected(facts: TransactionFacts | None) -> None:
    assert outcome(evaluate(terms(BY_REFERENCE), 2, facts, DEEP, THREE)) == no(FailureCode.WRONG_CHAIN)


def test_an_unknown_transaction_is_not_found() -> None:
    assert evaluate(terms(BY_REFERENCE), 1, None, DEEP, THREE) == NotFound()


def test_native_coin_in_a_hidden_call_is_unverifiable() -> None:
    asked = terms(BY_REFERENCE, token="")
    assert outcome(evaluate(asked, 1, mined(is_complete=False), DEEP, THREE)) == no(
        FailureCode.NOT_VERIFIABLE
    )
    assert outcome(evaluate(asked, 1, mined(), DEEP, THREE)) == no(FailureCode.WRONG_AMOUNT)


def test_first_seen_block_counts_after_a_reorganisation() -> None:
    facts = mined(moved(made_by=PAYER), block=LATE)
    seen = terms(BY_PROOF, first_block=(BLOCK.number, BLOCK.time))
    assert outcome(evaluate(seen, 1, facts, Head(latest=300), THREE)) == ("paid", 10, "payer")
    moved_forward = terms(BY_REFERENCE, first_block=(LATE.number, LATE.time))
    assert outcome(evaluate(moved_forward, 1, mined(REFERENCED), DEEP, THREE)) == ("paid", 10, "reference")


@pytest.mark.parametrize(
    ("finality", "head", "commitment", "is_deep"),
    [
        ("3", Head(latest=101), None, False),
        ("3", Head(latest=102), None, True),
        ("1", Head(latest=100), None, True),
        ("1", Head(latest=99), None, False),
        ("safe", Head(latest=110, safe=99), None, False),
        ("safe", Head(latest=110, safe=100), None, True),
        ("safe", Head(latest=110), None, False),
        ("finalized", Head(latest=110, safe=110, finalized=99), None, False),
        ("finalized", Head(latest=110, finalized=100), None, True),
        ("finalized", Head(latest=110), "confirmed", False),
        ("finalized", Head(latest=110), "finalized", True),
        ("confirmed", Head(latest=110), "confirmed", True),
        ("confirmed", Head(latest=110), "finalized", True),
    ],
)
def test_yes_and_no_are_final_at_the_required_depth_only(
    finality: str, head: Head, commitment: str | None, *, is_deep: bool
) -> None:
    rule = Finality.parse(finality)
    yes = evaluate(terms(BY_REFERENCE), 1, mined(REFERENCED, commitment=commitment), head, rule)
    refused = evaluate(terms(BY_REFERENCE), 1, mined(moved(), commitment=commitment), head, rule)
    if is_deep:
        assert isinstance(yes, Paid)
        assert isinstance(refused, Refused)
        return
    assert isinstance(yes, NotYet)
    assert yes.bound is not None
    assert (yes.bound.amount, yes.likely) == (10, None)
    assert isinstance(refused, NotYet)
    assert refused.likely is not None
    assert (refused.likely.code, refused.bound) == (FailureCode.TRANSACTION_NOT_BOUND, None)


@pytest.mark.parametrize(
    ("head", "is_deep"),
    [
        (Head(latest=108), False),
        (Head(latest=108, finalized=99), False),
        (Head(latest=108, finalized=100), True),
        (Head(latest=109), True),
        (Head(latest=109, finalized=50), True),
    ],
)
def test_tag_or_fallback_decides_whichever_comes_first(head: Head, *, is_deep: bool) -> None:
    rule = Finality.parse("finalized", 10)
    verdict = evaluate(terms(BY_REFERENCE), 1, mined(REFERENCED), head, rule)
    assert isinstance(verdict, Paid if is_deep else NotYet)


def test_number_of_confirmations_ignores_a_fallback() -> None:
    assert Finality.parse("12", 3, CREATED) == Finality(confirmations=12)


@pytest.mark.parametrize(
    ("fallback", "still_since", "detail"),
    [
        (None, None, "In a block; waiting for the network to mark it as finalized."),
        (
            10,
            None,
            "In a block; waiting for the network to mark it as finalized or for 10 confirmations (2 so far).",
        ),
        (
            None,
            datetime(2026, 3, 1, 14, 5, tzinfo=UTC),
            "In a block; waiting for the network to mark it as finalized. "
            "No new block has been marked since 2026-03-01 14:05 UTC.",
        ),
    ],
)
def test_detail_says_since_when_a_tag_has_stopped(
    fallback: int | None, still_since: datetime | None, detail: str
) -> None:
    rule = Finality.parse("finalized", fallback, still_since)
    verdict = evaluate(terms(BY_REFERENCE), 1, mined(REFERENCED), Head(latest=101), rule)
    assert isinstance(verdict, NotYet)
    assert verdict.detail == detail


@pytest.mark.parametrize(
    ("evidence", "intended", "promised"),
    [
        (BY_REFERENCE, REFERENCED, (10, "reference")),
        (BY_PROOF, moved(made_by=PAYER), (10, "payer")),
        (BY_REFERENCE, moved(), None),
        (BY_REFERENCE, moved(recipient=STRANGER, references=(OURS,)), None),
        (BY_SWAP, moved(recipient=ROUTER), (0, "provider")),
        (replace(BY_SWAP, names_others=True), moved(recipient=ROUTER), None),
        (delivery(10), REFERENCED, None),
    ],
)
def test_an_unmined_transaction_promises_what_its_bytes_bind(
    evidence: Evidence, intended: Transfer, promised: tuple[int, str] | None
) -> None:
    facts = mined(block=None, intended=(intended,))
    verdict = evaluate(terms(evidence), 1, facts, DEEP, THREE)
    assert isinstance(verdict, NotYet)
    assert verdict.block is None
    assert (verdict.bound and (verdict.bound.amount, verdict.bound.by.value)) == promised


@pytest.mark.parametrize(
    ("evidence", "facts", "head", "expected"),
    [
        (BY_SWAP, mined(), DEEP, ("SwapStarted",)),
        (BY_SWAP, mined(), Head(latest=100), ("SwapStarted",)),
        (BY_SWAP, None, DEEP, ("NotFound",)),
        (BY_SWAP, mined(block=None), DEEP, ("NotYet",)),
        (BY_SWAP, mined(succeeded=False), DEEP, no(FailureCode.TRANSACTION_REVERTED)),
        (BY_SWAP, mined(succeeded=False), Head(latest=100), ("NotYet",)),
        (BY_REFERENCE, mined(), DEEP, no(FailureCode.TRANSACTION_NOT_BOUND)),
        (replace(BY_SWAP, names_others=True), mined(), DEEP, no(FailureCode.TRANSACTION_AMBIGUOUS)),
        (replace(BY_SWAP, names_several=True), mined(), DEEP, no(FailureCode.TRANSACTION_AMBIGUOUS)),
    ],
)
def test_a_swap_begins_with_a_transaction_that_names_it_alone(
    evidence: Evidence, facts: TransactionFacts | None, head: Head, expected: tuple[Any, ...]
) -> None:
    assert outcome(evaluate_swap_start(terms(evidence), facts, head, THREE)) == expected


@pytest.mark.parametrize(
    ("evidence", "facts", "expected"),
    [
        # Nothing arrived, or not from the swap's contract. The provider may still deliver.
        (BY_SWAP, mined(), ("SwapStarted",)),
        (BY_SWAP, mined(moved()), ("SwapStarted",)),
        # The transfer is the payment itself, or there is no sign that a swap started.
        (BY_SWAP, mined(moved(sender=ROUTER, within=(0,))), ("paid", 10, "provider")),
        (BY_REFERENCE, mined(), no(FailureCode.WRONG_AMOUNT)),
        (BY_SWAP, mined(succeeded=False), no(FailureCode.TRANSACTION_REVERTED)),
    ],
)
def test_a_transaction_on_the_requested_chain_may_begin_a_swap(
    evidence: Evidence, facts: TransactionFacts, expected: tuple[Any, ...]
) -> None:
    asked = terms(evidence)
    verdict = evaluate_possible_swap_start(asked, evaluate(asked, 1, facts, DEEP, THREE), facts, DEEP, THREE)
    assert outcome(verdict) == expected
    assert isinstance(verdict, SwapStarted) == (expected == ("SwapStarted",))
