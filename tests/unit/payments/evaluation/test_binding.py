"""The rules that bind a transfer to a request, one by one, without a chain or a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chains.client import Block, Head, TransactionFacts, Transfer
from payments.evaluation.binding import Bound, Delivery, Evidence, Taken, Unbound
from payments.evaluation.proof_windows import Proof
from payments.evaluation.verdicts import Finality, Paid, Refused, Terms, evaluate
from payments.models import FailureCode
from tests.support.payments.counting import counted

OURS, THEIRS = bytes(range(16)), bytes(range(16, 32))
TOKEN, MERCHANT = "0xToken", "0xMerchant"
PAYER, STRANGER, ROUTER = "0xPayer", "0xStranger", "0xRouter"
ZERO = "0x0000000000000000000000000000000000000000"
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
BLOCK = Block(100, "0xblock", NOON)
DEEP = Head(latest=110)


def moved(amount: int = 10, slot: str = "0", **different: Any) -> Transfer:
    return Transfer(slot, TOKEN, PAYER, MERCHANT, amount, **different)


def proof(address: str = PAYER, minutes: int = 0, head: int | None = None, *, is_ours: bool = True) -> Proof:
    given = NOON + timedelta(minutes=minutes)
    return Proof(
        address, given - timedelta(minutes=1), given + timedelta(minutes=59), given, head, is_ours=is_ours
    )


def terms(evidence: Evidence) -> Terms:
    return Terms(1, TOKEN, "USDC", 6, MERCHANT, NOON - timedelta(hours=1), evidence, {}, NOON)


def mined(*transfers: Transfer, **different: Any) -> TransactionFacts:
    known = {"sender": PAYER, **different}
    return TransactionFacts("0xhash", nonce=1, block=BLOCK, succeeded=True, transfers=transfers, **known)


def verdict(evidence: Evidence, facts: TransactionFacts, head: Head = DEEP) -> Any:
    return evaluate(terms(evidence), 1, facts, head, Finality(confirmations=3))


def credited(evidence: Evidence, *transfers: Transfer) -> tuple[int, str] | FailureCode:
    bound = counted(transfers, evidence, BLOCK)
    return (bound.amount, bound.by.value) if isinstance(bound, Bound) else bound.code


# --- references ---------------------------------------------------------------------------------------------------


def test_a_reference_takes_no_more_than_its_own_call_names() -> None:
    interest = replace(moved(10**9, "1"), sender=ZERO)
    assert credited(Evidence(OURS), moved(1, references=(OURS,), claimable=1), interest) == (1, "reference")


@pytest.mark.parametrize("claimable", [0, -1])
def test_a_reference_on_a_transfer_of_nothing_takes_nothing(claimable: int) -> None:
    carrier = moved(11, references=(OURS,), claimable=claimable)
    assert credited(Evidence(OURS), carrier, moved(11, "1")) == FailureCode.TRANSACTION_NOT_BOUND


def test_what_carries_another_requests_reference_is_theirs() -> None:
    evidence = Evidence(OURS, proofs=(proof(),), foreign=frozenset({THEIRS}))
    theirs = moved(references=(THEIRS,), made_by=PAYER)
    assert credited(evidence, theirs) == FailureCode.TRANSACTION_NOT_BOUND
    assert credited(evidence, theirs, moved(4, "1", references=(OURS,))) == (4, "reference")


# --- proofs -------------------------------------------------------------------------------------------------------


def test_newest_proof_before_the_block_counts() -> None:
    paid = moved(made_by=PAYER)
    first, second, later = (
        proof(minutes=-30, head=80, is_ours=False),
        proof(minutes=-20, head=99),
        proof(minutes=5, head=100, is_ours=False),
    )
    assert credited(Evidence(None, proofs=(later, second, first)), paid) == (10, "payer")
    assert credited(Evidence(None, proofs=(first, later)), paid) == FailureCode.TRANSACTION_NOT_BOUND


def test_proof_does_not_cover_another_requests_solana_swap() -> None:
    evidence = Evidence(None, proofs=(proof(),), names_others=True)
    paid = moved(made_by=PAYER, account="account", gain=10)
    assert credited(evidence, paid) == FailureCode.TRANSACTION_NOT_BOUND


def test_another_requests_swap_log_keeps_direct_payment() -> None:
    """A relayer can add the relayer's own swap to the transaction."""
    evidence = Evidence(None, proofs=(proof(),), names_others=True)
    assert credited(evidence, moved(made_by=PAYER)) == (10, "payer")
    assert credited(evidence, moved()) == FailureCode.TRANSACTION_NOT_BOUND


