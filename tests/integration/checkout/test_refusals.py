"""What the checkout's endpoints refuse, each with a clear code, and nothing stored."""

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
from tests.support.payments.world import ON_ITS_WAY, Clock, look_until_decided, pay, submit
from tests.verifying import verify_due

Checkout = Callable[..., dict[str, Any]]
UNKNOWN = "0x" + "77" * 32


def code(response: Any, status: int) -> str:
    assert response.status_code == status, response.content
    return str(response.json()["error"]["code"])


def ask_routes(public: Api, order: dict[str, Any], **different: Any) -> Any:
    body = {
        "wallet_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        "chain_id": order["chain_id"],
        "token_id": order["token"]["id"],
    }
    body = {name: value for name, value in {**body, **different}.items() if value is not None}
    return public.post(f"/api/public/payment-requests/{order['id']}/routes", body)


def build(public: Api, order: dict[str, Any], wallet: str) -> Any:
    route = ask_routes(public, order, wallet_address=wallet).json()["routes"][0]
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
        ({"token_address": "0x"}, "parameter_invalid"),
        ({"token_id": None, "token_address": "0x0000000000000000000000000000000000000001"}, "token_unknown"),
        ({"slippage": 1}, "parameter_unknown"),
    ],
)
def test_bad_questions_for_routes(
    public: Api, checkout: Checkout, different: dict[str, Any], expected: str
) -> None:
    assert code(ask_routes(public, checkout(), **different), 400) == expected
    assert not Route.objects.exists()


def test_a_token_may_be_named_by_its_address(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    answer = ask_routes(public, checkout(), token_id=None, token_address=local_chain.usdc.lower())
    assert len(answer.json()["routes"]) == 1


def test_another_token_has_no_route_and_a_reason(public: Api, checkout: Checkout, dai: Token) -> None:
    answer = ask_routes(public, checkout(), token_id=dai.id)
    assert answer.status_code == 200
    assert answer.json()["routes"] == []
    assert set(answer.json()["reason"]) == {"code", "message"}


@pytest.mark.parametrize("ended", ["cancelled", "expired", "completed", "past its deadline"])
def test_an_ended_request_has_no_routes(public: Api, checkout: Checkout, ended: str) -> None:
    order = checkout()
    change: dict[str, Any] = {"status": ended, "amount_paid": 10_500_000}
    if ended == "past its deadline":
        change = {"expires_at": timezone.now() - timedelta(seconds=1)}
    PaymentRequest.objects.filter(pk=order["id"]).update(**change)
    assert code(ask_routes(public, order), 409) == "payment_request_not_active"


def test_while_a_payment_is_on_its_way_no_second_one_is_offered(public: Api, checkout: Checkout) -> None:
    order = checkout()
    public.post(
        f"/api/public/payment-requests/{order['id']}/payments",
        {"transaction_hash": UNKNOWN, "chain_id": order["chain_id"]},
    )
    assert ask_routes(public, order).status_code == 200, "no node knows it"
    Payment.objects.update(**ON_ITS_WAY, amount=10_500_000)
    assert code(ask_routes(public, order), 409) == "payment_in_progress"
    assert ask_routes(public, order, allow_parallel=True).status_code == 200


def test_a_wallet_without_the_money(public: Api, checkout: Checkout, local_chain: LocalChain) -> None:
    poor = Account.create().address
    answer = build(public, checkout(), poor)
    assert code(answer, 409) == "insufficient_funds"
    assert "needs 10.50 more USDC" in answer.json()["error"]["message"]


def test_a_wallet_without_gas(public: Api, checkout: Checkout, local_chain: LocalChain) -> None:
    poor = Account.create().address
    local_chain.transfer(local_chain.usdc, poor, 20_000_000)
    answer = build(public, checkout(), poor)
    assert code(answer, 409) == "insufficient_gas"
    assert "ETH for the network fee" in answer.json()["error"]["message"]


@pytest.mark.usefixtures("each_kind")
@pytest.mark.parametrize("binding", ["reference", "payer"])
def test_a_contract_wallet_without_gas_is_built_for_since_another_may_pay(
    public: Api, checkout: Checkout, local_chain: LocalChain, binding: str
) -> None:
    wallet = Account.create().address
    local_chain.transfer(local_chain.usdc, wallet, 20_000_000)
    local_chain.rpc("anvil_setCode", wallet, "0x00")
    order = checkout()
    route = ask_routes(public, order, wallet_address=wallet).json()["routes"][0]
    built = public.post("/api/public/build-transaction", {"route_id": route["id"], "binding": binding})
    assert built.status_code == 200, built.content
    assert (built.json()["binding"], built.json()["transaction"]["from"]) == (binding, wallet)
    assert int(built.json()["transaction"]["gas"], 16) > 21_000


def test_a_dead_node_is_a_503_with_a_time_to_come_back(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    order = checkout()
    route = ask_routes(public, order, wallet_address=local_chain.payer).json()["routes"][0]
    Chain.objects.update(rpc_urls=["http://127.0.0.1:9"])
    answer = public.post("/api/public/build-transaction", {"route_id": route["id"]})
    assert code(answer, 503) == "node_unavailable"
    assert answer.json()["error"]["type"] == "upstream_error"
    assert int(answer["Retry-After"]) > 0


def test_an_expired_route(public: Api, checkout: Checkout, local_chain: LocalChain) -> None:
    order = checkout()
    route = ask_routes(public, order, wallet_address=local_chain.payer).json()["routes"][0]
    Route.objects.update(expires_at=timezone.now())
    answer = public.post("/api/public/build-transaction", {"route_id": route["id"]})
    assert code(answer, 409) == "route_expired"


def test_an_unknown_route(public: Api, db: None) -> None:
    answer = public.post("/api/public/build-transaction", {"route_id": "rt_" + "1" * 24})
    assert code(answer, 404) == "resource_missing"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, "parameter_missing"),
        ({"transaction_hash": "0x12", "chain_id": 31337}, "transaction_hash_invalid"),
        ({"transaction_hash": "zz" * 32, "chain_id": 31337}, "transaction_hash_invalid"),
        ({"transaction_hash": 12, "chain_id": 31337}, "parameter_invalid"),
        ({"transaction_hash": UNKNOWN, "chain_id": 1}, "chain_unknown"),
        ({"transaction_hash": UNKNOWN, "chain_id": "31337"}, "parameter_invalid"),
        ({"transaction_hash": UNKNOWN, "chain_id": 31337, "from": "me"}, "parameter_unknown"),
    ],
)
def test_bad_submissions(public: Api, checkout: Checkout, body: dict[str, Any], expected: str) -> None:
    order = checkout()
    answer = public.post(f"/api/public/payment-requests/{order['id']}/payments", body)
    assert code(answer, 400) == expected
    assert not Payment.objects.exists()


