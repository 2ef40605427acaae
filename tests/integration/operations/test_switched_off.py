"""A kill switch stops new offers. Payments in progress are still verified."""

from collections.abc import Callable
from typing import Any

import pytest

from chains.models import Switch, Token
from chains.switches import RETRY_AFTER_SECONDS
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest, Quote, Route
from payments.prices import values
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, look_until_decided, pay, submit
from tests.support.rates.exchanges import Exchanges
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.following import follow_until_decided, pay_by_swap
from tests.support.swaps.world import SwapWorld

Order = Callable[..., dict[str, Any]]

CUSTOMER = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"


def off(name: str) -> None:
    Switch.objects.create(name=name, actor="olga", reason="an incident")


def assert_stopped(response: Any, code: str) -> None:
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["type"]) == (503, code, "upstream_error")
    assert "switched off" in error["message"]
    assert response["Retry-After"] == str(RETRY_AFTER_SECONDS)


@pytest.fixture(params=["chain", "token"])
def name(request: pytest.FixtureRequest, usdc: Token) -> str:
    return f"chain:{usdc.chain_id}" if request.param == "chain" else f"token:{usdc.pk}"


def test_switch_stops_new_requests_and_hides_the_chain(
    api: Api, public: Api, order: Order, name: str, usdc: Token
) -> None:
    off(name)
    assert_stopped(api.post("/api/payment-requests", order()), "service_unavailable")
    assert not PaymentRequest.objects.exists()
    listed = [chain["id"] for chain in public.get("/api/public/chains").json()]
    assert (usdc.chain_id in listed) is not name.startswith("chain")
    assert public.get(f"/api/public/chains/{usdc.chain_id}/tokens").json() == []


