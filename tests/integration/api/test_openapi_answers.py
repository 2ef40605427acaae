"""What the API really answers, held against its own description: no field more, none less, each of the right kind."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from chains.models import Token
from config.api.schema.views import described_as
from demo.services.process import free_port
from merchants.models import ApiKey, Merchant
from merchants.services import issue_key
from payments.models import Payment
from tests.chain import LocalChain
from tests.conftest import Api
from tests.integration.payments.test_payer_proof import sign
from tests.support.api.served import prepare
from tests.unit.config.api.schema.test_openapi import responses_of
from tests.verifying import verify_due
from webhooks.dispatch.testing import example_object
from webhooks.event_types import EventType

Order = Callable[..., dict[str, Any]]
SIMULATED = (
    "underpaid",
    "overpaid",
    "paid_late",
    "failed",
    "expired",
    "reorged",
    "bridge_refunded",
    "refunded",
)
REFUNDED = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"


def _closed(node: Any) -> Any:
    """Return the schema with every object closed, so that a field that it does not know is a failure."""
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {name: _closed(part) for name, part in node.items()}
    if "properties" in closed and "required" in closed and "additionalProperties" not in closed:
        closed["additionalProperties"] = False
    return closed


SCHEMA: dict[str, Any] = json.loads(described_as("json"))
OPERATIONS = {
    operation["operationId"]: operation
    for methods in SCHEMA["paths"].values()
    for operation in methods.values()
}
CLOSED = _closed(copy.deepcopy(SCHEMA["components"]))


def check(schema: dict[str, Any], value: Any) -> None:
    """Raise unless `value` is exactly as described."""
    whole = {**_closed(schema), "components": CLOSED}
    Draft202012Validator(whole, format_checker=FormatChecker()).validate(value)


class Described:
    """Calls operations, and has each answer checked against what is said of it."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()

    def __call__(self, name: str, response: Any) -> Any:
        status = str(response.status_code)
        said = responses_of(OPERATIONS[name])
        assert status in said, f"{name} answered {status}: {response.content[:300]!r}"
        for header, reference in said[status]["headers"].items():
            described = SCHEMA["components"]["headers"][reference["$ref"].rsplit("/", 1)[1]]
            if described.get("required"):
                assert header in response.headers, (name, status, header)
        self.seen.add((name, status))
        if "content" not in said[status]:
            assert response.content == b""
            return None
        body = response.json()
        check(said[status]["content"]["application/json"]["schema"], body)
        return body


