"""Anyone can send a signature. It only pays its own request."""

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from chains.families import get_client
from chains.families.evm.abi import selector
from chains.rpc import json_rpc
from demo.contracts import deploy
from payments.models import Authorization, ConsumedTransfer, Payment, PaymentRequest, Relay
from payments.routes import authorizing
from payments.submission.hashes import sight_for_merchant, submit_for_merchant
from tests.processes import eventually
from tests.support.nodes.oversized import ADDRESS as SHOUTER
from tests.support.nodes.oversized import Shouter
from tests.support.payments.sponsoring import SponsoringWorld
from tests.support.payments.world import look_until_decided, make_request
from tests.verifying import verify_due


def completed(world: SponsoringWorld, request: PaymentRequest) -> None:
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("completed", request.amount)
    assert ConsumedTransfer.objects.filter(payment__request=request).count() == 1


def test_front_run_before_the_relay_pays_the_same_request(world: SponsoringWorld) -> None:
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    sent = world.broadcast(route, signature)
    world.work_until_decided(payment)
    assert (payment.status, payment.transaction_hash, payment.is_sponsored) == ("completed", sent, True)
    assert not Relay.objects.exists()
    completed(world, request)
    world.work()
    assert Authorization.objects.get().cost == 0


def test_front_run_of_a_sent_relay_pays_once(own_world: SponsoringWorld) -> None:
    """The stranger's transaction has a higher fee. Ours comes after it in the same block, and reverts."""
    world, chain = own_world, own_world.chain
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    chain.rpc("evm_setAutomine", False)
    world.work()
    ours = Relay.objects.get().hashes[0]
    call = world.call_of(Authorization.objects.get(), signature)
    stranger = {
        "chainId": chain.chain_id, "to": call.to, "value": 0, "data": "0x" + call.data.hex(), "gas": 200_000,
        "maxFeePerGas": 10**12, "maxPriorityFeePerGas": 10**11,
    }  # fmt: skip
    theirs = chain.send(stranger)
    chain.mine()
    chain.rpc("evm_setAutomine", True)
    world.work_until_decided(payment)
    assert (payment.status, payment.transaction_hash, payment.replaced_hashes) == (
        "completed",
        theirs,
        [ours],
    )
    completed(world, request)
    world.work()
    relay = Relay.objects.get()
    assert (relay.succeeded, Authorization.objects.get().cost) == (False, relay.fee)
    gas = [int(chain.rpc("eth_getTransactionReceipt", each)["gasUsed"], 16) for each in (theirs, ours)]
    assert gas[1] < 30_000 < 85_000 < gas[0], "it costs the stranger three times what it costs us"
    for hash_ in (ours, theirs):
        body = {"transaction_hash": hash_, "chain_id": world.row.pk}
        answer = world.post(f"payment-requests/{request.pk}/payments", body, 200)
        assert answer["id"] == payment.pk


def test_front_run_after_a_reorganised_relay_pays_once(own_world: SponsoringWorld) -> None:
    world, chain = own_world, own_world.chain
    type(world.row).objects.update(confirmations="3")
    chain.mine(3)
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    world.work()
    world.work()
    payment.refresh_from_db()
    assert payment.status == "processing"
    chain.reorganise(1)
    theirs = world.broadcast(route, signature)
    world.clock.forward(seconds=15)
    for _ in range(3):
        world.work()
    chain.mine(3)
    world.work_until_decided(payment)
    assert (payment.status, payment.transaction_hash) == ("completed", theirs)
    completed(world, request)
    assert Payment.objects.count() == 1


def test_thiefs_reference_behind_the_call_claims_nothing(world: SponsoringWorld) -> None:
    """The thief has a request at the same shop, and sends the victim's signature with the thief's reference."""
    request = world.request()
    thiefs = make_request(world.merchant, world.token, "10", request.recipient_address)
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    sent = world.broadcast(route, signature, tail=bytes(thiefs.reference))
    body = {"transaction_hash": sent, "chain_id": world.row.pk}
    claimed = Payment.objects.get(pk=world.post(f"payment-requests/{thiefs.pk}/payments", body, 201)["id"])
    world.work_until_decided(claimed)
    assert (claimed.status, claimed.failure_code) == ("failed", "transaction_not_bound")
    world.work_until_decided(payment)
    completed(world, request)
    thiefs.refresh_from_db()
    assert thiefs.amount_paid == 0


