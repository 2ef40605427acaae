"""The cost of a lookup hardly grows with the payments: in a full batch, at most a tenth of a round trip each."""

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy
from tests.support.nodes.crowds import crowd
from tests.support.nodes.networks import client_of, nodes_before
from tests.support.payments.world import Clock, look

PAYMENTS = 100
MAX_ROUND_TRIPS = PAYMENTS // 10


def round_trips(nodes: list[FaultProxy], chain: Chain, clock: Clock) -> int:
    """Run one lookup; return the number of HTTP requests to all nodes."""
    client = client_of(nodes, chain.id, clock)
    client.look_up([], with_finality=False)  # connects, and checks the chain of each node
    for node in nodes:
        node.asked.clear()
    clock.forward(seconds=2)
    assert look(clock, lambda _: client) == PAYMENTS
    return sum(node.round_trips for node in nodes)


def test_batch_of_payments_takes_few_round_trips(
    merchant: Merchant, usdc: Token, chain: Chain, local_chain: LocalChain
) -> None:
    clock = Clock()
    Chain.objects.filter(pk=chain.pk).update(confirmations="100000")
    payments = crowd(merchant, usdc, local_chain, PAYMENTS)
    assert len({payment.transaction_hash for payment in payments}) == PAYMENTS
    with nodes_before(local_chain, 5) as nodes:
        waiting = {count: round_trips(nodes[:count], chain, clock) for count in (1, 5)}
        Chain.objects.filter(pk=chain.pk).update(confirmations="1")
        completing = round_trips(nodes[:2], chain, clock)
    assert Payment.objects.filter(status=Payment.Status.COMPLETED).count() == PAYMENTS
    assert PaymentRequest.objects.filter(status="completed").count() == PAYMENTS
    assert max(*waiting.values(), completing) <= MAX_ROUND_TRIPS, waiting
    assert completing <= waiting[1], "fail-over alone costs nothing while all is well"
    assert waiting[5] <= 2 * waiting[1], "two nodes have to agree, however many there are"
