"""Invented, stolen and forged ids of proposals pay nothing, and do no harm to other customers."""

from collections.abc import Callable

import pytest
from eth_abi.abi import encode
from eth_account import Account
from eth_utils.crypto import keccak

from payments.models import Lookup, Payment, PaymentRequest
from payments.requests.lifecycle import cancel_request
from payments.submission.caps import MAX_PROPOSALS
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.proposing import Customer, search, verify
from tests.support.payments.world import Clock, look, pay
from tests.support.threats.evm_world import USDC_UNIT, World, transfer_data
from tests.support.threats.real_accounts import ENTRY_POINTS, execute, handle_ops
from tests.verifying import search_proposals

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
AMOUNT = 10 * USDC_UNIT
SUCCESS = keccak(text="ExecutionSuccess(bytes32,uint256)")
FAILURE = keccak(text="ExecutionFailure(bytes32,uint256)")
OPERATION = keccak(text="UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)")


def made_up(number: int) -> str:
    return f"0x{number:064x}"


def logging(topics: list[bytes], data: bytes, times: int = 1) -> str:
    """Return the code of a contract that writes this log whenever it is called."""
    body = b""
    for start in range(0, len(data), 32):
        body += b"\x7f" + data[start : start + 32] + b"\x60" + bytes([start]) + b"\x52"  # PUSH32 PUSH1 MSTORE
    log = b"".join(b"\x7f" + topic for topic in reversed(topics))
    log += b"\x60" + bytes([len(data)]) + b"\x60\x00" + bytes([0xA0 + len(topics)])  # length, offset, LOGn
    return "0x" + ((body + log) * times + b"\x00").hex()


def forger(world: World, topics: list[bytes], data: bytes, times: int = 1) -> str:
    """Deploy a contract that logs the event whenever it is called; return its address."""
    address = Account.create().address
    world.chain.rpc("anvil_setCode", address, logging(topics, data, times))
    world.fund(address)
    return str(address)


def nothing_is_paid(*requests: PaymentRequest) -> None:
    for request in requests:
        request.refresh_from_db()
        assert (request.amount_paid, request.status) == (0, PaymentRequest.Status.ACTIVE)


def test_fourth_id_of_a_request_is_rejected(
    world: World, ask: Ask, public: Api, local_chain: LocalChain
) -> None:
    request, account = ask(), world.safe()
    customer = Customer(public, request)
    route_id = customer.route(account.address)
    for number in range(MAX_PROPOSALS):
        assert customer.submit(made_up(number), route_id).status_code == 201
    refused = customer.submit(made_up(MAX_PROPOSALS), route_id)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_open_payments")
    assert refused.headers["Retry-After"]
    assert request.payments.count() == MAX_PROPOSALS
    assert customer.submit(made_up(0), route_id).status_code == 200
    # The ids block no hashes: neither another wallet's nor one that a node knows.
    assert customer.submit(made_up(50), None).status_code == 201
    sent = pay(local_chain, request)
    assert customer.submit(sent, route_id).status_code == 201
    look()
    request.refresh_from_db()
    assert request.status == PaymentRequest.Status.COMPLETED


def test_failed_ids_that_are_submitted_again_keep_to_the_maximum(world: World, ask: Ask, public: Api) -> None:
    request, account, clock = ask(), world.safe(), Clock()
    customer = Customer(public, request)
    route_id = customer.route(account.address)
    for number in range(MAX_PROPOSALS):
        customer.submit(made_up(number), route_id)
    cancel_request(request.pk, actor="test")
    clock.forward(hours=25)
    search_proposals(now=clock)
    assert {each.failure_code for each in request.payments.all()} == {"transaction_not_found"}
    for number in range(1, 1 + MAX_PROPOSALS):
        assert customer.submit(made_up(50 + number), route_id).status_code == 201
    assert customer.submit(made_up(0), route_id).json()["status"] == "failed"
    assert Lookup.objects.filter(proposal_check_at__isnull=False).count() == MAX_PROPOSALS