def test_signature_inside_another_call_pays_its_own_request(world: SponsoringWorld) -> None:
    request = world.request()
    thiefs = make_request(world.merchant, world.token, "10", request.recipient_address)
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    call = world.call_of(Authorization.objects.get(), signature)
    batch = deploy.deploy_contract(world.chain.url, "OpenBatch")
    inner = (call.to, 0, call.data + bytes(thiefs.reference))
    calls = encode(["(address,uint256,bytes)[]"], [[inner]])
    data = selector("executeBatch((address,uint256,bytes)[])") + calls + bytes(thiefs.reference)
    sent = deploy.send(world.chain.url, world.chain.payer_key, to=batch, data=data)["transactionHash"]
    world.work_until_decided(payment)
    assert (payment.status, payment.transaction_hash) == ("completed", sent)
    completed(world, request)


def test_signature_used_before_it_is_submitted_is_found(world: SponsoringWorld) -> None:
    request = world.request()
    route, signature = world.signed(request)
    sent = world.broadcast(route, signature)
    answer = world.submit(request, route, signature, 201)
    assert (answer["transaction_hash"], answer["sponsored"]) == (sent, False)
    world.work_until_decided(Payment.objects.get(pk=answer["id"]))
    completed(world, request)
    assert not Relay.objects.exists()


