"""The credit for native coin at a deposit address: each row of the second table in docs/states.md."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chains.client import Block, Head, TransactionFacts, Transfer
from chains.models import Chain, Token
from payments.coins.lookups import Reading, facts_of_reading
from payments.coins.recording import record_reading
from payments.evaluation.binding import Evidence
from payments.evaluation.messages import SWEPT
from payments.evaluation.verdicts import Finality, NotYet, Paid, Refused, Terms, evaluate
from payments.models import ConsumedTransfer, Lookup, Payment, PaymentRequest
from payments.submission.hashes import sight_for_merchant, submit_for_merchant, submit_hash
from payments.submission.merchant_acceptance import accept_payment
from tests.support.payments.coins import ETHER, CoinChain
from tests.support.payments.deposits import EXCHANGE, give_address
from tests.support.payments.world import Clock, look
from tests.verifying import discover_due

Make = Callable[..., PaymentRequest]
OURS, THEIRS = bytes(range(16)), bytes(range(16, 32))
MERCHANT, ADDRESS, OTHER, PAYER, ROUTER = "0xMerchant", "0xD", "0xOtherD", "0xPayer", "0xRouter"
NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
BLOCK = Block(100, "0xblock", NOON)


def sent(amount: int = 10, to: str = ADDRESS, **different: Any) -> Transfer:
    return replace(Transfer("value", "", PAYER, to, amount), **different)


def verdict(*transfers: Transfer, evidence: Evidence | None = None, **different: Any) -> Any:
    known = evidence or Evidence(OURS, coin_address=ADDRESS, foreign=frozenset({THEIRS}))
    terms = Terms(1, "", "ETH", 18, MERCHANT, NOON - timedelta(hours=1), known, {}, NOON)
    given: dict[str, Any] = {"sender": PAYER, "nonce": 1, "block": BLOCK, "succeeded": True, **different}
    facts = TransactionFacts("0xhash", transfers=transfers, **given)
    return evaluate(terms, 1, facts, Head(110), Finality(confirmations=3))


def difference(received: int, before: int = 0) -> Any:
    """Return the verdict for this balance of the address."""
    lookup = Lookup(of_payment=Payment(deposit_sequence=1), transaction_hash=f"{ADDRESS}:1")
    facts = facts_of_reading(lookup, Reading(BLOCK, received), before)
    terms = Terms(1, "", "ETH", 18, MERCHANT, NOON, Evidence(OURS, deposit_address=ADDRESS), {}, NOON)
    return evaluate(terms, 1, facts, Head(110), Finality(confirmations=3))


@pytest.mark.parametrize("references", [(), (OURS,), (THEIRS,)])
@pytest.mark.parametrize("slot", ["value", "0.1.2"])
def test_transaction_to_the_address_waits_for_its_balance(references: tuple[bytes, ...], slot: str) -> None:
    result = verdict(sent(slot=slot, references=references, sender=ROUTER))
    assert isinstance(result, NotYet)
    assert result.bound is not None
    assert (result.bound.by, result.bound.amount, result.likely) == ("address", 10, None)


def test_balance_of_the_address_is_credited() -> None:
    result = difference(received=17, before=7)
    assert isinstance(result, Paid)
    assert (result.bound.by, result.bound.amount) == ("address", 10)


def test_part_for_the_recipient_is_a_payment_of_its_own() -> None:
    result = verdict(sent(4), sent(6, MERCHANT, slot="0.1", references=(OURS,)))
    assert isinstance(result, Paid)
    assert (result.bound.by, result.bound.amount) == ("reference", 6)


def test_unbound_part_for_the_recipient_is_refused_as_unbound() -> None:
    result = verdict(sent(1), sent(6, MERCHANT, slot="0.1"))
    assert isinstance(result, Refused)
    assert (result.code, result.arrived) == ("transaction_not_bound", 6)


def test_balance_counts_what_the_recipient_sent_elsewhere() -> None:
    result = verdict(sent(), sent(3, PAYER, sender=MERCHANT, slot="0.2"))
    assert isinstance(result, NotYet)
    assert difference(received=10).bound.amount == 10


def test_sweep_pays_nothing() -> None:
    known = Evidence(OURS, coin_address=ADDRESS, forwarders=frozenset({ADDRESS}))
    result = verdict(sent(10, MERCHANT, sender=ADDRESS, slot="0.1"), evidence=known)
    assert isinstance(result, Refused)
    assert (result.code, result.message) == ("transaction_already_used", SWEPT)


def test_unmined_transaction_to_the_address_is_bound_by_bytes() -> None:
    result = verdict(block=None, intended=(sent(),), succeeded=False)
    assert isinstance(result, NotYet)
    assert result.bound is not None
    assert result.bound.by == "address"


def test_nothing_new_at_the_address_is_not_found() -> None:
    assert (
        facts_of_reading(
            Lookup(of_payment=Payment(deposit_sequence=1), transaction_hash=f"{ADDRESS}:1"),
            Reading(BLOCK, 7),
            7,
        )
        is None
    )


@pytest.fixture
def nodes() -> CoinChain:
    return CoinChain()


@pytest.fixture
def request_(request_for: Make, ether: Token) -> PaymentRequest:
    request = request_for("1", ether)
    give_address(request, 1)
    return request


def search(nodes: CoinChain, clock: Clock) -> int:
    clock.forward(seconds=10)
    return discover_due(client=nodes.of, now=clock)


def submitted(request: PaymentRequest, hash_: str, nodes: CoinChain) -> tuple[Payment, bool]:
    return submit_hash(
        request, chain=request.chain, transaction_hash=hash_, actor="checkout", client=nodes.of
    )


def test_each_hash_of_one_block_is_answered_with_its_difference(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    search(nodes, clock)
    hashes = [nodes.pay(request_.deposit_address, ETHER // 4) for _ in range(3)]
    for hash_ in hashes:
        nodes.facts[hash_] = replace(nodes.facts[hash_], block=nodes.block(nodes.height))
    nodes.arrivals = [(nodes.height, to, amount) for _, to, amount in nodes.arrivals]
    search(nodes, clock)
    look(clock, nodes.of)
    payment = Payment.objects.get()
    assert payment.amount_received == 3 * ETHER // 4
    assert {submitted(request_, each, nodes) for each in hashes} == {(payment, False)}
    payment.refresh_from_db()
    assert (payment.transaction_hash, payment.from_address) == (None, "")
    assert ConsumedTransfer.objects.count() == 1


def test_merchants_submission_is_answered_with_the_difference(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    hash_ = nodes.pay(request_.deposit_address, ETHER)
    search(nodes, Clock())
    sighting = sight_for_merchant(request_, request_.chain, hash_, client=nodes.of)
    payment, is_new = submit_for_merchant(
        request_, chain=request_.chain, transaction_hash=hash_, actor="api", sighting=sighting
    )
    assert (payment, is_new) == (Payment.objects.get(), False)


def test_transaction_submitted_before_it_is_mined_counts_once(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    clock = Clock()
    hash_ = nodes.pay(request_.deposit_address, ETHER)
    mined = nodes.facts.pop(hash_)
    payment, is_new = submitted(request_, hash_, nodes)
    assert is_new
    search(nodes, clock)
    nodes.facts[hash_] = mined
    for _ in range(4):
        clock.forward(seconds=30)
        look(clock, nodes.of)
    request_.refresh_from_db()
    assert (request_.status, request_.amount_paid) == ("completed", ETHER)
    payment.refresh_from_db()
    found = Payment.objects.get(deposit_sequence=1)
    assert (payment.status, payment.failure_code) == ("failed", "transaction_already_used")
    assert (found.status, found.transaction_hash) == ("completed", hash_)
    assert submitted(request_, hash_, nodes) == (found, False)
    assert ConsumedTransfer.objects.count() == 1


def test_submitted_transaction_becomes_the_found_difference(
    request_: PaymentRequest, nodes: CoinChain, chain: Chain
) -> None:
    clock = Clock()
    hash_ = nodes.pay(request_.deposit_address, ETHER)
    payment, is_new = submitted(request_, hash_, nodes)
    assert is_new
    look(clock, nodes.of)
    payment.refresh_from_db()
    assert (payment.status, payment.is_in_flight) == ("processing", True)
    search(nodes, clock)
    look(clock, nodes.of)
    payment.refresh_from_db()
    assert (payment.status, payment.transaction_hash, payment.deposit_sequence) == ("completed", hash_, 1)
    assert Payment.objects.count() == 1


def test_dust_to_the_address_leaves_the_rest_acceptable(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    hash_ = nodes.pay(request_.deposit_address, 1)
    rest = Transfer("0.1", "", EXCHANGE, request_.recipient_address, ETHER)
    facts = nodes.facts[hash_]
    nodes.facts[hash_] = replace(facts, transfers=(replace(facts.transfers[0], slot="0.2"), rest))
    record_reading(request_.pk, Reading(nodes.block(nodes.height), 1))
    look(clock, nodes.of)
    dust = Payment.objects.get()
    assert (dust.status, dust.amount_received) == ("completed", 1)
    payment, is_new = submitted(request_, hash_, nodes)
    assert is_new
    look(clock, nodes.of)
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("failed", "transaction_not_bound")
    assert (payment.transaction_hash, payment.amount) == (hash_, ETHER)
    accept_payment(payment, reason="it reached my wallet", actor="test")
    look(clock, nodes.of)
    payment.refresh_from_db()
    request_.refresh_from_db()
    assert (payment.status, payment.amount_received) == ("completed", ETHER)
    assert (request_.status, request_.amount_paid) == ("completed", ETHER + 1)
    assert submitted(request_, hash_, nodes) == (payment, False)


def test_hash_of_another_requests_address_is_not_attached(
    request_: PaymentRequest, request_for: Make, ether: Token, nodes: CoinChain
) -> None:
    other, clock = request_for("1", ether), Clock()
    give_address(other, 2)
    hash_ = nodes.pay(request_.deposit_address, ETHER)
    search(nodes, clock)
    payment, is_new = submitted(other, hash_, nodes)
    assert is_new
    look(clock, nodes.of)
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("failed", "wrong_recipient")
    assert request_.payments.get().transaction_hash is None


def test_small_transaction_that_is_submitted_does_not_wait(
    request_: PaymentRequest, nodes: CoinChain
) -> None:
    """Otherwise, it would hold its request until the group's block is final."""
    clock = Clock()
    nodes.finalized = 0
    hash_ = nodes.pay(request_.deposit_address, 1)
    payment, _ = submitted(request_, hash_, nodes)
    search(nodes, clock)
    look(clock, nodes.of)
    payment.refresh_from_db()
    assert (payment.status, payment.amount_received, payment.deposit_sequence) == ("completed", 1, 1)


@pytest.mark.parametrize("is_submitted_first", [True, False])
def test_strangers_dust_is_not_the_transaction_of_the_whole(
    request_: PaymentRequest, nodes: CoinChain, is_submitted_first: bool
) -> None:
    clock = Clock()
    search(nodes, clock)
    dust = nodes.pay(request_.deposit_address, 1, sender="0xThief")
    if is_submitted_first:
        submitted(request_, dust, nodes)
        look(clock, nodes.of)
    nodes.pay(request_.deposit_address, ETHER)
    nodes.arrivals = [(nodes.height, to, amount) for _, to, amount in nodes.arrivals]
    search(nodes, clock)
    for _ in range(3):
        clock.forward(seconds=30)
        look(clock, nodes.of)
    found, _ = submitted(request_, dust, nodes)
    found.refresh_from_db()
    assert (found.status, found.amount_received) == ("completed", ETHER + 1)
    assert (found.transaction_hash, found.from_address) == (None, "")
    request_.refresh_from_db()
    assert (request_.status, request_.amount_paid) == ("completed", ETHER + 1)
    assert ConsumedTransfer.objects.count() == 1
