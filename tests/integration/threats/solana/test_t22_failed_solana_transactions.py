"""T-22: a Solana transaction that failed stands in a block all the same, with its transfers; it pays nothing.

What counts is the record of what it did: its error is null, and without that record nothing is known.
"""

import pytest

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.fault_proxy import forged, proxying
from tests.support.payments.world import Clock, look, look_until_decided, make_request, submit
from tests.support.solana.ledger import LocalLedger, new_address
from tests.support.solana.world import built_for, decide
from webhooks.models import Event


@pytest.fixture
def request_(merchant: Merchant, solana_usdc: Token) -> PaymentRequest:
    return make_request(merchant, solana_usdc, "2", new_address())


def demand_nothing_paid(request: PaymentRequest) -> None:
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (PaymentRequest.Status.ACTIVE, 0)
    assert ConsumedTransfer.objects.count() == 0
    assert not Event.objects.filter(type="payment.succeeded").exists()


def test_a_transfer_of_more_than_there_is_pays_nothing(
    request_: PaymentRequest, local_ledger: LocalLedger
) -> None:
    move = local_ledger.token_move(request_.recipient_address, 2**63, bytes(request_.reference))
    payment = decide(local_ledger, request_, local_ledger.send_failing(move))
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "transaction_reverted")
    demand_nothing_paid(request_)


def test_a_good_transfer_beside_an_instruction_that_fails_pays_nothing(
    request_: PaymentRequest, local_ledger: LocalLedger
) -> None:
    good = local_ledger.token_move(request_.recipient_address, 2_000_000, bytes(request_.reference))
    bad = local_ledger.coin_move(new_address(), 2**62)
    payment = decide(local_ledger, request_, local_ledger.send_failing([*good, *bad]))
    assert payment.failure_code == "transaction_reverted"
    assert local_ledger.token_balance(request_.recipient_address) == 0
    demand_nothing_paid(request_)


def test_without_the_record_of_what_it_did_nothing_is_judged(
    request_: PaymentRequest, solana: Chain, local_ledger: LocalLedger
) -> None:
    signature = local_ledger.sign_and_send(built_for(request_, local_ledger.payer))
    local_ledger.finalize(signature)
    with proxying(local_ledger.url) as node:
        Chain.objects.filter(pk=solana.pk).update(rpc_urls=[node.url])
        node.break_with(forged("getTransaction", lambda result: {**result, "meta": None}))
        clock = Clock()
        payment = submit(request_, signature)
        for _ in range(3):
            look(clock)
            clock.forward(minutes=5)
        payment.refresh_from_db()
        assert (payment.status, payment.attempts) == (Payment.Status.PROCESSING, 0)
        demand_nothing_paid(request_)

        node.heal()
        look_until_decided(payment, clock)
    request_.refresh_from_db()
    assert request_.status == PaymentRequest.Status.COMPLETED


def test_a_node_that_hides_the_error_decides_nothing(
    request_: PaymentRequest, solana: Chain, local_ledger: LocalLedger
) -> None:
    """It says that the transaction failed, and that it didn't: which of the two is not guessed."""
    move = local_ledger.token_move(request_.recipient_address, 2**63, bytes(request_.reference))
    signature = local_ledger.finalize(local_ledger.send_failing(move))
    with proxying(local_ledger.url) as node:
        Chain.objects.filter(pk=solana.pk).update(rpc_urls=[node.url])
        node.break_with(
            forged("getTransaction", lambda result: {**result, "meta": {**result["meta"], "err": None}})
        )
        clock = Clock()
        payment = submit(request_, signature)
        for _ in range(3):
            look(clock)
            clock.forward(minutes=5)
        payment.refresh_from_db()
        assert (payment.status, payment.attempts) == (Payment.Status.PROCESSING, 0)
        demand_nothing_paid(request_)

        node.heal()
        payment = look_until_decided(payment, clock)
    assert payment.failure_code == "transaction_reverted"
    demand_nothing_paid(request_)
