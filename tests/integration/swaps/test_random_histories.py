"""Random histories of swaps, deliveries, reorganisations and lies. The service's books must always match the chain.

The model is small. A delivery may count once, if it is on the chain and the swap's provider named it. At the
end, everyone becomes honest, and every delivered swap completes. `SEQUENCES=1000` sets the number of histories.
"""

import os
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chains.client import Block, Head, Mention, Snapshot, TransactionFacts, Transfer
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Quote, Route
from payments.providers.base import ProviderDown, SwapState, SwapStatus
from payments.requests.lifecycle import expire_due
from payments.submission.hashes import submit_hash
from tests.support.payments.rows import assert_one_thing_is_due, bring_forward
from tests.support.payments.world import Clock, make_request
from tests.verifying import follow_swaps, verify_due
from webhooks.models import Event

ROUTER = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
USDC = "0x700b6A60ce7EaaEA56F065753d8dcB9653dbAD35"
PAYER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
DEPTH = 2
POOL, GONE = -1, -2


@dataclass
class Sent:
    """A transaction on a fake chain. `at` is its block's height, or says that it is in the pool or gone."""

    hash: str
    named: bytes = b""
    amounts: tuple[int, ...] = ()
    at: int = POOL


@dataclass
class Ledger:
    """A scripted chain with the interface of the real clients."""

    height: int = 100
    sent: dict[str, Sent] = field(default_factory=dict)

    def send(self, **what: Any) -> Sent:
        sent = Sent("0x" + secrets.token_hex(32), **what)
        self.sent[sent.hash] = sent
        return sent

    def mine(self) -> None:
        self.height += 1
        for sent in self.sent.values():
            sent.at = self.height if sent.at == POOL else sent.at

    def reorganise(self, *, drop: bool) -> None:
        for sent in self.sent.values():
            if sent.at == self.height:
                sent.at = GONE if drop else POOL
        self.height -= 1

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        return Snapshot(Head(self.height), {wanted: self._facts(wanted) for wanted in hashes})

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        return {}

    def _facts(self, wanted: str) -> TransactionFacts | None:
        sent = self.sent.get(wanted)
        if sent is None or sent.at == GONE:
            return None
        if sent.at == POOL:
            return TransactionFacts(wanted, PAYER, None, None, succeeded=False, transfers=())
        block = Block(sent.at, f"0x{sent.at:064x}", timezone.now())
        moved = tuple(
            Transfer(str(slot), USDC, ROUTER, RECIPIENT, amount) for slot, amount in enumerate(sent.amounts)
        )
        mentions = (Mention(ROUTER, b"call" + sent.named),) if sent.named else ()
        return TransactionFacts(wanted, PAYER, None, block, True, moved, mentions=mentions)


@dataclass
class Swap:
    """One swap, its current status at the provider, and all deliveries that the provider ever named."""

    payment: str
    source: Sent
    amount: int
    says: SwapStatus | ProviderDown
    delivery: Sent | None = None
    named: set[str] = field(default_factory=set)