def test_unrelated_call_keeps_a_relayed_payment() -> None:
    evidence = Evidence(None, proofs=(proof(),), names_others=True, others_calls=frozenset({0}))
    paid = moved(made_by=PAYER)
    assert credited(evidence, paid) == (10, "payer")
    for within in ((0,), (0, 1)):
        assert credited(evidence, replace(paid, within=within)) == FailureCode.TRANSACTION_NOT_BOUND


# --- what was not proved --------------------------------------------------------------------------------------------


# --- net of returned money
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("back", "left"), [(3, 7), (10, None), (12, None)])
def test_what_the_recipient_sends_back_to_the_payer_is_deducted(back: int, left: int | None) -> None:
    returned = Transfer("1", TOKEN, MERCHANT, PAYER, back)
    answer = verdict(Evidence(OURS), mined(moved(references=(OURS,)), returned))
    if left is None:
        assert isinstance(answer, Refused)
    else:
        assert isinstance(answer, Paid)
        assert answer.bound.amount == left


def test_what_the_recipient_sends_to_others_is_its_own_business() -> None:
    forwarded = Transfer("1", TOKEN, MERCHANT, STRANGER, 10)
    answer = verdict(Evidence(OURS), mined(moved(references=(OURS,)), forwarded))
    assert isinstance(answer, Paid)
    assert answer.bound.amount == 10


def test_returned_loan_of_the_recipient_pays_nothing() -> None:
    lent = Transfer("0", TOKEN, MERCHANT, STRANGER, 10)
    passed_on = Transfer("1", TOKEN, STRANGER, PAYER, 10)
    answer = verdict(
        Evidence(OURS), mined(lent, passed_on, moved(slot="2", references=(OURS,)), sender=ROUTER)
    )
    assert isinstance(answer, Refused)
    assert (answer.code, answer.arrived) == (FailureCode.NOT_VERIFIABLE, 10)


@pytest.mark.parametrize("paid_before", [10, 0])
def test_returned_loan_does_not_affect_payment_beside_it(paid_before: int) -> None:
    lent = Transfer("1", TOKEN, MERCHANT, STRANGER, 4)
    back = replace(moved(4, "2", references=(OURS,)), sender="0xOther")
    again = (replace(lent, slot="1a"), replace(back, amount=9, slot="2a"))
    paid_after = moved(7, "3", references=(OURS,))
    first = (moved(paid_before, references=(OURS,)),)
    answer = verdict(Evidence(OURS), mined(*first, lent, back, *again, paid_after, sender=ROUTER))
    assert isinstance(answer, Paid)
    assert answer.bound.amount == paid_before + 7


@pytest.mark.parametrize(
    "order", ["deposit returned lent back", "deposit lent back returned", "lent deposit back returned"]
)
def test_returned_deposit_does_not_cover_a_loan_beside_it(order: str) -> None:
    moves = {
        "deposit": moved(5, "0", references=(OURS,)),
        "returned": Transfer("1", TOKEN, MERCHANT, PAYER, 5),
        "lent": Transfer("2", TOKEN, MERCHANT, STRANGER, 5),
        "back": replace(moved(5, "3", references=(OURS,)), sender="0xOther"),
    }
    answer = verdict(Evidence(OURS), mined(*(moves[name] for name in order.split()), sender=ROUTER))
    assert isinstance(answer, Refused)
    assert answer.code == FailureCode.NOT_VERIFIABLE


