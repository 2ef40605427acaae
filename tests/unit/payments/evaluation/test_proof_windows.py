"""The transfers that a payer's proof covers, and the proof to which a transfer belongs."""

from datetime import UTC, datetime, timedelta

import pytest

from chains.client import Block, Transfer
from payments.evaluation.proof_windows import CLOCK_ALLOWANCE, Proof, owner_of

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
PAYER = "0xPayer"
HOUR, SECOND, MINUTE = timedelta(hours=1), timedelta(seconds=1), timedelta(minutes=1)


def proof(given: timedelta = timedelta(), head: int | None = None, address: str = PAYER) -> Proof:
    return Proof(address, NOON, NOON + HOUR, NOON + given, head)


def paid(made_by: str = PAYER) -> Transfer:
    return Transfer("0", "0xToken", PAYER, "0xMerchant", 10, made_by=made_by)


@pytest.mark.parametrize(
    ("mined", "is_covered"),
    [
        (timedelta(), True),
        (HOUR, True),
        (HOUR + SECOND, False),
        (-CLOCK_ALLOWANCE, True),
        (-CLOCK_ALLOWANCE - SECOND, False),
    ],
)
def test_a_proof_covers_what_is_mined_in_its_time(mined: timedelta, *, is_covered: bool) -> None:
    assert proof().covers(paid(), NOON + mined) == is_covered


@pytest.mark.parametrize(("address", "made_by"), [(PAYER, "0xStranger"), (PAYER, ""), ("", "")])
def test_a_proof_covers_only_what_its_account_made(address: str, made_by: str) -> None:
    assert not proof(address=address).covers(paid(made_by), NOON)
    assert owner_of(paid(made_by), [proof(address=address)], Block(100, "0x", NOON)) is None


EARLY, LATER, AFTER = proof(), proof(5 * MINUTE), proof(15 * MINUTE)


@pytest.mark.parametrize(
    ("proofs", "owner"),
    [
        ([], None),
        ([EARLY], EARLY),
        ([EARLY, LATER], LATER),
        ([LATER, EARLY], LATER),
        ([EARLY, AFTER], EARLY),
        ([AFTER], AFTER),
        ([proof(20 * MINUTE), AFTER], AFTER),
        ([EARLY, proof(5 * MINUTE, address="0xStranger")], EARLY),
        # If proofs have a block height, it decides, not the clock.
        ([EARLY, proof(15 * MINUTE, head=99)], proof(15 * MINUTE, head=99)),
        ([EARLY, proof(5 * MINUTE, head=100)], EARLY),
    ],
)
def test_transfer_takes_newest_proof_before_it_or_first_after(
    proofs: list[Proof], owner: Proof | None
) -> None:
    assert owner_of(paid(), proofs, Block(100, "0x", NOON + 10 * MINUTE)) == owner
