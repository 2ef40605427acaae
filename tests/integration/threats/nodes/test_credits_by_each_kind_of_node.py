"""What a request is credited with, whatever nodes the deployment has: its own payer's money, and no other's."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, PayerProof, Payment, PaymentRequest, Route
from tests.support.nodes import oversized
from tests.support.nodes.kinds import Nodes
from tests.support.payments.world import Clock, look_until_decided, make_request, submit
from tests.support.threats.evm_world import USDC_UNIT, World, call_data, transfer_data
from tests.support.threats.real_accounts import (
    METAMASK_7702,
    SIMPLE_7702,
    DelegatedAccount,
    execute_batch,
    execute_by_mode,
    hidden,
    unsigned_execution,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
AMOUNT = 10 * USDC_UNIT
Ask = Callable[..., PaymentRequest]
Call = tuple[str, int, bytes]


@pytest.fixture
def account(world: World) -> DelegatedAccount:
    """An account whose code is a known delegate's: it makes several calls in one transaction."""
    return world.delegated(world.contracts.delegate(SIMPLE_7702))


def proved(request: PaymentRequest, address: str) -> None:
    """Store that this wallet proved to pay the request."""
    now = timezone.now()
    columns = {"chain": request.chain, "token": request.token}
    route = Route.objects.create(
        request=request, wallet_address=address, amount=request.amount, expires_at=now, **columns
    )
    PayerProof.objects.create(
        request=request,
        route=route,
        recipient_address=request.recipient_address,
        address=address,
        not_before=now - timedelta(minutes=1),
        not_after=now + timedelta(hours=1),
        **columns,
    )


def decided(request: PaymentRequest, sent: str) -> Payment:
    payment = look_until_decided(submit(request, sent), Clock())
    request.refresh_from_db()
    return payment


def is_not_credited(request: PaymentRequest, sent: str, *codes: str) -> None:
    payment = decided(request, sent)
    assert (request.status, request.amount_paid) == ("active", 0)
    assert (payment.status, payment.amount_received) == ("failed", None)
    assert payment.failure_code in codes
    assert not ConsumedTransfer.objects.exists()


def fill(world: World) -> list[Call]:
    """Return the calls with which a relayer fills a stranger's order for the merchant."""
    token, pool = world.chain.usdc, world.place("FillPool")
    order = call_data("fill(address,address,uint256)", token, world.chain.recipient, AMOUNT)
    return [(token, 0, call_data("approve(address,uint256)", pool, AMOUNT)), (pool, 0, order)]


def shouting(world: World, logs: int) -> Call:
    """Return a call that writes so many empty logs."""
    oversized.Shouter.place(world.chain)
    return oversized.ADDRESS, 0, logs.to_bytes(32) + bytes(32)


def refused_as(nodes: Nodes) -> str:
    """Return the code of what is proved to be another's where a node traces, and can't be told otherwise."""
    return "transaction_not_bound" if nodes.traces else "not_verifiable"


# --- another's order, filled out of the relayer's own account ---------------------------------------------------------


def test_a_proof_does_not_claim_the_order_that_its_account_fills(
    each_kind: Nodes, world: World, account: DelegatedAccount, ask: Ask
) -> None:
    request = ask()
    proved(request, account.address)
    sent = account.run(execute_batch(*fill(world)))
    assert world.succeeded(sent)
    is_not_credited(request, sent, refused_as(each_kind))


def test_a_reference_on_a_transfer_of_nothing_does_not_claim_the_order_beside_it(
    each_kind: Nodes, world: World, account: DelegatedAccount, ask: Ask
) -> None:
    request = ask()
    empty = transfer_data(world.chain.recipient, 0, bytes(request.reference))
    sent = account.run(execute_batch(*fill(world), (world.chain.usdc, 0, empty)))
    assert world.succeeded(sent)
    is_not_credited(request, sent, refused_as(each_kind))


def test_ten_thousand_logs_beside_the_order_make_no_node_believe_the_proof(
    each_kind: Nodes, world: World, account: DelegatedAccount, ask: Ask
) -> None:
    request = ask()
    proved(request, account.address)
    sent = account.run(execute_batch(*fill(world), shouting(world, 10_100)))
    assert world.succeeded(sent)
    is_not_credited(request, sent, "transaction_not_bound", "not_verifiable")