def test_stopped_calls_log_no_error(
    api: Api, order: Order, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    off(name)
    caplog.set_level("INFO")
    assert_stopped(api.post("/api/payment-requests", order()), "service_unavailable")
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
    assert "switched off at the moment" in caplog.text


@pytest.mark.parametrize("name", ["token"], indirect=True)
def test_stopped_create_works_with_its_key_later(api: Api, order: Order, name: str) -> None:
    off(name)
    headers = {"Idempotency-Key": "order-1"}
    assert_stopped(api.post("/api/payment-requests", order(), **headers), "service_unavailable")
    Switch.objects.all().delete()
    assert api.post("/api/payment-requests", order(), **headers).status_code == 201


@pytest.mark.parametrize("name", ["token"], indirect=True)
def test_switch_stops_routes_of_an_open_request(
    api: Api, public: Api, order: Order, name: str, usdc: Token, local_chain: Any
) -> None:
    created = api.post("/api/payment-requests", order()).json()
    page = f"/api/public/payment-requests/{created['id']}"
    wallet_and_token = {"wallet_address": local_chain.payer, "chain_id": usdc.chain_id, "token_id": usdc.pk}
    (route,) = public.post(f"{page}/routes", wallet_and_token).json()["routes"]
    etag = public.get(page)["ETag"]
    off(name)
    assert_stopped(public.post(f"{page}/routes", wallet_and_token), "service_unavailable")
    assert_stopped(
        public.post("/api/public/build-transaction", {"route_id": route["id"]}), "service_unavailable"
    )
    assert_stopped(
        public.post("/api/public/check-approval", {"route_id": route["id"]}), "service_unavailable"
    )
    assert Route.objects.get().built_at is None
    shown = public.get(page, **{"If-None-Match": etag})
    assert (shown.status_code, shown.json()["is_available"]) == (200, False)
    assert (
        created["recipient_address"]
        not in public.get(f"/pay/{created['shortcode']}/by-hand").content.decode()
    )


@pytest.mark.parametrize("name", ["token"], indirect=True)
def test_payment_under_way_completes_despite_a_switch(
    request_for: Callable[..., PaymentRequest], paying: Callable[..., str], name: str
) -> None:
    request = request_for("10.5")
    transaction_hash = paying(request)
    off(name)
    payment = look_until_decided(submit(request, transaction_hash), Clock())
    request.refresh_from_db()
    assert (payment.status, request.status) == (Payment.Status.COMPLETED, "completed")


def test_swap_switch_keeps_direct_payments(swap_world: SwapWorld, new_customer: NewCustomer) -> None:
    requested = swap_world.token(swap_world.second_row, "USDC")
    customer, other = new_customer(requested), swap_world.token(swap_world.first_row, "ETH")
    route = customer.routes(other)[0]
    off("swaps")
    quotes = Quote.objects.count()
    assert_stopped(customer.ask_routes(other), "routing_unavailable")
    assert_stopped(customer.build(route), "routing_unavailable")
    assert Quote.objects.count() == quotes
    assert Route.objects.get(pk=route["id"]).built_at is None
    assert customer.state()["pay_with"]["is_routed"] is False
    assert customer.routes(requested)[0]["type"] == "direct"


def test_switch_during_a_provider_call_stops_its_offer(
    swap_world: SwapWorld, new_customer: NewCustomer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from payments.routes import routes

    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"))
    other = swap_world.token(swap_world.first_row, "ETH")
    route, build = customer.routes(other)[0], routes.build_swap

    def meanwhile(*args: Any, **options: Any) -> Any:
        built = build(*args, **options)
        off("swaps")
        return built

    monkeypatch.setattr(routes, "build_swap", meanwhile)
    assert_stopped(customer.build(route), "routing_unavailable")


def test_swap_under_way_completes_despite_the_switch(
    swap_world: SwapWorld, new_customer: NewCustomer
) -> None:
    customer = new_customer(swap_world.token(swap_world.second_row, "USDC"))
    payment_id, sent = pay_by_swap(swap_world, customer, swap_world.token(swap_world.first_row, "ETH"))
    off("swaps")
    swap_world.aggregator.delivered(sent)
    assert follow_until_decided(payment_id, Clock()).status == Payment.Status.COMPLETED


def test_price_switch_keeps_requests_with_an_amount(
    api: Api, order: Order, exchanges: Exchanges, merchant: Merchant
) -> None:
    off("prices")
    priced = {**order(), "price": {"currency": "EUR", "amount": "25.00"}}
    del priced["amount"]
    assert_stopped(api.post("/api/payment-requests", priced), "rate_unavailable")
    assert not PaymentRequest.objects.exists()
    assert api.post("/api/payment-requests", order()).status_code == 201


def test_payments_are_valued_after_the_price_switch(
    request_for: Callable[..., PaymentRequest], paying: Callable[..., str], exchanges: Exchanges
) -> None:
    request = request_for("10.5")
    payment = look_until_decided(submit(request, paying(request)), Clock())
    off("prices")
    assert values.value_due() == 0
    Switch.objects.all().delete()
    assert values.value_due() == 1
    payment.refresh_from_db()
    assert payment.value is not None


def test_embedding_switch_forbids_frames(api: Api, public: Api, order: Order, merchant: Merchant) -> None:
    merchant.embed_origins = ["https://shop.example"]
    merchant.save()
    code = api.post("/api/payment-requests", order()).json()["shortcode"]
    assert "frame-ancestors https://shop.example" in public.get(f"/pay/{code}")["Content-Security-Policy"]
    off("embedding")
    page = public.get(f"/pay/{code}")
    assert page.status_code == 200
    assert page["Content-Security-Policy"].endswith("frame-ancestors 'none'")
    assert page["X-Frame-Options"] == "DENY"
    assert b"shop.example" not in page.content


def test_refund_switch_stops_new_refunds_and_completes_sent(
    api: Api, public: Api, request_for: Callable[..., PaymentRequest], local_chain: LocalChain, usdc: Token
) -> None:
    paid = request_for()
    look_until_decided(submit(paid, pay(local_chain, paid)), Clock())
    path = f"/api/payment-requests/{paid.id}/refunds"
    made = api.post(path, {"recipient_address": CUSTOMER, "amount": "1"}).json()
    carrier = PaymentRequest.objects.get(is_refund=True)
    wallet = {"wallet_address": local_chain.payer}
    wallet_and_token = {**wallet, "chain_id": usdc.chain_id, "token_id": usdc.pk}
    routes = f"/api/public/payment-requests/{carrier.shortcode}/routes"
    (route,) = public.post(routes, wallet_and_token).json()["routes"]
    sent = local_chain.send(api.post(f"/api/refunds/{made['id']}/build", wallet).json()["transaction"])

    off("refunds")
    assert_stopped(api.post(path, {"amount": "1"}), "service_unavailable")
    assert_stopped(api.post(f"/api/refunds/{made['id']}/build", wallet), "service_unavailable")
    assert_stopped(public.post(routes, wallet_and_token), "service_unavailable")
    built = public.post("/api/public/build-transaction", {"route_id": route["id"]})
    assert_stopped(built, "service_unavailable")
    page = public.get(f"/api/public/payment-requests/{carrier.shortcode}").json()
    assert page["is_available"] is False
    assert public.get(f"/api/public/payment-requests/{paid.shortcode}").json()["is_available"] is True

    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": sent})
    look_until_decided(carrier.payments.get(), Clock())
    assert api.get(f"/api/refunds/{made['id']}").json()["status"] == "completed"
