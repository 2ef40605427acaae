"""Five payments of one request may be open at once, whichever way people open them (contract 6).

What the service finds by itself is exempt.
"""

from collections.abc import Callable

import pytest
from django.db import transaction
from django.utils import timezone

from config.api.errors import ApiError
from payments.acceptance import accept_payment
from payments.models import PayerProof, Payment, PaymentRequest, Transition
from payments.submission import MAX_OPEN_PAYMENTS, record_found, retry_payment
from payments.transitions import move_payment
from tests.chain import LocalChain
from tests.conftest import Api
from tests.payments.test_payer_proof import build, prove, sign
from tests.payments.world import submit

Make = Callable[..., PaymentRequest]


def hash_of(number: int) -> str:
    return f"0x{number:064x}"


def failed(request: PaymentRequest, number: int, code: str, sender: str = "") -> Payment:
    payment = submit(request, hash_of(number))
    with transaction.atomic():
        move_payment(
            payment,
            Payment.Status.FAILED,
            actor="test",
            failure_code=code,
            failed_at=timezone.now(),
            from_address=sender,
        )
    return payment


def fill(request: PaymentRequest, count: int = MAX_OPEN_PAYMENTS) -> None:
    for number in range(1000, 1000 + count):
        submit(request, hash_of(number))


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ApiError) as raised:
        call()
    return raised.value.problems[0].code.value


def test_a_retry_waits_for_one_of_the_five_to_finish(request_for: Make) -> None:
    request = request_for()
    payment = failed(request, 1, "transaction_not_found")
    fill(request)
    written = Transition.objects.count()
    assert refusal(lambda: retry_payment(payment, actor="test")) == "too_many_open_payments"
    payment.refresh_from_db()
    assert (payment.status, payment.retries, Transition.objects.count()) == ("failed", 0, written)
    Payment.objects.filter(transaction_hash=hash_of(1000)).update(status="failed")
    assert retry_payment(payment, actor="test").status == "pending"


def test_an_acceptance_waits_for_one_of_the_five_to_finish(request_for: Make) -> None:
    request = request_for()
    payment = failed(request, 1, "transaction_not_bound")
    fill(request)
    accept = lambda: accept_payment(payment, reason="She rang us.", actor="test")  # noqa: E731
    assert refusal(accept) == "too_many_open_payments"
    payment.refresh_from_db()
    assert (payment.status, payment.accepted_by) == ("failed", "")


def test_a_known_hash_submitted_again_is_answered_and_stays_as_it_is(request_for: Make) -> None:
    request = request_for()
    payment = failed(request, 1, "transaction_not_found")
    fill(request)
    again = submit(request, payment.transaction_hash)
    assert (again.pk, again.status, again.reopened_publicly) == (payment.pk, "failed", False)
    Payment.objects.filter(transaction_hash=hash_of(1000)).update(status="failed")
    assert submit(request, payment.transaction_hash).status == "pending", "the one re-opening is not used up"


def test_what_the_service_finds_by_itself_takes_nobodys_place(request_for: Make) -> None:
    request = request_for()
    fill(request)
    record_found(request, chain=request.chain, transaction_hash=hash_of(1))
    assert Payment.objects.filter(status="pending").count() == MAX_OPEN_PAYMENTS + 1
    Payment.objects.filter(transaction_hash=hash_of(1000)).update(status="failed")
    submit(request, hash_of(2))


def test_what_the_service_found_takes_a_place_once_a_person_retries_it(request_for: Make) -> None:
    request = request_for()
    record_found(request, chain=request.chain, transaction_hash=hash_of(1))
    found = Payment.objects.get()
    with transaction.atomic():
        move_payment(found, Payment.Status.FAILED, actor="test", failure_code="transaction_not_found")
    retry_payment(found, actor="test")
    fill(request, MAX_OPEN_PAYMENTS - 1)
    assert refusal(lambda: submit(request, hash_of(2))) == "too_many_open_payments"


def test_a_proof_reopens_the_wallets_own_payment_first_and_the_rest_when_submitted_again(
    public: Api, request_for: Make, local_chain: LocalChain
) -> None:
    request = request_for()
    own = failed(request, 1, "transaction_not_bound", local_chain.payer)
    others = [failed(request, number, "transaction_not_bound") for number in range(2, 7)]
    fill(request, MAX_OPEN_PAYMENTS - 1)
    built = build(public, request, local_chain.payer, binding="payer")
    signature = sign(local_chain, built["payer_proof"]["message"])
    assert prove(public, request, built, local_chain.payer, signature).status_code == 200
    own.refresh_from_db()
    assert own.status == "pending"
    assert Payment.objects.filter(status="pending").count() == MAX_OPEN_PAYMENTS
    Payment.objects.filter(transaction_hash=hash_of(1000)).update(status="failed")
    again = submit(request, others[0].transaction_hash)
    assert (again.status, again.retries) == ("pending", 0)


def test_without_a_proof_an_unbound_payment_is_not_reopened_by_its_hash(request_for: Make) -> None:
    request = request_for()
    payment = failed(request, 1, "transaction_not_bound")
    assert submit(request, payment.transaction_hash).status == "failed"
    assert not PayerProof.objects.exists()
