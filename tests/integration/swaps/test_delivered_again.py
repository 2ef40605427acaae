"""After completion, a swap's delivery is reorganised away. Then the provider delivers again, or doesn't."""

import pytest

from payments.models import ConsumedTransfer, Payment, PaymentRequest
from payments.requests.lifecycle import expire_due
from payments.submission.merchant_acceptance import accept_payment
from payments.verification.finality import CHECKS_BEFORE_ALERT
from tests.integration.swaps.test_deliveries import ASKED, Scripted, delivered
from tests.support.payments.world import submit
from tests.verifying import check_finality, follow_swaps
from webhooks.models import Event


def gone(scripted: Scripted, request: PaymentRequest | None = None) -> tuple[Payment, str]:
    """Return a completed swap whose delivery was reorganised away, and the delivery's raw transaction."""
    chain = scripted.world.second
    payment = scripted.depart(request or scripted.request())
    by = scripted.deliver(ASKED)
    raw = chain.rpc("eth_getRawTransactionByHash", by)
    scripted.provider.says(delivered(by, ASKED))
    scripted.decide(payment)
    chain.reorganise()
    chain.rpc("anvil_dropTransaction", by)
    for _ in range(CHECKS_BEFORE_ALERT):
        at_finality(scripted)
    payment.refresh_from_db()
    assert payment.reorged
    return payment, str(raw)


def at_finality(scripted: Scripted) -> None:
    scripted.world.second.mine(70)
    scripted.clock.forward(minutes=3)
    check_finality(now=scripted.clock)


def poll(scripted: Scripted) -> int:
    scripted.clock.forward(minutes=3)
    return follow_swaps(provider=lambda key: scripted.provider, now=scripted.clock)


@pytest.mark.parametrize("amount", [ASKED, ASKED + 5], ids=["the same", "more"])
def test_repeated_delivery_is_credited_in_place_of_the_first(scripted: Scripted, amount: int) -> None:
    payment, _ = gone(scripted)
    again = scripted.deliver(amount)
    scripted.world.second.mine(3)
    scripted.provider.says(delivered(again, amount))
    assert poll(scripted) == 1
    payment.refresh_from_db()
    request = payment.request
    request.refresh_from_db()
    assert (payment.status, payment.reorged, payment.amount_received) == ("completed", False, amount)
    assert payment.swap.delivery.transaction_hash == again
    assert (request.status, request.amount_paid, request.net) == ("completed", amount, amount)
    assert ConsumedTransfer.objects.get().transaction_hash == again
    assert Event.objects.filter(type="payment.reorged").count() == 2
    assert poll(scripted) == 0
    at_finality(scripted)
    payment.refresh_from_db()
    assert (payment.reorged, payment.swap.delivery.finality_check_at) == (False, None)


def test_smaller_repeated_delivery_needs_merchant_acceptance(scripted: Scripted) -> None:
    payment, _ = gone(scripted)
    request = payment.request
    again = scripted.deliver(ASKED - 1)
    scripted.world.second.mine(3)
    scripted.provider.says(delivered(again, ASKED - 1))
    assert poll(scripted) == 1
    payment.refresh_from_db()
    request.refresh_from_db()
    assert (payment.reorged, request.amount_paid, request.net) == (True, ASKED, 0)
    extra = scripted.decide(submit(request, again))
    assert extra.failure_code == "transaction_not_bound"
    accept_payment(extra, reason="delivered again", actor="test")
    scripted.decide(extra)
    request.refresh_from_db()
    assert (extra.bound_by, request.net) == ("manual", ASKED - 1)


def test_smaller_delivery_of_a_part_payment_is_credited(scripted: Scripted) -> None:
    request = scripted.request("20")
    payment, _ = gone(scripted, request)
    again = scripted.deliver(ASKED - 1)
    scripted.world.second.mine(3)
    scripted.provider.says(delivered(again, ASKED - 1))
    assert poll(scripted) == 1
    payment.refresh_from_db()
    request.refresh_from_db()
    assert (payment.reorged, request.amount_paid, request.net) == (False, ASKED - 1, ASKED - 1)
    assert request.status == "active"


def test_delivery_that_is_not_deep_enough_is_polled_again(scripted: Scripted) -> None:
    payment, _ = gone(scripted)
    chain = payment.request.chain
    chain.confirmations = "5"
    chain.save()
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    assert poll(scripted) == 1
    payment.refresh_from_db()
    assert payment.reorged
    scripted.world.second.mine(5)
    assert poll(scripted) == 1
    payment.refresh_from_db()
    assert not payment.reorged


def test_delivery_crediting_another_request_counts_only_once(scripted: Scripted) -> None:
    payment, _ = gone(scripted)
    other = scripted.depart(scripted.request())
    by = scripted.deliver(ASKED)
    scripted.world.second.mine(3)
    scripted.provider.says(delivered(by, ASKED))
    scripted.decide(other)
    poll(scripted)
    payment.refresh_from_db()
    other.refresh_from_db()
    credited = ConsumedTransfer.objects.filter(transaction_hash=by)
    assert credited.count() == 1
    assert credited.get().payment in (payment, other)


def test_first_delivery_that_returns_ends_the_polling(scripted: Scripted) -> None:
    payment, raw = gone(scripted)
    first = payment.swap.delivery.transaction_hash
    assert scripted.world.second.rpc("eth_sendRawTransaction", raw) == first
    at_finality(scripted)
    payment.refresh_from_db()
    assert not payment.reorged
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    assert poll(scripted) == 1
    assert poll(scripted) == 0
    assert ConsumedTransfer.objects.get().transaction_hash == first


def test_provider_that_delivers_nothing_is_polled_for_a_month(scripted: Scripted) -> None:
    payment, _ = gone(scripted)
    assert poll(scripted) == 1
    count = Event.objects.count()
    scripted.clock.forward(days=31)
    expire_due(scripted.clock())
    assert poll(scripted) == 1
    scripted.clock.forward(days=10)
    assert poll(scripted) == 0
    payment.refresh_from_db()
    assert (payment.status, payment.reorged) == ("completed", True)
    assert Event.objects.count() == count


def test_second_delivery_of_a_standing_one_needs_the_merchant(scripted: Scripted) -> None:
    """A swap has only one delivery that its provider reports. So nothing binds a second one to the request."""
    payment = scripted.depart(scripted.request())
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    scripted.decide(payment)
    extra = submit(payment.request, scripted.deliver(ASKED))
    scripted.decide(extra)
    assert (extra.status, extra.failure_code) == ("failed", "transaction_not_bound")
    assert poll(scripted) == 0
    payment.request.refresh_from_db()
    assert payment.request.amount_paid == ASKED
