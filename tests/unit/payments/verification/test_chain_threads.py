"""A chain whose nodes hang occupies a thread of its own, and delays no other chain."""

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from chains.client import Block, Head, Snapshot, TransactionFacts, Transfer
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from payments.swaps import deliveries
from payments.verification import chain_threads
from payments.verification.chain_threads import ChainThreads
from tests.processes import eventually
from tests.support.payments.world import make_request, submit

pytestmark = pytest.mark.django_db(transaction=True)

RECIPIENT = "0x" + "11" * 20
AMOUNT = 10_000_000


@dataclass
class Nodes:
    """The nodes of two chains: the first chain's hang until they are released; all transactions are paid."""

    hanging: Chain
    paid: dict[str, TransactionFacts] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)
    reached: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def of(self, chain: Chain) -> Any:
        def look_up(hashes: Sequence[str], **_: object) -> Snapshot:
            self.asked.append(chain.pk)
            if chain.pk == self.hanging.pk:
                self.reached.set()
                self.released.wait(60)
            return Snapshot(Head(100), {hash_: self.paid.get(hash_) for hash_ in hashes})

        def transaction_counts(senders: Collection[str]) -> dict[str, int]:
            return {}

        return SimpleNamespace(look_up=look_up, transaction_counts=transaction_counts)

    def pay(self, request: PaymentRequest) -> Payment:
        number = len(self.paid) + 1
        hash_ = f"0x{number:064x}"
        transfer = Transfer(
            "0", request.token.contract_address, "payer", RECIPIENT, AMOUNT, (bytes(request.reference),)
        )
        block = Block(100, "0x" + "cd" * 32, request.created_at)
        self.paid[hash_] = TransactionFacts(
            hash_, "payer", None, block, succeeded=True, transfers=(transfer,)
        )
        return submit(request, hash_)


@pytest.fixture
def slow_token() -> Token:
    chain = Chain.objects.create(
        id=4_242, name="Slow", chain_type="evm", native_symbol="ETH", confirmations="1"
    )
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x" + "33" * 20
    )


@pytest.fixture
def nodes(slow_token: Token, usdc: Token) -> Iterator[Nodes]:
    Chain.objects.update(confirmations="1")
    nodes = Nodes(slow_token.chain)
    yield nodes
    nodes.released.set()


@pytest.fixture
def threads(nodes: Nodes) -> Iterator[ChainThreads]:
    threads = ChainThreads(deliveries, client=nodes.of)
    yield threads
    nodes.released.set()
    threads.finish(30)


def test_a_chain_that_hangs_delays_no_other_chain(
    threads: ChainThreads, nodes: Nodes, merchant: Merchant, slow_token: Token, usdc: Token
) -> None:
    stuck = nodes.pay(make_request(merchant, slow_token, "10", RECIPIENT))
    payment = nodes.pay(make_request(merchant, usdc, "10", RECIPIENT))
    assert threads.nudge() == 2
    assert nodes.reached.wait(30)
    await_status(payment, Payment.Status.COMPLETED)
    assert Payment.objects.get(pk=stuck.pk).status == Payment.Status.PROCESSING
    # The chain that hangs has its one thread: nothing more of it is started, and the other chain goes on.
    nodes.pay(make_request(merchant, slow_token, "10", RECIPIENT))
    later = nodes.pay(make_request(merchant, usdc, "10", RECIPIENT))
    threads.nudge()
    await_status(later, Payment.Status.COMPLETED)
    assert nodes.asked.count(slow_token.chain_id) == 1
    nodes.released.set()
    await_status(stuck, Payment.Status.COMPLETED)


def test_a_thread_goes_on_while_more_is_due(
    threads: ChainThreads, nodes: Nodes, merchant: Merchant, usdc: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payments.verification.leasing.BATCH", 2)
    for _ in range(5):
        nodes.pay(make_request(merchant, usdc, "10", RECIPIENT))
    assert threads.nudge() == 1
    eventually(lambda: Payment.objects.filter(status="completed").count() == 5, "all are completed")


def test_a_thread_ends_when_nothing_comes_and_the_next_nudge_starts_another(
    threads: ChainThreads, nodes: Nodes, merchant: Merchant, usdc: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_threads, "LINGER_SECONDS", 0)
    for _ in range(2):
        payment = nodes.pay(make_request(merchant, usdc, "10", RECIPIENT))
        eventually(lambda: threads.nudge() == 1, "a thread is started")
        await_status(payment, Payment.Status.COMPLETED)
    assert threads.nudge() == 0


def await_status(payment: Payment, status: str) -> None:
    """Wait for the chain's own thread to store the result."""
    eventually(lambda: Payment.objects.get(pk=payment.pk).status == status, f"{payment.pk} is {status}")
