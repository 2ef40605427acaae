"""The public endpoints reject bad input with a clear code, and store nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from eth_account import Account

from chains.models import Chain, Token
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Route
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.rows import change
from tests.support.payments.world import ON_ITS_WAY, Clock, look_until_decided, pay, submit
from tests.verifying import verify_due

Checkout = Callable[..., dict[str, Any]]
UNKNOWN = "0x" + "77" * 32


def code(response: Any, status: int) -> str:
    assert response.status_code == status, response.content
    return str(response.json()["error"]["code"])


def post_routes(public: Api, order: dict[str, Any], **different: Any) -> Any:
    body = {
        "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        "chain_id": order["chain_id"],
        "token_id": order["token"]["id"],
    }
    body = {name: value for name, value in {**body, **different}.items() if value is not None}
    return public.post(f"/api/public/payment-requests/{order['id']}/routes", body)


def build(public: Api, order: dict[str, Any], wallet: str) -> Any:
    route = post_routes(public, order, wallet_address=wallet).json()["routes"][0]
    return public.post("/api/public/build-transaction", {"route_id": route["id"]})


@pytest.mark.parametrize(
    ("different", "expected"),
    [
        ({"wallet_address": None}, "parameter_missing"),
        ({"wallet_address": "0x1"}, "address_invalid"),
        ({"wallet_address": ["0x1"]}, "parameter_invalid"),
        ({"chain_id": 5}, "chain_unknown"),
        ({"chain_id": 2**70}, "chain_unknown"),
        ({"token_id": None}, "parameter_missing"),
        ({"token_id": 2**70}, "token_unknown"),
        ({"token_id": None, "token_address": "0x0000000000000000000000000000000000000001"}, "token_unknown"),
        ({"slippage": 1}, "parameter_unknown"),
    ],
)
def test_invalid_route_requests_store_nothing(
    public: Api, checkout: Checkout, different: dict[str, Any], expected: str
) -> None:
    assert code(post_routes(public, checkout(), **different), 400) == expected
    assert not Route.objects.exists()


def test_token_may_be_named_by_its_address(public: Api, checkout: Checkout, local_chain: LocalChain) -> None:
    response = post_routes(public, checkout(), token_id=None, token_address=local_chain.usdc.lower())
    assert len(response.json()["routes"]) == 1


def test_another_token_has_no_route_and_a_reason(public: Api, checkout: Checkout, dai: Token) -> None:
    response = post_routes(public, checkout(), token_id=dai.id)
    assert response.status_code == 200
    assert response.json()["routes"] == []
    assert set(response.json()["reason"]) == {"code", "message"}


@pytest.mark.parametrize("ended", ["cancelled", "past its deadline"])
def test_ended_request_has_no_routes(public: Api, checkout: Checkout, ended: str) -> None:
    order = checkout()
    change: dict[str, Any] = {"status": ended, "amount_paid": 10_500_000}
    if ended == "past its deadline":
        change = {"expires_at": timezone.now() - timedelta(seconds=1)}
    PaymentRequest.objects.filter(pk=order["id"]).update(**change)
    assert code(post_routes(public, order), 409) == "payment_request_not_active"


def test_payment_under_way_offers_no_second_route(public: Api, checkout: Checkout) -> None:
    order = checkout()
    public.post(
        f"/api/public/payment-requests/{order['id']}/payments",
        {"transaction_hash": UNKNOWN, "chain_id": order["chain_id"]},
    )
    assert post_routes(public, order).status_code == 200, "no node knows it"
    change(Payment.objects, **ON_ITS_WAY, amount=10_500_000)
    assert code(post_routes(public, order), 409) == "payment_in_progress"
    assert post_routes(public, order, allow_parallel=True).status_code == 200


def test_wallet_without_the_funds_is_rejected(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    poor = Account.create().address
    response = build(public, checkout(), poor)
    assert code(response, 409) == "insufficient_funds"
    assert "needs 10.50 more USDC" in response.json()["error"]["message"]


@pytest.mark.parametrize("binding", ["reference", "payer"])
def test_contract_wallet_needs_no_gas_of_its_own(
    public: Api, checkout: Checkout, local_chain: LocalChain, binding: str
) -> None:
    wallet = Account.create().address
    local_chain.transfer(local_chain.usdc, wallet, 20_000_000)
    local_chain.rpc("anvil_setCode", wallet, "0x00")
    order = checkout()
    route = post_routes(public, order, wallet_address=wallet).json()["routes"][0]
    built = public.post("/api/public/build-transaction", {"route_id": route["id"], "binding": binding})
    assert built.status_code == 200, built.content
    assert (built.json()["binding"], built.json()["transaction"]["from"]) == (binding, wallet)
    assert int(built.json()["transaction"]["gas"], 16) > 21_000


def test_dead_node_is_a_503_with_retry_after(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    order = checkout()
    route = post_routes(public, order, wallet_address=local_chain.payer).json()["routes"][0]
    Chain.objects.update(rpc_urls=["http://127.0.0.1:9"])
    response = public.post("/api/public/build-transaction", {"route_id": route["id"]})
    assert code(response, 503) == "node_unavailable"
    assert response.json()["error"]["type"] == "upstream_error"
    assert int(response["Retry-After"]) > 0


def test_expired_route_is_not_built(public: Api, checkout: Checkout, local_chain: LocalChain) -> None:
    order = checkout()
    route = post_routes(public, order, wallet_address=local_chain.payer).json()["routes"][0]
    Route.objects.update(expires_at=timezone.now())
    response = public.post("/api/public/build-transaction", {"route_id": route["id"]})
    assert code(response, 409) == "route_expired"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, "parameter_missing"),
        ({"transaction_hash": "0x12", "chain_id": 31337}, "transaction_hash_invalid"),
        ({"transaction_hash": 12, "chain_id": 31337}, "parameter_invalid"),
        ({"transaction_hash": UNKNOWN, "chain_id": 1}, "chain_unknown"),
        ({"transaction_hash": UNKNOWN, "chain_id": "31337"}, "parameter_invalid"),
        ({"transaction_hash": UNKNOWN, "chain_id": 31337, "from": "me"}, "parameter_unknown"),
    ],
)
def test_invalid_submissions_store_nothing(
    public: Api, checkout: Checkout, body: dict[str, Any], expected: str
) -> None:
    order = checkout()
    response = public.post(f"/api/public/payment-requests/{order['id']}/payments", body)
    assert code(response, 400) == expected
    assert not Payment.objects.exists()


def test_open_and_total_submissions_are_capped(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    order = checkout()
    path = f"/api/public/payment-requests/{order['id']}/payments"

    def submit_number(number: int) -> Any:
        return public.post(path, {"transaction_hash": f"0x{number:064x}", "chain_id": order["chain_id"]})

    for number in range(1, 31):
        response = submit_number(number)
        if number <= 5:
            assert response.status_code == 201
        elif number == 6:
            assert code(response, 429) == "too_many_open_payments"
            assert response.json()["error"]["type"] == "rate_limit_error"
            break
    seen_and_failed = {"status": "failed", "failure_code": "transaction_reverted", "seen_at": timezone.now()}
    change(Payment.objects, **seen_and_failed)
    for number in range(6, 31):
        assert submit_number(number).status_code == 201
        change(Payment.objects, **seen_and_failed)
    known = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    rejected = public.post(path, {"transaction_hash": known, "chain_id": order["chain_id"]})
    assert code(rejected, 429) == "too_many_payments", "a known transaction that nothing binds"
    assert submit_number(30).status_code == 200, "a stored hash is accepted again"
    assert Payment.objects.count() == 30


def test_hash_that_paid_another_request_is_rejected(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    paid = PaymentRequest.objects.get(pk=checkout()["id"])
    payment = look_until_decided(submit(paid, pay(local_chain, paid)), Clock())
    other = checkout()
    body = {"transaction_hash": payment.transaction_hash[2:].upper(), "chain_id": other["chain_id"]}
    response = public.post(f"/api/public/payment-requests/{other['id']}/payments", body)
    assert code(response, 409) == "transaction_already_used"
    assert Payment.objects.count() == ConsumedTransfer.objects.count() == 1


def test_hash_is_accepted_after_the_request_has_ended(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    request = PaymentRequest.objects.get(pk=checkout()["id"])
    sent = pay(local_chain, request)
    PaymentRequest.objects.filter(pk=request.pk).update(status="expired")
    body = {"transaction_hash": sent, "chain_id": request.chain_id}
    assert public.post(f"/api/public/payment-requests/{request.id}/payments", body).status_code == 201
    verify_due()
    request.refresh_from_db()
    assert request.status == "completed"


@pytest.mark.parametrize("id_", ["abcdefghijkm", "00000000-0000-0000-0000-000000000000", "%00"])
def test_unknown_requests_are_404_on_every_path(public: Api, db: None, id_: str) -> None:
    for response in (
        public.get(f"/api/public/payment-requests/{id_}"),
        public.post(
            f"/api/public/payment-requests/{id_}/payments", {"transaction_hash": UNKNOWN, "chain_id": 1}
        ),
        public.post(f"/api/public/payment-requests/{id_}/routes"),
    ):
        assert code(response, 404) == "resource_missing"
