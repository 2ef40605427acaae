"""Each client can have five open payments per request. The merchant and the service have no limit."""

from collections.abc import Callable

import pytest
from django.db import transaction
from django.utils import timezone

from config.api.errors import ApiError
from payments.models import PayerProof, Payment, PaymentRequest
from payments.requests.transitions import move_payment
from payments.submission.caps import MAX_OPEN_PAYMENTS
from payments.submission.hashes import record_discovered, retry_payment
from payments.submission.merchant_acceptance import accept_payment
from tests.chain import LocalChain
from tests.conftest import Api
from tests.integration.payments.test_payer_proof import build, prove, sign
from tests.support.payments.world import submit

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


def test_the_merchant_retries_and_accepts_however_many_are_open(request_for: Make) -> None:
    request = request_for()
    lost, unbound = failed(request, 1, "transaction_not_found"), failed(request, 2, "transaction_not_bound")
    fill(request)
    assert retry_payment(lost, actor="test").status == "pending"
    assert accept_payment(unbound, reason="She rang us.", actor="test").status == "pending"


def test_resubmitted_hash_stays_failed_while_the_cap_is_full(request_for: Make) -> None:
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
    record_discovered(request, chain=request.chain, transaction_hash=hash_of(1))
    assert Payment.objects.filter(status="pending").count() == MAX_OPEN_PAYMENTS + 1
    Payment.objects.filter(transaction_hash=hash_of(1000)).update(status="failed")
    submit(request, hash_of(2))


def test_discovered_payment_uses_a_place_once_client_reopens_it(request_for: Make) -> None:
    request = request_for()
    record_discovered(request, chain=request.chain, transaction_hash=hash_of(1))
    found = Payment.objects.get()
    with transaction.atomic():
        move_payment(found, Payment.Status.FAILED, actor="test", failure_code="transaction_not_found")
    assert submit(request, hash_of(1)).status == "pending"
    fill(request, MAX_OPEN_PAYMENTS - 1)
    assert refusal(lambda: submit(request, hash_of(2))) == "too_many_open_payments"


@pytest.mark.parametrize("code", ["transaction_not_bound", "not_verifiable"])
def test_proof_reopens_unbound_payments_despite_the_open_cap(
    public: Api, request_for: Make, local_chain: LocalChain, code: str
) -> None:
    request = request_for()
    unbound = [failed(request, number, code, local_chain.payer if number == 1 else "") for number in (1, 2)]
    fill(request)
    built = build(public, request, local_chain.payer, binding="payer")
    signature = sign(local_chain, built["payer_proof"]["message"])
    assert prove(public, request, built, local_chain.payer, signature).status_code == 200
    for payment in unbound:
        payment.refresh_from_db()
        assert (payment.status, payment.retries) == ("pending", 0)


def test_unbound_payment_without_proof_is_not_reopened_by_hash(request_for: Make) -> None:
    request = request_for()
    payment = failed(request, 1, "transaction_not_bound")
    assert submit(request, payment.transaction_hash).status == "failed"
    assert not PayerProof.objects.exists()