def test_a_loan_hides_behind_no_earlier_payment_and_spoils_none() -> None:
    """The recipient may have forwarded the first payment, or lent it and got it back.

    The difference is not visible.
    """
    lent = Transfer("1", TOKEN, MERCHANT, STRANGER, 10)
    facts = mined(moved(references=(OURS,)), lent, moved(slot="2", references=(THEIRS,)))
    first = verdict(Evidence(OURS, foreign=frozenset({THEIRS})), facts)
    assert isinstance(first, Paid)
    assert first.bound.amount == 10
    second = verdict(Evidence(THEIRS, foreign=frozenset({OURS})), facts)
    assert isinstance(second, Refused)
    assert (second.code, second.arrived) == (FailureCode.NOT_VERIFIABLE, 10)
    accepted = verdict(Evidence(THEIRS, foreign=frozenset({OURS}), is_accepted=True), facts)
    assert isinstance(accepted, Paid)


def test_what_was_passed_on_and_went_back_by_others_pays_nothing() -> None:
    minted = Transfer("0", TOKEN, ZERO, PAYER, 10)
    passed_on = Transfer("2", TOKEN, MERCHANT, STRANGER, 10)
    burned = Transfer("3", TOKEN, STRANGER, ZERO, 10)
    facts = mined(minted, moved(slot="1", references=(OURS,)), passed_on, burned)
    answer = verdict(Evidence(OURS), facts)
    assert isinstance(answer, Refused)
    assert (answer.code, answer.arrived) == (FailureCode.NOT_VERIFIABLE, 10)
    kept = verdict(Evidence(OURS), replace(facts, transfers=facts.transfers[:-1]))
    assert isinstance(kept, Paid)


@pytest.mark.parametrize(
    ("token", "signer", "is_paid"),
    [("", PAYER, False), ("0xDai", PAYER, False), ("0xJunk", PAYER, True), ("0xJunk", MERCHANT, False)],
)
def test_the_price_of_what_the_recipient_gave_away_pays_nothing(
    token: str, signer: str, is_paid: bool
) -> None:
    """A stranger's token may log a false transfer from the recipient. The log counts only if the recipient signed."""
    given = Transfer("1", token, MERCHANT, STRANGER, 7)
    known = replace(terms(Evidence(OURS)), known_tokens={"0xDai": "DAI"})
    facts = mined(moved(references=(OURS,)), given, sender=signer)
    answer = evaluate(known, 1, facts, DEEP, Finality(confirmations=3))
    assert isinstance(answer, Paid if is_paid else Refused)