def test_use_that_no_node_returns_asks_for_no_second_payment(
    world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = world.request()
    route, signature = world.signed(request)
    world.broadcast(route, signature)
    with monkeypatch.context() as patched:
        patched.setattr(authorizing, "find_uses", lambda *_, **__: {})
        answer = world.submit(request, route, signature, None)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (503, "node_unavailable")
    assert "don't pay again" in error["message"]
    assert not Payment.objects.exists()
    assert Authorization.objects.get().signed_at is None
    world.submit(request, route, signature, 201)


def test_cancelled_authorization_accepts_no_signature(world: SponsoringWorld) -> None:
    request = world.request()
    route, signature = world.signed(request)
    world.cancel(Authorization.objects.get())
    answer = world.submit(request, route, signature, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "route_expired")
    assert not Payment.objects.exists()


def test_payer_is_the_sender_of_a_hash_submitted_early(world: SponsoringWorld) -> None:
    """The stranger's hash is submitted and verified before the authorization is checked."""
    request = world.request()
    body = {"transaction_hash": world.broadcast(*world.signed(request)), "chain_id": world.row.pk}
    payment = Payment.objects.get(pk=world.post(f"payment-requests/{request.pk}/payments", body, 201)["id"])
    look_until_decided(payment, world.clock)
    assert (payment.status, payment.bound_by) == ("completed", "authorization")
    assert (payment.from_address, payment.nonce, payment.effect) == (world.payer.address, None, "")


def test_broadcast_is_found_without_a_submission(world: SponsoringWorld) -> None:
    request = world.request()
    sent = world.broadcast(*world.signed(request))
    world.clock.forward(seconds=30)
    world.work()
    payment = world.work_until_decided(Payment.objects.get())
    assert (payment.transaction_hash, payment.bound_by, payment.status) == (
        sent,
        "authorization",
        "completed",
    )
    completed(world, request)


def test_submitted_hash_of_the_broadcast_is_the_signed_payment(world: SponsoringWorld) -> None:
    request = world.request()
    route, signature = world.signed(request)
    payment_id = world.submit(request, route, signature)["id"]
    sent = world.broadcast(route, signature)
    body = {"transaction_hash": sent, "chain_id": world.row.pk}
    assert world.post(f"payment-requests/{request.pk}/payments", body, 200)["id"] == payment_id
    world.work_until_decided(Payment.objects.get())
    completed(world, request)


def test_broadcast_a_merchant_submits_is_the_signed_payment(world: SponsoringWorld) -> None:
    request = world.request()
    route, signature = world.signed(request)
    payment_id = world.submit(request, route, signature)["id"]
    sent = world.broadcast(route, signature)
    sighting = sight_for_merchant(request, world.row, sent)
    found = submit_for_merchant(
        request, chain=world.row, transaction_hash=sent, actor="api", sighting=sighting
    )
    assert (found[0].pk, found[1], Payment.objects.count()) == (payment_id, False, 1)
    world.work_until_decided(Payment.objects.get())
    completed(world, request)


def test_cancelled_authorization_ends_the_payment(world: SponsoringWorld) -> None:
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    world.cancel(Authorization.objects.get())
    world.work_until_decided(payment)
    assert (payment.status, payment.failure_code) == ("failed", "authorization_used")
    assert (Authorization.objects.get().cost, Relay.objects.count()) == (0, 0)
    request.refresh_from_db()
    assert request.status == "active"


def test_payer_can_not_use_one_signature_for_two_requests(world: SponsoringWorld) -> None:
    first, second = world.request(), world.request()
    signature = world.signed(first)[1]
    route = world.signed(second)[0]
    answer = world.submit(second, route, signature, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "signature_invalid")


@pytest.mark.parametrize("sender", ["payer", "stranger"])
def test_payer_can_prove_no_authorized_transfer(world: SponsoringWorld, sender: str) -> None:
    """The transfer was signed for one request. A payer proof can't claim it for another."""
    request = world.request()
    other = make_request(world.merchant, world.token, "10", request.recipient_address)
    route, signature = world.signed(request)
    if sender == "payer":
        world.chain.rpc("anvil_setBalance", world.payer.address, hex(10**18))
        call = world.call_of(Authorization.objects.get(), signature)
        key = "0x" + bytes(world.payer.key).hex()
        sent = deploy.send(world.chain.url, key, to=call.to, data=call.data)["transactionHash"]
    else:
        sent = world.broadcast(route, signature)
    body = {"transaction_hash": sent, "chain_id": world.row.pk}
    payment = world.post(f"payment-requests/{other.pk}/payments", body, 201)["id"]
    path = f"payment-requests/{other.pk}/payments/{payment}/proof-message"
    answer = world.post(path, {"wallet_address": world.payer.address}, None)
    assert answer.status_code == 409


def front_running(world: SponsoringWorld, route: str, signature: str) -> tuple[str, str]:
    """Return a stranger's transaction with the signed transfer, which is not sent yet, and its hash."""
    call = world.call_of(Authorization.objects.get(route=route), signature)
    raw = world.chain.sign(
        {
            "chainId": world.row.pk, "to": call.to, "value": 0, "data": "0x" + call.data.hex(), "gas": 200_000,
            "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 10**9,
        }
    )  # fmt: skip
    return "0x" + raw.hex(), "0x" + keccak(raw).hex()


@pytest.mark.parametrize("is_submitted", [True, False])
def test_hash_submitted_before_its_broadcast_is_credited_soon(
    world: SponsoringWorld,
    is_submitted: bool,  # noqa: FBT001
) -> None:
    """While no node knows the hash, the delay between lookups grows. Then the stranger broadcasts the transaction."""
    request = world.request()
    route, signature = world.signed(request)
    raw, hash_ = front_running(world, route, signature)
    if is_submitted:
        world.submit(request, route, signature)
    body = {"transaction_hash": hash_, "chain_id": world.row.pk}
    early = world.post(f"payment-requests/{request.pk}/payments", body, 201)["id"]
    for _ in range(11):
        verify_due(now=world.clock)
        world.clock.forward(minutes=1)
    world.chain.send_raw(raw)
    world.work_until_decided(Payment.objects.get(pk=early), passes=5)
    completed(world, request)


def broadcast_with_logs(world: SponsoringWorld, route: str, signature: str, logs: int) -> str:
    """Send the signed transfer in a transaction that first writes this many logs; return its hash."""
    Shouter.place(world.chain)
    call = world.call_of(Authorization.objects.get(route=route), signature)
    data = logs.to_bytes(32) + bytes.fromhex(call.to[2:]).rjust(32, b"\0") + call.data
    key = world.chain.payer_key
    return str(deploy.send(world.chain.url, key, to=SHOUTER, data=data)["transactionHash"])


def test_transfer_after_very_many_logs_is_credited(
    world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_rpc, "MAX_ORDINARY_BYTES", 64 * 1024)
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    sent = broadcast_with_logs(world, route, signature, 400)

    def is_decided() -> bool:
        world.work()
        payment.refresh_from_db()
        return not payment.is_open

    eventually(is_decided, "the transaction was read")
    assert (payment.status, payment.transaction_hash) == ("completed", sent)
    completed(world, request)


def test_unreadable_transaction_ends_no_authorization(
    world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No node can return the transaction. So it doesn't prove that the signature was used for another purpose."""
    monkeypatch.setattr(json_rpc, "MAX_ORDINARY_BYTES", 64 * 1024)
    monkeypatch.setattr(json_rpc, "MAX_STREAMED_BYTES", 100 * 1024)
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    sent = broadcast_with_logs(world, route, signature, 400)
    client = get_client(world.row)
    eventually(
        lambda: not client.look_up([sent], with_finality=False).contradicted, "it is known as unreadable"
    )
    for _ in range(5):
        world.work()
    payment.refresh_from_db()
    assert payment.is_open
    assert Authorization.objects.get().ended_at is None
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("active", 0)
