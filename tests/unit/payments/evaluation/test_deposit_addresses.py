"""A transfer to a deposit address belongs to its request, once. A transfer from a deposit address pays no request.

The rows are those of the table in docs/states.md.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chains.client import Block, Head, TransactionFacts, Transfer
from payments.evaluation.binding import Bound, Delivery, Evidence, Taken
from payments.evaluation.messages import SWEPT
from payments.evaluation.own_money import LENT
from payments.evaluation.proof_windows import Proof
from payments.evaluation.proving import NotProvable, provable
from payments.evaluation.sender_proofs import SenderProof
from payments.evaluation.verdicts import Finality, NotYet, Paid, Refused, Terms, decide, evaluate
from payments.models import FailureCode

OURS, THEIRS = bytes(range(16)), bytes(range(16, 32))
TOKEN, OTHER_TOKEN, MERCHANT = "0xToken", "0xOther", "0xMerchant"
PAYER, STRANGER, ROUTER, RELAY = "0xPayer", "0xStranger", "0xRouter", "0xRelay"
ADDRESS, OTHER_ADDRESS = "0xDeposit", "0xDepositOfAnotherRequest"
NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
BLOCK = Block(100, "0xblock", NOON)
DEEP = Head(latest=110)


def paid(amount: int = 10, slot: str = "0", to: str = ADDRESS, **different: Any) -> Transfer:
    return replace(Transfer(slot, TOKEN, PAYER, to, amount), **different)


def evidence(**different: Any) -> Evidence:
    return replace(Evidence(OURS, deposit_address=ADDRESS), **different)


def terms(known: Evidence, **different: Any) -> Terms:
    made = Terms(1, TOKEN, "USDC", 6, MERCHANT, NOON - timedelta(hours=1), known, {}, NOON)
    return replace(made, **different)


def mined(*transfers: Transfer, **different: Any) -> TransactionFacts:
    known: dict[str, Any] = {"sender": PAYER, "nonce": 1, "block": BLOCK, "succeeded": True, **different}
    return TransactionFacts("0xhash", transfers=transfers, **known)


def verdict(known: Evidence, *transfers: Transfer, **facts: Any) -> Any:
    return evaluate(terms(known), 1, mined(*transfers, **facts), DEEP, Finality(confirmations=3))


def credited(known: Evidence, *transfers: Transfer, **facts: Any) -> tuple[int, str] | tuple[str, str]:
    """Return the credited amount and its binding, or the failure code and its message."""
    result = verdict(known, *transfers, **facts)
    if isinstance(result, Paid):
        return result.bound.amount, result.bound.by.value
    assert isinstance(result, Refused)
    return result.code.value, result.message


def proof(address: str = PAYER, *, is_ours: bool = False) -> Proof:
    start, given = NOON - timedelta(minutes=10), NOON - timedelta(minutes=9)
    return Proof(address, start, NOON + timedelta(hours=1), given, None, is_ours=is_ours)


# --- transfers to the address
# ---------------------------------------------------------------------------------------


def test_transfer_to_deposit_address_needs_no_reference() -> None:
    assert credited(evidence(), paid()) == (10, "address")
    assert credited(evidence(reference=None), paid()) == (10, "address")


def test_transfer_to_address_counts_for_no_request_without_it() -> None:
    code, _ = credited(Evidence(OURS), paid())
    assert code == FailureCode.WRONG_RECIPIENT


@pytest.mark.parametrize("references", [(OURS,), (THEIRS,), (OURS, THEIRS)])
def test_reference_in_transfer_to_the_address_changes_nothing(references: tuple[bytes, ...]) -> None:
    known = evidence(foreign=frozenset({THEIRS}))
    assert credited(known, paid(references=references, claimable=1)) == (10, "address")


def test_reference_does_not_claim_another_requests_address() -> None:
    code, _ = credited(evidence(), paid(to=OTHER_ADDRESS, references=(OURS,)))
    assert code == FailureCode.WRONG_RECIPIENT


def test_other_requests_proof_claims_no_arrival_at_address() -> None:
    assert credited(evidence(proofs=(proof(),)), paid(made_by=PAYER)) == (10, "address")
    later = SenderProof(PAYER, NOON, 10, is_ours=False)
    assert credited(evidence(sender_proofs=(later,)), paid(made_by=PAYER)) == (10, "address")


def test_proof_does_not_claim_another_requests_address() -> None:
    known = evidence(proofs=(proof(is_ours=True),))
    code, _ = credited(known, paid(to=OTHER_ADDRESS, made_by=PAYER))
    assert code == FailureCode.WRONG_RECIPIENT


def test_arrival_at_the_address_uses_up_no_sender_proof() -> None:
    """A proof covers an amount. The transfer to the recipient still needs all of it."""
    known = evidence(sender_proofs=(SenderProof(PAYER, NOON, 10),))
    both = (paid(7, "0", made_by=PAYER), paid(10, "1", to=MERCHANT, made_by=PAYER))
    assert credited(known, *both) == (17, "address")


def test_sender_needs_no_proof_of_an_arrival_at_the_address() -> None:
    result = provable(terms(evidence()), mined(paid(made_by=PAYER)), PAYER, 10, NOON)
    assert isinstance(result, NotProvable)
    assert not result.is_used


def test_acceptance_adds_nothing_to_an_arrival_at_the_address() -> None:
    known = evidence(is_accepted=True, accepted_at=NOON)
    assert credited(known, paid()) == (10, "address")


def test_arrivals_at_address_and_by_reference_are_one_payment() -> None:
    both = (paid(4, "0", to=MERCHANT, references=(OURS,)), paid(6, "1"))
    assert credited(evidence(), *both) == (10, "address")


def test_unbound_transfer_beside_the_address_is_not_credited() -> None:
    assert credited(evidence(), paid(4, "0", to=MERCHANT), paid(6, "1")) == (6, "address")


@pytest.mark.parametrize(("ours", "amount"), [(ADDRESS, 3), (OTHER_ADDRESS, 8)])
def test_one_payout_to_two_addresses_pays_each_its_own(ours: str, amount: int) -> None:
    payout = (paid(3, "0", sender=RELAY), paid(8, "1", to=OTHER_ADDRESS, sender=RELAY))
    assert credited(evidence(deposit_address=ours), *payout) == (amount, "address")


def test_transfer_of_nothing_to_the_address_is_no_payment() -> None:
    assert credited(evidence(), paid(0))[0] == FailureCode.WRONG_AMOUNT


def test_another_token_at_the_address_is_not_credited() -> None:
    assert credited(evidence(), paid(token=OTHER_TOKEN))[0] == FailureCode.WRONG_TOKEN


def test_pooled_transfer_by_a_contract_counts() -> None:
    """An exchange's hot wallet pays through a contract, so no signature covers this transfer alone."""
    assert credited(evidence(), paid(sender=RELAY), sender=STRANGER, is_complete=False) == (10, "address")


