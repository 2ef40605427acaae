"""T-07: of a token that takes a fee what arrived counts; one that calls back in mid-transfer counts nothing twice."""

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
    """A token of the catalogue."""
    address = world.token(request.param)
    return Token.objects.create(
        chain=chain, symbol="ODD", name="Odd Coin", decimals=6, contract_address=address
    )


def mint(world: World, token: Token, to: str, amount: int) -> None:
    world.call(token.contract_address, call_data("mint(address,uint256)", to, amount))


@pytest.mark.parametrize("token", ["FeeToken"], indirect=True)
@pytest.mark.parametrize("through", ["directly", "by a Safe"])
def test_a_fee_leaves_the_request_partly_paid(
    world: World, ask: Ask, token: Token, either_node: bool, through: str
) -> None:
    request, safe = ask("100", token), world.safe()
    data = transfer_data(request.recipient_address, AMOUNT, bytes(request.reference))
    if through == "directly":
        mint(world, token, world.chain.payer, AMOUNT)
        sent = world.call(token.contract_address, data)
    else:
        mint(world, token, safe.address, AMOUNT)
        sent = safe.send(safe.execution(token.contract_address, data))
        if (
            not either_node
        ):  # the log's amount is not the call's: only a trace shows that it is the call's log
            assert refusal(request, sent) in UNPROVED
            return
    payment = decide(request, sent)
    request.refresh_from_db()
    assert (payment.status, payment.amount_received) == ("completed", 99 * USDC_UNIT)
    assert (request.status, request.amount_remaining) == ("active", USDC_UNIT)


@pytest.mark.parametrize("token", ["FeeToken"], indirect=True)
def test_two_fees_in_one_transaction_are_told_apart_by_the_trace_alone(
    world: World, ask: Ask, token: Token, either_node: bool
) -> None:
    """The calls name 100 and 99, the logs 99 and 98.01: by the amounts one log seems to be the other's call's."""
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
@pytest.mark.parametrize("units", [0, 1])
def test_a_transfer_within_a_transfer_is_not_bound_by_the_outer_reference(
    world: World, ask: Ask, token: Token, either_node: bool, units: int
) -> None:
    """The thief's transfer of next to nothing carries his reference; its hook has a victim's signed payment made."""
    thief, victim, key = ask("100", token), world.safe(), world.stranger()
    recipient, contract = thief.recipient_address, token.contract_address
    mint(world, token, victim.address, AMOUNT)
    world.call(contract, call_data("mint(address,uint256)", Account.from_key(key).address, units), key=key)
    signed = victim.execution(contract, transfer_data(recipient, AMOUNT))
    world.call(contract, call_data("setHook(address,bytes)", victim.address, signed), key=key)
    sent = world.call(contract, transfer_data(recipient, units, bytes(thief.reference)), key=key)
    assert world.succeeded(sent)
    assert world.chain.token_balance(contract, recipient) >= AMOUNT
    decide(thief, sent)
    thief.refresh_from_db()
    assert thief.amount_paid <= units


@pytest.mark.parametrize("token", ["HookToken"], indirect=True)
def test_a_payment_made_within_a_transfer_counts_once(world: World, ask: Ask, token: Token) -> None:
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
@pytest.mark.parametrize("through", ["directly", "by a Safe"])
def test_a_fee_that_is_taken_on_arrival_is_not_credited(
    world: World, ask: Ask, token: Token, either_node: bool, through: str
) -> None:
    """The token logs the whole transfer, and a fee of the recipient's in the same call."""
    request, safe = ask("100", token), world.safe()
    before = world.chain.token_balance(token.contract_address, request.recipient_address)
    data = transfer_data(request.recipient_address, AMOUNT, bytes(request.reference))
    if through == "directly":
        mint(world, token, world.chain.payer, AMOUNT)
        sent = world.call(token.contract_address, data)
    else:
        mint(world, token, safe.address, AMOUNT)
        sent = safe.send(safe.execution(token.contract_address, data))
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
def test_two_payments_with_a_fee_on_arrival_count_both(world: World, ask: Ask, token: Token) -> None:
    """A fee is no money that the recipient sent out before the second one."""
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
def test_of_a_token_that_keeps_shares_the_logged_amount_counts(
    world: World, ask: Ask, token: Token, either_node: bool
) -> None:
    """Rounding leaves less than one unit of it at the sender, which no log shows."""
    request, contract = ask("100", token), token.contract_address
    mint(world, token, world.chain.payer, AMOUNT)
    before = world.chain.token_balance(contract, request.recipient_address)
    data = transfer_data(request.recipient_address, AMOUNT - 1, bytes(request.reference))
    payment = decide(request, world.call(contract, data))
    shares = world.chain.token_balance(contract, request.recipient_address) - before
    assert payment.amount_received == AMOUNT - 1
    assert 0 <= AMOUNT - 1 - shares * 7 // 5 <= 1
