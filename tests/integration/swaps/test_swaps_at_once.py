"""Concurrent workers, swaps and providers: each delivery counts once, and no payment waits for another's provider."""

import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from chains.families import get_client
from config.due_work.runner import Runner
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Quote, Swap, Transition, swap_of
from payments.providers.base import ProviderDown, SwapStatus
from payments.swaps.following import BATCH, SWAPS, follow_provider
from tests.leases import end_leases
from tests.processes import eventually
from tests.support.payments.rows import add_lookup, change, delivery_hash, lease_alone
from tests.support.payments.world import look_until_decided, pay, submit
from tests.support.swaps.scripted import PINNED, USDC_UNIT, Script, Scripted, delivered, under_way
from tests.threads import at_once
from tests.verifying import follow_swaps, verify_due, verify_on_chain
from webhooks.models import Event

ASKED = 10 * USDC_UNIT
pytestmark = pytest.mark.django_db(transaction=True)


def waits_for_provider(scripted: Scripted, request: PaymentRequest | None = None, **quoted: Any) -> Payment:
    """Return a swap whose status query to the provider is due."""
    request = request or scripted.request()
    payment = scripted.depart(request, scripted.quote(request, **quoted))

    def is_seen() -> bool:
        verify_due()
        payment.refresh_from_db()
        return swap_of(payment) is not None and payment.swap.next_poll_at is not None

    eventually(is_seen, "its transaction was seen", 15)
    return payment


def test_many_workers_follow_one_swap_and_credit_it_once(scripted: Scripted) -> None:
    payment = waits_for_provider(scripted)
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    claimed = at_once([lambda: follow_swaps(provider=lambda _: scripted.provider)] * 20)
    assert (sum(claimed), len(scripted.provider.asked)) == (1, 1)
    assert sum(at_once([verify_due] * 20)) == 1
    payment.refresh_from_db()
    assert payment.status == "completed"
    assert ConsumedTransfer.objects.count() == Event.objects.count() == 1
    assert Transition.objects.filter(payment=payment, to_status="completed").count() == 1


def test_delivery_claimed_by_many_swaps_at_once_counts_once(scripted: Scripted) -> None:
    by = scripted.deliver(ASKED)
    payments = [waits_for_provider(scripted) for _ in range(8)]
    scripted.provider.says(delivered(by, ASKED))
    follow_swaps(provider=lambda _: scripted.provider)
    # Each worker takes one payment, so that all evaluate before any has stored a result.
    ids = [payment.pk for payment in payments]
    at_once([lambda pk=pk: alone(pk) for pk in ids])
    completed = Payment.objects.filter(pk__in=ids, status="completed")
    assert completed.count() == ConsumedTransfer.objects.count() == 1
    others = Payment.objects.filter(pk__in=ids).exclude(pk=completed.get().pk)
    assert {(other.status, other.attempts, delivery_hash(other)) for other in others} == {
        ("processing", 1, "")
    }
    assert all("has already been credited" in other.status_detail for other in others)
    assert sum(PaymentRequest.objects.values_list("amount_paid", flat=True)) == ASKED


def alone(payment_id: str) -> None:
    """Verify one payment as a worker that leased nothing else."""
    lease, lookups = lease_alone(payment_id)
    verify_on_chain(lookups[0].chain, lookups, lease, client=get_client, now=timezone.now)


def test_a_worker_whose_lease_ran_out_writes_nothing(scripted: Scripted) -> None:
    payment = waits_for_provider(scripted)

    @dataclass
    class Slow(Script):
        def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
            Swap.objects.filter(payment=payment).update(claim_id=uuid.uuid4())
            return delivered("0x" + "ab" * 32, ASKED)

    follow_swaps(provider=lambda _: Slow())
    payment.refresh_from_db()
    assert (delivery_hash(payment), payment.swap.polls, payment.attempts) == ("", 0, 0)


def test_swap_of_a_dead_worker_continues_after_its_lease(scripted: Scripted) -> None:
    payment = waits_for_provider(scripted)

    @dataclass
    class Dying(Script):
        def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
            raise SystemExit

    with pytest.raises(SystemExit):
        follow_swaps(provider=lambda _: Dying())
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    assert follow_swaps(provider=lambda _: scripted.provider) == 0, "the lease holds it"
    end_leases()
    assert scripted.decide(payment).status == "completed"


