"""A simulated payment never counts as money and never blocks any. Production has no simulated payments."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.utils import timezone

from chains.families import family_of
from chains.models import Chain, Token
from merchants.models import Merchant
from merchants.services import issue_key
from payments.models import Payment, PaymentRequest
from payments.requests.lifecycle import expire_due
from payments.sandbox import HASH_PREFIX, Outcome, simulate
from payments.sandbox.due import decide_due
from payments.verification.leasing import chains_with_open_payments
from payments.waking.on_new_heads import make_due
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.rows import bring_forward, change
from tests.support.payments.world import Clock, look_until_decided, make_request, pay, submit
from tests.support.sandbox.fixtures import path
from tests.verifying import check_finality, claim_due, discover_due, follow_swaps, verify_due
from webhooks.models import Event


@pytest.mark.parametrize("outcome", Outcome)
def test_no_worker_asks_a_chain_about_simulated_objects(
    api: Api, request_in: Callable[[str], PaymentRequest], outcome: Outcome
) -> None:
    request = request_in("active")
    if outcome == Outcome.RESTORED:
        api.post(path(request), {"outcome": "reorged"})
    body = api.post(path(request), {"outcome": outcome}).json()
    for payment in body["payments"]:
        assert bytes.fromhex(payment["transaction_hash"][2:]).startswith(HASH_PREFIX)
        assert (
            family_of("evm").normalise_transaction_hash(payment["transaction_hash"])
            == payment["transaction_hash"]
        )
        assert "no money moved" in payment["status_detail"]
        assert payment["explorer_url"] is None
        assert payment["destination_explorer_url"] is None
    assert len(body["payments"]) == (outcome != Outcome.EXPIRED)
    stored = Payment.objects.all()
    assert all(payment.is_simulated and not payment.submitted_publicly for payment in stored)
    assert all(payment.lookup.finality_check_at is None for payment in stored)
    clock = Clock()
    run_workers(clock)
    # The same checks for payments that are due, reopened or accepted.
    for payment in stored.filter(status=Payment.Status.FAILED):
        of_payment = f"/api/payment-requests/{request.pk}/payments/{payment.pk}"
        api.post(f"{of_payment}/retry")
        api.post(f"{of_payment}/accept", {"reason": "It is fine."})
    bring_forward(timezone.now())
    change(Payment.objects.exclude(status__in=Payment.OPEN), finality_check_at=timezone.now())
    run_workers(clock)
    clock.forward(days=2)
    run_workers(clock)
    assert not Payment.objects.filter(status__in=Payment.OPEN).exists()


def run_workers(clock: Clock) -> None:
    """Run each worker's due work. No client of a chain or a provider may be used."""

    def no_client(chain: Chain) -> Any:
        raise AssertionError(f"{chain} was asked")

    def no_provider(key: str) -> Any:
        raise AssertionError(f"{key} was asked")

    for chain in Chain.objects.all():
        assert make_due(chain.pk) == 0
        assert chain.pk not in chains_with_open_payments()
    assert claim_due(clock())[1] == []
    assert verify_due(client=no_client, now=clock) == check_finality(client=no_client, now=clock) == 0
    assert follow_swaps(provider=no_provider, now=clock) == discover_due(client=no_client, now=clock) == 0
    decide_due(now=clock)
    expire_due(clock())


@pytest.mark.parametrize("outcome", ["paid", "failed"])
def test_a_final_simulated_payment_can_not_be_changed(
    api: Api, public: Api, request_in: Callable[[str], PaymentRequest], outcome: str
) -> None:
    request = request_in("active")
    (payment,) = api.post(path(request), {"outcome": outcome}).json()["payments"]
    of_payment = f"/api/payment-requests/{request.pk}/payments/{payment['id']}"
    retried = api.post(f"{of_payment}/retry")
    assert (retried.status_code, retried.json()["error"]["code"]) == (409, "payment_not_retryable")
    accepted = api.post(f"{of_payment}/accept", {"reason": "It is fine."})
    assert accepted.status_code == (200 if outcome == "paid" else 409)
    submitted = {"transaction_hash": payment["transaction_hash"], "chain_id": request.chain_id}
    again = public.post(f"/api/public/payment-requests/{request.pk}/payments", submitted)
    assert (again.status_code, again.json()["status"]) == (200, payment["status"])
    assert Payment.objects.get().status == payment["status"]


