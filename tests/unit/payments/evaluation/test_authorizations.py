"""An authorized transfer belongs to the request for which it was signed, from any sender."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chains.client import Block, Head, TransactionFacts, Transfer
from payments.evaluation.binding import Delivery, Evidence, Taken
from payments.evaluation.own_money import LENT
from payments.evaluation.proof_windows import Proof
from payments.evaluation.proving import NotProvable, provable
from payments.evaluation.sender_proofs import SenderProof
from payments.evaluation.verdicts import Finality, Paid, Refused, Terms, evaluate
from payments.models import FailureCode

OURS, THEIRS = bytes(range(16)), bytes(range(16, 32))
NONCE, OTHER_NONCE = b"\1" * 32, b"\2" * 32
TOKEN, OTHER_TOKEN, MERCHANT = "0xToken", "0xOther", "0xMerchant"
PAYER, STRANGER, RELAYER, ADDRESS = "0xPayer", "0xStranger", "0xRelayer", "0xDeposit"
NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
BLOCK = Block(100, "0xblock", NOON)
DEEP = Head(latest=110)


def paid(amount: int = 10, slot: str = "1", nonce: bytes | None = NONCE, **different: Any) -> Transfer:
    return replace(Transfer(slot, TOKEN, PAYER, MERCHANT, amount, authorization=nonce), **different)


def evidence(**different: Any) -> Evidence:
    return replace(Evidence(OURS, authorizations={(PAYER, NONCE): True}), **different)


def verdict(known: Evidence, *transfers: Transfer, **different: Any) -> Any:
    terms = Terms(1, TOKEN, "USDC", 6, MERCHANT, NOON - timedelta(hours=1), known, {}, NOON)
    facts: dict[str, Any] = {"sender": RELAYER, "nonce": 1, "block": BLOCK, "succeeded": True, **different}
    mined = TransactionFacts("0xhash", transfers=transfers, **facts)
    return evaluate(terms, 1, mined, DEEP, Finality(confirmations=3))


def credited(known: Evidence, *transfers: Transfer, **facts: Any) -> tuple[int, str] | str:
    """Return the credited amount and its binding, or the failure code."""
    result = verdict(known, *transfers, **facts)
    if isinstance(result, Paid):
        return result.bound.amount, result.bound.by.value
    assert isinstance(result, Refused)
    return result.code.value


def proof(*, is_ours: bool) -> Proof:
    start, given = NOON - timedelta(minutes=10), NOON - timedelta(minutes=9)
    return Proof(PAYER, start, NOON + timedelta(hours=1), given, None, is_ours=is_ours)


@pytest.mark.parametrize("sender", [RELAYER, STRANGER, PAYER])
def test_authorized_transfer_counts_whoever_sent_it(sender: str) -> None:
    assert credited(evidence(), paid(), sender=sender) == (10, "authorization")


def test_authorized_transfer_needs_no_reference() -> None:
    assert credited(evidence(reference=None), paid()) == (10, "authorization")


def test_authorization_needs_no_complete_trace() -> None:
    assert credited(evidence(), paid(), is_complete=False) == (10, "authorization")


@pytest.mark.parametrize(
    "different",
    [{"nonce": OTHER_NONCE}, {"nonce": None}, {"sender": STRANGER}],
    ids=["another nonce", "no authorization", "another payer"],
)
def test_transfer_by_another_authorization_is_not_bound(different: dict[str, Any]) -> None:
    assert credited(evidence(), paid(**different)) == FailureCode.TRANSACTION_NOT_BOUND


def test_authorization_counts_what_moved_in_its_own_transfer() -> None:
    loose = paid(500, "5", nonce=None)
    assert credited(evidence(), paid(3), loose) == (3, "authorization")


def test_money_that_passed_through_the_recipient_does_not_count() -> None:
    lent = Transfer("0", TOKEN, MERCHANT, STRANGER, 10)
    passed = Transfer("0.1", TOKEN, STRANGER, PAYER, 10)
    assert credited(evidence(), lent, passed, paid(), sender=STRANGER) == FailureCode.WRONG_RECIPIENT
    result = verdict(evidence(), lent, passed, paid())
    assert isinstance(result, Refused)
    assert (result.code, result.message) == (FailureCode.NOT_VERIFIABLE, LENT)


# --- other requests -------------------------------------------------------------------------------------------------


def test_authorization_for_another_request_is_never_ours() -> None:
    """No reference (which a relayer may append), proof, id or acceptance can claim it."""
    theirs = evidence(authorizations={(PAYER, NONCE): False})
    assert credited(theirs, paid()) == FailureCode.TRANSACTION_NOT_BOUND
    assert credited(theirs, paid(made_by=PAYER)) == FailureCode.TRANSACTION_NOT_BOUND
    proved = replace(theirs, proofs=(proof(is_ours=True),))
    assert credited(proved, paid(made_by=PAYER)) == FailureCode.TRANSACTION_NOT_BOUND
    accepted = replace(theirs, is_accepted=True, accepted_at=NOON)
    assert credited(accepted, paid()) == FailureCode.TRANSACTION_NOT_BOUND
    named = replace(theirs, names_ours=True, our_calls=frozenset({0}), routers=frozenset({PAYER}))
    assert credited(named, paid(within=(0,))) != (10, "provider")


def test_reference_takes_no_other_requests_authorized_transfer() -> None:
    theirs = evidence(authorizations={(PAYER, NONCE): False})
    assert credited(theirs, paid(references=(OURS,))) == FailureCode.TRANSACTION_NOT_BOUND


def test_reference_or_proof_of_another_request_claims_none() -> None:
    known = evidence(foreign=frozenset({THEIRS}), proofs=(proof(is_ours=False),))
    assert credited(known, paid(references=(THEIRS,), made_by=PAYER)) == (10, "authorization")


def test_two_authorizations_of_a_transaction_pay_their_requests() -> None:
    both = (paid(3), paid(4, "3", nonce=OTHER_NONCE))
    ours = {(PAYER, NONCE): True, (PAYER, OTHER_NONCE): False}
    theirs = {key: not is_ours for key, is_ours in ours.items()}
    assert credited(evidence(authorizations=ours), *both) == (3, "authorization")
    assert credited(evidence(authorizations=theirs), *both) == (4, "authorization")


def test_unknown_authorization_is_nobodys_until_it_is_accepted() -> None:
    unknown = evidence(authorizations={})
    assert credited(unknown, paid()) == FailureCode.TRANSACTION_NOT_BOUND
    accepted = replace(unknown, is_accepted=True, accepted_at=NOON)
    assert credited(accepted, paid()) == (10, "manual")


def test_sender_can_not_prove_an_authorized_transfer_afterwards() -> None:
    terms = Terms(
        1, TOKEN, "USDC", 6, MERCHANT, NOON - timedelta(hours=1), evidence(authorizations={}), {}, NOON
    )
    facts = TransactionFacts("0xhash", PAYER, 1, BLOCK, succeeded=True, transfers=(paid(),))
    assert isinstance(provable(terms, facts, PAYER, 10, NOON), NotProvable)


def test_swap_of_the_same_amount_is_not_the_authorized_transfer() -> None:
    assert credited(evidence(elsewhere=(10,)), paid()) == (10, "authorization")
    delivery = Delivery(reported=10, taken=Taken())
    for is_ours in (True, False):
        known = evidence(delivery=delivery, authorizations={(PAYER, NONCE): is_ours})
        result = verdict(known, paid())
        assert isinstance(result, Refused), is_ours


# --- other bindings in the same transaction
# -------------------------------------------------------------------------


def test_authorization_beside_a_reference_is_one_payment() -> None:
    both = (paid(3), paid(4, "3", nonce=None, references=(OURS,)))
    assert credited(evidence(), *both) == (7, "authorization")


def test_arrival_at_the_deposit_address_is_named_first() -> None:
    both = (paid(3), paid(4, "3", nonce=None, recipient=ADDRESS))
    assert credited(evidence(deposit_address=ADDRESS), *both) == (7, "address")


def test_later_proof_claims_no_authorized_transfer() -> None:
    known = evidence(sender_proofs=(SenderProof(PAYER, NOON, 10),))
    both = (paid(7), paid(10, "3", nonce=None, made_by=PAYER))
    assert credited(known, *both) == (17, "authorization")
