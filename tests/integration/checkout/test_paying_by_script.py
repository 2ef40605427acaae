"""A script with a private key pays with nothing but the public endpoints and raw RPC."""

from collections.abc import Callable
from typing import Any

import pytest

from chains.models import Token
from tests.chain import LocalChain
from tests.conftest import Api
from tests.verifying import verify_due

Checkout = Callable[..., dict[str, Any]]


def route_for(public: Api, request: dict[str, Any], wallet: str, **different: Any) -> dict[str, Any]:
    body = {"wallet_address": wallet, "chain_id": request["chain_id"], "token_id": request["token"]["id"]}
    response = public.post(f"/api/public/payment-requests/{request['id']}/routes", {**body, **different})
    assert response.status_code == 200, response.content
    (route,) = response.json()["routes"]
    return dict(route)


@pytest.mark.parametrize("coin", ["usdc", "ether"])
def test_script_pays_from_the_route_to_the_completion(
    public: Api, checkout: Checkout, local_chain: LocalChain, request: pytest.FixtureRequest, coin: str
) -> None:
    token: Token = request.getfixturevalue(coin)
    order = checkout(token_id=token.id, amount="0.25", redirect_url="https://shop.example/ok?a=1")
    route = route_for(public, order, local_chain.payer)
    assert route["type"] == "direct"
    assert route["from"]["amount"] == route["to"]["amount_min"] == order["amount"]

    built = public.post("/api/public/build-transaction", {"route_id": route["id"]}).json()
    assert (built["route_id"], built["chain_type"], built["binding"]) == (route["id"], "evm", "reference")
    assert built["payer_proof"] is None
    assert sorted(built["transaction"]) == [
        "chainId", "data", "from", "gas", "maxFeePerGas", "maxPriorityFeePerGas", "to", "value",
    ]  # fmt: skip
    sent = local_chain.send(built["transaction"])

    submit = f"/api/public/payment-requests/{order['shortcode']}/payments"
    body = {"transaction_hash": sent, "chain_id": order["chain_id"], "route_id": route["id"]}
    first, again = public.post(submit, body), public.post(submit, {**body, "transaction_hash": sent.upper()})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert first.json()["status"] == "pending"
    before = public.get(f"/api/public/payment-requests/{order['id']}").json()
    assert (before["status"], before["redirect_url"], before["is_final"]) == ("active", None, False)

    verify_due()

    after = public.get(f"/api/public/payment-requests/{order['id']}").json()
    assert (after["status"], after["is_final"]) == ("completed", True)
    expected = f"https://shop.example/ok?a=1&payment_request_id={order['id']}&status=completed"
    assert after["redirect_url"] == expected
    assert [payment["status"] for payment in after["payments"]] == ["completed"]


def test_transaction_has_exactly_the_remaining_amount(
    public: Api, checkout: Checkout, local_chain: LocalChain
) -> None:
    from payments.models import PaymentRequest

    order = checkout(amount="10")
    stale = route_for(public, order, local_chain.payer)
    PaymentRequest.objects.filter(pk=order["id"]).update(amount_paid=3_000_000)
    fresh = route_for(public, order, local_chain.payer)
    assert fresh["from"]["amount"]["raw"] == "7000000"
    refused = public.post("/api/public/build-transaction", {"route_id": stale["id"]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "route_expired")
