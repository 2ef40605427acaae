"""The delivery that a provider reports must pass the rules for every payment.

Only transfers that our node sees count.
"""

import secrets
from datetime import timedelta

import pytest
from django.utils import timezone

from chains.models import Chain
from config.api.errors import ApiError
from payments.models import ConsumedTransfer, PayerProof, Payment, PaymentRequest, Route
from payments.submission.hashes import submit_hash
from payments.submission.merchant_acceptance import accept_payment
from payments.verification.finality import CHECKS_BEFORE_ALERT
from tests import fault_proxy
from tests.fault_proxy import proxying
from tests.support.payments.rows import delivery_depth, delivery_hash, new_payment
from tests.support.payments.world import look_until_decided, pay, submit
from tests.support.swaps.following import assert_nothing_counted
from tests.support.swaps.scripted import USDC_UNIT, Scripted, delivered
from tests.verifying import check_finality
from webhooks.models import Event

ASKED = 10 * USDC_UNIT
STRANGER = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
UNKNOWN = "0x" + "ab" * 32


def refuted(scripted: Scripted, by: str | None, code: str, words: str, **said: object) -> Payment:
    """Have the provider report this delivery at each lookup.

    Check that each lookup uses a retry, and the last fails with `code`.
    """
    payment = scripted.depart(scripted.request())
    scripted.provider.says(delivered(by, said.pop("amount", ASKED), **said))  # type: ignore[arg-type]
    scripted.until(payment, lambda: payment.attempts == 1)
    assert words in payment.status_detail
    assert payment.status_detail.endswith(" Checking again.")
    assert (payment.status, payment.is_in_flight) == ("processing", True)
    scripted.decide(payment)
    assert len(scripted.provider.asked) == 11, "ten retries"
    assert_nothing_counted(payment, code)
    assert words in payment.failure_message
    return payment


def test_a_hash_that_no_node_knows(scripted: Scripted) -> None:
    refuted(scripted, UNKNOWN, "transaction_not_found", "The network does not know this transaction.")


def test_no_hash_at_all(scripted: Scripted) -> None:
    refuted(scripted, None, "transaction_not_found", "without naming its transaction")


@pytest.mark.parametrize("by", ["0x12", "nonsense", "0x" + "zz" * 32])
def test_what_is_no_hash(scripted: Scripted, by: str) -> None:
    refuted(scripted, by, "transaction_not_found", "by a hash that is not valid on Harbour Chain")


def test_another_chain(scripted: Scripted) -> None:
    by = scripted.deliver(ASKED)
    refuted(scripted, by, "wrong_chain", "another network than Harbour Chain", destination_chain_id=1)


def test_another_token(scripted: Scripted) -> None:
    by = scripted.deliver(10 * 10**18, token=scripted.world.second.dai)
    refuted(scripted, by, "wrong_token", "The transaction paid DAI instead of USDC.")


def test_another_recipient(scripted: Scripted) -> None:
    by = scripted.deliver(ASKED, recipient=STRANGER)
    refuted(scripted, by, "wrong_recipient", f"to {STRANGER}, not to ")


def test_a_transaction_that_moves_nothing(scripted: Scripted) -> None:
    by = scripted.send_naming(secrets.token_bytes(32), chain=scripted.world.second)
    refuted(scripted, by, "wrong_amount", "No USDC reached the recipient")


def test_a_transaction_that_failed(scripted: Scripted) -> None:
    chain = scripted.world.second
    chain.rpc("evm_setAutomine", False)
    try:
        by = chain.transfer(chain.usdc, chain.recipient, 10**30)
        chain.mine()
    finally:
        chain.rpc("evm_setAutomine", True)
    refuted(scripted, by, "transaction_reverted", "failed on the chain")


def test_a_transfer_older_than_the_swap(scripted: Scripted) -> None:
    by = scripted.deliver(ASKED)
    first = scripted.world.first
    ahead = int(first.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16) + 300
    before = first.rpc("evm_snapshot")
    first.rpc("evm_setNextBlockTimestamp", ahead)
    try:
        refuted(scripted, by, "transaction_too_old", "older than the swap that it should deliver")
    finally:
        first.revert(before)


