"""Random histories of coin that is sent, swept and reorganised. The credited amount is always the received amount."""

from collections.abc import Callable
from random import Random

import pytest

from chains.models import Chain, Token
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.support.payments.coins import ETHER, CoinChain
from tests.support.payments.deposits import give_address
from tests.support.payments.world import Clock, look
from tests.verifying import check_finality, discover_due

Make = Callable[..., PaymentRequest]
DEPTH, STEPS = 3, 25


class History:
    """One request with a deposit address, on a chain with random events."""

    def __init__(self, request: PaymentRequest, seed: int) -> None:
        self.request, self.random, self.clock = request, Random(seed), Clock()
        self.nodes = CoinChain(finalized=0)
        self.address = str(request.deposit_address)

    def step(self) -> None:
        names = ("send", "send", "sweep", "mine", "search", "search", "verify", "finalize", "reorganise")
        getattr(self, self.random.choice(names))()

    def send(self) -> None:
        self.nodes.pay(self.address, self.random.randint(1, 5) * ETHER // 100)

    def sweep(self) -> None:
        self.nodes.sweep(self.address)

    def mine(self) -> None:
        self.nodes.mine(self.random.randint(1, DEPTH))

    def search(self) -> None:
        self.clock.forward(seconds=10)
        discover_due(client=self.nodes.of, now=self.clock)

    def verify(self) -> None:
        self.clock.forward(seconds=5)
        look(self.clock, self.nodes.of)

    def finalize(self) -> None:
        """Mark old blocks as final. No reorganisation removes them."""
        final = self.random.randint(self.nodes.finalized or 0, self.nodes.height - DEPTH)
        self.nodes.finalized = max(final, self.nodes.finalized or 0)

    def reorganise(self) -> None:
        """Replace the newest blocks, sometimes with credited transfers. Some transfers are mined again."""
        first = max((self.nodes.finalized or 0) + 1, self.nodes.height - self.random.randint(0, 2 * DEPTH))
        lost = [each for each in self.nodes.arrivals if each[0] >= first]
        self.nodes.reorganise(first)
        for _, address, amount in lost:
            if self.random.random() < 0.7:
                self.nodes.pay(address, amount)

    def end(self) -> None:
        """Make everything final, found and verified."""
        for _ in range(12):
            self.nodes.mine(2 * DEPTH)
            self.nodes.finalized = self.nodes.height - DEPTH
            self.search()
            for _ in range(4):
                self.verify()
                self.clock.forward(minutes=40)
                check_finality(client=self.nodes.of, now=self.clock)


@pytest.mark.parametrize("seed", [*range(5), 110])
def test_credited_is_received_whatever_happens(
    request_for: Make, ether: Token, chain: Chain, seed: int
) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations=str(DEPTH))
    request = request_for("10", ether)
    give_address(request, 1)
    history = History(request, seed)
    for _ in range(STEPS):
        history.step()
    history.end()
    request.refresh_from_db()
    received = sum(amount for _, _, amount in history.nodes.arrivals)
    credited = {each.payment_id for each in ConsumedTransfer.objects.all()}
    completed = Payment.objects.filter(status="completed")
    assert request.net == received
    assert credited == set(completed.values_list("pk", flat=True))
    assert not Payment.objects.filter(status__in=Payment.OPEN).exists()