def test_a_forged_safe_does_not_claim_the_order_that_it_fills(
    each_kind: Nodes, world: World, ask: Ask
) -> None:
    request, forged = ask(), world.deploy("Impostor")
    world.fund(forged)
    pay = transfer_data(world.chain.recipient, AMOUNT, bytes(request.reference))
    execution = unsigned_execution(world.chain.usdc, pay)
    for to, _, data in fill(world):
        sent = world.call(forged, hidden(execution, to, data))
    assert world.succeeded(sent)
    is_not_credited(request, sent, refused_as(each_kind))


# --- interest that a token logs in the same call ----------------------------------------------------------------------


def test_interest_that_a_token_logs_beside_a_unit_paid_is_not_credited(
    each_kind: Nodes, world: World, merchant: Merchant, chain: Chain
) -> None:
    address = world.token("InterestToken")
    token = Token.objects.create(
        chain=chain, symbol="aUSDC", name="Interest", decimals=6, contract_address=address
    )
    request = make_request(merchant, token, "1000", world.chain.recipient)
    proved(request, world.chain.payer)
    world.call(address, call_data("mint(address,uint256)", world.chain.payer, 1))
    world.call(address, call_data("accrue(uint256)", 1000 * USDC_UNIT))
    decided(request, world.call(address, transfer_data(world.chain.recipient, 1, bytes(request.reference))))
    assert request.status == "active"
    assert request.amount_paid <= 1
    assert sum(ConsumedTransfer.objects.values_list("amount", flat=True)) == request.amount_paid


# --- money that comes back to its payer -------------------------------------------------------------------------------


@pytest.mark.usefixtures("each_kind")
def test_a_payment_to_oneself_is_not_credited(merchant: Merchant, usdc: Token, world: World) -> None:
    request = make_request(merchant, usdc, "10", world.chain.payer)
    pay = transfer_data(world.chain.payer, AMOUNT, bytes(request.reference))
    is_not_credited(request, world.call(world.chain.usdc, pay), "wrong_amount")


@pytest.mark.usefixtures("each_kind")
def test_what_the_recipient_sends_back_in_the_same_transaction_is_not_credited(
    merchant: Merchant, usdc: Token, world: World, account: DelegatedAccount
) -> None:
    shop = world.deploy("Accomplice")
    request = make_request(merchant, usdc, "10", shop)
    back = call_data("load(address,bytes)", world.chain.usdc, transfer_data(account.address, AMOUNT))
    world.call(shop, back)
    pay = transfer_data(shop, AMOUNT, bytes(request.reference))
    sent = account.run(execute_batch((world.chain.usdc, 0, pay), (shop, 0, b"back")))
    assert world.succeeded(sent)
    is_not_credited(request, sent, "wrong_amount")


@pytest.mark.usefixtures("each_kind")
def test_native_coin_that_the_recipient_sends_back_is_not_credited(
    merchant: Merchant, ether: Token, world: World
) -> None:
    shop = world.deploy("BouncingShop")
    request = make_request(merchant, ether, "0.01", shop)
    proved(request, world.chain.payer)
    sent = world.call(shop, b"", value=10**16)
    assert world.succeeded(sent)
    is_not_credited(request, sent, "wrong_amount", "not_verifiable")


# --- an account's own batch -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delegate", [SIMPLE_7702, METAMASK_7702], ids=["Simple7702Account", "MetaMask"])
@pytest.mark.parametrize("claim", ["reference", "payer"])
@pytest.mark.usefixtures("each_kind")
def test_an_accounts_own_batch_is_credited(world: World, ask: Ask, delegate: str, claim: str) -> None:
    request, account = ask(), world.delegated(world.contracts.delegate(delegate))
    reference = bytes(request.reference) if claim == "reference" else b""
    if claim == "payer":
        proved(request, account.address)
    batch = execute_batch if delegate == SIMPLE_7702 else execute_by_mode
    approve = call_data("approve(address,uint256)", world.chain.payer, 5)
    pay = transfer_data(world.chain.recipient, AMOUNT, reference)
    sent = account.run(batch((world.chain.usdc, 0, approve), (world.chain.usdc, 0, pay)))
    payment = decided(request, sent)
    assert (payment.status, payment.bound_by) == ("completed", claim)
    assert (request.status, request.amount_paid) == ("completed", AMOUNT)
