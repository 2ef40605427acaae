"""Every response of the API has exactly the documented fields and types."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from chains.models import Chain, Token
from config.api.schema.views import described_as
from demo.services.process import free_port
from merchants.models import ApiKey, Merchant
from merchants.services import issue_key
from payments.models import Payment
from tests.chain import LocalChain
from tests.conftest import Api
from tests.integration.payments.test_payer_proof import sign
from tests.support.api.served import prepare
from tests.support.chains.deposits import DepositWorld
from tests.support.payments.rows import change
from tests.support.payments.sponsoring import SponsoringWorld
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
    """Return the schema with closed objects, so that an undocumented field fails the test."""
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
    """Raise unless `value` matches the schema exactly."""
    whole = {**_closed(schema), "components": CLOSED}
    Draft202012Validator(whole, format_checker=FormatChecker()).validate(value)


class Described:
    """Checks each response against the schema of its operation."""

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


def test_each_response_matches_its_description(
    api: Api,
    public: Api,
    api_key: tuple[ApiKey, str],
    merchant: Merchant,
    usdc: Token,
    ether: Token,
    order: Order,
    local_chain: LocalChain,
    chain: Chain,
    settings: Any,
) -> None:
    described = Described()
    there = prepare(api_key[1], merchant, usdc, order)
    one, many = f"/api/payment-requests/{there.request}", "/api/payment-requests"
    shown = f"/api/public/payment-requests/{there.request}"

    described("chains.list", public.get("/api/public/chains"))
    described("tokens.list", public.get(f"/api/public/chains/{there.chain}/tokens"))
    described("currencies.list", public.get("/api/public/currencies"))

    described("payment_requests.create", api.post(many, order(redirect_url="https://shop.example/ok")))
    assert len(described("payment_requests.list", api.get(many))["data"]) == 3
    described("payment_requests.retrieve", api.get(one))
    assert len(described("payments.list", api.get(f"{one}/payments"))["data"]) == 1
    found = {"transaction_hash": "0x" + "5e" * 32, "chain_id": there.chain}
    described("payments.submit", api.post(f"{one}/payments", found))
    described("payments.submit", api.post(f"{one}/payments", found))
    change(
        Payment.objects.filter(transaction_hash=found["transaction_hash"]),
        status="failed",
        failure_code="transaction_not_found",
        next_check_at=None,
    )
    payment = f"{one}/payments/{there.payment}"
    described("payments.accept", api.post(f"{payment}/accept", {"reason": "The customer showed us."}))
    described(
        "payments.accept", api.post(f"{payment}/accept", {"reason": "Once more, which is one too many."})
    )
    lost = {"status": "failed", "failure_code": "transaction_not_found", "next_check_at": None}
    change(Payment.objects.filter(pk=there.payment), **lost)
    described("payments.retry", api.post(f"{payment}/retry"))
    change(Payment.objects.filter(pk=there.payment), **lost)
    described("payment_requests.cancel", api.post(f"{one}/cancel"))

    # A request for native coin without a reference. Its payment uses every call of the checkout.
    plain = described(
        "payment_requests.create", api.post(many, order(token_id=ether.id, amount="0.01", references=False))
    )
    shown = f"/api/public/payment-requests/{plain['shortcode']}"
    fresh = public.get(shown)
    described("checkout.retrieve", fresh)
    described("checkout.retrieve", public.get(shown, **{"If-None-Match": fresh["ETag"]}))
    wallet = {"wallet_address": local_chain.payer, "chain_id": there.chain}
    offered = described(
        "checkout.list_routes", public.post(f"{shown}/routes", {**wallet, "token_id": ether.id})
    )
    assert described("checkout.list_routes", public.post(f"{shown}/routes", {**wallet, "token_id": usdc.id}))[
        "reason"
    ]
    question = {"wallet_address": local_chain.payer}
    assert described("checkout.essential_balances", public.post(f"{shown}/balances/essential", question))[
        "balances"
    ]
    assert described(
        "checkout.discover_wallet_tokens", public.post("/api/public/discover-wallet-tokens", question)
    )["tokens"]
    route = offered["routes"][0]["id"]
    approval = described(
        "checkout.check_approval", public.post("/api/public/check-approval", {"route_id": route})
    )
    assert not approval["approval_required"]
    built = described(
        "checkout.build_transaction", public.post("/api/public/build-transaction", {"route_id": route})
    )
    signature = sign(local_chain, built["payer_proof"]["message"])
    DepositWorld(local_chain).prepare()
    local_chain.rpc("anvil_mine", "0x60")
    Merchant.objects.filter(pk=merchant.pk).update(deposit_addresses=True)
    proof = {"route_id": route, "wallet_address": local_chain.payer, "signature": signature}
    described("checkout.prove_payer", public.post(f"{shown}/payer-proof", proof))
    sent = {"transaction_hash": local_chain.send(built["transaction"]), "chain_id": there.chain}
    described("checkout.submit_payment", public.post(f"{shown}/payments", sent))
    described("checkout.submit_payment", public.post(f"{shown}/payments", sent))
    verify_due()
    by_hand = api.post(many, order()).json()
    units = int(by_hand["amount"]["raw"])
    plain_sent = local_chain.transfer(local_chain.usdc, by_hand["recipient_address"], units)
    checked = f"/api/public/payment-requests/{by_hand['shortcode']}"
    described("checkout.show_deposit_address", public.post(f"{checked}/deposit-address"))
    unbound = public.post(
        f"{checked}/payments", {"transaction_hash": plain_sent, "chain_id": there.chain}
    ).json()
    text = described(
        "checkout.proof_message",
        public.post(f"{checked}/payments/{unbound['id']}/proof-message", question),
    )["message"]
    given = {**question, "payment_id": unbound["id"], "signature": sign(local_chain, text)}
    described("checkout.prove_payer", public.post(f"{checked}/payer-proof", given))
    sponsoring = SponsoringWorld.prepare(local_chain, chain, merchant, public, settings)
    signed_for = sponsoring.request()
    signed = sponsoring.signed(signed_for)
    for _ in range(2):
        described("checkout.authorize_payment", sponsoring.submit(signed_for, *signed, None))
    paid = described("payment_requests.retrieve", api.get(f"{many}/{plain['id']}"))
    assert (paid["status"], paid["payments"][0]["bound_by"]) == ("completed", "payer")
    assert described("checkout.retrieve", public.get(shown))["is_final"]

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
        described("sandbox.simulate", simulated)

    refunds = f"{many}/{plain['id']}/refunds"
    waiting = described("refunds.create", api.post(refunds, {"amount": "0.004"}))
    assert waiting["status"] == "requires_address"
    refund = described("refunds.create", api.post(refunds, {"recipient_address": REFUNDED}))
    elsewhere = {"recipient_address": local_chain.payer}
    waiting_at = f"/api/refunds/{waiting['id']}"
    assert described("refunds.change_address", api.post(f"{waiting_at}/address", elsewhere))["refund_url"]
    at = f"/api/refunds/{refund['id']}"
    to_sign = described("refunds.build", api.post(f"{at}/build", {"wallet_address": local_chain.payer}))
    hash_ = local_chain.send(to_sign["transaction"])
    described("refunds.submit", api.post(f"{at}/submit", {"transaction_hash": hash_}))
    verify_due()
    assert described("refunds.retrieve", api.get(at))["status"] == "completed"
    described("refunds.cancel", api.post(f"/api/refunds/{waiting['id']}/cancel"))
    assert described("refunds.list", api.get("/api/refunds"))["data"]
    assert described("refunds.list_of_request", api.get(refunds))["data"]
    assert described("payment_requests.retrieve", api.get(f"{many}/{plain['id']}"))["refunds"]

    terms = {**order(), "name": "Donations", "open_amount": {"min": "1", "max": "50"}}
    del terms["amount"]
    link = described("payment_links.create", api.post("/api/payment-links", terms))
    at = f"/api/payment-links/{link['id']}"
    by_link = described(
        "payment_requests.create", api.post(many, {"payment_link": link["id"], "amount": "2"})
    )
    assert by_link["payment_link"] == link["id"]
    described("payment_links.update", api.call("PATCH", at, {"is_active": False}))
    assert described("payment_links.retrieve", api.get(at))["requests_count"] == 1
    assert described("payment_links.list", api.get("/api/payment-links"))["data"]
    described("payment_requests.create", api.post(many, {"payment_link": link["id"], "amount": "2"}))
    described("payment_links.update", api.call("PATCH", at, {"amount": "2"}))

    described("webhooks.retrieve", api.get("/api/webhooks"))
    everything = {"url": f"http://127.0.0.1:{free_port()}/", "enabled_events": EventType.values}
    described("webhooks.update", api.put("/api/webhooks", {**everything, "rotate_secret": True}))
    described("webhooks.test", api.post("/api/webhooks/test", {}))
    described("webhook_deliveries.list", api.get("/api/webhooks/deliveries"))
    delivery = f"/api/webhooks/deliveries/{there.delivery}"
    assert described("webhook_deliveries.retrieve", api.get(delivery))["attempts"]
    described("webhook_deliveries.redeliver", api.post(f"{delivery}/redeliver"))
    since = {"since": "2026-01-01T00:00:00Z"}
    described("webhook_deliveries.redeliver_failed", api.post("/api/webhooks/deliveries/redeliver", since))

    events = described("events.list", api.get("/api/events?limit=100"))["data"]
    assert {"payment.succeeded", "payment.failed", "payment.expired"} <= {event["type"] for event in events}
    described("events.retrieve", api.get(f"/api/events/{there.event}"))

    successes = {
        (name, status)
        for name, operation in OPERATIONS.items()
        for status in operation["responses"]
        if status < "400"
    }
    # A separate process serves the stream (tests/integration/checkout/streams).
    assert successes - described.seen == {("checkout.events", "200")}


def test_error_responses_match_their_description(
    api: Api, public: Api, merchant: Merchant, order: Order, chain: Any
) -> None:
    described = Described()
    many = "/api/payment-requests"
    described("payment_requests.create", api.post(many, {"amount": 1.5, "colour": "red"}))
    described("payment_requests.create", api.call("POST", many, b"{"))
    described("payment_requests.create", api.call("POST", many, b'"' + b"x" * 70_000 + b'"'))
    described("payment_requests.create", public.post(many, order()))
    weak = Api(issue_key(merchant=merchant, permissions=[], name="weak")[1])
    described("payment_requests.create", weak.post(many, order()))
    described("webhooks.retrieve", weak.get("/api/webhooks"))
    described("webhooks.test", api.post("/api/webhooks/test", {}))
    described("payment_requests.list", api.get(f"{many}?limit=0&color=red"))
    described("payment_requests.retrieve", api.get(f"{many}/unknown"))
    described("checkout.retrieve", public.get("/api/public/payment-requests/unknown"))
    created = api.post(many, order()).json()
    api.post(f"{many}/{created['id']}/cancel")
    simulated = f"/api/test/payment-requests/{created['id']}/simulate"
    described("sandbox.simulate", api.post(simulated, {"outcome": "expired"}))
    assert {status for _, status in described.seen} == {"400", "401", "403", "404", "409", "413"}


def test_empty_metadata_value_is_returned_as_described(api: Api, order: Order) -> None:
    created = Described()(
        "payment_requests.create", api.post("/api/payment-requests", order(metadata={"note": ""}))
    )
    assert created["metadata"] == {"note": ""}


def test_webhooks_without_configuration_are_null(api: Api) -> None:
    Described()("webhooks.retrieve", api.get("/api/webhooks"))


@pytest.mark.parametrize("type_", EventType)
def test_sample_of_each_event_matches_its_description(type_: EventType) -> None:
    envelope = {
        "id": "evt_" + "1" * 24,
        "type": type_.value,
        "created": 1,
        "data": {"object": example_object(type_)},
    }
    body = SCHEMA["webhooks"][type_.value]["post"]["requestBody"]["content"]["application/json"]["schema"]
    check(body, envelope)
