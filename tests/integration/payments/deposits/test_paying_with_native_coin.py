"""Native coin at the deposit address completes the request, however it was sent, and counts once."""

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, DiscoveryCursor, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.chains.deposits import DepositWorld, call_data, deposit_for, forwarder_sweep, new_address
from tests.support.payments.world import Clock, look_until_decided, make_request
from tests.verifying import discover_due

ETHER = 10**18


@pytest.fixture
def world(local_chain: LocalChain, chain: Chain, merchant: Merchant) -> DepositWorld:
    world = DepositWorld(local_chain)
    world.prepare()
    local_chain.rpc("anvil_mine", "0x60")  # the factory's block must be final
    Merchant.objects.filter(pk=merchant.pk).update(deposit_addresses=True)
    DiscoveryCursor.objects.create(chain=chain, next_block=int(local_chain.rpc("eth_blockNumber"), 16) + 1)
    return world


@pytest.fixture
def request_(public: Api, world: DepositWorld, merchant: Merchant, ether: Token) -> PaymentRequest:
    """A request for 1 ETH whose page has shown its deposit address."""
    merchant.refresh_from_db()
    request = make_request(merchant, ether, "1", new_address())
    shown = public.post(f"/api/public/payment-requests/{request.pk}/deposit-address", {})
    assert shown.status_code == 200, shown.json()
    request.refresh_from_db()
    assert shown.json()["address"] == request.deposit_address
    return request


def batch_of(to: str, data: bytes = b"") -> bytes:
    """Return a BatchPayer call that makes one inner call with 1 ETH."""
    selector = keccak(text="run((address,uint256,bytes,bool)[])")[:4]
    return selector + encode(["(address,uint256,bytes,bool)[]"], [[(to, ETHER, data, False)]])


def search(clock: Clock) -> int:
    clock.forward(seconds=30)
    return discover_due(now=clock)


def address_of(request: PaymentRequest) -> str:
    assert request.deposit_address
    return request.deposit_address


def submitted(public: Api, request: PaymentRequest, hash_: str) -> tuple[int, str]:
    answer = public.post(
        f"/api/public/payment-requests/{request.pk}/payments",
        {"transaction_hash": hash_, "chain_id": request.chain_id},
    )
    return answer.status_code, answer.json()["id"]


def assert_paid_once(request: PaymentRequest, payment: Payment, amount: int = ETHER) -> None:
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == ("completed", amount)
    assert (payment.bound_by, payment.amount_received) == ("address", amount)
    assert [(each.slot, each.amount) for each in ConsumedTransfer.objects.all()] == [("1", amount)]


def test_plain_transfer_completes_and_its_sweep_pays_nothing(
    public: Api, api: Api, world: DepositWorld, request_: PaymentRequest
) -> None:
    clock = Clock()
    receipt = world.call(address_of(request_), value=ETHER)
    assert search(clock) == 1
    payment = look_until_decided(Payment.objects.get(), clock)
    assert payment.transaction_hash is None
    assert_paid_once(request_, payment)

    assert submitted(public, request_, receipt["transactionHash"]) == (200, payment.pk)
    payment.refresh_from_db()
    assert (payment.transaction_hash, payment.from_address) == (receipt["transactionHash"], world.stranger)
    assert submitted(public, request_, receipt["transactionHash"]) == (200, payment.pk)

    deposit = deposit_for(request_.recipient_address, request_.pk)
    swept = world.sweep((request_.recipient_address, deposit, ""))
    assert world.coins(request_.recipient_address) == ETHER
    assert search(clock) == 0
    other = make_request(request_.merchant, request_.token, "1", request_.recipient_address)
    submission = {"transaction_hash": swept["transactionHash"], "chain_id": request_.chain_id}
    refused = api.post(f"/api/payment-requests/{other.pk}/payments", submission)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "transaction_already_used")
    assert_paid_once(request_, payment)


@pytest.mark.parametrize("way", ["batch of a contract", "contract that forwards", "2,300 gas"])
def test_internal_transfer_completes_the_request(
    public: Api, world: DepositWorld, request_: PaymentRequest, way: str
) -> None:
    clock, address = Clock(), address_of(request_)
    if way == "batch of a contract":
        call = batch_of(address)
        receipt = world.call(world.place("BatchPayer"), call, value=ETHER)
    elif way == "2,300 gas":
        receipt = world.call(world.place("StipendSender"), call_data("pay(address)", address), value=ETHER)
    else:
        batch = world.place("BatchPayer")
        inner = batch_of(address)
        outer = batch_of(batch, inner)
        receipt = world.call(world.place("BatchPayer"), outer, value=ETHER)
    assert int(receipt["status"], 16) == 1
    assert search(clock) == 1
    payment = look_until_decided(Payment.objects.get(), clock)
    assert_paid_once(request_, payment)
    assert submitted(public, request_, receipt["transactionHash"]) == (200, payment.pk)


def test_hash_submitted_before_the_search_is_the_same_payment(
    public: Api, world: DepositWorld, request_: PaymentRequest
) -> None:
    clock = Clock()
    receipt = world.call(address_of(request_), value=ETHER)
    status, pk = submitted(public, request_, receipt["transactionHash"])
    assert status == 201
    payment = Payment.objects.get()
    assert (payment.pk, payment.is_in_flight) == (pk, True)
    assert search(clock) == 1
    payment = look_until_decided(payment, clock)
    assert (payment.transaction_hash, payment.deposit_sequence) == (receipt["transactionHash"], 1)
    assert_paid_once(request_, payment)


def test_swept_at_once_and_paid_again_counts_both(world: DepositWorld, request_: PaymentRequest) -> None:
    clock, address = Clock(), address_of(request_)
    world.call(address, value=ETHER // 2)
    deposit = deposit_for(request_.recipient_address, request_.pk)
    world.sweep((request_.recipient_address, deposit, ""))
    world.call(address, value=ETHER // 2)
    assert world.succeeded(address, forwarder_sweep(""))
    search(clock)
    for payment in Payment.objects.all():
        look_until_decided(payment, clock)
    request_.refresh_from_db()
    assert (request_.status, request_.amount_paid) == ("completed", ETHER)
    assert world.coins(request_.recipient_address) == ETHER