def test_a_chain_whose_clock_is_two_minutes_behind_is_believed(scripted: Scripted) -> None:
    by = scripted.deliver(ASKED)
    first = scripted.world.first
    ahead = int(first.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16) + 120
    before = first.rpc("evm_snapshot")
    first.rpc("evm_setNextBlockTimestamp", ahead)
    try:
        payment = scripted.depart(scripted.request())
        scripted.provider.says(delivered(by, ASKED))
        assert scripted.decide(payment).status == "completed"
    finally:
        first.revert(before)


def assert_a_person_decides(scripted: Scripted, payment: Payment) -> None:
    """If two payments claim one transfer, neither gets it automatically. The merchant decides."""
    look_until_decided(payment, scripted.clock)
    assert_nothing_counted(payment, "transaction_ambiguous")
    accept_payment(payment, reason="They paid with their own wallet", actor="test")
    assert look_until_decided(payment, scripted.clock).status == "completed"


def test_anothers_payment_that_carries_its_reference(scripted: Scripted) -> None:
    other = scripted.request()
    by = pay(scripted.world.second, other)
    refuted(scripted, by, "transaction_ambiguous", "another request claims it by its reference")
    assert_a_person_decides(scripted, submit(other, by))


def test_anothers_payment_that_its_payer_has_proved(scripted: Scripted) -> None:
    chain, now = scripted.world.second, timezone.now()
    other = scripted.request(references=False)
    by = chain.transfer(chain.usdc, chain.recipient, ASKED)
    route = Route.objects.create(
        request=other,
        wallet_address=chain.payer,
        chain=other.chain,
        token=other.token,
        amount=ASKED,
        expires_at=now + timedelta(minutes=5),
    )
    PayerProof.objects.create(
        request=other,
        route=route,
        chain=other.chain,
        token=other.token,
        recipient_address=other.recipient_address,
        address=chain.payer,
        not_before=now - timedelta(minutes=1),
        not_after=now + timedelta(hours=1),
    )
    refuted(scripted, by, "transaction_ambiguous", "another request claims it by its reference")
    assert_a_person_decides(scripted, submit(other, by))


def test_what_was_credited_to_a_direct_payment(scripted: Scripted) -> None:
    """The direct payment is for the same request, so no other request's reference excludes it."""
    request = scripted.request("20")
    by = pay(scripted.world.second, request, ASKED)
    direct = look_until_decided(submit(request, by), scripted.clock)
    assert direct.status == "completed"
    swap = scripted.depart(request)
    scripted.provider.says(delivered(by, ASKED))
    scripted.decide(swap)
    assert (swap.status, swap.failure_code) == ("failed", "transaction_already_used")
    request.refresh_from_db()
    assert (request.amount_paid, request.status) == (ASKED, "active")
    assert ConsumedTransfer.objects.get().payment == direct


def test_another_swaps_delivery(scripted: Scripted) -> None:
    by = scripted.deliver(ASKED)
    first = scripted.depart(scripted.request())
    scripted.provider.says(delivered(by, ASKED))
    assert scripted.decide(first).status == "completed"
    scripted.provider.asked.clear()
    second = scripted.depart(request := scripted.request())
    scripted.decide(second)
    assert (second.status, second.failure_code) == ("failed", "transaction_already_used")
    request.refresh_from_db()
    assert request.amount_paid == 0
    assert ConsumedTransfer.objects.get().payment == first