def test_each_call_answers_exactly_what_is_described(
    api: Api,
    public: Api,
    api_key: tuple[ApiKey, str],
    merchant: Merchant,
    usdc: Token,
    ether: Token,
    order: Order,
    local_chain: LocalChain,
) -> None:
    answer = Described()
    there = prepare(api_key[1], merchant, usdc, order)
    one, many = f"/api/payment-requests/{there.request}", "/api/payment-requests"
    shown = f"/api/public/payment-requests/{there.request}"

    answer("chains.list", public.get("/api/public/chains"))
    answer("tokens.list", public.get(f"/api/public/chains/{there.chain}/tokens"))
    answer("currencies.list", public.get("/api/public/currencies"))

    answer("payment_requests.create", api.post(many, order(redirect_url="https://shop.example/ok")))
    assert len(answer("payment_requests.list", api.get(many))["data"]) == 3
    answer("payment_requests.retrieve", api.get(one))
    assert len(answer("payments.list", api.get(f"{one}/payments"))["data"]) == 1
    found = {"transaction_hash": "0x" + "5e" * 32, "chain_id": there.chain}
    answer("payments.submit", api.post(f"{one}/payments", found))
    answer("payments.submit", api.post(f"{one}/payments", found))
    Payment.objects.filter(transaction_hash=found["transaction_hash"]).update(
        status="failed", failure_code="transaction_not_found", next_check_at=None
    )
    payment = f"{one}/payments/{there.payment}"
    answer("payments.accept", api.post(f"{payment}/accept", {"reason": "The customer showed us."}))
    answer("payments.accept", api.post(f"{payment}/accept", {"reason": "Once more, which is one too many."}))
    lost = {"status": "failed", "failure_code": "transaction_not_found", "next_check_at": None}
    Payment.objects.filter(pk=there.payment).update(**lost)
    answer("payments.retry", api.post(f"{payment}/retry"))
    Payment.objects.filter(pk=there.payment).update(**lost)
    answer("payment_requests.cancel", api.post(f"{one}/cancel"))

    # Native coin, by a request without references: the one way that asks for everything there is on the checkout.
    plain = answer(
        "payment_requests.create", api.post(many, order(token_id=ether.id, amount="0.01", references=False))
    )
    shown = f"/api/public/payment-requests/{plain['shortcode']}"
    fresh = public.get(shown)
    answer("checkout.retrieve", fresh)
    answer("checkout.retrieve", public.get(shown, **{"If-None-Match": fresh["ETag"]}))
    wallet = {"wallet_address": local_chain.payer, "chain_id": there.chain}
    offered = answer("checkout.list_routes", public.post(f"{shown}/routes", {**wallet, "token_id": ether.id}))
    assert answer("checkout.list_routes", public.post(f"{shown}/routes", {**wallet, "token_id": usdc.id}))[
        "reason"
    ]
    question = {"wallet_address": local_chain.payer}
    assert answer("checkout.essential_balances", public.post(f"{shown}/balances/essential", question))[
        "balances"
    ]
    assert answer(
        "checkout.discover_wallet_tokens", public.post("/api/public/discover-wallet-tokens", question)
    )["tokens"]
    route = offered["routes"][0]["id"]
    approval = answer(
        "checkout.check_approval", public.post("/api/public/check-approval", {"route_id": route})
    )
    assert not approval["approval_required"]
    built = answer(
        "checkout.build_transaction", public.post("/api/public/build-transaction", {"route_id": route})
    )
    signature = sign(local_chain, built["payer_proof"]["message"])
    proof = {"route_id": route, "wallet_address": local_chain.payer, "signature": signature}
    answer("checkout.prove_payer", public.post(f"{shown}/payer-proof", proof))
    sent = {"transaction_hash": local_chain.send(built["transaction"]), "chain_id": there.chain}
    answer("checkout.submit_payment", public.post(f"{shown}/payments", sent))
    answer("checkout.submit_payment", public.post(f"{shown}/payments", sent))
    verify_due()
    paid = answer("payment_requests.retrieve", api.get(f"{many}/{plain['id']}"))
    assert (paid["status"], paid["payments"][0]["bound_by"]) == ("completed", "payer")
    assert answer("checkout.retrieve", public.get(shown))["is_final"]

    for outcome in (
        "underpaid",
        "overpaid",
        "paid_late",
        "failed",
        "expired",
        "reorged",
        "bridge_refunded",
        "refunded",
    ):
        created = api.post(many, order()).json()
        simulated = api.post(f"/api/test/payment-requests/{created['id']}/simulate", {"outcome": outcome})
        answer("sandbox.simulate", simulated)

    refunds = f"{many}/{plain['id']}/refunds"
    waiting = answer("refunds.create", api.post(refunds, {"amount": "0.004"}))
    assert waiting["status"] == "requires_address"
    refund = answer("refunds.create", api.post(refunds, {"recipient_address": REFUNDED}))
    elsewhere = {"recipient_address": local_chain.payer}
    waiting_at = f"/api/refunds/{waiting['id']}"
    assert answer("refunds.change_address", api.post(f"{waiting_at}/address", elsewhere))["refund_url"]
    at = f"/api/refunds/{refund['id']}"
    to_sign = answer("refunds.build", api.post(f"{at}/build", {"wallet_address": local_chain.payer}))
    hash_ = local_chain.send(to_sign["transaction"])
    answer("refunds.submit", api.post(f"{at}/submit", {"transaction_hash": hash_}))
    verify_due()
    assert answer("refunds.retrieve", api.get(at))["status"] == "completed"
    answer("refunds.cancel", api.post(f"/api/refunds/{waiting['id']}/cancel"))
    assert answer("refunds.list", api.get("/api/refunds"))["data"]
    assert answer("refunds.list_of_request", api.get(refunds))["data"]
    assert answer("payment_requests.retrieve", api.get(f"{many}/{plain['id']}"))["refunds"]

    answer("webhooks.retrieve", api.get("/api/webhooks"))
    everything = {"url": f"http://127.0.0.1:{free_port()}/", "enabled_events": EventType.values}
    answer("webhooks.update", api.put("/api/webhooks", {**everything, "rotate_secret": True}))
    answer("webhooks.test", api.post("/api/webhooks/test", {}))
    answer("webhook_deliveries.list", api.get("/api/webhooks/deliveries"))
    delivery = f"/api/webhooks/deliveries/{there.delivery}"
    assert answer("webhook_deliveries.retrieve", api.get(delivery))["attempts"]
    answer("webhook_deliveries.redeliver", api.post(f"{delivery}/redeliver"))
    since = {"since": "2026-01-01T00:00:00Z"}
    answer("webhook_deliveries.redeliver_failed", api.post("/api/webhooks/deliveries/redeliver", since))

    events = answer("events.list", api.get("/api/events?limit=100"))["data"]
    assert {"payment.succeeded", "payment.failed", "payment.expired"} <= {event["type"] for event in events}
    answer("events.retrieve", api.get(f"/api/events/{there.event}"))

    successes = {
        (name, status)
        for name, operation in OPERATIONS.items()
        for status in operation["responses"]
        if status < "400"
    }
    # The stream is served by a process of its own (tests/integration/checkout/streams).
    assert successes - answer.seen == {("checkout.events", "200")}


