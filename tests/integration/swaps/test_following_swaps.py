"""The service follows a swap at its provider. It believes a status only as far as our own node confirms it."""

from datetime import timedelta

import pytest

from demo.aggregator.contracts import ROUTER
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from payments.providers.base import ProviderDown, SwapState, SwapStatus
from payments.submission.hashes import retry_payment
from tests.support.payments.rows import delivery_hash
from tests.support.payments.world import submit
from tests.support.swaps.following import assert_nothing_counted
from tests.support.swaps.scripted import USDC_UNIT, Scripted, delivered, under_way
from webhooks.models import Event

Status = PaymentRequest.Status


def assert_untouched(payment: Payment) -> None:
    """Check that the payment is still in progress: nothing is credited, consumed or reported."""
    payment.refresh_from_db()
    assert (payment.status, payment.amount_received) == ("processing", None), payment.status_detail
    assert PaymentRequest.objects.get(pk=payment.request_id).amount_paid == 0
    assert not ConsumedTransfer.objects.exists()
    assert not Event.objects.exists()


def test_mined_transaction_naming_a_quote_starts_the_swap(scripted: Scripted) -> None:
    request = scripted.request()
    quote = scripted.quote(request)
    scripted.provider.says(under_way(raw="PENDING/WAIT_DESTINATION_TRANSACTION"))
    payment = scripted.bridge(scripted.depart(request, quote))
    assert (payment.type, payment.swap.provider, payment.bound_by) == ("swap", "lifi", "provider")
    assert (payment.quote, payment.route) == (quote, quote.route)
    assert (payment.token, payment.amount) == (quote.route.token, quote.amount_in)
    assert payment.swap.next_poll_at is not None
    assert (payment.is_in_flight, payment.attempts) == (True, 0)
    assert payment.swap.provider_status == "PENDING/WAIT_DESTINATION_TRANSACTION"
    assert payment.status_detail == "LI.FI is sending the USDC to Harbour Chain."
    assert scripted.provider.asked == [(quote.tracking, payment.transaction_hash)]
    assert_untouched(payment)


def test_a_delivery_that_our_node_sees_completes_the_request(scripted: Scripted) -> None:
    request = scripted.request()
    payment = scripted.depart(request)
    by = scripted.deliver(10 * USDC_UNIT)
    scripted.provider.says(
        under_way(),
        delivered(by.upper().replace("X", "x"), 10 * USDC_UNIT, explorer_url="https://scan.li.fi/tx/1"),
    )
    assert scripted.decide(payment).status == "completed"
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.COMPLETED, 10 * USDC_UNIT)
    assert delivery_hash(payment) == by, "in its canonical form"
    assert payment.swap.provider_url == "https://scan.li.fi/tx/1"
    consumed = ConsumedTransfer.objects.get()
    assert (consumed.chain_id, consumed.transaction_hash) == (request.chain_id, by)
    assert Event.objects.get().type == "payment.succeeded"


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (SwapState.UNKNOWN, "Sent on Local Chain; LI.FI has not seen it yet."),
        (SwapState.AWAITING_SOURCE, "Sent; LI.FI is waiting for Local Chain to confirm it."),
        (SwapState.BRIDGING, "LI.FI is sending the USDC to Harbour Chain."),
        (SwapState.REFUNDING, "LI.FI could not deliver and is refunding the payer."),
    ],
)
def test_what_is_no_end_burns_no_retry_however_often_it_is_said(
    scripted: Scripted, state: SwapState, sentence: str
) -> None:
    payment = scripted.depart(scripted.request())
    scripted.provider.says(under_way(state, state.value.upper()))
    scripted.until(payment, lambda: len(scripted.provider.asked) == 30)
    assert (payment.attempts, payment.status_detail) == (0, sentence)
    is_known = state in (SwapState.BRIDGING, SwapState.REFUNDING)
    assert payment.is_in_flight is is_known, "after a quarter of an hour"
    assert payment.swap.provider_status == state.value.upper()
    assert_untouched(payment)


def test_it_is_asked_more_seldom_as_time_goes_on(scripted: Scripted) -> None:
    payment = scripted.depart(scripted.request())
    scripted.provider.says(under_way())
    pauses = []
    for asked in range(1, 28):
        scripted.until(payment, lambda asked=asked: len(scripted.provider.asked) == asked)
        assert payment.due_at
        pauses.append(round((payment.due_at - scripted.clock()).total_seconds()))
    assert pauses == [10] * 6 + [30] * 6 + [60] * 12 + [120] * 3


def test_the_providers_advice_on_when_to_ask_comes_first(scripted: Scripted) -> None:
    payment = scripted.depart(scripted.request())
    scripted.provider.says(SwapStatus(SwapState.BRIDGING, "PENDING", retry_after=45))
    scripted.bridge(payment)
    assert payment.due_at
    assert 44 < (payment.due_at - scripted.clock()).total_seconds() <= 45


@pytest.mark.parametrize("state", [SwapState.BRIDGING, SwapState.UNKNOWN, SwapState.REFUNDING])
def test_after_a_day_it_fails_and_can_be_retried(scripted: Scripted, state: SwapState) -> None:
    payment = scripted.depart(scripted.request())
    scripted.provider.says(under_way(state))
    scripted.bridge(payment)
    scripted.clock.forward(hours=23)
    scripted.step(payment)
    assert_untouched(payment)
    scripted.clock.forward(hours=1)
    scripted.decide(payment)
    assert_nothing_counted(payment, "verification_timed_out")
    assert payment.retries_left == 3