def test_hash_of_a_contract_accounts_wallet_is_no_proposal(
    world: World, ask: Ask, public: Api, local_chain: LocalChain
) -> None:
    request, account = ask(), world.safe()
    customer = Customer(public, request)
    route_id = customer.route(account.address)
    customer.submit(pay(local_chain, request), route_id)
    payment = request.payments.get()
    assert not payment.lookup.is_awaited
    look()
    payment.refresh_from_db()
    assert payment.status == Payment.Status.COMPLETED


def test_hash_that_spreads_later_is_verified_as_one(
    world: World, ask: Ask, public: Api, local_chain: LocalChain
) -> None:
    request, clock = ask(), Clock()
    key = world.stranger()
    address = Account.from_key(key).address
    customer = Customer(public, request)
    route_id = customer.route(address)
    raw = local_chain.sign(customer.build(route_id), key)
    hash_ = "0x" + keccak(raw).hex()
    assert customer.submit(hash_, route_id).status_code == 201
    payment = request.payments.get()
    assert payment.lookup.is_awaited, "the account has no code and sent nothing yet"
    assert local_chain.send_raw("0x" + raw.hex()) == hash_
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert (payment.transaction_hash, payment.replaced_hashes) == (hash_, [])


def test_id_without_a_route_or_of_a_key_account_uses_retries(
    world: World, ask: Ask, public: Api, local_chain: LocalChain
) -> None:
    request = ask()
    customer = Customer(public, request)
    world.chain.mine()
    for number, route_id in enumerate((None, customer.route(local_chain.payer), "rt_" + "a" * 24)):
        assert customer.submit(made_up(number), route_id).status_code == 201
    look()
    for payment in request.payments.all():
        assert (payment.status, payment.attempts) == (Payment.Status.PROCESSING, 1)


def test_route_of_another_request_makes_no_proposal(world: World, ask: Ask, public: Api) -> None:
    request, other = ask(), ask()
    route_id = Customer(public, other).route(world.safe().address)
    assert Customer(public, request).submit(made_up(1), route_id).status_code == 201
    assert not request.payments.get().lookup.is_awaited


def test_anothers_execution_pays_only_its_own_request(world: World, ask: Ask, public: Api) -> None:
    victim, thief, clock = ask(), ask(), Clock()
    account = world.safe()
    proposed, paid = Customer(public, victim).propose(account)
    stealing = Customer(public, thief)
    stealing.submit(proposed.id, stealing.route(account.address))
    stolen = thief.payments.get()
    proposed.execute()
    assert verify(stolen, clock).failure_code == "transaction_not_bound"
    assert verify(paid, clock).status == Payment.Status.COMPLETED
    nothing_is_paid(thief)


def test_one_execution_pays_two_requests_by_their_own_references(world: World, ask: Ask, public: Api) -> None:
    requests, clock = [ask(), ask()], Clock()
    safe = world.safe()
    calls = [
        (world.chain.usdc, 0, transfer_data(each.recipient_address, AMOUNT, bytes(each.reference)))
        for each in requests
    ]
    batch = safe.multi_send(*calls)
    for request in requests:
        customer = Customer(public, request)
        assert customer.submit(safe.proposed, customer.route(safe.address)).status_code == 201
    safe.send(batch)
    for request in requests:
        assert verify(request.payments.get(), clock).status == Payment.Status.COMPLETED
        request.refresh_from_db()
        assert request.amount_paid == AMOUNT


@pytest.mark.parametrize("success", [True, False])
def test_event_of_a_fake_entry_point_counts_nothing(
    world: World, ask: Ask, public: Api, success: bool
) -> None:
    request, account, clock = ask(), world.account(), Clock()
    _, payment = Customer(public, request).propose(account)
    id_, sender = bytes.fromhex(account.proposed[2:]), bytes.fromhex(account.address[2:]).rjust(32, b"\0")
    data = encode(["uint256", "bool", "uint256", "uint256"], [0, success, 0, 0])
    world.call(forger(world, [OPERATION, id_, sender, bytes(32)], data))
    world.chain.mine(70)
    assert search(payment, clock).status == Payment.Status.PENDING
    nothing_is_paid(request)