@pytest.mark.parametrize("reported", [ASKED, ASKED // 2, None])
def test_smaller_delivery_completes_payment_but_not_request(scripted: Scripted, reported: int | None) -> None:
    request = scripted.request()
    payment = scripted.depart(request)
    scripted.provider.says(delivered(scripted.deliver(ASKED - 1), reported))
    assert scripted.decide(payment).status == "completed"
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("active", ASKED - 1)
    assert payment.status_detail.endswith("0.000001 USDC is still to be paid.")
    assert not Event.objects.filter(type="payment.succeeded").exists()


def test_more_than_asked_counts_as_it_came(scripted: Scripted) -> None:
    request = scripted.request()
    payment = scripted.depart(request)
    scripted.provider.says(delivered(scripted.deliver(ASKED + 7), ASKED + 7))
    assert scripted.decide(payment).status == "completed"
    request.refresh_from_db()
    assert (request.status, request.amount_paid, request.amount_overpaid) == ("completed", ASKED + 7, 7)


def test_reported_one_of_several_amounts_to_recipient_counts(scripted: Scripted) -> None:
    request = scripted.request()
    payment = scripted.depart(request)
    scripted.provider.says(delivered(scripted.deliver(ASKED // 2, ASKED, 3 * ASKED), ASKED))
    assert scripted.decide(payment).status == "completed"
    assert ConsumedTransfer.objects.get().amount == ASKED
    request.refresh_from_db()
    assert request.amount_paid == ASKED


def test_several_amounts_without_the_reported_one_count_nothing(scripted: Scripted) -> None:
    by = scripted.deliver(ASKED - 1, ASKED + 1)
    refuted(scripted, by, "transaction_ambiguous", "none is what the provider reports")


def test_two_swaps_of_one_amount_may_be_delivered_together(scripted: Scripted) -> None:
    by = scripted.deliver(ASKED, ASKED)
    scripted.provider.says(delivered(by, ASKED))
    requests = [scripted.request(), scripted.request(), scripted.request()]
    payments = [scripted.depart(request) for request in requests]
    for payment in payments:
        scripted.decide(payment)
    assert sorted(payment.status for payment in payments) == ["completed", "completed", "failed"]
    assert {payment.failure_code for payment in payments} == {"", "transaction_already_used"}
    assert ConsumedTransfer.objects.count() == 2
    assert sum(PaymentRequest.objects.values_list("amount_paid", flat=True)) == 2 * ASKED


def test_native_coin_by_an_inner_call(scripted: Scripted) -> None:
    request = scripted.request("0.5", "ETH")
    payment = scripted.depart(request)
    by = scripted.deliver(request.amount, token="")
    scripted.provider.says(delivered(by, request.amount))
    assert scripted.decide(payment).status == "completed"
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("completed", request.amount)
    assert scripted.world.second.rpc("eth_getTransactionByHash", by)["value"] == "0x0"


def test_native_coin_where_no_node_traces_is_not_counted(scripted: Scripted) -> None:
    request = scripted.request("0.5", "ETH")
    payment = scripted.depart(request)
    by = scripted.deliver(request.amount, token="")
    scripted.provider.says(delivered(by, request.amount))
    with proxying(scripted.world.second.url) as node:
        node.break_with(fault_proxy.lacking("debug_traceTransaction"))
        Chain.objects.filter(pk=request.chain_id).update(rpc_urls=[node.url])
        scripted.decide(payment)
    assert_nothing_counted(payment, "not_verifiable")
    assert payment.retries_left == 3


def test_delivery_waits_for_own_chain_depth_without_polling(
    scripted: Scripted,
) -> None:
    request = scripted.request()
    Chain.objects.filter(pk=request.chain_id).update(confirmations="4")
    payment = scripted.depart(request)
    by = scripted.deliver(ASKED)
    scripted.provider.says(delivered(by, ASKED))
    for depth in (1, 2, 3):
        scripted.until(payment, lambda depth=depth: delivery_depth(payment) == depth)
        assert payment.status_detail == f"Delivered on Harbour Chain. In a block; {depth} of 4 confirmations."
        assert (payment.status, payment.attempts) == ("processing", 0)
        assert not ConsumedTransfer.objects.exists()
        scripted.world.second.mine()
    assert scripted.decide(payment).status == "completed"
    assert len(scripted.provider.asked) == 1
    assert payment.lookup.block_number != payment.swap.delivery.block_number


def test_delivery_reorged_before_the_depth_is_polled_again(scripted: Scripted) -> None:
    request, chain = scripted.request(), scripted.world.second
    Chain.objects.filter(pk=request.chain_id).update(confirmations="3")
    payment = scripted.depart(request)
    by = scripted.deliver(ASKED)
    scripted.provider.says(delivered(by, ASKED))
    scripted.until(payment, lambda: delivery_depth(payment) == 1)
    chain.reorganise()
    chain.rpc("anvil_dropTransaction", by)
    scripted.until(payment, lambda: payment.attempts == 1)
    # The same transaction may be mined again. It keeps the time of its first block.
    assert (delivery_hash(payment), delivery_depth(payment)) == (by, 0)
    assert payment.is_in_flight
    again = scripted.deliver(ASKED)
    scripted.provider.says(delivered(again, ASKED))
    chain.mine(3)
    assert scripted.decide(payment).status == "completed"
    assert ConsumedTransfer.objects.get().transaction_hash == again


def test_delivery_reorged_after_completion_is_flagged(scripted: Scripted) -> None:
    chain = scripted.world.second
    payment = scripted.depart(scripted.request())
    by = scripted.deliver(ASKED)
    scripted.provider.says(delivered(by, ASKED))
    scripted.decide(payment)
    chain.reorganise()
    chain.rpc("anvil_dropTransaction", by)
    for _ in range(CHECKS_BEFORE_ALERT):
        payment.refresh_from_db()
        assert not payment.reorged
        chain.mine(70)
        scripted.clock.forward(minutes=3)
        assert check_finality(now=scripted.clock) == 1
    payment.refresh_from_db()
    assert (payment.status, payment.reorged) == ("completed", True)
    assert Event.objects.filter(type="payment.reorged").count() == 1


def test_a_delivery_that_stands_at_finality_closes_the_matter(scripted: Scripted) -> None:
    payment = scripted.depart(scripted.request())
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    scripted.decide(payment)
    scripted.world.second.mine(70)
    scripted.clock.forward(minutes=3)
    assert check_finality(now=scripted.clock) == 1
    payment.refresh_from_db()
    assert (payment.reorged, payment.swap.delivery.finality_check_at) == (False, None)


def test_unresponsive_nodes_of_the_delivery_use_no_retry(scripted: Scripted) -> None:
    request = scripted.request()
    payment = scripted.depart(request)
    scripted.provider.says(delivered(scripted.deliver(ASKED), ASKED))
    Chain.objects.filter(pk=request.chain_id).update(rpc_urls=["http://127.0.0.1:9"])
    for _ in range(8):
        scripted.step(payment)
    assert (payment.status, payment.attempts, len(scripted.provider.asked)) == ("processing", 0, 1)
    assert "have not answered since" in payment.status_detail
    Chain.objects.filter(pk=request.chain_id).update(rpc_urls=[scripted.world.second.url])
    assert scripted.decide(payment).status == "completed"


def test_delivery_also_submitted_as_payment_counts_once(scripted: Scripted) -> None:
    request = scripted.request()
    swap = scripted.depart(request)
    by = scripted.deliver(ASKED)
    as_direct, _ = submit_hash(request, chain=request.chain, transaction_hash=by, actor="checkout")
    look_until_decided(as_direct, scripted.clock)
    assert (as_direct.status, as_direct.failure_code) == ("failed", "transaction_not_bound")
    scripted.provider.says(delivered(by, ASKED))
    assert scripted.decide(swap).status == "completed"
    request.refresh_from_db()
    assert request.amount_paid == ASKED
    assert ConsumedTransfer.objects.get().payment == swap


def test_credited_delivery_can_not_pay_its_own_request_again(scripted: Scripted) -> None:
    request = scripted.request()
    swap = scripted.depart(request)
    by = scripted.deliver(ASKED)
    scripted.provider.says(delivered(by, ASKED))
    assert scripted.decide(swap).status == "completed"
    with pytest.raises(ApiError) as refused:
        submit(request, by)
    assert refused.value.problems[0].code.value == "transaction_already_used"
    assert Payment.objects.count() == 1


def test_swap_start_is_accepted_if_its_transaction_paid_another(
    scripted: Scripted,
) -> None:
    """A bundler can put one customer's swap next to another's payment, which is credited first."""
    paid, request = scripted.request(), scripted.request()
    quote = scripted.quote(request)
    sent = scripted.send_naming(bytes(quote.bound_by))
    first = scripted.world.first_row
    other = new_payment(request=paid, chain=first, transaction_hash=sent, status="failed", next_check_at=None)
    ConsumedTransfer.objects.create(chain=first, transaction_hash=sent, slot="0", payment=other, amount=1)
    assert submit(request, sent, first).status == "pending"
    with pytest.raises(ApiError) as refused:
        submit(scripted.request(), sent, first)
    assert refused.value.problems[0].code.value == "transaction_already_used"


def test_delivery_accepted_by_merchant_before_is_not_recounted(scripted: Scripted) -> None:
    request = scripted.request()
    swap = scripted.depart(request)
    by = scripted.deliver(ASKED)
    by_hand = look_until_decided(submit(request, by), scripted.clock)
    accept_payment(by_hand, reason="the customer sent it", actor="test")
    look_until_decided(by_hand, scripted.clock)
    assert (by_hand.status, by_hand.bound_by) == ("completed", "manual")
    scripted.provider.says(delivered(by, ASKED))
    scripted.decide(swap)
    assert (swap.status, swap.failure_code) == ("failed", "transaction_already_used")
    request.refresh_from_db()
    assert (request.amount_paid, request.amount_overpaid) == (ASKED, 0)
