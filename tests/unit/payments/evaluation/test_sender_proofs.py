"""The transfers that a proof claims if it is given afterwards, rule by rule, without a chain or a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chains.client import Block, TransactionFacts, Transfer
from payments.evaluation.binding import Bound, Evidence, Taken
from payments.evaluation.proof_windows import Proof
from payments.evaluation.proving import NotProvable, Provable, provable
from payments.evaluation.sender_proofs import SenderProof, binds_in_time
from payments.evaluation.verdicts import Terms, decide
from payments.models import FailureCode

OURS, THEIRS = bytes(range(16)), bytes(range(16, 32))
TOKEN, MERCHANT, PAYER, STRANGER = "0xToken", "0xMerchant", "0xPayer", "0xStranger"
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
BLOCK = Block(100, "0xblock", NOON)
GIVEN = NOON + timedelta(minutes=5)


def moved(amount: int = 10, slot: str = "0", **different: Any) -> Transfer:
    return Transfer(slot, TOKEN, PAYER, MERCHANT, amount, **{"made_by": PAYER, **different})


def signed(needed: int = 10, minutes: int = 5, address: str = PAYER, **different: Any) -> SenderProof:
    return SenderProof(address, NOON + timedelta(minutes=minutes), needed, **different)


def window(minutes: int, *, is_ours: bool = False) -> Proof:
    given = NOON + timedelta(minutes=minutes)
    return Proof(PAYER, NOON - timedelta(minutes=30), NOON + timedelta(minutes=30), given, is_ours=is_ours)


def terms(evidence: Evidence, **different: Any) -> Terms:
    hour_ago = NOON - timedelta(hours=1)
    return replace(Terms(1, TOKEN, "USDC", 6, MERCHANT, hour_ago, evidence, {}, NOON), **different)


def mined(*transfers: Transfer, **different: Any) -> TransactionFacts:
    known: dict[str, Any] = {"sender": PAYER, "block": BLOCK, "succeeded": True, **different}
    return TransactionFacts("0xhash", nonce=1, transfers=transfers, **known)


def credited(evidence: Evidence, *transfers: Transfer) -> tuple[list[str], str] | FailureCode:
    decided = decide(terms(evidence), mined(*transfers), BLOCK)
    if isinstance(decided, Bound):
        return [transfer.slot for transfer in decided.transfers], decided.by.value
    return decided.code


def evaluated(evidence: Evidence, *transfers: Transfer, address: str = PAYER, needed: int = 10) -> Any:
    return provable(terms(evidence), mined(*transfers), address, needed, GIVEN)


UNBOUND = FailureCode.TRANSACTION_NOT_BOUND
UNCLAIMABLE: dict[str, tuple[Transfer, dict[str, Any], bool]] = {
    "another request's reference": (
        moved(references=(THEIRS,), is_marked=True),
        {"foreign": frozenset({THEIRS})},
        True,
    ),
    "another system's mark": (moved(references=(THEIRS,), is_marked=True), {}, False),
    "made by a contract": (moved(made_by=""), {}, False),
    "made by a stranger": (moved(made_by=STRANGER), {}, False),
    "credited before": (moved(), {"consumed": Taken((("0", "", 10),))}, True),
    "accepted for another request": (moved(), {"accepted_elsewhere_at": GIVEN - timedelta(minutes=2)}, True),
    "sent by a solver": (moved(), {"solvers": frozenset({PAYER})}, False),
    "proved for another request": (moved(), {"sender_proofs": (signed(minutes=4, is_ours=False),)}, True),
    "proved late for another request": (
        moved(),
        {"sender_proofs": (signed(minutes=4, is_ours=False, binds=False),)},
        True,
    ),
    "covered by another request's proof": (moved(), {"proofs": (window(-20),)}, True),
    "reported as a delivery": (moved(), {"elsewhere": (10,)}, True),
    "within another request's swap": (
        moved(within=(0,)),
        {"names_others": True, "others_calls": frozenset({0})},
        True,
    ),
    "named by a swap's log alone": (moved(), {"names_others": True}, True),
    "within a swap of the request": (
        moved(within=(0,)),
        {"names_ours": True, "our_calls": frozenset({0})},
        True,
    ),
}


@pytest.mark.parametrize("case", UNCLAIMABLE)
def test_transfer_that_is_not_the_senders_to_give_is_left(case: str) -> None:
    transfer, known, is_used = UNCLAIMABLE[case]
    evidence = Evidence(OURS, **known)
    result = evaluated(evidence, transfer)
    assert isinstance(result, NotProvable)
    assert result.is_used == is_used
    proofs = (*evidence.sender_proofs, signed())
    assert not isinstance(credited(replace(evidence, sender_proofs=proofs), transfer), tuple)


def test_senders_own_transfer_is_bound_by_its_proof() -> None:
    assert evaluated(Evidence(OURS), moved()) == Provable(10, BLOCK)
    assert credited(Evidence(OURS, sender_proofs=(signed(),)), moved()) == (["0"], "payer")


def test_proved_payment_counts_as_made_when_it_was_proved() -> None:
    decided = decide(terms(Evidence(OURS, sender_proofs=(signed(),))), mined(moved()), BLOCK)
    assert isinstance(decided, Bound)
    assert decided.proved_at == GIVEN


def test_proof_after_its_time_binds_nothing() -> None:
    late = Evidence(OURS, sender_proofs=(signed(binds=False),))
    assert credited(late, moved()) == UNBOUND
    assert credited(replace(late, is_accepted=True), moved()) == (["0"], "manual")
    assert binds_in_time(NOON, NOON + timedelta(minutes=60))
    assert not binds_in_time(NOON, NOON + timedelta(minutes=60, seconds=1))


def test_proof_claims_in_order_until_the_need_is_covered() -> None:
    transfers = [moved(6, "0"), moved(6, "1"), moved(6, "2")]
    assert credited(Evidence(OURS, sender_proofs=(signed(10),)), *transfers) == (["0", "1"], "payer")
    assert evaluated(Evidence(OURS), *transfers) == Provable(12, BLOCK)
    assert credited(Evidence(OURS, sender_proofs=(signed(0),)), *transfers) == UNBOUND


def test_next_proof_claims_what_an_earlier_one_left() -> None:
    transfers = [moved(6, "0"), moved(6, "1"), moved(6, "2")]
    first = signed(10, 4, is_ours=False)
    assert credited(Evidence(OURS, sender_proofs=(signed(10), first)), *transfers) == (["2"], "payer")
    assert evaluated(Evidence(OURS, sender_proofs=(first,)), *transfers) == Provable(6, BLOCK)


def test_credited_transfers_use_up_no_part_of_the_need() -> None:
    evidence = Evidence(OURS, sender_proofs=(signed(6),), consumed=Taken((("0", "", 6),)))
    assert credited(evidence, moved(6, "0"), moved(6, "1")) == (["1"], "payer")


def test_proof_keeps_what_it_was_credited_with() -> None:
    """Otherwise, once its own transfer is credited, the proof would claim the wallet's transfer for another request."""
    theirs = signed(6, 4, is_ours=False, credited=frozenset({"0"}))
    transfers, consumed = [moved(6, "0"), moved(6, "1")], Taken((("0", "", 6),))
    assert evaluated(Evidence(OURS, sender_proofs=(theirs,), consumed=consumed), *transfers) == Provable(
        6, BLOCK
    )
    both = Evidence(OURS, sender_proofs=(theirs, signed(6)), consumed=consumed)
    assert credited(both, *transfers) == (["1"], "payer")