def test_arrival_before_the_required_depth_waits_and_is_bound() -> None:
    result = evaluate(terms(evidence()), 1, mined(paid()), Head(101), Finality(confirmations=3))
    assert isinstance(result, NotYet)
    assert result.bound == Bound((paid(),), result.bound.by)  # type: ignore[union-attr]
    assert (result.bound.by.value, result.likely) == ("address", None)  # type: ignore[union-attr]


def test_unmined_transfer_to_the_address_is_bound() -> None:
    facts = replace(mined(), block=None, succeeded=False, intended=(paid(),))
    result = evaluate(terms(evidence()), 1, facts, DEEP, Finality(confirmations=3))
    assert isinstance(result, NotYet)
    assert result.bound is not None
    assert result.bound.by.value == "address"


# --- returned money
# -----------------------------------------------------------------------------------------------


def test_what_the_recipient_returns_to_the_payer_is_deducted() -> None:
    back = Transfer("1", TOKEN, MERCHANT, PAYER, 4)
    assert credited(evidence(), paid(), back) == (6, "address")


def test_what_the_address_returns_to_the_payer_is_deducted() -> None:
    """Only a token that moves other accounts' balances can cause this."""
    assert credited(evidence(), paid(), Transfer("1", TOKEN, ADDRESS, PAYER, 4)) == (6, "address")


def test_money_that_the_recipient_lent_before_is_not_verifiable() -> None:
    loan = Transfer("0", TOKEN, MERCHANT, ROUTER, 10)
    onward = Transfer("1", TOKEN, ROUTER, STRANGER, 10)
    returned = paid(10, "2", sender=STRANGER)
    assert credited(evidence(), loan, onward, returned) == (FailureCode.NOT_VERIFIABLE, LENT)