def test_a_simulated_payment_pays_no_other_request(
    api: Api, public: Api, request_in: Callable[[str], PaymentRequest]
) -> None:
    first, second = request_in("active"), request_in("active")
    (payment,) = api.post(path(first), {"outcome": "paid"}).json()["payments"]
    submitted = {"transaction_hash": payment["transaction_hash"], "chain_id": second.chain_id}
    answer = public.post(f"/api/public/payment-requests/{second.pk}/payments", submitted)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "transaction_already_used")
    assert not second.payments.exists()


def test_real_money_still_counts_after_a_simulated_payment(
    api: Api, merchant: Merchant, usdc: Token, local_chain: LocalChain
) -> None:
    request = make_request(merchant, usdc, "10", local_chain.recipient)
    api.post(path(request), {"outcome": "failed"})
    api.post(path(request), {"outcome": "underpaid"})
    real = look_until_decided(submit(request, pay(local_chain, request, 5_000_000)), Clock())
    request.refresh_from_db()
    assert (real.status, real.amount_received, request.status) == ("completed", 5_000_000, "completed")
    late = look_until_decided(submit(request, pay(local_chain, request, 10_000_000)), Clock())
    request.refresh_from_db()
    assert (late.status, request.amount_overpaid) == ("completed", 10_000_000)
    assert [
        payment.lookup.finality_check_at is None for payment in request.payments.order_by("created_at")
    ] == [
        True,
        True,
        False,
        False,
    ]


def test_simulated_payments_use_no_customer_submissions(
    api: Api, public: Api, request_in: Callable[[str], PaymentRequest]
) -> None:
    request = request_in("active")
    for _ in range(31):
        api.post(path(request), {"outcome": "failed"})
    submitted = {"transaction_hash": "0x" + "ab" * 32, "chain_id": request.chain_id}
    assert public.post(f"/api/public/payment-requests/{request.pk}/payments", submitted).status_code == 201


@pytest.mark.parametrize("outcome", ["expired", "paid_late"])
def test_time_is_not_over_while_a_real_payment_is_under_way(
    api: Api, request_in: Callable[[str], PaymentRequest], outcome: str
) -> None:
    request = request_in("active")
    api.post(path(request), {"outcome": "failed"})
    submit(request, "0x" + "ab" * 32)
    answer = api.post(path(request), {"outcome": outcome})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "payment_in_progress")
    unchanged = PaymentRequest.objects.get(pk=request.pk)
    assert (unchanged.status, unchanged.expires_at) == ("active", request.expires_at)
    assert unchanged.payments.count() == 2


def test_production_has_no_sandbox(
    api: Api, public: Api, request_in: Callable[[str], PaymentRequest], settings: LazySettings
) -> None:
    request = request_in("active")
    settings.ENVIRONMENT = "production"
    unknown = api.post("/api/test/nothing").json()["error"]
    for caller in (api, public):
        for answer in (caller.post(path(request), {"outcome": "paid"}), caller.get(path(request))):
            error = answer.json()["error"]
            assert answer.status_code == 404
            assert {**error, "request_id": ""} == {**unknown, "request_id": ""}
    with pytest.raises(Exception, match="on staging only") as refusal:
        simulate(request.pk, Outcome.PAID, by="test")
    assert getattr(refusal.value, "status_code", None) == 404
    request.refresh_from_db()
    assert (request.status, request.payments.count(), Event.objects.count()) == ("active", 0, 0)


def test_only_the_own_merchant_may_with_the_permission(
    api: Api,
    public: Api,
    request_in: Callable[[str], PaymentRequest],
    merchant: Merchant,
    other_merchant: Merchant,
) -> None:
    request = request_in("active")
    stranger = Api(issue_key(merchant=other_merchant, permissions=["create_payments"])[1])
    reader = Api(issue_key(merchant=merchant, permissions=["manage_webhooks"])[1])
    body = {"outcome": "paid"}
    answers = [caller.post(path(request), body) for caller in (stranger, reader, public)]
    assert [answer.status_code for answer in answers] == [404, 403, 401]
    assert api.post(f"/api/test/payment-requests/{uuid.uuid4()}/simulate", body).status_code == 404
    assert api.post("/api/test/payment-requests/nonsense/simulate", body).status_code == 404
    assert not request.payments.exists()
