"""Native coin has the time of its own block: a stranger's transfers after a time limit don't make it late."""

from collections.abc import Callable

import pytest

from chains.models import Chain, Token
from payments.discovery.coin_blocks import MAX_STEPS
from payments.discovery.deposits import MAX_FOUND_PAYMENTS
from payments.discovery.grouping import PERIOD
from payments.models import DepositAddress, Lookup, Payment, PaymentRequest
from payments.requests.crediting import PRICE_GRACE
from tests.support.payments.coins import ETHER, CoinChain
from tests.support.payments.deposits import give_address
from tests.support.payments.world import Clock, look
from tests.verifying import discover_due

DUST = ETHER // 10**6
PART = ETHER // 10


@pytest.fixture
def nodes(chain: Chain) -> CoinChain:
    Chain.objects.filter(pk=chain.pk).update(confirmations="3")
    return CoinChain(finalized=0)


@pytest.fixture
def request_(request_for: Callable[..., PaymentRequest], ether: Token, nodes: CoinChain) -> PaymentRequest:
    request = request_for("1", ether)
    give_address(request, 1)
    PaymentRequest.objects.update(price={"amount": "10", "currency": "USD"})
    return request


def search(nodes: CoinChain, clock: Clock, **ahead: float) -> int:
    clock.forward(**(ahead or {"seconds": 10}))
    return discover_due(client=nodes.of, now=clock)


def pay(nodes: CoinChain, request: PaymentRequest, *amounts: int) -> int:
    """Send each amount in a block of its own. Return the last block."""
    for amount in amounts:
        nodes.pay(request.deposit_address, amount)
    return nodes.height


def end_price(nodes: CoinChain, block: int) -> None:
    """Let the price end, with its grace, at the time of this block."""
    PaymentRequest.objects.update(expires_at=nodes.block(block).time - PRICE_GRACE)


def found() -> list[tuple[int | None, int | None]]:
    """Return the first block and the amount of each payment."""
    rows = Lookup.objects.order_by("of_payment__deposit_sequence")
    return list(rows.values_list("first_block_number", "of_payment__amount"))


def test_last_payment_of_a_pass_has_its_own_block(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    search(nodes, clock)
    last = pay(nodes, request_, *[PART] * MAX_STEPS)
    end_price(nodes, last + 1)
    nodes.mine(15)
    assert search(nodes, clock) == MAX_STEPS
    assert found()[-1] == (last, PART)
    nodes.reads.clear()
    assert search(nodes, clock) == 0
    assert len(nodes.reads) == 1


def test_arrivals_on_both_sides_of_a_limit_stay_apart(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    search(nodes, clock)
    in_time = pay(nodes, request_, *[PART] * (MAX_STEPS + 2))
    end_price(nodes, in_time)
    late = pay(nodes, request_, DUST * 10**4)
    nodes.mine(15)
    assert search(nodes, clock) == MAX_STEPS + 1
    assert found()[-2:] == [(in_time, 3 * PART), (late, DUST * 10**4)]


def test_late_dust_makes_no_waiting_coin_late(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    search(nodes, clock)
    in_time = pay(nodes, request_, DUST)
    end_price(nodes, in_time)
    late = pay(nodes, request_, DUST)
    nodes.mine(5)
    assert search(nodes, clock) == 1
    assert (found(), DepositAddress.objects.get().waiting_block) == ([(in_time, DUST)], late)
    nodes.finalized = nodes.height
    assert search(nodes, clock) == 1
    assert found() == [(in_time, DUST), (late, DUST)]


def test_waiting_coin_of_a_replaced_block_stays_in_time(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    in_time = pay(nodes, request_, DUST)
    search(nodes, clock)
    nodes.forks[in_time] += 1
    end_price(nodes, in_time)
    late = pay(nodes, request_, DUST)
    assert search(nodes, clock) == 1
    assert (found(), DepositAddress.objects.get().waiting_block) == ([(in_time, DUST)], late)


def test_late_coin_does_not_include_waiting_coin(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    in_time = pay(nodes, request_, DUST)
    search(nodes, clock)
    end_price(nodes, in_time)
    late = pay(nodes, request_, ETHER)
    assert search(nodes, clock) == 2
    assert found() == [(in_time, DUST), (late, ETHER)]
    assert DepositAddress.objects.get().waiting_block is None


def test_frequent_coin_in_time_completes_a_priced_request(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    for _ in range(MAX_FOUND_PAYMENTS):
        pay(nodes, request_, 1000 * DUST)
        search(nodes, clock)
    nodes.mine(3)
    for _ in range(40):
        clock.forward(seconds=3)
        look(clock, nodes.of)
    end_price(nodes, pay(nodes, request_, ETHER))
    pay(nodes, request_, DUST)
    nodes.mine(5)
    search(nodes, clock)
    for _ in range(3):
        clock.forward(seconds=3)
        look(clock, nodes.of)
    request_.refresh_from_db()
    assert request_.status == "completed"
    assert not Payment.objects.filter(after_price=True).exists()


def test_coin_after_waiting_coin_keeps_its_block(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    PaymentRequest.objects.update(expires_at=nodes.block(10**6).time)
    first = pay(nodes, request_, DUST)
    search(nodes, clock)
    second = pay(nodes, request_, DUST)
    nodes.mine(5)
    search(nodes, clock)
    assert (found(), DepositAddress.objects.get().waiting_block) == ([], first)
    end_price(nodes, second)
    nodes.mine(5)
    nodes.finalized = first
    assert search(nodes, clock) == 1
    row = DepositAddress.objects.get()
    assert (found(), row.waiting_block, row.waiting_received) == ([(first, DUST)], second, 2 * DUST)


def test_coin_within_the_hour_joins_waiting_coin(request_: PaymentRequest, nodes: CoinChain) -> None:
    clock = Clock()
    PaymentRequest.objects.update(expires_at=nodes.block(10**6).time)
    nodes.finalized = None
    pay(nodes, request_, DUST)
    assert search(nodes, clock) == 1
    for _ in range(3):
        pay(nodes, request_, DUST)
        nodes.mine(5)
        nodes.reads.clear()
        assert search(nodes, clock, minutes=5) == 0
    assert len(nodes.reads) == 1
    assert DepositAddress.objects.get().waiting_received == 4 * DUST
    clock.forward(seconds=PERIOD.total_seconds())
    assert search(nodes, clock, minutes=1) == 1
    assert [amount for _, amount in found()] == [DUST, 3 * DUST]