class History:
    """Two chains, a provider and the service."""

    def __init__(self, merchant: Merchant, source: Chain, target: Chain) -> None:
        self.merchant, self.source, self.target = merchant, source, target
        self.usdc = target.tokens.get()
        self.ether = source.tokens.get()
        self.chains = {source.pk: Ledger(), target.pk: Ledger()}
        self.clock = Clock()
        self.swaps: list[Swap] = []
        self.hours = 0

    key = "lifi"

    def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
        swap = next(swap for swap in self.swaps if swap.source.hash == source_hash)
        if isinstance(swap.says, ProviderDown):
            raise swap.says
        if swap.says.destination_hash:
            swap.named.add(swap.says.destination_hash)
        return swap.says

    def step(self, action: str, which: int, amount: int) -> None:
        if action == "begin":
            self.begin(amount)
        elif self.swaps:
            getattr(self, action)(self.swaps[which % len(self.swaps)], amount)
        self.agree()

    def begin(self, amount: int) -> None:
        request = make_request(self.merchant, self.usdc, f"0.00000{amount}", RECIPIENT)
        now = timezone.now()
        route = Route.objects.create(
            request=request,
            type="swap",
            wallet_address=PAYER,
            chain=self.source,
            token=self.ether,
            amount=7,
            expires_at=now,
            provider=self.key,
        )
        quote = Quote.objects.create(
            route=route,
            provider=self.key,
            bound_by=secrets.token_bytes(32),
            amount_in=7,
            amount_out=amount,
            amount_out_min=amount,
            action={},
            built_at=now,
        )
        source = self.chains[self.source.pk].send(named=bytes(quote.bound_by))
        payment, _ = submit_hash(request, chain=self.source, transaction_hash=source.hash, actor="checkout")
        self.swaps.append(Swap(payment.pk, source, amount, SwapStatus(SwapState.UNKNOWN, "NOT_FOUND")))

    def mine(self, swap: Swap, amount: int) -> None:
        self.chains[self.source.pk if amount % 3 == 0 else self.target.pk].mine()

    def reorg(self, swap: Swap, amount: int) -> None:
        """Undo the newest block. Nothing counts in it yet, because DEPTH is 2."""
        self.chains[self.source.pk if amount % 3 == 0 else self.target.pk].reorganise(drop=amount % 2 == 0)

    def deliver(self, swap: Swap, amount: int) -> None:
        """Deliver the exact amount, a little less, or with another transfer.

        Deliver once, or again if a block was undone.
        """
        if swap.delivery is None or swap.delivery.at == GONE:
            amounts = {1: (max(swap.amount - 1, 1),), 2: (swap.amount, 99)}.get(amount, (swap.amount,))
            swap.delivery = self.chains[self.target.pk].send(amounts=amounts)

    def honest(self, swap: Swap, amount: int) -> None:
        swap.says = SwapStatus(SwapState.BRIDGING, "PENDING")
        if swap.delivery is not None and swap.delivery.at != GONE:
            swap.says = self.done(swap.delivery.hash, swap.delivery.amounts[0])

    def lie(self, swap: Swap, amount: int) -> None:
        """Name another swap's delivery, an invented one, or a wrong amount of the right one."""
        others = [other.delivery for other in self.swaps if other is not swap and other.delivery]
        own = swap.delivery.hash if swap.delivery else "0x" + "ab" * 32
        by = others[amount % len(others)].hash if others and amount % 2 else own
        swap.says = self.done(by, amount)

    def done(self, by: str, amount: int) -> SwapStatus:
        return SwapStatus(SwapState.DELIVERED, "DONE", destination_hash=by, destination_amount=amount)

    def silent(self, swap: Swap, amount: int) -> None:
        swap.says = ProviderDown("no answer")

    def end(self, swap: Swap, amount: int) -> None:
        states = (SwapState.REFUNDED, SwapState.FAILED, SwapState.DELIVERED_OTHER_TOKEN)
        swap.says = SwapStatus(states[amount % 3], "ENDED")

    def expire(self, swap: Swap, amount: int) -> None:
        if self.hours < 20:
            self.hours += 2
            self.clock.forward(hours=2)
            expire_due(self.clock())

    def look(self, swap: Swap | None = None, amount: int = 1) -> None:
        for _ in range(4 if amount % 2 else 1):
            bring_forward(self.clock())
            verify_due(client=lambda chain: self.chains[chain.pk], now=self.clock)  # type: ignore[arg-type,return-value]
            follow_swaps(provider=lambda key: self, now=self.clock)  # type: ignore[arg-type,return-value]

    def agree(self) -> None:
        """Compare the books with the chain and with the provider's reports."""
        assert_one_thing_is_due()
        by_payment = {swap.payment: swap for swap in self.swaps}
        target = self.chains[self.target.pk]
        for consumed in ConsumedTransfer.objects.select_related("payment"):
            sent = target.sent[consumed.transaction_hash]
            assert sent.at >= 0
            assert target.height - sent.at + 2 >= DEPTH, (
                "deep when it was counted; one block may have gone since"
            )
            assert consumed.amount == sent.amounts[int(consumed.slot)]
            assert consumed.transaction_hash in by_payment[consumed.payment_id].named
            assert (consumed.payment.status, consumed.chain_id) == ("completed", self.target.pk)
            assert consumed.payment.amount_received == consumed.amount
        for request in PaymentRequest.objects.annotate(sum=Sum("payments__consumed_transfers__amount")):
            assert request.amount_paid == int(request.sum or 0)
            assert (request.status == "completed") is (request.amount_paid >= request.amount)
        completed = Payment.objects.filter(status="completed").count()
        assert ConsumedTransfer.objects.count() == completed
        full = PaymentRequest.objects.filter(status="completed").count()
        assert Event.objects.filter(type="payment.succeeded").count() == full
        failed = Payment.objects.filter(status="failed").count()
        assert Event.objects.filter(type="payment.failed").count() == failed

    def come_to_an_end(self) -> None:
        """Make everyone honest. Every swap completes whose delivery was not credited to another payment."""
        for _ in range(2 * DEPTH):
            for chain in self.chains.values():
                chain.mine()
        for swap in self.swaps:
            self.honest(swap, 1)
        for _ in range(2):
            self.look()
        self.agree()
        taken = dict(ConsumedTransfer.objects.values_list("transaction_hash", "payment_id"))
        for swap in self.swaps:
            payment = Payment.objects.get(pk=swap.payment)
            is_delivered = swap.delivery is not None and swap.delivery.at >= 0
            if is_delivered and payment.is_open and swap.source.at >= 0:
                assert swap.delivery is not None
                assert taken.get(swap.delivery.hash, swap.payment) != swap.payment, payment.status_detail


ACTIONS = (
    *("begin", "begin", "mine", "mine", "mine", "deliver", "deliver", "honest", "honest"),
    *("look", "look", "look", "lie", "silent", "end", "reorg", "expire"),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 3), st.integers(1, 9)), min_size=6, max_size=24
)


@pytest.mark.django_db
@settings(
    max_examples=int(os.environ.get("SEQUENCES", "12")),
    deadline=timedelta(seconds=30),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_the_books_agree_with_the_chain(merchant: Merchant, steps: list[tuple[str, int, int]]) -> None:
    with transaction.atomic():
        source, target = (
            Chain.objects.create(
                id=chain_id,
                name=f"Chain {chain_id}",
                chain_type="evm",
                native_symbol="ETH",
                confirmations=str(DEPTH),
                routers={"lifi": [ROUTER]},
            )
            for chain_id in (1, 2)
        )
        Token.objects.create(chain=source, symbol="ETH", name="Ether", decimals=18, contract_address="")
        Token.objects.create(chain=target, symbol="USDC", name="USD Coin", decimals=6, contract_address=USDC)
        history = History(merchant, source, target)
        history.step("begin", 0, 3)
        for action, which, amount in steps:
            history.step(action, which, amount)
        history.come_to_an_end()
        transaction.set_rollback(True)
