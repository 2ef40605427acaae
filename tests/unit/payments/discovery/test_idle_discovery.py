"""After an idle time, a payment without a submitted hash is still found in time, even with a free plan's narrow
queries.
"""

import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from chains.families import get_client
from chains.models import Chain, Token
from demo.services import anvil
from merchants.models import Merchant
from payments.models import DiscoveryCursor, MerchantCursor, Payment, PaymentRequest, Route
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy, proxying
from tests.support.nodes.limits import free_plan
from tests.support.payments.world import Clock, make_request, pay
from tests.verifying import discover_due

pytestmark = pytest.mark.django_db
IDLE_BLOCKS = 40_000
OPEN_FOR = timedelta(minutes=20)
FOUND_WITHIN = 45.0
# The delay of a call to a distant node, or of beat's wake-up.
SECONDS_FOR_A_CALL = 0.2
NUDGE_SECONDS = 5.0


@pytest.fixture
def idle_chain() -> Iterator[LocalChain]:
    """A chain with a block each second. Its height is 40,000 above the cursor, and no node has the blocks between."""
    began = int((timezone.now() - OPEN_FOR - timedelta(minutes=2)).timestamp())
    arguments = ["--timestamp", str(began), "--number", str(IDLE_BLOCKS), "--prune-history"]
    running = anvil.start(chain_id=31340, extra_args=arguments)
    try:
        yield LocalChain.prepare(running.url, running.chain_id)
    finally:
        running.stop()


@pytest.fixture
def node(idle_chain: LocalChain) -> Iterator[FaultProxy]:
    with proxying(idle_chain.url) as proxy:
        yield proxy


@pytest.fixture
def chain(node: FaultProxy, idle_chain: LocalChain, db: None) -> Chain:
    row = Chain.objects.create(
        id=idle_chain.chain_id,
        name="Idle Chain",
        chain_type="evm",
        rpc_urls=[node.url],
        native_symbol="ETH",
        block_time_ms=1000,
    )
    idle_since = timezone.now() - timedelta(seconds=IDLE_BLOCKS)
    DiscoveryCursor.objects.create(chain=row, next_block=1, searched_at=idle_since)
    return row


@pytest.fixture
def request_opened_late(merchant: Merchant, chain: Chain, idle_chain: LocalChain) -> PaymentRequest:
    """A request created 20 minutes ago. Its page is opened, and its transaction built, only now."""
    token = Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=idle_chain.usdc
    )
    request = make_request(merchant, token, "10", idle_chain.recipient)
    PaymentRequest.objects.filter(pk=request.pk).update(created_at=timezone.now() - OPEN_FOR)
    for _ in range(int(OPEN_FOR.total_seconds()) // 100):
        idle_chain.rpc("anvil_mine", hex(100), hex(1))
    now = timezone.now()
    Route.objects.create(
        request=request,
        chain=chain,
        token=token,
        amount=request.amount,
        expires_at=now,
        # The transaction was built again since then. The time of the first offer counts.
        created_at=now - timedelta(seconds=30),
        built_at=now,
    )
    return request


@pytest.mark.parametrize("most", [1, 3])
def test_payment_after_40000_idle_blocks_is_found_in_45_seconds(
    request_opened_late: PaymentRequest, idle_chain: LocalChain, chain: Chain, node: FaultProxy, most: int
) -> None:
    node.break_with(free_plan(most, 10))
    idle_chain.rpc("anvil_setNextBlockTimestamp", hex(int(time.time())))
    sent = pay(idle_chain, request_opened_late)
    clock, pauses = Clock(), 0.0
    for _ in range(5):
        pauses += NUDGE_SECONDS
        if discover_due(now=clock):
            break
        clock.forward(seconds=NUDGE_SECONDS)
    assert Payment.objects.get().transaction_hash == sent
    assert pauses + len(node.asked) * SECONDS_FOR_A_CALL < FOUND_WITHIN
    assert get_client(chain).health()[0].state == "answering"
    cursor = MerchantCursor.objects.get()
    assert cursor.next_block is not None
    assert cursor.next_block > IDLE_BLOCKS
