"""A transaction that exceeds a node's response limit doesn't delay other payments on Solana."""

from collections.abc import Iterator

import pytest

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.fault_proxy import Exchange, Fault, FaultProxy, proxying
from tests.support.nodes.limits import by_words
from tests.support.payments.world import Clock, look_until_decided, make_request, submit
from tests.support.solana.ledger import LocalLedger, new_address


@pytest.fixture
def node(solana: Chain, local_ledger: LocalLedger) -> Iterator[FaultProxy]:
    """A proxy, which is the chain's only node. Tests can limit its response size."""
    with proxying(local_ledger.url) as proxy:
        solana.rpc_urls = [f"{proxy.url}/limited"]
        solana.save(update_fields=["rpc_urls"])
        yield proxy


@pytest.fixture
def payments(
    node: FaultProxy, merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> list[Payment]:
    """Four submitted payments. The second one's transaction is large."""
    requests = [make_request(merchant, solana_usdc, "1", new_address()) for _ in range(4)]
    sent = [
        local_ledger.send(
            local_ledger.token_move(request.recipient_address, 1_000_000, bytes(request.reference))
        )
        for request in requests
    ]
    return [
        submit(request, local_ledger.finalize(signature))
        for request, signature in zip(requests, sent, strict=True)
    ]


def not_sending(signature: str, reject: Fault) -> Fault:
    def reply(exchange: Exchange) -> None:
        is_queried = any(
            question["method"] == "getTransaction" and question["params"][0] == signature
            for question in exchange.questions
        )
        if is_queried:
            reject(exchange)
        else:
            exchange.reply(exchange.truth())

    return reply


def test_payment_too_large_for_the_node_delays_no_other(payments: list[Payment], node: FaultProxy) -> None:
    large = payments[1]
    node.break_with(not_sending(large.transaction_hash, by_words))
    clock = Clock()
    for payment in payments:
        look_until_decided(payment, clock)
    assert [payment.status for payment in payments] == ["completed", "failed", "completed", "completed"]
    assert (large.failure_code, large.retries_left) == ("not_verifiable", 3)
    assert PaymentRequest.objects.get(pk=large.request_id).amount_paid == 0
