"""A stranger's transaction with thousands of transfers or calls takes time only in proportion to their number.

If its evaluation took minutes, it would stop every payment on its chain. The tests measure CPU time, which
other processes don't affect.
"""

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chains.client import Block, Head, Mention, Snapshot, TransactionFacts, Transfer
from payments.evaluation.binding import Delivery, Evidence, Taken, Unbound
from payments.evaluation.verdicts import Finality, Refused, Terms, evaluate
from payments.models import PaymentRequest, Quote, Route
from payments.verification.quote_evidence import quotes_named_in
from tests.support.payments.counting import counted

NOW = datetime(2026, 11, 22, tzinfo=UTC)
BLOCK = Block(10, "block", NOW)
LONGEST = 5.0  # seconds; each of these takes hundredths of one


def seconds_of(work: Callable[[], object]) -> tuple[float, object]:
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def test_money_that_goes_to_and_fro_a_thousand_times() -> None:
    """To compare each transfer with each other took half a minute, and an hour for five times as many."""
    moves = tuple(
        Transfer(f"0.{number}", "token", sender, recipient, 1, claimable=0, account=recipient, gain=0)
        for number in range(1000)
        for sender, recipient in [("thief", "merchant") if number % 2 else ("merchant", "thief")]
    )
    facts = TransactionFacts("hash", "thief", 0, BLOCK, True, moves)
    terms = Terms(
        1, "token", "T", 0, "merchant", NOW - timedelta(hours=1), Evidence(secrets.token_bytes(16)), {}, NOW
    )
    seconds, verdict = seconds_of(lambda: evaluate(terms, 1, facts, Head(20), Finality(2)))
    assert isinstance(verdict, Refused)
    assert seconds < LONGEST


@pytest.mark.parametrize(
    "evidence",
    [
        Evidence(b"r" * 16, elsewhere=(7,)),
        Evidence(b"r" * 16, delivery=Delivery(7, Taken())),
        Evidence(b"r" * 16, delivery=Delivery(1, Taken(), is_own=True)),
        Evidence(b"r" * 16, delivery=Delivery(7, Taken(tuple((f"0.{n}", "a", 1) for n in range(14_999))))),
    ],
    ids=["no claim", "a delivery", "a delivery in a transaction of its own", "credited before"],
)
def test_fifteen_thousand_transfers_to_one_recipient(evidence: Evidence) -> None:
    arrived = [
        Transfer(f"0.{number}", "token", "thief", "merchant", 1, claimable=0, account="a", gain=15_000)
        for number in range(15_000)
    ]
    seconds, bound = seconds_of(lambda: counted(arrived, evidence, BLOCK))
    assert isinstance(bound, Unbound)
    assert seconds < LONGEST


def test_call_with_a_thousand_possible_ids_runs_few_queries(
    request_for: Callable[..., PaymentRequest],
) -> None:
    request, now = request_for(), timezone.now()
    request.chain.chain_type = "solana"
    route = Route.objects.create(
        request=request,
        type="swap",
        wallet_address="wallet",
        chain=request.chain,
        token=request.token,
        amount=7,
        expires_at=now,
        provider="lifi",
    )
    bound_by = secrets.token_bytes(32)
    amounts = {"amount_in": 7, "amount_out": 7, "amount_out_min": 7}
    quote = Quote.objects.create(
        route=route, provider="lifi", bound_by=bound_by, action={}, built_at=now, **amounts
    )
    calls = [secrets.token_bytes(1_150) for _ in range(20)]
    calls[3] = b"odd" + bound_by[:8] + calls[3]
    transactions = {
        str(number): TransactionFacts(str(number), "", None, BLOCK, False, (), mentions=(Mention("p", call),))
        for number, call in enumerate(calls)
    }
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert quotes_named_in(Snapshot(Head(20), transactions), request.chain) == {quote.pk: quote}
    assert len(asked) <= 5
