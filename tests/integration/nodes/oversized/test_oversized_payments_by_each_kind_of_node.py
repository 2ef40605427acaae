"""Three oversized transactions, larger together than what is read of one batch, keep no payment beside them waiting."""

import pytest

from chains.models import Chain, Token
from chains.rpc import json_rpc
from merchants.models import Merchant
from payments.models import Payment
from tests.chain import LocalChain
from tests.processes import eventually
from tests.support.nodes.kinds import THREE, WITH_TRACES, Nodes, chain_with
from tests.support.nodes.oversized import Shouter
from tests.support.payments.world import Clock, look, look_until_decided, make_request, pay, submit

LOGS = 10_100
# Everything is smaller by this where each kind of node is tried, and more than what the small ones answer even then.
SCALE = 50
UNIT = 1_000_000


def test_the_payments_beside_them_complete_and_they_are_decided(
    each_kind: Nodes,
    merchant: Merchant,
    usdc: Token,
    local_chain: LocalChain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_rpc, "MAX_ORDINARY_BYTES", json_rpc.MAX_ORDINARY_BYTES // SCALE)
    assert_decided(LOGS // SCALE, each_kind, merchant, usdc, local_chain)


def test_with_the_limits_of_production(
    chain: Chain, merchant: Merchant, usdc: Token, local_chain: LocalChain
) -> None:
    with chain_with(WITH_TRACES, chain, local_chain.url) as nodes:
        assert_decided(LOGS, nodes, merchant, usdc, local_chain)


def assert_decided(logs: int, nodes: Nodes, merchant: Merchant, usdc: Token, local_chain: LocalChain) -> None:
    shouter, clock = Shouter.place(local_chain), Clock()
    requests = [make_request(merchant, usdc, "1", local_chain.recipient) for _ in range(6)]
    oversized = [
        submit(request, shouter.pay(logs, local_chain.recipient, UNIT, bytes(request.reference)))
        for request in requests[:3]
    ]
    plain = [submit(request, pay(local_chain, request)) for request in requests[3:]]
    for payment in plain:
        assert look_until_decided(payment, clock).status == "completed"

    def all_are_decided() -> bool:
        clock.forward(seconds=310)
        look(clock)
        return not Payment.objects.filter(status__in=["pending", "processing"]).exists()

    eventually(all_are_decided, "the oversized ones were decided", 180)
    for payment in oversized:
        payment.refresh_from_db()
    # The contract that pays is of no known code, so only a trace shows whose payment it is.
    are_read = nodes.kind in (WITH_TRACES, THREE)
    decided = ("completed", "") if are_read else ("failed", "not_verifiable")
    assert [(payment.status, payment.failure_code) for payment in oversized] == [decided] * 3
