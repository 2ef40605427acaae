"""Real workers that die, freeze, or wait for a slow node: another takes over within seconds, and never beside one."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.db.models import F

from chains.models import Chain
from config.celery import app
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from tests import fault_proxy
from tests.chain import LocalChain
from tests.fault_proxy import Exchange, Fault, FaultProxy, proxying
from tests.processes import Process, beat, eventually, worker
from tests.support.payments.world import pay, submit
from tests.support.webhooks.receiver import Receiver, running_receiver
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Attempt, Delivery, Event

pytestmark = pytest.mark.django_db(transaction=True)
TAKEN_OVER_WITHIN = 15.0


@pytest.fixture
def node(chain: Chain, local_chain: LocalChain) -> Iterator[FaultProxy]:
    """A proxy before the local chain, which is the chain's only node."""
    with proxying(local_chain.url) as proxy:
        chain.rpc_urls = [proxy.url]
        chain.save()
        yield proxy


@pytest.fixture(scope="module")
def ticking(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[None]:
    """Beat, for all tests: it only nudges, and takes seconds to start."""
    running = beat(tmp_path_factory.mktemp("beat") / "beat.log")
    yield
    running.kill()


@pytest.fixture
def start(tmp_path: Path, ticking: None) -> Iterator[Callable[..., Process]]:
    """Return a starter of workers, which are ready when it returns and killed at the end. Beat runs meanwhile."""
    running: list[Process] = []

    def begin() -> Process:
        running.append(worker(tmp_path / f"worker-{len(running)}.log"))
        workers = len(running)
        # `limit`: the last answer ends the wait, which lasts for all of the time-out otherwise.
        eventually(
            lambda: len(app.control.ping(timeout=1, limit=workers)) == workers, f"{workers} workers are ready"
        )
        return running[-1]

    yield begin
    for process in running:
        process.kill()


@dataclass
class Looks:
    """Fault: counts the looks at transactions that are under way at the same time, and holds them up."""

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


def is_completed(payment: Payment) -> bool:
    return Payment.objects.filter(pk=payment.pk, status="completed").exists()


def assert_credited_once(payment: Payment) -> None:
    assert ConsumedTransfer.objects.filter(payment=payment).count() == 1
    assert Transition.objects.filter(payment=payment, to_status="completed").count() == 1
    assert Event.objects.filter(type="payment.succeeded").count() == 1
    assert PaymentRequest.objects.get(pk=payment.request_id).amount_paid == 1_000_000


def test_another_worker_takes_over_within_fifteen_seconds_of_a_kill(
    request_for: Callable[..., PaymentRequest],
    local_chain: LocalChain,
    node: FaultProxy,
    start: Callable[..., Process],
) -> None:
    looks = Looks(stalled=1)
    node.break_with(looks, "eth_getTransactionByHash")
    request = request_for("1")
    payment = submit(request, pay(local_chain, request))
    first = start()
    eventually(lambda: looks.now == 1, "the first worker looks")
    start()
    first.kill()
    killed_at = time.monotonic()
    eventually(lambda: is_completed(payment), "another worker completed it", 60)
    assert time.monotonic() - killed_at < TAKEN_OVER_WITHIN
    looks.released.set()
    assert_credited_once(payment)


def test_a_node_slower_than_a_lease_never_has_two_workers_on_one_payment(
    request_for: Callable[..., PaymentRequest],
    local_chain: LocalChain,
    chain: Chain,
    node: FaultProxy,
    start: Callable[..., Process],
) -> None:
    """Two nodes that are each silent for nine seconds make one look of more than a lease."""
    looks = Looks(seconds=9)
    node.break_with(looks, "eth_getTransactionByHash", "eth_getTransactionReceipt")
    request = request_for("1")
    with proxying(local_chain.url) as broken:
        broken_looks = Looks(seconds=9, answer=fault_proxy.wrong_id)

        broken.break_with(broken_looks, "eth_getTransactionByHash", "eth_getTransactionReceipt")
        chain.rpc_urls = [broken.url, node.url]
        chain.save()
        start()
        start()
        payment = submit(request, pay(local_chain, request))
        began_at = time.monotonic()
        eventually(lambda: is_completed(payment), "it was completed", 90)
        assert time.monotonic() - began_at > 15, "the look took longer than a lease"
    assert looks.most == 1
    assert broken_looks.most == 1
    assert_credited_once(payment)


def test_a_worker_that_was_paused_writes_nothing_after_another_took_over(
    request_for: Callable[..., PaymentRequest],
    local_chain: LocalChain,
    node: FaultProxy,
    start: Callable[..., Process],
    tmp_path: Path,
) -> None:
    looks = Looks(stalled=1)
    node.break_with(looks, "eth_getTransactionByHash")
    request = request_for("1")
    payment = submit(request, pay(local_chain, request))
    first = start()
    eventually(lambda: looks.now == 1, "the first worker looks")
    start()
    first.pause()
    paused_at = time.monotonic()
    eventually(lambda: is_completed(payment), "another worker completed it", 60)
    assert time.monotonic() - paused_at < TAKEN_OVER_WITHIN
    Payment.objects.update(confirmations=F("confirmations") + 7)
    before = Payment.objects.values().get(pk=payment.pk)
    looks.released.set()
    first.resume()
    # It goes on with its work: the next payment is looked at by it alone.
    eventually(lambda: looks.now == 0, "the first worker has its answer")
    other = request_for("1")
    second = submit(other, pay(local_chain, other))
    eventually(lambda: is_completed(second), "the next payment was completed")
    assert Payment.objects.values().get(pk=payment.pk) == before
    assert ConsumedTransfer.objects.filter(payment=payment).count() == 1
    assert Transition.objects.filter(payment=payment, to_status="completed").count() == 1


@pytest.fixture
def slow_receiver() -> Iterator[tuple[Receiver, threading.Event]]:
    """A receiver that holds its first call back until the event is set; later ones it answers at once."""
    released = threading.Event()

    def hold(handler: object) -> None:
        released.wait(60)

    with running_receiver() as receiver:
        receiver.answers = [hold]
        yield receiver, released
        released.set()


def test_an_event_whose_worker_was_killed_is_sent_by_another_within_fifteen_seconds(
    merchant: Merchant,
    slow_receiver: tuple[Receiver, threading.Event],
    request_for: Callable[..., PaymentRequest],
    local_chain: LocalChain,
    start: Callable[..., Process],
) -> None:
    receiver, _ = slow_receiver
    configure(merchant, Change(url=receiver.url))
    first, second = start(), start()
    second.pause()
    request = request_for("1")
    submit(request, pay(local_chain, request))
    eventually(lambda: len(receiver.received) == 1, "the first worker sends")
    first.kill()
    second.resume()
    killed_at = time.monotonic()
    eventually(lambda: Delivery.objects.filter(status="delivered").exists(), "another worker sent it")
    assert time.monotonic() - killed_at < TAKEN_OVER_WITHIN
    assert [call.headers["Service-Event-Id"] for call in receiver.received] == [Event.objects.get().id] * 2
    assert "worker" in Attempt.objects.get(number=1).error


def test_a_receiver_that_takes_its_ten_seconds_gets_no_second_copy_meanwhile(
    merchant: Merchant,
    slow_receiver: tuple[Receiver, threading.Event],
    request_for: Callable[..., PaymentRequest],
    local_chain: LocalChain,
    start: Callable[..., Process],
) -> None:
    receiver, _ = slow_receiver
    configure(merchant, Change(url=receiver.url))
    request = request_for("1")
    submit(request, pay(local_chain, request))
    start()
    start()
    eventually(lambda: len(receiver.received) == 1, "one worker sends")
    eventually(
        lambda: Attempt.objects.filter(number=1, duration_ms__isnull=False).exists(), "the attempt ended", 30
    )
    first = Attempt.objects.get()
    assert (first.status_code, first.error) == (None, "No response within 10 seconds.")
    assert len(receiver.received) == 1
    assert Delivery.objects.get().claim_id is None
