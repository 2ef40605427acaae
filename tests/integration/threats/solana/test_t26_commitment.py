"""On Solana, a confirmed payment is shown, a finalized one is paid, and a processed one doesn't count."""

from collections.abc import Callable
from typing import Any

import pytest

from chains.families import get_client
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.fault_proxy import FaultProxy, forged, proxying
from tests.support.payments.world import Clock, look, look_until_decided, make_request, submit
from tests.support.solana.ledger import LocalLedger, new_address
from tests.support.solana.world import built_for
from webhooks.models import Event

Status = PaymentRequest.Status


@pytest.fixture
def request_(merchant: Merchant, solana_usdc: Token) -> PaymentRequest:
    return make_request(merchant, solana_usdc, "2", new_address())


@pytest.fixture
def signature(request_: PaymentRequest, local_ledger: LocalLedger) -> str:
    """The signature of a new payment of the request, which is confirmed."""
    return local_ledger.sign_and_send(built_for(request_, local_ledger.payer))


def with_commitment(commitment: str | None) -> Callable[[Any], Any]:
    """Return a change to a node's statuses: each transaction has this commitment, or is unknown if None."""

    def change(result: Any) -> Any:
        value = [
            status and commitment and {**status, "confirmationStatus": commitment}
            for status in result["value"]
        ]
        return {**result, "value": value}

    return change


def use_node(node: FaultProxy, chain: Chain) -> None:
    Chain.objects.filter(pk=chain.pk).update(rpc_urls=[node.url])


def assert_unpaid(request: PaymentRequest) -> None:
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.ACTIVE, 0)
    assert ConsumedTransfer.objects.count() == 0
    assert not Event.objects.exists()


def test_confirmed_payment_is_shown_until_finalized(
    request_: PaymentRequest, signature: str, local_ledger: LocalLedger
) -> None:
    local_ledger.rpc("surfnet_pauseClock")
    try:
        payment, clock = submit(request_, signature), Clock()
        for _ in range(3):
            look(clock)
            clock.forward(minutes=1)
        payment.refresh_from_db()
        assert payment.status == Payment.Status.PROCESSING
        assert "finalized" in payment.status_detail
        assert (payment.attempts, payment.lookup.confirmations > 0) == (0, True)
        assert_unpaid(request_)
    finally:
        local_ledger.rpc("surfnet_resumeClock")
    local_ledger.finalize(signature)
    look_until_decided(payment, clock)
    request_.refresh_from_db()
    assert request_.status == Status.COMPLETED


def test_payment_dropped_after_confirmation_is_never_paid(
    request_: PaymentRequest, signature: str, solana: Chain, local_ledger: LocalLedger
) -> None:
    local_ledger.finalize(signature)
    with proxying(local_ledger.url) as node:
        use_node(node, solana)
        node.break_with(forged("getSignatureStatuses", with_commitment("confirmed")))
        payment, clock = submit(request_, signature), Clock()
        look(clock)
        payment.refresh_from_db()
        assert payment.lookup.block_number is not None
        assert_unpaid(request_)

        node.break_with(forged("getSignatureStatuses", with_commitment(None)))
        clock.forward(minutes=1)
        look_until_decided(payment, clock)
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "transaction_not_found")
    request_.refresh_from_db()
    assert (request_.status, request_.amount_paid) == (Status.ACTIVE, 0)
    assert ConsumedTransfer.objects.count() == 0


def test_processed_transaction_has_no_block_yet(
    request_: PaymentRequest, signature: str, solana: Chain, local_ledger: LocalLedger
) -> None:
    local_ledger.finalize(signature)
    with proxying(local_ledger.url) as node:
        use_node(node, solana)
        node.break_with(forged("getSignatureStatuses", with_commitment("processed")))
        payment = submit(request_, signature)
        look()
        payment.refresh_from_db()
        assert (payment.status, payment.lookup.block_number) == (Payment.Status.PROCESSING, None)
        assert_unpaid(request_)


def test_block_time_is_read_from_the_chain(signature: str, solana: Chain, local_ledger: LocalLedger) -> None:
    """Surfnet's getTransaction returns a wrong block time. With it, every payment would be too old."""
    facts = get_client(solana).look_up([signature], with_finality=True).transactions[signature]
    assert facts is not None
    assert facts.block is not None
    assert abs(facts.block.time.timestamp() - local_ledger.rpc("getBlockTime", facts.block.number)) < 1
    assert facts.block.time.year >= 2026


def test_missing_block_decides_nothing(
    request_: PaymentRequest, signature: str, solana: Chain, local_ledger: LocalLedger
) -> None:
    local_ledger.finalize(signature)
    with proxying(local_ledger.url) as node:
        use_node(node, solana)
        node.break_with(forged("getBlock", lambda _: None))
        payment, clock = submit(request_, signature), Clock()
        look(clock)
        payment.refresh_from_db()
        assert (payment.status, payment.attempts) == (Payment.Status.PROCESSING, 0)
        assert_unpaid(request_)
        node.heal()
        clock.forward(minutes=5)
        look_until_decided(payment, clock)
    request_.refresh_from_db()
    assert request_.status == Status.COMPLETED
