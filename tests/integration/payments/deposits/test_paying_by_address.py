"""A plain transfer from any account to the deposit address completes the request.

Sweeping it counts as no payment.
"""

import json
from collections.abc import Callable

import pytest
from django.core.management import call_command

from chains.models import Chain
from merchants.models import Merchant
from payments.admin.deposits.contents import contents_of
from payments.models import ConsumedTransfer, DiscoveryCursor, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.chains.deposits import DepositWorld, deposit_for, new_address
from tests.support.payments.world import Clock, look_until_decided, make_request
from tests.verifying import discover_due

Make = Callable[..., PaymentRequest]


@pytest.fixture
def world(local_chain: LocalChain, chain: Chain, merchant: Merchant) -> DepositWorld:
    world = DepositWorld(local_chain)
    world.prepare()
    local_chain.rpc("anvil_mine", "0x60")  # the factory's block must be final
    Merchant.objects.filter(pk=merchant.pk).update(deposit_addresses=True)
    DiscoveryCursor.objects.create(chain=chain, next_block=int(local_chain.rpc("eth_blockNumber"), 16) + 1)
    return world


@pytest.fixture
def request_(world: DepositWorld, merchant: Merchant, usdc: object) -> PaymentRequest:
    merchant.refresh_from_db()
    return make_request(merchant, usdc, "10", new_address())  # type: ignore[arg-type]


def show(public: Api, request: PaymentRequest) -> str:
    answer = public.post(f"/api/public/payment-requests/{request.pk}/deposit-address", {})
    assert answer.status_code == 200, answer.json()
    shown = answer.json()
    deposit = deposit_for(request.recipient_address, request.pk)
    assert shown["address"] == deposit.address
    assert shown["deposit"]["init_code_hash"] == deposit.init_code_hash
    return deposit.address


def found(clock: Clock) -> Payment:
    clock.forward(seconds=30)
    assert discover_due(now=clock) == 1
    return look_until_decided(Payment.objects.latest("created_at"), clock)


def test_plain_transfer_completes_and_its_sweep_pays_nothing(
    public: Api, api: Api, world: DepositWorld, request_: PaymentRequest, local_chain: LocalChain
) -> None:
    address, clock = show(public, request_), Clock()
    usdc = request_.token.contract_address
    sent = local_chain.transfer(usdc, address, request_.amount)
    payment = found(clock)
    request_.refresh_from_db()
    assert (request_.status, request_.amount_paid) == ("completed", request_.amount)
    assert (payment.transaction_hash, payment.bound_by) == (sent, "address")
    again = public.post(
        f"/api/public/payment-requests/{request_.pk}/payments",
        {"transaction_hash": sent, "chain_id": local_chain.chain_id},
    )
    assert (again.status_code, again.json()["id"], again.json()["bound_by"]) == (200, payment.pk, "address")

    deposit = deposit_for(request_.recipient_address, request_.pk)
    receipt = world.sweep((request_.recipient_address, deposit, usdc))
    assert local_chain.token_balance(usdc, request_.recipient_address) == request_.amount
    other = make_request(request_.merchant, request_.token, "10", request_.recipient_address)
    submission = {"transaction_hash": receipt["transactionHash"], "chain_id": local_chain.chain_id}
    refused = api.post(f"/api/payment-requests/{other.pk}/payments", submission)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "transaction_already_used")
    public.post(f"/api/public/payment-requests/{other.pk}/payments", submission)
    failed = look_until_decided(other.payments.get(), clock)
    assert failed.failure_code == "transaction_already_used"
    accept = api.post(f"/api/payment-requests/{other.pk}/payments/{failed.pk}/accept", {"reason": "mine"})
    assert (accept.status_code, accept.json()["error"]["code"]) == (409, "transaction_already_used")
    other.refresh_from_db()
    assert (other.amount_paid, ConsumedTransfer.objects.count()) == (0, 1)


def test_check_deposits_finds_a_transfer_at_once(
    public: Api,
    world: DepositWorld,
    request_: PaymentRequest,
    local_chain: LocalChain,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = show(public, request_)
    local_chain.transfer(request_.token.contract_address, address, 4_000_000)
    call_command("check_deposits", str(request_.pk))
    assert capsys.readouterr().out == "1\n"
    look_until_decided(Payment.objects.get(), Clock())
    request_.refresh_from_db()
    assert (request_.status, request_.amount_paid) == ("active", 4_000_000)


def test_built_sweep_brings_the_money_to_the_recipient(
    public: Api,
    world: DepositWorld,
    request_: PaymentRequest,
    local_chain: LocalChain,
    ether: object,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = show(public, request_)
    local_chain.transfer(request_.token.contract_address, address, 4_000_000)
    world.pay(address, 12)
    arguments = (str(request_.merchant_id), "--chain", str(local_chain.chain_id))
    call_command("build_sweep", *arguments)
    [transaction] = json.loads(capsys.readouterr().out)
    assert world.succeeded(transaction["to"], bytes.fromhex(transaction["data"][2:]))
    recipient = request_.recipient_address
    assert world.balance(request_.token.contract_address, recipient) == 4_000_000
    assert world.coins(recipient) == 12
    call_command("build_sweep", *arguments)
    assert json.loads(capsys.readouterr().out) == []


def test_page_sweeps_requested_tokens_and_others(
    public: Api, world: DepositWorld, request_: PaymentRequest, local_chain: LocalChain, ether: object
) -> None:
    address, usdc = show(public, request_), request_.token.contract_address
    local_chain.transfer(usdc, address, 4_000_000)
    world.pay(address, 12)
    contents = contents_of(request_.merchant, request_.chain, slice(10))
    [requested], [other] = contents.requested, contents.recoverable
    assert (requested.amount, requested.addresses, other.token) == ("4 USDC", 1, ether)
    for asset in (requested, other):
        [transaction] = json.loads(asset.unsigned)
        [estimate] = asset.transactions
        # The estimate alone is enough gas. With less, the factory rejects the transaction.
        gas = int(estimate.gas.replace(",", ""))
        assert world.succeeded(transaction["to"], bytes.fromhex(transaction["data"][2:]), gas=gas)
    recipient = request_.recipient_address
    assert (world.balance(usdc, recipient), world.coins(recipient)) == (4_000_000, 12)
    assert contents_of(request_.merchant, request_.chain, slice(10)).assets == []
