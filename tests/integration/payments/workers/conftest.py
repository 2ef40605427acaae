"""Two real workers and one payment or event. The first worker is stopped in the middle of its work."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chains.models import Chain
from config.celery import app
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import Exchange, Fault, FaultProxy, proxying
from tests.processes import Process, beat, eventually, worker
from tests.support.payments.world import pay, submit
from tests.support.webhooks.receiver import Receiver, answer, running_receiver
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Event

# A lease ends after ten seconds. On a busy machine, the other worker needs much longer for the rest.
TAKEN_OVER_WITHIN = 60.0

Submit = Callable[[], Payment]


@dataclass
class Looks:
    """Fault: counts and delays the lookups of transactions."""

    seconds: float = 0.0
    stalled: int = 0
    answer: Fault = fault_proxy.truth
    now: int = 0
    most: int = 0
    made: int = 0
    released: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, exchange: Exchange) -> None:
        with self._lock:
            self.now, self.made = self.now + 1, self.made + 1
            self.most = max(self.most, self.now)
            is_stalled = self.made <= self.stalled
        try:
            self.released.wait(60 if is_stalled else self.seconds)
            self.answer(exchange)
        finally:
            with self._lock:
                self.now -= 1


@pytest.fixture
def node(chain: Chain, local_chain: LocalChain) -> Iterator[FaultProxy]:
    """A proxy, which is the only node of the local chain."""
    with proxying(local_chain.url) as proxy:
        chain.rpc_urls = [proxy.url]
        chain.save()
        yield proxy


@pytest.fixture(scope="module")
def ticking(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[None]:
    """Beat, shared by all tests, because it takes seconds to start and only wakes workers."""
    running = beat(tmp_path_factory.mktemp("beat") / "beat.log")
    yield
    running.kill()


@pytest.fixture
def workers(tmp_path: Path, ticking: None) -> Iterator[tuple[Process, Process]]:
    """Two workers that are ready to work, with beat."""
    both = worker(tmp_path / "first.log"), worker(tmp_path / "second.log")
    try:
        # With `limit`, the wait ends at the last response. Without, it always lasts until the timeout.
        eventually(lambda: len(app.control.ping(timeout=1, limit=2)) == 2, "both workers are ready")
        yield both
    finally:
        for process in both:
            process.kill()


@pytest.fixture
def submitted(request_for: Callable[..., PaymentRequest], local_chain: LocalChain) -> Submit:
    """Return a function that creates payments of the full amount."""

    def make() -> Payment:
        request = request_for("1")
        return submit(request, pay(local_chain, request))

    return make


@dataclass
class Stopped:
    """The first worker waits for a node or a receiver until `released` is set. The second is idle."""

    first: Process
    second: Process
    payment: Payment
    released: threading.Event
    receiver: Receiver = field(default_factory=Receiver)


@pytest.fixture
def looking(node: FaultProxy, workers: tuple[Process, Process], submitted: Submit) -> Stopped:
    """The first worker looks up a payment, and its node doesn't respond yet. Other lookups succeed."""
    first, second = workers
    second.pause()
    looks = Looks(stalled=1)
    node.break_with(looks, "eth_getTransactionByHash")
    payment = submitted()
    eventually(lambda: looks.now == 1, "the first worker looks")
    second.resume()
    return Stopped(first, second, payment, looks.released)


@pytest.fixture
def sending(merchant: Merchant, workers: tuple[Process, Process], submitted: Submit) -> Iterator[Stopped]:
    """The first worker sends an event, and the receiver doesn't respond yet. It responds to later calls at once."""
    first, second = workers
    second.pause()
    released = threading.Event()

    def hold(handler: object) -> None:
        released.wait(60)
        answer(200)(handler)  # type: ignore[arg-type]

    with running_receiver() as receiver:
        receiver.answers = [hold]
        configure(merchant, Change(url=receiver.url))
        payment = submitted()
        eventually(lambda: len(receiver.received) == 1, "the first worker sends")
        second.resume()
        yield Stopped(first, second, payment, released, receiver)
        released.set()


def is_completed(payment: Payment) -> bool:
    return Payment.objects.filter(pk=payment.pk, status="completed").exists()


def assert_credited_once(payment: Payment) -> None:
    assert ConsumedTransfer.objects.filter(payment=payment).count() == 1
    assert Transition.objects.filter(payment=payment, to_status="completed").count() == 1
    assert Event.objects.filter(type="payment.succeeded").count() == 1
    assert PaymentRequest.objects.get(pk=payment.request_id).amount_paid == 1_000_000
