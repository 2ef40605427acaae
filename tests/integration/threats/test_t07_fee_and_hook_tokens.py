"""For tokens with fees, the amount that arrives counts. For tokens that call back, nothing counts twice."""

from collections.abc import Callable

import pytest
from eth_account import Account

from chains.models import Chain, Token
from payments.models import ConsumedTransfer, PaymentRequest
from tests.support.threats.evm_world import (
    UNPROVED,
    USDC_UNIT,
    World,
    call_data,
    decide,
    is_paid,
    refusal,
    submit_all,
    transfer_data,
)

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
AMOUNT = 100 * USDC_UNIT


@pytest.fixture
def token(request: pytest.FixtureRequest, world: World, chain: Chain) -> Token:
    address = world.token(request.param)
    return Token.objects.create(
        chain=chain, symbol="ODD", name="Odd Coin", decimals=6, contract_address=address
    )


def mint(world: World, token: Token, to: str, amount: int) -> None:
    world.call(token.contract_address, call_data("mint(address,uint256)", to, amount))


@pytest.mark.parametrize("token", ["FeeToken"], indirect=True)
def test_transfer_fee_leaves_the_request_partly_paid(
    world: World, ask: Ask, token: Token, either_node: bool
) -> None:
    request, safe = ask("100", token), world.safe()
    data = transfer_data(request.recipient_address, AMOUNT, bytes(request.reference))
    mint(world, token, safe.address, AMOUNT)
    sent = safe.send(safe.execution(token.contract_address, data))
    if not either_node:
        # The log's amount differs from the call's. Only a trace shows that the call wrote the log.
        assert refusal(request, sent) in UNPROVED
        return
    payment = decide(request, sent)
    request.refresh_from_db()
    assert (payment.status, payment.amount_received) == ("completed", 99 * USDC_UNIT)
    assert (request.status, request.amount_remaining) == ("active", USDC_UNIT)


@pytest.mark.parametrize("token", ["FeeToken"], indirect=True)
def test_two_fees_in_one_transaction_need_a_trace(
    world: World, ask: Ask, token: Token, either_node: bool
) -> None:
    """The calls have the amounts 100 and 99, the logs 99 and 98.01.

    By its amount, one log looks like the other call's.
    """
    first, second, safe = ask("100", token), ask("99", token), world.safe()
    mint(world, token, safe.address, 2 * AMOUNT)
    sent = safe.send(
        safe.multi_send(
            *[
                (token.contract_address, 0, transfer_data(r.recipient_address, r.amount, bytes(r.reference)))
                for r in (first, second)
            ]
        )
    )
    submit_all(sent, first, second)
    if not either_node:
        assert refusal(first, sent) == refusal(second, sent)
        assert refusal(first, sent) in UNPROVED
        return
    assert decide(first, sent).amount_received == 99 * USDC_UNIT
    assert decide(second, sent).amount_received == 98_010_000


@pytest.mark.parametrize("token", ["HookToken"], indirect=True)
def test_transfer_within_a_transfer_has_its_own_reference(
    world: World, ask: Ask, token: Token, either_node: bool
) -> None:
    """The thief makes a tiny transfer with the thief's reference. Its hook sends a victim's signed payment."""
    thief, victim, key = ask("100", token), world.safe(), world.stranger()
    recipient, contract = thief.recipient_address, token.contract_address
    mint(world, token, victim.address, AMOUNT)
    world.call(contract, call_data("mint(address,uint256)", Account.from_key(key).address, 1), key=key)
    signed = victim.execution(contract, transfer_data(recipient, AMOUNT))
    world.call(contract, call_data("setHook(address,bytes)", victim.address, signed), key=key)
    sent = world.call(contract, transfer_data(recipient, 1, bytes(thief.reference)), key=key)
    assert world.succeeded(sent)
    assert world.chain.token_balance(contract, recipient) >= AMOUNT
    decide(thief, sent)
    thief.refresh_from_db()
    assert thief.amount_paid <= 1


@pytest.mark.parametrize("token", ["HookToken"], indirect=True)
def test_payment_within_a_transfer_counts_once(world: World, ask: Ask, token: Token) -> None:
    payers, safe, key = ask("100", token), world.safe(), world.stranger()
    contract = token.contract_address
    mint(world, token, safe.address, AMOUNT)
    world.call(contract, call_data("mint(address,uint256)", Account.from_key(key).address, 1), key=key)
    data = transfer_data(payers.recipient_address, AMOUNT, bytes(payers.reference))
    hook = call_data("setHook(address,bytes)", safe.address, safe.execution(contract, data))
    world.call(contract, hook, key=key)
    sent = world.call(contract, transfer_data(payers.recipient_address, 1), key=key)
    assert is_paid(payers, sent)
    assert payers.amount_paid == AMOUNT
    assert ConsumedTransfer.objects.count() == 1


@pytest.mark.parametrize("token", ["ArrivalFeeToken"], indirect=True)
def test_fee_taken_on_arrival_is_not_credited(
    world: World, ask: Ask, token: Token, either_node: bool
) -> None:
    """In the same call, the token logs the full transfer and a fee that the recipient pays."""
    request = ask("100", token)
    before = world.chain.token_balance(token.contract_address, request.recipient_address)
    data = transfer_data(request.recipient_address, AMOUNT, bytes(request.reference))
    mint(world, token, world.chain.payer, AMOUNT)
    sent = world.call(token.contract_address, data)
    gained = world.chain.token_balance(token.contract_address, request.recipient_address) - before
    assert gained == 99 * USDC_UNIT
    if not either_node:
        assert refusal(request, sent) in UNPROVED, "which call took it from the recipient is not known"
        return
    payment = decide(request, sent)
    request.refresh_from_db()
    assert (payment.status, payment.amount_received) == ("completed", gained)
    assert request.amount_remaining == USDC_UNIT


@pytest.mark.parametrize("token", ["ArrivalFeeToken"], indirect=True)
def test_two_payments_with_a_fee_on_arrival_both_count(world: World, ask: Ask, token: Token) -> None:
    """A fee is not money that the recipient sent out before the second payment."""
    first, second, safe = ask("100", token), ask("50", token), world.safe()
    mint(world, token, safe.address, 2 * AMOUNT)
    sent = safe.send(
        safe.multi_send(
            *[
                (token.contract_address, 0, transfer_data(r.recipient_address, r.amount, bytes(r.reference)))
                for r in (first, second)
            ]
        )
    )
    submit_all(sent, first, second)
    assert decide(first, sent).amount_received == 99 * USDC_UNIT
    assert decide(second, sent).amount_received == 49_500_000


@pytest.mark.parametrize("token", ["SharesToken"], indirect=True)
def test_logged_amount_of_a_shares_token_counts(world: World, ask: Ask, token: Token) -> None:
    """Rounding leaves less than one unit with the sender. No log shows this."""
    request, contract = ask("100", token), token.contract_address
    mint(world, token, world.chain.payer, AMOUNT)
    before = world.chain.token_balance(contract, request.recipient_address)
    data = transfer_data(request.recipient_address, AMOUNT - 1, bytes(request.reference))
    payment = decide(request, world.call(contract, data))
    shares = world.chain.token_balance(contract, request.recipient_address) - before
    assert payment.amount_received == AMOUNT - 1
    assert 0 <= AMOUNT - 1 - shares * 7 // 5 <= 1
