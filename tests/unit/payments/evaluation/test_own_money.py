"""Money that the recipient sends back reduces its payer's own payment, never another payer's in the same transaction.

The model found these cases. Each is kept here as a test of a pure function.
"""

from datetime import UTC, datetime, timedelta

import pytest

from chains.client import Block, Head, TransactionFacts, Transfer
from payments.evaluation.binding import UNBOUND, Delivery, Evidence, Taken
from payments.evaluation.own_money import ACCEPTABLE, EXCHANGED, LENT, RETURNED
from payments.evaluation.verdicts import Finality, Paid, Refused, Terms, Verdict, evaluate
from payments.models import Payment

NOW = datetime(2026, 11, 22, tzinfo=UTC)
OURS = b"r" * 16
ACCOUNT = "merchant's account"
BACK = Transfer("2", "token", "merchant", "thief", 5)
OWN = Transfer("1", "token", "thief", "merchant", 5, (OURS,), "thief")
DELIVERED = Delivery(10, Taken())


def evaluated(moves: tuple[Transfer, ...], evidence: Evidence) -> Verdict:
    facts = TransactionFacts("hash", "thief", 0, Block(10, "block", NOW), True, moves)
    terms = Terms(1, "token", "T", 0, "merchant", NOW - timedelta(hours=1), evidence, {}, NOW)
    return evaluate(terms, 1, facts, Head(20), Finality(2))


def credited(moves: tuple[Transfer, ...], evidence: Evidence) -> list[tuple[str, int]]:
    verdict = evaluated(moves, evidence)
    return [(each.slot, each.amount) for each in verdict.bound.transfers] if isinstance(verdict, Paid) else []


@pytest.mark.parametrize("sender", ["thief", "bridge"])
def test_return_reduces_thiefs_claim_not_the_filled_order(
    sender: str,
) -> None:
    """In the thief's transaction, the order is filled from the thief's account (a pull) or by the bridge."""
    filled = Transfer("0", "token", sender, "merchant", 10)
    for own in (OWN, Transfer("1", "token", "contract", "merchant", 5, (OURS,), "contract")):
        moves = (filled, own, BACK)
        assert credited(moves, Evidence(OURS)) == []
        assert credited(moves, Evidence(b"v" * 16, delivery=DELIVERED)) == [("0", 10)]


def test_solana_delivery_gain_does_not_hide_thiefs_return() -> None:
    delivered = Transfer("0.1", "token", "pool", "merchant", 10, claimable=0, account=ACCOUNT, gain=10)
    own = Transfer(
        "1", "token", "thief", "merchant", 5, (OURS,), "thief", claimable=5, account=ACCOUNT, gain=10
    )
    back = Transfer("2.1", "token", "merchant", "thief", 5, claimable=0, account="thief's account", gain=0)
    moves = (delivered, own, back)
    assert credited(moves, Evidence(OURS)) == []
    assert credited(moves, Evidence(b"v" * 16, delivery=DELIVERED)) == [("0.1", 10)]


def test_payment_after_repaid_loan_needs_merchant_review() -> None:
    """The borrower's account pays the same amount back.

    But it may be a delivery for another customer from that account.
    """
    lent = Transfer("0", "token", "merchant", "pool", 5)
    repaid = Transfer("1", "token", "pool", "merchant", 5)
    paid = Transfer("2", "token", "wallet", "merchant", 5, (OURS,), "wallet")
    verdict = evaluated((lent, repaid, paid), Evidence(OURS))
    assert isinstance(verdict, Refused)
    assert (verdict.code, verdict.arrived) == ("not_verifiable", 5)
    assert credited((paid, lent, repaid), Evidence(OURS)) == [("2", 5)]


TO_POOL = Transfer("0", "token", "merchant", "pool", 5)
FROM_BORROWER = Transfer("1", "token", "borrower", "merchant", 5)


@pytest.mark.parametrize(
    ("moves", "doubt"),
    [
        ((TO_POOL, FROM_BORROWER), LENT),
        (
            (
                Transfer("0", "token", "source", "wallet", 5),
                Transfer("1", "token", "wallet", "merchant", 5),
                Transfer("2", "token", "merchant", "source", 5),
            ),
            RETURNED,
        ),
        (
            (Transfer("0", "", "merchant", "wallet", 7), Transfer("1", "token", "wallet", "merchant", 5)),
            EXCHANGED,
        ),
    ],
)
def test_unbound_money_of_the_recipient_has_both_reasons(moves: tuple[Transfer, ...], doubt: str) -> None:
    """A merchant reads why it may be its own money before it accepts the payment."""
    verdict = evaluated(moves, Evidence(OURS))
    assert isinstance(verdict, Refused)
    assert verdict.message == f"{UNBOUND.message} {doubt.removesuffix(ACCEPTABLE)}"
    assert (verdict.code, verdict.arrived) == ("transaction_not_bound", 5)
    assert len(verdict.message) <= Payment._meta.get_field("failure_message").max_length
    assert credited(moves, Evidence(OURS, is_accepted=True))


def test_unbound_money_of_the_payer_has_one_reason() -> None:
    verdict = evaluated((Transfer("0", "token", "wallet", "merchant", 5),), Evidence(OURS))
    assert isinstance(verdict, Refused)
    assert verdict.message == UNBOUND.message