def test_what_breaks_on_one_swap_keeps_no_other_waiting(scripted: Scripted) -> None:
    broken, sound = waits_for_provider(scripted), waits_for_provider(scripted)

    @dataclass
    class Odd(Script):
        def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
            if source_hash == broken.transaction_hash:
                raise ValueError("a programmer's mistake")
            return under_way()

    follow_swaps(provider=lambda _: Odd())
    sound.refresh_from_db()
    broken.refresh_from_db()
    assert (sound.swap.polls, broken.swap.polls) == (1, 0)
    assert broken.status == "processing"


def test_a_silent_provider_is_not_asked_about_all_of_its_swaps(scripted: Scripted) -> None:
    for _ in range(5):
        waits_for_provider(scripted)
    scripted.provider.says(ProviderDown("no answer"))
    assert follow_provider("lifi", provider=lambda _: scripted.provider) == 5
    assert len(scripted.provider.asked) == 2
    assert not Swap.objects.filter(next_poll_at__lte=timezone.now()).exists()
    assert Payment.objects.filter(unanswered_looks=1).count() == 2
    assert Payment.objects.filter(swap__attempts=0, is_in_flight=True, swap__lease_until=None).count() == 5


def test_removed_provider_is_treated_as_unresponsive(scripted: Scripted) -> None:
    payment = waits_for_provider(scripted)
    change(Payment.objects, provider="gone")
    assert follow_swaps() == 1
    payment.refresh_from_db()
    assert (payment.status, payment.unanswered_looks) == ("processing", 1)
    assert payment.status_detail.startswith("gone has not answered since")


@dataclass
class Hanging(Script):
    """A provider that responds when `let_go` is set."""

    entered: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
        self.entered.set()
        assert self.let_go.wait(30)
        return under_way()


def test_hanging_provider_delays_no_direct_or_other_swap_payment(
    scripted: Scripted,
) -> None:
    scripted.world.first_row.routers = {"lifi": [PINNED], "relay": [PINNED]}
    scripted.world.first_row.save(update_fields=["routers"])
    stuck = waits_for_provider(scripted)
    other = waits_for_provider(scripted, provider="relay")
    assert (stuck.swap.provider, other.swap.provider) == ("lifi", "relay")
    hanging, quick = Hanging(), Script([delivered(scripted.deliver(ASKED), ASKED)], key="relay")
    providers = {"lifi": hanging, "relay": quick}
    poller = Runner(
        "follow",
        lambda key: follow_provider(key, provider=lambda each: providers[each]),
        lanes=lambda: SWAPS.lanes(timezone.now()),
    )
    try:
        assert poller.nudge() == 2
        assert hanging.entered.wait(10)
        eventually(lambda: delivery_hash(Payment.objects.get(pk=other.pk)), "the other was asked", 10)
        assert poller.nudge() == 0, "one thread for each provider"
        direct = scripted.request()
        paid = look_until_decided(submit(direct, pay(scripted.world.second, direct)), scripted.clock)
        assert paid.status == "completed"
        other.refresh_from_db()
        stuck.refresh_from_db()
        assert (other.status, stuck.swap.polls) == ("completed", 0)
    finally:
        hanging.let_go.set()
    eventually(lambda: Payment.objects.get(pk=stuck.pk).swap.polls == 1, "it went on", 10)
    eventually(lambda: poller.nudge() == 0 and not poller.busy, "the thread has ended", 10)


def test_a_turn_takes_a_batch_at_most_and_the_next_one_the_rest(scripted: Scripted) -> None:
    request = scripted.request()
    first = waits_for_provider(scripted, request)
    copies = []
    for number in range(BATCH):
        quote = Quote.objects.get(pk=first.quote_id)
        quote.pk, quote.bound_by = None, number.to_bytes(32)
        quote.save()
        copy = Payment.objects.get(pk=first.pk)
        copy.pk, copy.transaction_hash, copy.quote = f"pay_{number:024d}", f"0x{number:064x}", quote
        copies.append(copy)
    Payment.objects.bulk_create(copies)
    for copy in copies:
        change(copy, provider="lifi", next_poll_at=timezone.now())
        add_lookup(copy)
    scripted.provider.says(under_way())
    assert follow_provider("lifi", provider=lambda _: scripted.provider) == BATCH
    assert follow_provider("lifi", provider=lambda _: scripted.provider) == 1
    assert follow_provider("lifi", provider=lambda _: scripted.provider) == 0
    connection.close()
