"""A payer with the token but no coin signs once, and the gas account sends the transfer."""

import pytest
from eth_account import Account

from payments.models import Authorization, Payment, Relay
from tests.support.payments.sponsoring import SponsoringWorld


def test_payer_without_coin_completes_the_request(world: SponsoringWorld) -> None:
    request = world.request()
    direct, sponsored = world.routes(request)
    assert (direct["sponsored"], sponsored["sponsored"], sponsored["type"]) == (False, True, "direct")
    built = world.build(sponsored["id"])
    assert (built["transaction"], built["binding"], built["payer_proof"]) == (None, "authorization", None)
    message = built["typed_data"]["message"]
    assert (message["from"], message["to"]) == (world.payer.address, request.recipient_address)
    assert (message["value"], message["validAfter"]) == (str(request.amount), "0")

    answer = world.submit(request, sponsored["id"], world.sign(built["typed_data"]))
    assert (answer["sponsored"], answer["status"], answer["bound_by"]) == (True, "pending", "authorization")
    assert (answer["transaction_hash"], answer["from_address"]) == (None, None)
    payment = world.work_until_decided(Payment.objects.get(pk=answer["id"]))
    assert (payment.status, payment.bound_by, payment.amount_received) == (
        "completed",
        "authorization",
        request.amount,
    )
    assert payment.from_address == world.payer.address
    request.refresh_from_db()
    assert request.status == "completed"
    assert (
        world.chain.token_balance(world.token.contract_address, request.recipient_address) == request.amount
    )
    assert int(world.chain.rpc("eth_getBalance", world.payer.address, "latest"), 16) == 0
    for _ in range(3):
        world.work()
    authorization, relay = Authorization.objects.get(), Relay.objects.get()
    spent = 10**18 - int(world.chain.rpc("eth_getBalance", world.sponsor, "latest"), 16)
    assert (relay.succeeded, relay.fee, authorization.cost) == (True, spent, spent)
    assert authorization.ended_at is not None
    assert (world.account().next_look_at, world.account().next_nonce) == (None, 1)


def test_same_signature_returns_the_same_payment(world: SponsoringWorld) -> None:
    request = world.request()
    route, signature = world.signed(request)
    first = world.submit(request, route, signature)
    assert world.submit(request, route, signature, 200)["id"] == first["id"]
    compact = signature[:-2] + f"{int(signature[-2:], 16) - 27:02x}"
    assert world.submit(request, route, compact, 200)["id"] == first["id"]
    world.work_until_decided(Payment.objects.get(pk=first["id"]))
    assert world.submit(request, route, signature, 200)["status"] == "completed"
    assert Relay.objects.count() == 1


@pytest.mark.parametrize("changed", ["amount", "recipient", "end", "signer"])
def test_signature_of_changed_values_is_invalid(world: SponsoringWorld, changed: str) -> None:
    request = world.request()
    route = world.route(request)
    data = world.build(route)["typed_data"]
    message, signer = data["message"], world.payer
    if changed == "amount":
        message["value"] = str(int(message["value"]) - 1)
    elif changed == "recipient":
        message["to"] = world.payer.address
    elif changed == "end":
        message["validBefore"] = str(int(message["validBefore"]) + 1)
    else:
        signer = Account.create()
    answer = world.submit(request, route, world.sign(data, signer), None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "signature_invalid")
    assert not Payment.objects.exists()
    assert Authorization.objects.get().signed_at is None


def test_another_signature_waits_for_the_live_one(world: SponsoringWorld) -> None:
    request = world.request()
    first, second = world.signed(request), world.signed(request)
    world.submit(request, *first)
    answer = world.submit(request, *second, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "payment_in_progress")
    assert Payment.objects.count() == 1


def test_unsponsored_route_takes_no_signature(world: SponsoringWorld) -> None:
    request = world.request()
    direct, sponsored = world.routes(request)
    for route in (direct["id"], sponsored["id"]):  # no transaction was built for the second
        answer = world.submit(request, route, "0x" + "11" * 65, None)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "route_expired")


@pytest.mark.parametrize(
    ("code", "status"), [("0x60006000f3", 409), ("0xef0100" + "5a" * 20, 200)], ids=["contract", "delegated"]
)
def test_only_an_account_with_its_own_key_signs(world: SponsoringWorld, code: str, status: int) -> None:
    world.chain.rpc("anvil_setCode", world.payer.address, code)
    answer = world.post("build-transaction", {"route_id": world.route(world.request())}, None)
    assert answer.status_code == status
    assert Authorization.objects.exists() == (status == 200)
    if status == 409:
        error = answer.json()["error"]
        assert error["code"] == "sponsoring_unavailable"
        assert error["message"] == (
            "This wallet is a contract account, which can't sign the transfer. Pay with the other route."
        )


def test_payer_without_the_token_builds_nothing(world: SponsoringWorld) -> None:
    request = world.request()
    poor = Account.create()
    answer = world.post("build-transaction", {"route_id": world.route(request, poor)}, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "insufficient_funds")
    assert not Authorization.objects.exists()