def test_down_provider_uses_no_retry_and_polls_within_5_minutes(
    scripted: Scripted,
) -> None:
    payment = scripted.depart(scripted.request())
    scripted.provider.says(ProviderDown("no answer"))
    for asked in range(1, 20):
        scripted.until(payment, lambda asked=asked: len(scripted.provider.asked) == asked)
        assert payment.due_at
        assert payment.due_at - scripted.clock() <= timedelta(minutes=5)
    assert (payment.attempts, payment.is_in_flight) == (0, True)
    assert payment.status_detail.startswith("LI.FI has not answered since ")
    assert_untouched(payment)
    scripted.provider.says(delivered(scripted.deliver(10 * USDC_UNIT), 10 * USDC_UNIT))
    assert scripted.decide(payment).status == "completed"
    assert payment.unanswered_looks == 0


@pytest.mark.parametrize(
    "trouble", [ProviderDown("no answer", retry_after=7200), ValueError("an answer that nobody foresaw")]
)
def test_a_provider_that_is_down_for_a_day_times_out(scripted: Scripted, trouble: Exception) -> None:
    payment = scripted.depart(scripted.request())
    scripted.provider.says(trouble)
    scripted.bridge(payment)
    scripted.clock.forward(hours=24)
    scripted.decide(payment)
    assert_nothing_counted(payment, "verification_timed_out")


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        (SwapState.DELIVERED_OTHER_TOKEN, "swap_partial", "Contact the merchant"),
        (SwapState.REFUNDED, "swap_refunded", "refunded the paying wallet on Local Chain"),
        (SwapState.NEEDS_CLAIM, "swap_failed", "until the customer claims it back"),
        (SwapState.FAILED, "swap_failed", "reports that the swap failed"),
    ],
)
def test_final_provider_status_fails_with_advice_and_can_retry(
    scripted: Scripted, state: SwapState, code: str, words: str
) -> None:
    payment = scripted.depart(scripted.request())
    scripted.provider.says(SwapStatus(state, "DONE/ODD", explorer_url="javascript:alert(1)"))
    scripted.decide(payment)
    assert_nothing_counted(payment, code)
    assert words in payment.failure_message
    assert (payment.swap.provider_status, payment.swap.provider_url) == ("DONE/ODD", "")
    assert (payment.attempts, payment.retries_left) == (0, 3)
    assert not payment.is_in_flight


def test_swap_reported_refunded_but_delivered_counts_on_retry(
    scripted: Scripted,
) -> None:
    request = scripted.request()
    payment = scripted.depart(request)
    scripted.provider.says(SwapStatus(SwapState.REFUNDED, "DONE/REFUNDED"))
    scripted.decide(payment)
    payment = retry_payment(payment, actor="test")
    assert (payment.swap.next_poll_at, payment.swap.polls) == (None, 0), "the chain is asked first"
    scripted.provider.says(delivered(scripted.deliver(10 * USDC_UNIT), 10 * USDC_UNIT))
    assert scripted.decide(payment).status == "completed"


def test_done_and_then_pending_again_goes_on_where_it_was(scripted: Scripted) -> None:
    request = scripted.request()
    payment = scripted.depart(request)
    scripted.provider.says(delivered("0x" + "ab" * 32, 10 * USDC_UNIT), under_way())
    scripted.until(payment, lambda: len(scripted.provider.asked) == 2)
    assert (payment.attempts, delivery_hash(payment)) == (1, "")
    assert_untouched(payment)
    scripted.provider.says(delivered(scripted.deliver(10 * USDC_UNIT), 10 * USDC_UNIT))
    assert scripted.decide(payment).status == "completed"


def test_reorged_source_is_detected_if_provider_knows_nothing(
    scripted: Scripted,
) -> None:
    chain = scripted.world.first
    payment = scripted.depart(scripted.request())
    scripted.provider.says(under_way(SwapState.UNKNOWN))
    scripted.bridge(payment)
    chain.reorganise()
    chain.rpc("anvil_dropTransaction", payment.transaction_hash)
    assert chain.rpc("eth_getTransactionByHash", payment.transaction_hash) is None
    scripted.until(payment, lambda: payment.attempts == 1)
    assert (payment.is_in_flight, payment.lookup.block_number) == (False, None)
    scripted.decide(payment)
    assert payment.failure_code in ("transaction_not_found", "transaction_replaced")
    assert_nothing_counted(payment, payment.failure_code)


def test_failed_source_is_reverted_without_provider_call(scripted: Scripted) -> None:
    request = scripted.request()
    quote = scripted.quote(request)
    chain = scripted.world.first
    chain.rpc("evm_setAutomine", False)
    try:
        sent = scripted.send_call(ROUTER, b"\xff\xff\xff\xff" + bytes(quote.bound_by))
        chain.mine()
    finally:
        chain.rpc("evm_setAutomine", True)
    assert chain.rpc("eth_getTransactionReceipt", sent)["status"] == "0x0"
    payment = scripted.decide(submit(request, sent, scripted.world.first_row))
    assert_nothing_counted(payment, "transaction_reverted")
    assert not scripted.provider.asked