def test_a_judgement_compares_no_transfer_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sender decides how many transfers a transaction has. Even four thousand must be evaluated quickly."""

    def compare(one: Transfer, other: object) -> bool:
        raise AssertionError("the cost would grow with the square of their number")

    monkeypatch.setattr(Transfer, "__eq__", compare)
    paid = [moved(2, str(n), references=(OURS,), made_by=PAYER) for n in range(4000)]
    back = [Transfer(f"b{n}", TOKEN, MERCHANT, PAYER, 1) for n in range(1000)]
    answer = verdict(Evidence(OURS, proofs=(proof(),)), mined(*paid, *back))
    assert isinstance(answer, Paid)
    assert answer.bound.amount == 7000


def test_what_came_back_to_one_payer_costs_another_nothing() -> None:
    theirs = replace(moved(5, "1", references=(THEIRS,)), sender=STRANGER)
    returned = Transfer("2", TOKEN, MERCHANT, STRANGER, 5)
    answer = verdict(
        Evidence(OURS, foreign=frozenset({THEIRS})), mined(moved(references=(OURS,)), theirs, returned)
    )
    assert isinstance(answer, Paid)
    assert answer.bound.amount == 10


# --- one account's gain (Solana) --------------------------------------------------------------------------------------


def at(account: str, gain: int, amount: int, slot: str, **different: Any) -> Transfer:
    return moved(amount, slot, account=account, gain=gain, **different)


def test_credits_to_one_account_never_exceed_its_gain() -> None:
    transfers = [at("a", 15, 10, str(n), references=(OURS,)) for n in range(2)]
    assert credited(Evidence(OURS), *transfers) == (15, "reference")
    apart = [at("a", 15, 10, "0", references=(OURS,)), at("b", 10, 10, "1", references=(OURS,))]
    assert credited(Evidence(OURS), *apart) == (20, "reference")


@pytest.mark.parametrize("gain", [0, -4])
def test_an_account_that_gained_nothing_credits_nothing(gain: int) -> None:
    assert credited(Evidence(OURS), at("a", gain, 10, "0", references=(OURS,))) == (
        FailureCode.TRANSACTION_NOT_BOUND
    )


def test_delivery_is_capped_by_report_and_unnamed_transfers() -> None:
    named = at("a", 14, 6, "0", references=(THEIRS,))
    inner = at("a", 14, 10, "1.0")
    evidence = Evidence(OURS, foreign=frozenset({THEIRS}), delivery=Delivery(10, Taken()))
    assert credited(evidence, named, inner) == (8, "provider")
    assert credited(replace(evidence, delivery=Delivery(5, Taken())), inner) == (5, "provider")
    before = Delivery(10, Taken((("2.0", "a", 4),)))
    assert credited(replace(evidence, delivery=before), named, inner) == (4, "provider")


def test_credit_with_legacy_slot_consumes_the_whole_gain() -> None:
    old = Delivery(10, Taken(((f"{TOKEN}:{MERCHANT}", "", 10),)))
    assert credited(Evidence(OURS, delivery=old), at("a", 10, 10, "1.0")) == (
        FailureCode.TRANSACTION_ALREADY_USED
    )


# --- deliveries -----------------------------------------------------------------------------------------------------


def delivered(reported: int | None, *transfers: Transfer, **different: Any) -> Any:
    return credited(Evidence(OURS, delivery=Delivery(reported, Taken(), **different)), *transfers)


def test_the_transfer_of_the_reported_amount_is_the_delivery() -> None:
    assert delivered(7, moved(10), moved(7, "1")) == (7, "provider")
    assert delivered(8, moved(10), moved(7, "1")) == FailureCode.TRANSACTION_AMBIGUOUS
    assert delivered(8, moved(10)) == (10, "provider")


def test_delivery_claimed_by_another_request_is_ambiguous() -> None:
    theirs = moved(references=(THEIRS,))
    evidence = Evidence(OURS, foreign=frozenset({THEIRS}), delivery=Delivery(10, Taken()))
    assert credited(evidence, theirs) == FailureCode.TRANSACTION_AMBIGUOUS
    assert credited(Evidence(THEIRS, elsewhere=(10,)), theirs) == FailureCode.TRANSACTION_AMBIGUOUS
    assert credited(Evidence(THEIRS, elsewhere=(10,), is_accepted=True), theirs) == (10, "reference")


def test_another_requests_delivery_keeps_a_claimed_payment() -> None:
    """A stranger can send a signed payment together with a delivery of the same amount."""
    evidence, paid = Evidence(OURS, elsewhere=(10,)), moved(references=(OURS,))
    assert credited(evidence, paid, moved(slot="1")) == (10, "reference")
    twice = replace(evidence, elsewhere=(10, 10))
    assert credited(twice, paid, moved(slot="1")) == FailureCode.TRANSACTION_AMBIGUOUS


def test_a_delivery_that_is_claimed_in_part_is_ambiguous() -> None:
    paid = moved(references=(OURS,), claimable=9)
    assert credited(Evidence(OURS, elsewhere=(10,)), paid) == FailureCode.TRANSACTION_AMBIGUOUS


def test_claimed_delivery_is_not_credited_twice() -> None:
    taken = Delivery(10, Taken((("0", "", 10),)))
    evidence = Evidence(OURS, foreign=frozenset({THEIRS}), delivery=taken)
    assert credited(evidence, moved(references=(THEIRS,))) == FailureCode.TRANSACTION_ALREADY_USED


def own(transfer: Transfer, *, is_complete: bool = True, reported: int | None = 10) -> Any:
    evidence = Evidence(OURS, our_calls=frozenset({1}), delivery=Delivery(reported, Taken(), is_own=True))
    bound = counted([transfer], evidence, BLOCK, is_complete=is_complete)
    return (bound.amount, bound.by.value) if isinstance(bound, Bound) else bound.code


def test_only_the_swap_calls_output_counts_in_own_transaction() -> None:
    assert own(moved(within=(0, 1))) == (10, "provider")
    assert own(moved(12, within=(1,))) == (10, "provider")
    assert own(moved(within=(0,))) == FailureCode.TRANSACTION_NOT_BOUND
    assert own(moved()) == FailureCode.TRANSACTION_NOT_BOUND
    assert own(moved(), is_complete=False) == FailureCode.NOT_VERIFIABLE


@pytest.mark.parametrize("minter", ["", ZERO])
def test_mint_within_the_swap_call_is_not_bound(minter: str) -> None:
    assert own(replace(moved(within=(1,)), sender=minter)) == FailureCode.TRANSACTION_NOT_BOUND


def test_coin_of_a_short_lived_account_is_no_mint() -> None:
    coin = replace(moved(17, "0.1", within=(1,)), token="", sender="", gain=17)
    assert own(coin) == (10, "provider")
    assert own(replace(coin, within=(0,))) == FailureCode.TRANSACTION_NOT_BOUND
    assert own(replace(coin, sender=ZERO)) == FailureCode.TRANSACTION_NOT_BOUND


def swapping(transfer: Transfer) -> Any:
    evidence = Evidence(OURS, names_ours=True, our_calls=frozenset({1}), routers=frozenset({ROUTER}))
    bound = counted([transfer], evidence, BLOCK)
    return (bound.amount, bound.by.value) if isinstance(bound, Bound) else bound


def test_same_chain_swap_counts_transfers_within_its_call() -> None:
    sent = replace(moved(within=(0, 1)), sender=ROUTER)
    assert swapping(sent) == (10, "provider")
    for elsewhere in (replace(sent, within=(0,)), replace(sent, within=()), replace(sent, sender=PAYER)):
        refused = swapping(elsewhere)
        assert isinstance(refused, Unbound)
        assert refused.may_be_delivery


def test_several_quotes_in_one_transaction_count_once_each() -> None:
    """A relayer's payment of one unit takes nothing from the customer's swap, in whichever order they come."""
    customers, relayers = (replace(moved(n, slot, within=(at,)), sender=ROUTER) for n, slot, at in _TOGETHER)
    evidence = Evidence(
        OURS,
        names_ours=True,
        names_several=True,
        our_calls=frozenset({1, 3}),
        routers=frozenset({ROUTER}),
    )
    assert credited(evidence, customers) == (10, "provider")
    assert credited(evidence, customers, relayers) == (11, "provider")
    assert credited(evidence, relayers, customers) == (11, "provider")
    assert credited(evidence, relayers, replace(customers, within=(2,))) == (1, "provider")
    in_both = replace(customers, within=(1, 3))
    assert credited(evidence, in_both, relayers) == (11, "provider")
    others = replace(evidence, names_others=True, others_calls=frozenset({3}))
    assert credited(others, customers, relayers) == (10, "provider")


_TOGETHER = ((10, "0", 1), (1, "1", 3))


def test_nested_call_to_pinned_contract_is_not_bound() -> None:
    nested = replace(moved(within=(1, 2)), sender=ROUTER)
    assert isinstance(swapping(nested), Unbound)


def test_unrelated_swap_keeps_a_relayed_swap() -> None:
    sent = replace(moved(within=(1,)), sender=ROUTER)
    evidence = Evidence(
        OURS,
        names_ours=True,
        names_others=True,
        our_calls=frozenset({1}),
        others_calls=frozenset({0}),
        routers=frozenset({ROUTER}),
    )
    assert credited(evidence, sent, replace(sent, slot="1", within=(0,))) == (10, "provider")
    for shared in (
        replace(evidence, others_calls=frozenset({1})),
        replace(evidence, others_calls=frozenset()),
    ):
        assert credited(shared, sent) == FailureCode.TRANSACTION_AMBIGUOUS


def test_own_call_takes_no_proved_payment_even_if_accepted() -> None:
    """This applies even if the merchant accepts the other transfer of the transaction."""
    theirs = moved(made_by=PAYER)
    evidence = Evidence(
        None,
        proofs=(proof(is_ours=False),),
        names_ours=True,
        our_calls=frozenset({0}),
        is_accepted=True,
    )
    assert credited(evidence, theirs) == FailureCode.TRANSACTION_NOT_BOUND
    assert credited(evidence, theirs, moved(3, "1", made_by=PAYER, within=(0,))) == (3, "manual")
    assert credited(replace(evidence, our_calls=frozenset()), theirs) == (10, "manual")
