"""A failed refund is built again while another refund of the same money exists. On a real chain, only one is paid."""

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from django.db import connection

from chains.models import Token
from merchants.models import IdempotencyKey
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.services import refundable
from tests.chain import LocalChain
from tests.conftest import Api
from tests.integration.payments.refunds.conftest import CUSTOMER
from tests.support.payments.world import Clock, look_until_decided

Refunding = Callable[..., dict[str, Any]]


def carrier_of(refund: dict[str, Any]) -> PaymentRequest:
    return PaymentRequest.objects.get(refund__id=refund["id"])


def submit(api: Api, refund: dict[str, Any], hash_: str) -> str:
    api.post(f"/api/refunds/{refund['id']}/submit", {"transaction_hash": hash_})
    look_until_decided(Payment.objects.get(transaction_hash=hash_), Clock())
    return str(api.get(f"/api/refunds/{refund['id']}").json()["status"])


def create(api: Api, request: PaymentRequest, **body: Any) -> Any:
    return api.post(f"/api/payment-requests/{request.id}/refunds", {"recipient_address": CUSTOMER, **body})


def build(api: Api, refund: dict[str, Any], chain: LocalChain) -> Any:
    return api.post(f"/api/refunds/{refund['id']}/build", {"wallet_address": chain.payer})


def left(request: PaymentRequest) -> int:
    """Return the amount of the request that can still be refunded."""
    return refundable(PaymentRequest.objects.get(pk=request.pk)).left


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.fixture
def failed(api: Api, local_chain: LocalChain, refund: Refunding) -> dict[str, Any]:
    """A failed refund of the full amount. The merchant submitted another transfer's hash for it."""
    made = refund()
    plain = local_chain.transfer(local_chain.usdc, CUSTOMER, 10_000_000)
    assert submit(api, made, plain) == "failed"
    return made


def test_amount_stays_reserved_between_building_and_sending(
    api: Api, local_chain: LocalChain, paid: PaymentRequest, failed: dict[str, Any]
) -> None:
    built = build(api, failed, local_chain)
    assert built.status_code == 200
    assert api.get(f"/api/refunds/{failed['id']}").json()["status"] == "ready"
    assert code(create(api, paid)) == (409, "refund_too_large")
    assert Refund.objects.count() == 1
    before = local_chain.token_balance(local_chain.usdc, CUSTOMER)
    assert submit(api, failed, local_chain.send(built.json()["transaction"])) == "completed"
    assert local_chain.token_balance(local_chain.usdc, CUSTOMER) - before == 10_000_000
    assert code(create(api, paid)) == (409, "refund_too_large")


def test_reverted_transaction_frees_amount_for_another_refund(
    api: Api, local_chain: LocalChain, paid: PaymentRequest, failed: dict[str, Any]
) -> None:
    transaction = build(api, failed, local_chain).json()["transaction"]
    starved = {**transaction, "gas": hex(26_000)}
    assert submit(api, failed, local_chain.send(starved)) == "failed"
    other = create(api, paid).json()
    assert code(build(api, failed, local_chain)) == (409, "refund_too_large")
    assert build(api, other, local_chain).status_code == 200


def test_its_page_reserves_the_amount_too(
    api: Api,
    public: Api,
    local_chain: LocalChain,
    usdc: Token,
    paid: PaymentRequest,
    failed: dict[str, Any],
) -> None:
    path = f"/api/public/payment-requests/{carrier_of(failed).id}/routes"
    body = {"wallet_address": local_chain.payer, "chain_id": usdc.chain_id, "token_id": usdc.id}
    [route] = public.post(path, body).json()["routes"]
    assert left(paid) == 10_000_000, "opening the page reserves nothing"
    built = public.post("/api/public/build-transaction", {"route_id": route["id"]})
    assert built.status_code == 200
    assert code(create(api, paid, amount="1")) == (409, "refund_too_large")
    assert submit(api, failed, local_chain.send(built.json()["transaction"])) == "completed"


def test_a_wallet_that_can_not_send_it_reserves_nothing(
    api: Api, local_chain: LocalChain, paid: PaymentRequest, failed: dict[str, Any]
) -> None:
    body = {"wallet_address": "0x00000000000000000000000000000000000c0FFE".lower()}
    refused = api.post(f"/api/refunds/{failed['id']}/build", body)
    assert refused.status_code == 409
    assert api.get(f"/api/refunds/{failed['id']}").json()["status"] == "failed"
    assert left(paid) == 10_000_000


def test_its_page_shows_nowhere_to_send_before_it_is_built(
    api: Api, public: Api, local_chain: LocalChain, failed: dict[str, Any]
) -> None:
    by_hand = f"{failed['refund_url'].removeprefix('http://testserver')}/by-hand"
    assert CUSTOMER not in public.get(by_hand).content.decode()
    assert build(api, failed, local_chain).status_code == 200
    assert CUSTOMER in public.get(by_hand).content.decode()


@pytest.mark.django_db(transaction=True)
def test_concurrent_refunds_and_builds_never_exceed_the_payment(
    api_key: tuple[Any, str], local_chain: LocalChain, paid: PaymentRequest, failed: dict[str, Any]
) -> None:
    answers: list[tuple[str, int]] = []

    def run(name: str, call: Callable[[Api], Any]) -> None:
        try:
            answers.append((name, call(Api(api_key[1])).status_code))
        finally:
            connection.close()

    def thread(number: int) -> Thread:
        if number % 2:
            return Thread(target=run, args=("build", lambda api: build(api, failed, local_chain)))
        return Thread(target=run, args=("create", lambda api: create(api, paid, amount="6")))

    for _ in range(10):  # twenty at a time: the database allows a hundred connections
        threads = [thread(number) for number in range(20)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(answers) == 200
    assert {status for _, status in answers} == {200, 409} or {status for _, status in answers} == {201, 409}
    created = sum(status == 201 for _, status in answers)
    built = sum(status == 200 for _, status in answers)
    assert (created, built > 0) in ((1, False), (0, True)), "one of them has taken the money, and no other"
    assert left(paid) == (4_000_000 if created else 0)


def test_idempotency_key_never_replays_an_unsigned_transaction(
    api: Api, local_chain: LocalChain, paid: PaymentRequest, refund: Refunding
) -> None:
    """A replayed transaction would send 20.00 of 10.00, if its refund was cancelled and another one was paid."""
    before = local_chain.token_balance(local_chain.usdc, CUSTOMER)
    first = refund()
    path, body = f"/api/refunds/{first['id']}/build", {"wallet_address": local_chain.payer}
    header = {"Idempotency-Key": "build-1001"}
    for _ in range(2):
        built = api.post(path, body, **header)
        assert (built.status_code, built.has_header("Idempotent-Replayed")) == (200, False)
    assert not IdempotencyKey.objects.exists()

    assert api.post(f"/api/refunds/{first['id']}/cancel").status_code == 200
    other = refund()
    transaction = build(api, other, local_chain).json()["transaction"]
    assert submit(api, other, local_chain.send(transaction)) == "completed"

    again = api.post(path, body, **header)
    assert code(again) == (409, "refund_not_ready")
    assert "transaction" not in again.json()
    assert not IdempotencyKey.objects.exists()
    assert local_chain.token_balance(local_chain.usdc, CUSTOMER) - before == 10_000_000
    assert left(paid) == 0
