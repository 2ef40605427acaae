"""A worker gets kill -9 during 50 payments. No money and no event is lost or doubled."""

from collections.abc import Callable
from pathlib import Path

import pytest

from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from tests.chain import LocalChain
from tests.leases import end_leases
from tests.processes import beat, eventually, worker
from tests.support.payments.world import pay, submit
from tests.support.webhooks.receiver import running_receiver
from tests.threads import locked
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Delivery, Event

PAYMENTS = 50
STUCK_AT = 25


def completed() -> int:
    return Payment.objects.filter(status=Payment.Status.COMPLETED).count()


@pytest.mark.django_db(transaction=True)
def test_fifty_payments_and_a_killed_worker(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, merchant: Merchant, tmp_path: Path
) -> None:
    with running_receiver() as receiver:
        configure(merchant, Change(url=receiver.url))
        requests = [request_for("1") for _ in range(PAYMENTS)]
        for request in requests:
            submit(request, pay(local_chain, request))

        ticking = beat(tmp_path / "beat.log")
        working = worker(tmp_path / "worker.log")
        try:
            stuck = PaymentRequest.objects.select_for_update(no_key=True).filter(pk=requests[STUCK_AT].pk)
            with locked(stuck.get):
                eventually(lambda: completed() >= STUCK_AT, "the first half was completed")
                working.kill()
            assert STUCK_AT <= completed() < PAYMENTS, "the kill came in the middle"
            # Another worker takes over when the dead worker's leases end. The test ends them now.
            end_leases()
            working = worker(tmp_path / "worker.log")
            eventually(lambda: completed() == PAYMENTS, "every payment was completed")
            eventually(
                lambda: Delivery.objects.filter(status="delivered").count() == PAYMENTS, "all were delivered"
            )
        finally:
            working.kill()
            ticking.kill()

        assert PaymentRequest.objects.filter(status="completed", amount_paid=1_000_000).count() == PAYMENTS
        assert ConsumedTransfer.objects.count() == PAYMENTS
        assert Transition.objects.filter(payment=None, to_status="completed").count() == PAYMENTS
        events = set(Event.objects.filter(type="payment.succeeded").values_list("id", flat=True))
        assert len(events) == Event.objects.count() == PAYMENTS
        heard = [call.headers["Service-Event-Id"] for call in receiver.received]
        assert set(heard) == events, "each event was heard at least once"
