"""Signed transfers combined with other statuses of the request, other transactions and other signatures."""

from datetime import timedelta
from typing import Any

import pytest
from eth_abi.abi import encode

from chains.client import ChainError
from chains.facts.authorizations import Sent
from chains.families import get_client
from chains.families.evm.abi import selector
from demo.contracts import deploy
from payments.models import Authorization, ConsumedTransfer, Payment, PaymentRequest, Relay
from payments.refunds.claims import payer_of
from payments.refunds.services import create_refund
from payments.requests.lifecycle import expire_due
from tests.conftest import Api
from tests.support.nodes.kinds import Nodes
from tests.support.payments.sponsoring import SponsoringWorld
from tests.support.payments.world import look_until_decided, pay, submit
from tests.verifying import relay_due


def batched(world: SponsoringWorld, *signed: tuple[str, str]) -> str:
    """Send several signed transfers in one transaction from a stranger; return its hash."""
    calls = []
    for route, signature in signed:
        call = world.call_of(Authorization.objects.get(route=route), signature)
        calls.append((call.to, 0, call.data))
    batch = deploy.deploy_contract(world.chain.url, "OpenBatch")
    data = selector("executeBatch((address,uint256,bytes)[])") + encode(
        ["(address,uint256,bytes)[]"], [calls]
    )
    return str(deploy.send(world.chain.url, world.chain.payer_key, to=batch, data=data)["transactionHash"])


def work(world: SponsoringWorld, passes: int = 12) -> None:
    for _ in range(passes):
        world.work()


def state(request: PaymentRequest) -> tuple[str, int]:
    request.refresh_from_db()
    return request.status, request.amount_paid


def credited(request: PaymentRequest) -> int:
    return sum(each.amount for each in ConsumedTransfer.objects.filter(payment__request=request))


@pytest.mark.parametrize("first", ["signed", "unsigned"])
def test_two_signatures_of_one_request_in_one_transaction(world: SponsoringWorld, first: str) -> None:
    """The customer signed twice, and a stranger sent both transfers. Each is credited once."""
    request = world.request()
    routes = [world.signed(request) for _ in range(2)]
    submitted = routes[0 if first == "signed" else 1]
    world.submit(request, *submitted)
    batched(world, *routes)
    work(world)
    assert state(request)[0] == "completed"
    assert credited(request) == 2 * request.amount
    assert request.amount_paid == 2 * request.amount
    assert Payment.objects.filter(status="completed").count() == 1
    assert not Payment.objects.filter(status__in=("pending", "processing")).exists()
    assert not Relay.objects.exists()


def test_signatures_of_two_requests_in_one_transaction(world: SponsoringWorld) -> None:
    requests = world.request(), world.request("3")
    signed = [world.signed(each) for each in requests]
    world.submit(requests[0], *signed[0])
    batched(world, *signed)
    world.clock.forward(seconds=30)
    work(world)
    for request in requests:
        assert state(request) == ("completed", request.amount)
        assert credited(request) == request.amount


def test_signature_beside_another_transfer_of_its_request(world: SponsoringWorld) -> None:
    """The second transfer has the request's reference. Each transfer is credited once, which is an overpayment."""
    request = world.request()
    route, signature = world.signed(request)
    world.submit(request, route, signature)
    call = world.call_of(Authorization.objects.get(), signature)
    batch = deploy.deploy_contract(world.chain.url, "OpenBatch")
    deploy.mint(world.chain.url, world.token.contract_address, batch, 10 * 10**6)
    to = bytes.fromhex(request.recipient_address[2:]).rjust(32, b"\0")
    plain = bytes.fromhex("a9059cbb") + to + (4 * 10**6).to_bytes(32) + bytes(request.reference)
    calls = [(call.to, 0, call.data), (call.to, 0, plain)]
    data = selector("executeBatch((address,uint256,bytes)[])") + encode(
        ["(address,uint256,bytes)[]"], [calls]
    )
    deploy.send(world.chain.url, world.chain.payer_key, to=batch, data=data)
    work(world)
    assert state(request) == ("completed", 14 * 10**6)
    assert credited(request) == 14 * 10**6


def test_dropped_signature_that_is_mined_all_the_same_counts(world: SponsoringWorld, api: Api) -> None:
    """The merchant cancels the request. Then the payer sends the signed transfer from another account."""
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    assert api.post(f"/api/payment-requests/{request.pk}/cancel", {}).status_code == 200
    world.broadcast(route, signature)
    work(world)
    payment.refresh_from_db()
    assert (payment.status, payment.amount_received) == ("completed", request.amount)
    assert state(request)[1] == request.amount
    assert Relay.objects.count() == 0


def test_expired_signature_pays_late_what_was_mined_in_time(own_world: SponsoringWorld) -> None:
    """A stranger's transaction is mined before the expiry. The nodes show it only after the request has expired."""
    world = own_world
    request = world.request(lifetime=timedelta(minutes=5))
    route, signature = world.signed(request)
    world.broadcast(route, signature)
    world.clock.forward(minutes=25)
    assert expire_due(world.clock()) == 1
    work(world)
    payment = Payment.objects.get()
    assert payment.status == "completed"
    assert credited(request) == request.amount