def test_refusals_are_described_too(
    api: Api, public: Api, merchant: Merchant, order: Order, chain: Any
) -> None:
    answer = Described()
    many = "/api/payment-requests"
    answer("payment_requests.create", api.post(many, {"amount": 1.5, "colour": "red"}))
    answer("payment_requests.create", api.call("POST", many, b"{"))
    answer("payment_requests.create", api.call("POST", many, b'"' + b"x" * 70_000 + b'"'))
    answer("payment_requests.create", public.post(many, order()))
    weak = Api(issue_key(merchant=merchant, permissions=[], name="weak")[1])
    answer("payment_requests.create", weak.post(many, order()))
    answer("webhooks.retrieve", weak.get("/api/webhooks"))
    answer("webhooks.test", api.post("/api/webhooks/test", {}))
    answer("payment_requests.list", api.get(f"{many}?limit=0&color=red"))
    answer("payment_requests.retrieve", api.get(f"{many}/unknown"))
    answer("checkout.retrieve", public.get("/api/public/payment-requests/unknown"))
    created = api.post(many, order()).json()
    api.post(f"{many}/{created['id']}/cancel")
    simulated = f"/api/test/payment-requests/{created['id']}/simulate"
    answer("sandbox.simulate", api.post(simulated, {"outcome": "expired"}))
    assert {status for _, status in answer.seen} == {"400", "401", "403", "404", "409", "413"}


def test_metadata_whose_value_is_empty_is_given_back_as_described(api: Api, order: Order) -> None:
    created = Described()(
        "payment_requests.create", api.post("/api/payment-requests", order(metadata={"note": ""}))
    )
    assert created["metadata"] == {"note": ""}


def test_before_any_configuration_the_webhooks_are_null_as_described(api: Api) -> None:
    Described()("webhooks.retrieve", api.get("/api/webhooks"))


@pytest.mark.parametrize("type_", EventType)
def test_the_sample_of_each_event_is_as_described(type_: EventType) -> None:
    envelope = {
        "id": "evt_" + "1" * 24,
        "type": type_.value,
        "created": 1,
        "data": {"object": example_object(type_)},
    }
    body = SCHEMA["webhooks"][type_.value]["post"]["requestBody"]["content"]["application/json"]["schema"]
    check(body, envelope)
