"""A direct payment of the full amount completes the request, and sends one event."""

from collections.abc import Callable

from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look, look_until_decided, submit
from webhooks.models import Event

Status = PaymentRequest.Status


def test_token_transfer_with_reference_completes_the_request(
    request_for: Callable[..., PaymentRequest], paying: Callable[..., str], local_chain: LocalChain
) -> None:
    request = request_for("10.5")
    before = local_chain.token_balance(local_chain.usdc, local_chain.recipient)
    payment = look_until_decided(submit(request, paying(request)), Clock())

    request.refresh_from_db()
    assert (payment.status, request.status) == (Payment.Status.COMPLETED, Status.COMPLETED)
    assert payment.amount_received == request.amount_paid == 10_500_000
    assert (payment.bound_by, payment.from_address) == ("reference", local_chain.payer)
    assert local_chain.token_balance(local_chain.usdc, local_chain.recipient) - before == 10_500_000
    assert request.completed_at is not None
    assert not request.paid_late
    receipt = local_chain.rpc("eth_getTransactionReceipt", payment.transaction_hash)
    assert payment.network_fee == int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)


def test_native_coin_with_reference_data_completes_the_request(
    request_for: Callable[..., PaymentRequest], paying: Callable[..., str], ether: object
) -> None:
    request = request_for("0.000000000000000001", token=ether)
    look_until_decided(submit(request, paying(request)), Clock())
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.COMPLETED, 1)
    assert ConsumedTransfer.objects.get().slot == "value"


def test_the_history_says_who_did_what(
    request_for: Callable[..., PaymentRequest], paying: Callable[..., str]
) -> None:
    request = request_for()
    payment = look_until_decided(submit(request, paying(request)), Clock())
    own = Transition.objects.filter(request=request, payment=None).values_list(
        "from_status", "to_status", "actor"
    )
    assert list(own) == [("", "active", "test"), ("active", "completed", "verification")]
    of_payment = Transition.objects.filter(payment=payment).values_list("from_status", "to_status", "actor")
    assert list(of_payment) == [
        ("", "pending", "checkout"),
        ("pending", "processing", "verification"),
        ("processing", "completed", "verification"),
    ]


def test_one_event_tells_of_it_with_exact_integers(
    request_for: Callable[..., PaymentRequest], paying: Callable[..., str]
) -> None:
    import json

    request = request_for(external_id="order-7", metadata={"cart": "9"})
    payment = look_until_decided(submit(request, paying(request)), Clock())
    event = Event.objects.get(type="payment.succeeded")
    body = json.loads(bytes(event.body))
    told = body["data"]["object"]
    assert (body["id"], body["type"]) == (event.id, "payment.succeeded")
    assert (told["id"], told["amount"], told["currency"]) == (payment.id, 10_000_000, "USDC")
    assert (told["status"], told["reference"]) == ("succeeded", "order-7")
    assert told["payment_request"] == str(request.id)
    assert told["amount_details"] == {"raw": "10000000", "formatted": "10.000000", "decimals": 6}
    assert (told["request_status"], told["metadata"]) == ("completed", {"cart": "9"})
    assert told["transaction_hash"] == payment.transaction_hash


def test_looking_again_at_a_completed_payment_changes_nothing(
    request_for: Callable[..., PaymentRequest], paying: Callable[..., str]
) -> None:
    request, clock = request_for(), Clock()
    payment = look_until_decided(submit(request, paying(request)), clock)
    assert submit(request, payment.transaction_hash).pk == payment.pk
    clock.forward(days=1)
    assert look(clock) == 0
    request.refresh_from_db()
    assert request.amount_paid == 10_000_000
    assert ConsumedTransfer.objects.count() == Event.objects.count() == 1