def test_window_proof_that_came_later_takes_nothing_over() -> None:
    evidence = Evidence(OURS, sender_proofs=(signed(),), proofs=(window(10),))
    assert credited(evidence, moved()) == (["0"], "payer")
    theirs = Evidence(OURS, sender_proofs=(signed(is_ours=False),), proofs=(window(10, is_ours=True),))
    assert credited(theirs, moved()) == UNBOUND


def test_acceptance_leaves_what_another_request_proved() -> None:
    evidence = Evidence(OURS, sender_proofs=(signed(is_ours=False),), is_accepted=True)
    assert credited(evidence, moved()) == UNBOUND


@pytest.mark.parametrize("minutes", [4, 6])
def test_earlier_of_a_proof_and_an_acceptance_counts(minutes: int) -> None:
    """One of the two requests is credited, not both and not none."""
    proved, accepted_at = signed(minutes=5), NOON + timedelta(minutes=minutes)
    theirs = Evidence(OURS, sender_proofs=(proved,), accepted_elsewhere_at=accepted_at)
    ours = Evidence(
        THEIRS, sender_proofs=(replace(proved, is_ours=False),), is_accepted=True, accepted_at=accepted_at
    )
    results = credited(theirs, moved()), credited(ours, moved())
    assert results == ((UNBOUND, (["0"], "manual")) if minutes < 5 else ((["0"], "payer"), UNBOUND))


def test_own_proof_is_no_claim_of_another() -> None:
    assert evaluated(Evidence(OURS, sender_proofs=(signed(),)), moved()) == Provable(10, BLOCK)


def test_dust_beside_a_strangers_transfer_is_not_everything() -> None:
    """A relayer of a stranger's transfer can add one unit and sign for it.

    The merchant must not take all of it for the relayer's.
    """
    dust, theirs = moved(1), moved(100, "1", made_by=STRANGER)
    assert evaluated(Evidence(OURS), dust, theirs) == Provable(1, BLOCK, is_all=False)
    both = Evidence(OURS, sender_proofs=(signed(address=STRANGER),))
    assert evaluated(both, dust, theirs, address=PAYER).is_all
    other = Evidence(OURS, sender_proofs=(signed(100, address=STRANGER, is_ours=False),))
    assert evaluated(other, dust, theirs) == Provable(1, BLOCK), "it is another request's"


def test_longer_suffix_of_a_wallet_is_no_mark() -> None:
    assert evaluated(Evidence(OURS), moved(references=(THEIRS,))) == Provable(10, BLOCK)


def test_money_that_the_recipient_gave_back_is_not_proved() -> None:
    back = Transfer("1", TOKEN, MERCHANT, PAYER, 10)
    assert isinstance(evaluated(Evidence(OURS), moved(), back), NotProvable)
    forwarded = Transfer("1", TOKEN, MERCHANT, STRANGER, 10)
    returned = Transfer("2", TOKEN, STRANGER, PAYER, 10)
    assert isinstance(evaluated(Evidence(OURS), moved(), forwarded, returned), NotProvable)


@pytest.mark.parametrize(
    "different",
    [{"block": None}, {"succeeded": False}, {"block": Block(1, "0x1", NOON - timedelta(hours=2))}],
    ids=["unmined", "reverted", "older than the request"],
)
def test_transaction_that_pays_nothing_is_not_proved(different: dict[str, Any]) -> None:
    facts = mined(moved(), **different)
    assert isinstance(provable(terms(Evidence(OURS)), facts, PAYER, 10, GIVEN), NotProvable)


def test_transfer_of_a_refund_is_never_proved() -> None:
    refund = terms(Evidence(OURS), is_refund=True)
    assert isinstance(provable(refund, mined(moved()), PAYER, 10, GIVEN), NotProvable)
