"""A node that limits the rate is not queried before its Retry-After. The payment's next lookup waits as long."""

from collections.abc import Callable

import pytest

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from chains.models import Token
from merchants.models import Merchant
from payments.models import Payment
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.support.nodes.fixtures import NodeTime
from tests.support.payments.world import Clock, look, make_request, pay, submit

Nodes = Callable[[int], list[FaultProxy]]
Clients = Callable[[list[FaultProxy]], EvmClient]


def test_rate_limited_node_is_not_queried_during_retry_after(
    nodes_of: Nodes, client_for: Clients, time: NodeTime
) -> None:
    (node,) = nodes_of(1)
    client = client_for([node])
    node.break_with(fault_proxy.limiting(120))
    with pytest.raises(ChainError, match="limiting our rate") as first:
        client.chain_id()
    assert first.value.retry_after == 120
    node.heal()
    time.now += 100
    with pytest.raises(ChainError, match="every node of this chain is limiting our rate") as second:
        client.chain_id()
    assert (second.value.retry_after, second.value.permanent) == (20, False)
    assert node.round_trips == 1
    time.now += 20
    assert client.chain_id() == 31337


def test_other_nodes_are_used_during_retry_after(
    nodes_of: Nodes, client_for: Clients, time: NodeTime
) -> None:
    nodes = nodes_of(2)
    client = client_for(nodes)
    nodes[0].break_with(fault_proxy.limiting(60))
    for _ in range(59):
        assert client.chain_id() == 31337
        time.now += 1
    assert nodes[0].round_trips == 1
    assert client.health()[0].state == "limiting"


def test_retry_after_of_a_day_is_capped_at_15_minutes(
    nodes_of: Nodes, client_for: Clients, time: NodeTime
) -> None:
    (node,) = nodes_of(1)
    client = client_for([node])
    node.break_with(fault_proxy.limiting(86_400))
    with pytest.raises(ChainError):
        client.chain_id()
    node.heal()
    time.now += 899
    with pytest.raises(ChainError):
        client.chain_id()
    time.now += 1
    assert client.chain_id() == 31337


def test_only_node_is_queried_again_right_after_a_failure(nodes_of: Nodes, client_for: Clients) -> None:
    (node,) = nodes_of(1)
    client = client_for([node])
    node.break_with(fault_proxy.server_error)
    with pytest.raises(ChainError):
        client.chain_id()
    node.heal()
    assert client.chain_id() == 31337


def test_rate_limit_uses_no_retry_and_delays_the_payment(
    nodes_of: Nodes,
    client_for: Clients,
    time: NodeTime,
    merchant: Merchant,
    usdc: Token,
    local_chain: LocalChain,
) -> None:
    (node,) = nodes_of(1)
    client, clock = client_for([node]), Clock()
    request = make_request(merchant, usdc, "10", local_chain.recipient)
    node.break_with(fault_proxy.limiting(90))
    payment = submit(request, pay(local_chain, request))
    look(clock, lambda _: client)
    payment.refresh_from_db()
    assert (payment.status, payment.attempts) == (Payment.Status.PROCESSING, 0)
    assert payment.lookup.next_check_at is not None
    assert 89 <= (payment.lookup.next_check_at - clock()).total_seconds() <= 90
    node.heal()
    time.now += 90
    clock.forward(seconds=91)
    look(clock, lambda _: client)
    payment.refresh_from_db()
    assert payment.status == Payment.Status.COMPLETED
