"""Each task wakes its own queue of a worker process. If a chain's nodes hang, other chains are not delayed."""

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest

from chains.client import Block, Head, Snapshot, TransactionFacts, Transfer
from chains.models import Chain, Token
from config.due_work.listening import Channel, Listener, notify
from config.due_work.runner import Runner, stop_all
from merchants.models import Merchant
from merchants.tasks import wake_mails
from payments import tasks, workers
from payments.models import Payment, PaymentRequest
from payments.swaps import deliveries
from payments.verification.engine import verify_due
from tests.processes import eventually
from tests.support.payments.world import make_request, submit
from webhooks.tasks import wake_deliveries

pytestmark = pytest.mark.django_db(transaction=True)

RECIPIENT = "0x" + "11" * 20
AMOUNT = 10_000_000


@dataclass
class Nodes:
    """The nodes of two chains.

    The first chain's hang until they are released. All transactions are valid payments.
    """

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
def runner(nodes: Nodes) -> Iterator[Runner[int]]:
    verify = partial(verify_due, swaps=deliveries, client=nodes.of)
    runner = Runner("verify", verify, lanes=workers.VERIFICATION._lanes, linger_seconds=2)
    yield runner
    nodes.released.set()
    stop_all([runner], 30)


def test_a_chain_that_hangs_delays_no_other_chain(
    runner: Runner[int], nodes: Nodes, merchant: Merchant, slow_token: Token, usdc: Token
) -> None:
    stuck = nodes.pay(make_request(merchant, slow_token, "10", RECIPIENT))
    payment = nodes.pay(make_request(merchant, usdc, "10", RECIPIENT))
    assert runner.nudge() == 2
    assert nodes.reached.wait(30)
    await_status(payment, Payment.Status.COMPLETED)
    assert Payment.objects.get(pk=stuck.pk).status == Payment.Status.PROCESSING
    # The hanging chain has only one thread. No more work starts for it, and the other chain continues.
    nodes.pay(make_request(merchant, slow_token, "10", RECIPIENT))
    later = nodes.pay(make_request(merchant, usdc, "10", RECIPIENT))
    runner.nudge()
    await_status(later, Payment.Status.COMPLETED)
    assert nodes.asked.count(slow_token.chain_id) == 1
    nodes.released.set()
    await_status(stuck, Payment.Status.COMPLETED)


@pytest.mark.parametrize(
    ("task", "runner"),
    [
        (tasks.wake_verification, workers.VERIFICATION),
        (tasks.wake_swaps, workers.FOLLOWING),
        (tasks.wake_finality, workers.FINALIZATION),
        (tasks.wake_discovery, workers.DISCOVERY),
        (tasks.wake_values, workers.VALUATION),
        (tasks.wake_late_mails, workers.LATE_MAILING),
        (wake_mails, workers.MAILING),
        (wake_deliveries, workers.DELIVERIES),
    ],
)
def test_task_wakes_its_queue(task: Any, runner: Runner[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    nudged: list[Runner[Any]] = []
    monkeypatch.setattr(Runner, "nudge", lambda self: nudged.append(self))
    task()
    assert nudged == [runner]
    assert runner in workers.RUNNERS


def test_notification_wakes_its_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: Queue[tuple[Runner[Any], Any]] = Queue()
    monkeypatch.setattr(Runner, "wake", lambda self, lane: woken.put((self, lane)))
    listener = Listener(workers.WAKES)
    listener.start()
    try:
        eventually(lambda: listener.is_current, "the listener is connected")
        notify(Channel.PAYMENTS, "137")
        assert woken.get(timeout=30) == (workers.VERIFICATION, 137)
        notify(Channel.DELIVERIES)
        assert woken.get(timeout=30) == (workers.DELIVERIES, None)
    finally:
        listener.stop()


def await_status(payment: Payment, status: str) -> None:
    """Wait for the chain's own thread to store the result."""
    eventually(lambda: Payment.objects.get(pk=payment.pk).status == status, f"{payment.pk} is {status}")