def test_exchange_with_the_recipient_is_not_verifiable() -> None:
    goods = Transfer("1", "", MERCHANT, PAYER, 5)
    assert credited(evidence(), paid(), goods)[0] == FailureCode.NOT_VERIFIABLE


def test_recipients_own_transfer_to_the_address_counts_nothing() -> None:
    assert credited(evidence(), paid(sender=MERCHANT), sender=MERCHANT)[0] == FailureCode.WRONG_AMOUNT


# --- transfers from an address
# --------------------------------------------------------------------------------------


def swept(amount: int = 10, slot: str = "0", source: str = OTHER_ADDRESS) -> Transfer:
    return paid(amount, slot, to=MERCHANT, sender=source, made_by=source)


@pytest.mark.parametrize("source", [ADDRESS, OTHER_ADDRESS])
@pytest.mark.parametrize(
    "different",
    [
        {},
        {"is_accepted": True, "accepted_at": NOON},
        {"proofs": (proof(ADDRESS, is_ours=True), proof(OTHER_ADDRESS, is_ours=True))},
        {"sender_proofs": (SenderProof(ADDRESS, NOON, 10), SenderProof(OTHER_ADDRESS, NOON, 10))},
        {"deposit_address": ""},
    ],
)
def test_sweep_pays_no_request(source: str, different: dict[str, Any]) -> None:
    known = evidence(forwarders=frozenset({ADDRESS, OTHER_ADDRESS}), **different)
    assert credited(known, swept(source=source)) == (FailureCode.TRANSACTION_ALREADY_USED, SWEPT)


@pytest.mark.parametrize("reported", [10, None])
def test_sweep_is_no_delivery_of_a_swap(reported: int | None) -> None:
    known = evidence(forwarders=frozenset({OTHER_ADDRESS}), delivery=Delivery(reported, Taken()))
    assert credited(known, swept()) == (FailureCode.TRANSACTION_ALREADY_USED, SWEPT)


def test_arrival_and_sweep_in_one_transaction_count_once() -> None:
    known = evidence(forwarders=frozenset({ADDRESS}))
    assert credited(known, paid(10, "0"), swept(10, "1", ADDRESS)) == (10, "address")


def test_payment_with_reference_counts_beside_a_sweep() -> None:
    known = evidence(forwarders=frozenset({OTHER_ADDRESS}))
    reference = paid(4, "1", to=MERCHANT, references=(OURS,))
    assert credited(known, swept(), reference) == (4, "reference")


def test_acceptance_beside_a_sweep_takes_only_the_rest() -> None:
    known = evidence(forwarders=frozenset({OTHER_ADDRESS}), is_accepted=True, accepted_at=NOON)
    assert credited(known, swept(), paid(4, "1", to=MERCHANT)) == (4, "manual")


# --- swaps --------------------------------------------------------------------------------------------------------


def test_swap_delivery_takes_nothing_from_the_address_payment() -> None:
    known = evidence(delivery=Delivery(4, Taken()))
    delivered = paid(4, "0", to=MERCHANT, sender=ROUTER)
    assert credited(known, delivered, paid(6, "1")) == (4, "provider")


def test_own_swap_and_transfer_to_the_address_both_count() -> None:
    known = evidence(our_calls=frozenset({0}), delivery=Delivery(4, Taken(), is_own=True))
    delivered = paid(4, "0", to=MERCHANT, sender=ROUTER, within=(0,))
    assert credited(known, delivered, paid(6, "1")) == (10, "address")


def test_contested_reference_does_not_hold_up_the_address() -> None:
    known = evidence(elsewhere=(4,))
    both = (paid(4, "0", to=MERCHANT, references=(OURS,)), paid(6, "1"))
    assert credited(known, *both) == (6, "address")


# --- no address ---------------------------------------------------------------------------------------------------


def test_minted_tokens_count_for_requests_without_an_address() -> None:
    """An empty sender doesn't count as the request's own address, even if it has no deposit address."""
    minted = paid(10, to=MERCHANT, sender="", references=(OURS,))
    decided = decide(terms(Evidence(OURS)), mined(minted), BLOCK)
    assert isinstance(decided, Bound)
    assert decided.amount == 10
