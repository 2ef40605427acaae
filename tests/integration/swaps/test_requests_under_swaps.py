"""During a swap, its request can't be ended, and the page offers no second payment."""

from datetime import timedelta

import pytest
from django.utils import timezone

from chains.models import Chain
from config.api.errors import ApiError
from payments.models import Payment, PaymentRequest
from payments.providers.base import SwapState, SwapStatus
from payments.requests.lifecycle import cancel_request, covering_payment, expire_due
from payments.submission.hashes import retry_payment, submit_hash
from payments.submission.rechecking import Recheck, check_now
from tests.conftest import Api
from tests.support.payments.rows import delivery_depth
from tests.support.swaps.scripted import USDC_UNIT, Scripted, delivered, under_way
from tests.verifying import check_finality
from webhooks.models import Event

ASKED = 10 * USDC_UNIT


def bridging(scripted: Scripted, request: PaymentRequest, **different: object) -> Payment:
    scripted.provider.says(under_way())
    scripted.provider.asked.clear()
    return scripted.bridge(scripted.depart(request, scripted.quote(request, **different)))


def test_expiry_waits_for_it_and_comes_when_it_fails(scripted: Scripted) -> None:
    request = scripted.request(lifetime=timedelta(minutes=1))
    payment = bridging(scripted, request)
    for hours in (1, 22):
        scripted.clock.forward(hours=hours)
        assert expire_due(scripted.clock()) == 0
    scripted.step(payment)
    scripted.provider.says(SwapStatus(SwapState.REFUNDED, "DONE/REFUNDED"))
    scripted.decide(payment)
    scripted.clock.forward(minutes=1)
    assert expire_due(scripted.clock()) == 1
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("expired", 0)


@pytest.mark.parametrize("state", [SwapState.UNKNOWN, SwapState.AWAITING_SOURCE])
def test_call_naming_quote_without_payment_stops_holding_request(
    scripted: Scripted, state: SwapState
) -> None:
    request = scripted.request(lifetime=timedelta(minutes=1))
    scripted.provider.says(under_way(state))
    payment = scripted.bridge(scripted.depart(request))
    assert expire_due(request.expires_at) == 0, "it may be a swap that has only begun"
    scripted.clock.forward(minutes=16)
    for _ in range(4):
        scripted.step(payment)
    assert covering_payment(request, scripted.clock()) is None
    assert expire_due(scripted.clock()) == 1
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    assert scripted.decide(payment).status == "completed", "money that arrives is never denied"
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("completed", ASKED)


def test_nor_is_a_swap_that_was_delivered_to_the_one_who_paid(scripted: Scripted) -> None:
    request = scripted.request(lifetime=timedelta(minutes=1))
    scripted.provider.says(
        delivered(scripted.deliver(ASKED), ASKED, destination_account=scripted.world.first.payer)
    )
    payment = scripted.bridge(scripted.depart(request))
    assert expire_due(request.expires_at) == 0
    scripted.clock.forward(minutes=16)
    scripted.step(payment)
    assert expire_due(scripted.clock()) == 1


def test_swap_recognised_late_by_provider_holds_request_again(scripted: Scripted) -> None:
    request = scripted.request(lifetime=timedelta(minutes=1))
    scripted.provider.says(under_way(SwapState.UNKNOWN))
    payment = scripted.bridge(scripted.depart(request))
    scripted.clock.forward(minutes=16)
    scripted.step(payment)
    scripted.provider.says(under_way())
    scripted.until(payment, lambda: payment.is_in_flight)
    assert expire_due(scripted.clock()) == 0


def test_late_reported_delivery_below_depth_holds_its_request(
    scripted: Scripted,
) -> None:
    request = scripted.request(lifetime=timedelta(minutes=1))
    Chain.objects.filter(pk=request.chain_id).update(confirmations="12")
    scripted.provider.says(under_way(SwapState.UNKNOWN))
    payment = scripted.bridge(scripted.depart(request))
    scripted.clock.forward(minutes=16)
    scripted.step(payment)
    assert not payment.is_in_flight
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    scripted.until(payment, lambda: delivery_depth(payment) is not None)
    assert expire_due(scripted.clock()) == 0


def test_delivery_after_the_expiry_is_paid_late(scripted: Scripted) -> None:
    request = scripted.request()
    payment = bridging(scripted, request)
    PaymentRequest.objects.filter(pk=request.pk).update(expires_at=timezone.now() - timedelta(minutes=5))
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    scripted.decide(payment)
    request.refresh_from_db()
    assert (request.status, request.paid_late) == ("completed", True)