def test_payment_by_signature_and_by_transfer_overpay_once_each(world: SponsoringWorld) -> None:
    """The relay is already sent when the customer also makes an ordinary transfer."""
    request = world.request()
    signed = world.pay(request)
    relay_due(now=world.clock)
    deploy.mint(world.chain.url, world.token.contract_address, world.chain.payer, 10 * 10**6)
    other = look_until_decided(submit(request, pay(world.chain, request)), world.clock)
    world.work_until_decided(signed)
    assert (signed.status, other.status) == ("completed", "completed")
    assert state(request) == ("completed", 2 * request.amount)


def test_stuck_relay_of_a_paid_request_is_taken_back(own_world: SponsoringWorld) -> None:
    """The base fee rises above the relay's fees. Meanwhile the customer pays with an ordinary transfer."""
    world, chain = own_world, own_world.chain
    request = world.request()
    signed = world.pay(request)
    before = chain.token_balance(world.token.contract_address, world.payer.address)
    deploy.mint(chain.url, world.token.contract_address, chain.payer, 10 * 10**6)
    chain.rpc("evm_setAutomine", False)
    world.work()
    base = int(chain.rpc("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16)
    paid = pay(chain, request)
    chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(20 * base))
    chain.mine()
    assert look_until_decided(submit(request, paid), world.clock).status == "completed"
    world.clock.forward(seconds=31)
    world.work()
    relay = Relay.objects.get()
    assert (relay.unsigned["to"], len(relay.hashes)) == (world.sponsor, 2)
    chain.rpc("evm_setAutomine", True)
    chain.mine()
    world.pass_time_on_chain(15 * 60)
    world.work_until_decided(signed)
    assert (signed.status, signed.failure_code) == ("failed", "authorization_expired")
    assert chain.token_balance(world.token.contract_address, world.payer.address) == before
    assert state(request) == ("completed", request.amount)


@pytest.mark.parametrize("is_rejected", [True, False])
def test_unsent_relay_of_a_paid_request_is_taken_back_at_once(
    world: SponsoringWorld,
    monkeypatch: pytest.MonkeyPatch,
    is_rejected: bool,
) -> None:
    """It is stored, and a node rejects it or the worker dies. Then the customer pays by an ordinary transfer."""
    request = world.request()
    signed = world.pay(request)
    before = world.chain.token_balance(world.token.contract_address, world.payer.address)
    reader = type(get_client(world.row).authorizations)

    def send(*_: Any, **__: Any) -> Sent:
        if is_rejected:
            return Sent.REJECTED
        raise ChainError("no response")

    with monkeypatch.context() as patched:
        patched.setattr(reader, "send", send)
        relay_due(now=world.clock)
    assert Relay.objects.get().sent_at is None
    deploy.mint(world.chain.url, world.token.contract_address, world.chain.payer, 10 * 10**6)
    look_until_decided(submit(request, pay(world.chain, request)), world.clock)
    world.clock.forward(seconds=15)
    world.work()
    relay = Relay.objects.get()
    assert (relay.unsigned["to"], len(relay.hashes)) == (world.sponsor, 2)
    other = world.work_until_decided(world.pay(world.request("1")))
    assert (other.status, Relay.objects.latest("nonce").nonce) == ("completed", 1)
    assert world.chain.token_balance(world.token.contract_address, world.payer.address) == before - 10**6
    assert state(request) == ("completed", request.amount)
    signed.refresh_from_db()
    assert signed.is_open


def test_payer_who_is_the_recipient_gets_no_sponsored_route(world: SponsoringWorld) -> None:
    """A transfer from the recipient to itself pays nothing, but the sponsor would pay its fee."""
    request = world.request()
    PaymentRequest.objects.filter(pk=request.pk).update(recipient_address=world.payer.address)
    assert [each["sponsored"] for each in world.routes(request)] == [False]


def test_refund_of_a_signed_payment_is_claimed_by_its_payer(world: SponsoringWorld) -> None:
    """A stranger's account sent the transfer. It can't claim the refund."""
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    batched(world, (route, signature))
    world.work_until_decided(payment)
    refund = create_refund(
        request.pk, amount=None, recipient_address=None, payment_id=None, reason=None, actor="test"
    ).refund
    assert payer_of(refund).address == world.payer.address


def test_signature_inside_another_call_is_credited_by_each_kind(
    world: SponsoringWorld, each_kind: Nodes
) -> None:
    """This works without a trace of the call, because the token's own log names the payer and the nonce."""
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    sent = batched(world, (route, signature))
    world.work_until_decided(payment)
    assert (payment.status, payment.transaction_hash) == ("completed", sent), each_kind.kind.name
    assert state(request) == ("completed", request.amount)
    assert credited(request) == request.amount