@pytest.mark.parametrize("name", [SUCCESS, FAILURE])
def test_event_of_another_contract_counts_nothing(world: World, ask: Ask, public: Api, name: bytes) -> None:
    request, account, clock = ask(), world.safe(), Clock()
    _, payment = Customer(public, request).propose(account)
    world.call(forger(world, [name, bytes.fromhex(account.proposed[2:])], bytes(32)))
    world.chain.mine(70)
    assert search(payment, clock).status == Payment.Status.PENDING
    nothing_is_paid(request)


def test_operation_of_another_sender_counts_nothing(world: World, ask: Ask, public: Api) -> None:
    """The thief's own operation is real but has no reference. The route names the victim's account."""
    request, clock = ask(), Clock()
    victim, thief = world.account(), world.account()
    customer = Customer(public, request)
    operation = thief.operation(
        execute(world.chain.usdc, 0, transfer_data(request.recipient_address, AMOUNT))
    )
    customer.submit(thief.proposed, customer.route(victim.address))
    world.call(ENTRY_POINTS["0.7"], handle_ops(operation))
    assert verify(request.payments.get(), clock).failure_code == "transaction_not_bound"
    nothing_is_paid(request)


def test_false_success_of_a_hostile_account_pays_nothing(
    world: World, ask: Ask, public: Api, local_chain: LocalChain
) -> None:
    request, other, clock = ask(), ask(), Clock()
    hostile = forger(world, [SUCCESS, bytes.fromhex(made_up(7)[2:])], bytes(32))
    customer = Customer(public, request)
    customer.submit(made_up(7), customer.route(hostile))
    world.call(hostile)
    payment = verify(request.payments.get(), clock)
    assert (payment.status, payment.failure_code) == ("failed", "wrong_amount")
    nothing_is_paid(request, other)


def test_false_failure_beside_a_payment_does_not_stop_it(world: World, ask: Ask, public: Api) -> None:
    """The bundler adds a call that fails another id of the same request. The payment in the bundle still counts."""
    request, clock = ask(), Clock()
    hostile = forger(world, [FAILURE, bytes.fromhex(made_up(7)[2:])], bytes(32))
    customer = Customer(public, request)
    customer.submit(made_up(7), customer.route(hostile))
    failing = request.payments.get()
    payer, other = world.account(), world.account()
    route_id = customer.route(payer.address)
    call = customer.build(route_id)
    paying = payer.operation(execute(call["to"], 0, bytes.fromhex(call["data"][2:])))
    assert customer.submit(payer.proposed, route_id).status_code == 201
    payment = Payment.objects.get(request=request, transaction_hash=payer.proposed)
    meddling = other.operation(execute(hostile, 0, b""))
    sent = world.call(ENTRY_POINTS["0.7"], handle_ops(meddling, paying))
    assert search(failing, clock).failure_code == "transaction_reverted"
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert payment.transaction_hash == sent


def test_account_that_logs_without_end_delays_no_other(world: World, ask: Ask, public: Api) -> None:
    request, noisy, clock = ask(), ask(), Clock()
    hostile = forger(world, [SUCCESS, bytes.fromhex(made_up(8)[2:])], bytes(32), times=100)
    customer = Customer(public, noisy)
    customer.submit(made_up(7), customer.route(hostile))
    for _ in range(5):
        world.call(hostile)
    proposed, payment = Customer(public, request).propose(world.safe())
    proposed.execute()
    assert verify(payment, clock).status == Payment.Status.COMPLETED
    assert search(noisy.payments.get(), clock).status == Payment.Status.PENDING