def test_cancelling_is_refused_while_it_goes_on(scripted: Scripted) -> None:
    request = scripted.request()
    payment = bridging(scripted, request)
    with pytest.raises(ApiError, match="in progress"):
        cancel_request(request.pk, actor="test")
    scripted.provider.says(SwapStatus(SwapState.FAILED, "FAILED"))
    scripted.decide(payment)
    assert cancel_request(request.pk, actor="test").status == "cancelled"


def test_swap_covering_the_rest_blocks_building_another_payment(scripted: Scripted, public: Api) -> None:
    request = scripted.request()
    payment = bridging(scripted, request)
    later = timezone.now() + timedelta(hours=1)
    assert covering_payment(request, later) == payment
    body = {
        "wallet_address": scripted.world.first.payer,
        "chain_id": request.chain_id,
        "token_id": request.token_id,
    }
    page = f"/api/public/payment-requests/{request.pk}"
    answer = public.post(f"{page}/routes", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "payment_in_progress")
    assert public.post(f"{page}/routes", {**body, "allow_parallel": True}).status_code == 200


def test_one_that_covers_a_part_lets_the_rest_be_paid(scripted: Scripted) -> None:
    request = scripted.request()
    payment = bridging(scripted, request, amount_out_min=ASKED // 2)
    later = timezone.now() + timedelta(hours=1)
    assert covering_payment(request, later) is None
    other = bridging(scripted, request, amount_out_min=ASKED // 2)
    assert covering_payment(request, later) in (payment, other)


def test_the_source_submitted_again_is_the_same_payment(scripted: Scripted) -> None:
    request = scripted.request()
    payment = bridging(scripted, request)
    chain = scripted.world.first_row
    again, is_new = submit_hash(
        request, chain=chain, transaction_hash=payment.transaction_hash, actor="checkout"
    )
    assert (again, is_new) == (payment, False)


def test_looking_now_asks_the_provider_now(scripted: Scripted) -> None:
    payment = bridging(scripted, scripted.request())
    asked = len(scripted.provider.asked)
    assert check_now(payment, actor="test") == Recheck.BROUGHT_FORWARD
    scripted.step(payment)
    assert len(scripted.provider.asked) == asked + 1


def test_checking_completed_swap_now_queries_its_delivery_chain(scripted: Scripted) -> None:
    payment = bridging(scripted, scripted.request())
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    scripted.decide(payment)
    scripted.world.second.mine(70)
    assert check_now(payment, actor="test") == Recheck.AT_FINALITY
    assert check_finality() == 1
    payment.refresh_from_db()
    assert (payment.lookup.finality_check_at, payment.reorged) == (None, False)


def test_it_can_be_retried_three_times_each_failure_told_anew(scripted: Scripted) -> None:
    payment = bridging(scripted, scripted.request())
    scripted.provider.says(SwapStatus(SwapState.REFUNDED, "DONE/REFUNDED"))
    scripted.decide(payment)
    for _ in range(3):
        retry_payment(payment, actor="test")
        scripted.decide(payment)
        assert payment.failure_code == "swap_refunded"
    with pytest.raises(ApiError, match="retried 3 times"):
        retry_payment(payment, actor="test")
    assert Event.objects.filter(type="payment.failed").count() == 4


def test_resubmitted_hash_of_refunded_swap_reopens_it_once(scripted: Scripted) -> None:
    request = scripted.request()
    payment = bridging(scripted, request)
    scripted.provider.says(SwapStatus(SwapState.REFUNDED, "DONE/REFUNDED"))
    scripted.decide(payment)
    submitted = {"chain": scripted.world.first_row, "transaction_hash": payment.transaction_hash}
    for is_open in (True, False):
        again, _ = submit_hash(request, **submitted, actor="checkout")
        assert again.is_open is is_open
        scripted.decide(payment)


def test_credited_delivery_is_rejected_as_anothers_payment(scripted: Scripted) -> None:
    request, other = scripted.request(), scripted.request()
    payment = bridging(scripted, request)
    by = scripted.deliver(ASKED)
    scripted.provider.says(delivered(by, ASKED))
    scripted.decide(payment)
    with pytest.raises(ApiError, match="has already been credited"):
        submit_hash(other, chain=other.chain, transaction_hash=by, actor="checkout")