def test_the_caps_on_open_and_on_all_submissions(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    order = checkout()
    path = f"/api/public/payment-requests/{order['id']}/payments"

    def submit_number(number: int) -> Any:
        return public.post(path, {"transaction_hash": f"0x{number:064x}", "chain_id": order["chain_id"]})

    for number in range(1, 31):
        answer = submit_number(number)
        if number <= 5:
            assert answer.status_code == 201
        elif number == 6:
            assert code(answer, 429) == "too_many_open_payments"
            assert answer.json()["error"]["type"] == "rate_limit_error"
            break
    seen_and_failed = {"status": "failed", "failure_code": "transaction_reverted", "seen_at": timezone.now()}
    Payment.objects.update(**seen_and_failed)
    for number in range(6, 31):
        assert submit_number(number).status_code == 201
        Payment.objects.update(**seen_and_failed)
    known = local_chain.transfer(local_chain.usdc, local_chain.recipient, 1)
    refused = public.post(path, {"transaction_hash": known, "chain_id": order["chain_id"]})
    assert code(refused, 429) == "too_many_payments", "a known transaction that nothing binds"
    assert submit_number(30).status_code == 200, "a known one is never refused"
    assert Payment.objects.count() == 30


def test_a_hash_that_paid_another_request_is_refused(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    paid = PaymentRequest.objects.get(pk=checkout()["id"])
    payment = look_until_decided(submit(paid, pay(local_chain, paid)), Clock())
    other = checkout()
    body = {"transaction_hash": payment.transaction_hash[2:].upper(), "chain_id": other["chain_id"]}
    answer = public.post(f"/api/public/payment-requests/{other['id']}/payments", body)
    assert code(answer, 409) == "transaction_already_used"
    assert Payment.objects.count() == ConsumedTransfer.objects.count() == 1


def test_a_hash_is_taken_after_the_request_has_ended(
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


@pytest.mark.parametrize(
    "id_", ["abcdefghijkm", "00000000-0000-0000-0000-000000000000", "%00", "é" * 12, "x" * 3000]
)
def test_unknown_requests_are_404(public: Api, db: None, id_: str) -> None:
    for answer in (
        public.get(f"/api/public/payment-requests/{id_}"),
        public.post(
            f"/api/public/payment-requests/{id_}/payments", {"transaction_hash": UNKNOWN, "chain_id": 1}
        ),
        public.post(f"/api/public/payment-requests/{id_}/routes"),
    ):
        assert code(answer, 404) == "resource_missing"
