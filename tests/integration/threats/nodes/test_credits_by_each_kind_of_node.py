"""With every kind of node, a request is credited with its own payer's money and no other."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from chains.models import Token
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
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
AMOUNT = 10 * USDC_UNIT
Ask = Callable[..., PaymentRequest]
Call = tuple[str, int, bytes]


@pytest.fixture
def account(world: World) -> DelegatedAccount:
    """An account with a known delegate's code, which makes several calls in one transaction."""
    return world.delegated(world.contracts.delegate(SIMPLE_7702))


def proved(request: PaymentRequest, address: str) -> None:
    """Store a proof by this wallet for the request."""
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
    """Return a call that writes this many empty logs."""
    oversized.Shouter.place(world.chain)
    return oversized.ADDRESS, 0, logs.to_bytes(32) + bytes(32)


def failure_code(nodes: Nodes) -> str:
    """Return the failure code for a stranger's payment. It depends on whether the nodes have traces."""
    return "transaction_not_bound" if nodes.traces else "not_verifiable"


# --- a stranger's order, filled from the relayer's own account
# --------------------------------------------------------


def test_proof_does_not_claim_an_order_the_account_fills(
    each_kind: Nodes, world: World, account: DelegatedAccount, ask: Ask
) -> None:
    request = ask()
    proved(request, account.address)
    sent = account.run(execute_batch(*fill(world)))
    assert world.succeeded(sent)
    is_not_credited(request, sent, failure_code(each_kind))


def test_ten_thousand_logs_beside_an_order_prove_nothing(
    each_kind: Nodes, world: World, account: DelegatedAccount, ask: Ask
) -> None:
    request = ask()
    proved(request, account.address)
    sent = account.run(execute_batch(*fill(world), shouting(world, 10_100)))
    assert world.succeeded(sent)
    is_not_credited(request, sent, "transaction_not_bound", "not_verifiable")


# --- interest that a token logs in the same call ----------------------------------------------------------------------


# --- money that comes back to its payer -------------------------------------------------------------------------------


@pytest.mark.usefixtures("each_kind")
def test_money_sent_back_in_the_transaction_is_not_credited(
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


# --- an account's own batch -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("each_kind")
def test_batch_of_a_delegated_account_is_credited(world: World, ask: Ask) -> None:
    request, account = ask(), world.delegated(world.contracts.delegate(METAMASK_7702))
    proved(request, account.address)
    approve = call_data("approve(address,uint256)", world.chain.payer, 5)
    pay = transfer_data(world.chain.recipient, AMOUNT)
    sent = account.run(execute_by_mode((world.chain.usdc, 0, approve), (world.chain.usdc, 0, pay)))
    payment = decided(request, sent)
    assert (payment.status, payment.bound_by) == ("completed", "payer")
    assert (request.status, request.amount_paid) == ("completed", AMOUNT)
