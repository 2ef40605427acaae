"""kill -9 of the process that sends sponsored payments on Solana: each is paid once, and the budget is exact."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from chains.models import Chain
from demo.services import surfnet
from payments.models import Authorization, ConsumedTransfer, Payment, PaymentRequest, Relay
from tests.fault_proxy import FaultProxy, proxying
from tests.processes import Process, eventually
from tests.support.payments.cosigning import CosigningWorld
from tests.support.payments.held_sends import PATIENCE, HeldSends, kill_while_sending
from tests.support.solana.ledger import LocalLedger
from webhooks.models import Event

SEND = "sendTransaction"
# A blockhash is valid for 150 slots, which is half a minute, and a transaction is final after 31.
SLOT_MS = 200
AMOUNT = 10 * 10**6
FEE = 10_000


@pytest.fixture
def node() -> Iterator[FaultProxy]:
    """A proxy before a cluster of its own. It is the cluster's only node."""
    if not surfnet.is_offered():
        pytest.skip("Surfnet has no build for this machine.")
    running = surfnet.start(slot_ms=SLOT_MS)
    try:
        with proxying(running.url) as proxy:
            yield proxy
    finally:
        running.stop()


@pytest.fixture
def local_ledger(node: FaultProxy) -> LocalLedger:
    return LocalLedger.prepare(node.upstream)


@dataclass(frozen=True)
class Relayer:
    """A process that relays what is due from `go` on."""

    process: Process
    ready: Path
    start: Path

    @classmethod
    def prepare(cls, world: CosigningWorld, folder: Path) -> "Relayer":
        folder.mkdir()
        ready, start = folder / "ready", folder / "start"
        command = ("tests.support.payments.relayer", str(ready), str(start))
        return cls(Process(folder / "log", *command, SPONSOR_SOLANA_KEY=str(world.sponsor)), ready, start)

    def go(self) -> None:
        self.start.touch()


@pytest.mark.django_db(transaction=True)
def test_payments_and_killed_relayers_on_solana(
    world: CosigningWorld, node: FaultProxy, tmp_path: Path
) -> None:
    Chain.objects.filter(pk=world.row.pk).update(rpc_urls=[node.url])
    recipient, sends = world.recipient(), HeldSends()
    node.break_with(sends, SEND)

    def pay_twice() -> None:
        for _ in range(2):
            world.pay(world.request(recipient=recipient))

    relayers = [Relayer.prepare(world, tmp_path / name) for name in ("first", "second")]
    try:
        for each in relayers:
            eventually(each.ready.exists, "the process has started", PATIENCE)
        for is_taken, relayer in zip((False, True), relayers, strict=True):
            pay_twice()
            sends.hold(1, is_taken=is_taken)
            relayer.go()
            eventually(sends.held.is_set, "it sends the second one", PATIENCE)
            kill_while_sending([relayer.process])
            sends.released.set()
        pay_twice()
        world.work_until_idle(passes=10_000)
    finally:
        for each in relayers:
            each.process.kill()
    assert_paid_once(world, recipient)


def assert_paid_once(world: CosigningWorld, recipient: str) -> None:
    payments, relays = Payment.objects.all(), Relay.objects.all()
    assert {(each.status, each.is_sponsored, each.amount_received) for each in payments} == {
        ("completed", True, AMOUNT)
    }
    assert {(each.status, each.amount_paid) for each in PaymentRequest.objects.all()} == {
        ("completed", AMOUNT)
    }
    assert payments.count() == ConsumedTransfer.objects.count() == relays.count() == 6
    assert Event.objects.filter(type="payment.succeeded").count() == 6
    assert world.ledger.token_balance(recipient) == 6 * AMOUNT + 1, "with the unit that it had before"
    assert {(each.succeeded, each.fee) for each in relays} == {(True, FEE)}
    assert {each.cost for each in Authorization.objects.all()} == {FEE}
    # Surfnet reports the fee without the price of the compute units.
    assert 0 <= world.spent() - 6 * FEE < 6 * 10
