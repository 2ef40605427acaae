"""Native coin in inner calls counts once, if a trace shows it."""

from collections.abc import Callable

import pytest

from chains.models import Chain, Token
from payments.models import ConsumedTransfer, PaymentRequest
from tests.support.threats.evm_world import World, call_data, is_paid, refusal, submit_all

pytest_plugins = ["tests.support.threats.evm_fixtures"]
Ask = Callable[..., PaymentRequest]
CALLS = "((address,uint256,bytes,bool)[])"
WEI = 10**16


@pytest.fixture
def batch(world: World) -> str:
    """A contract that makes any calls for its caller."""
    return world.place("BatchPayer")


def paid_in_batch(world: World, batch: str, *calls: tuple[str, int, bytes]) -> str:
    data = call_data(f"run{CALLS}", [(*call, False) for call in calls])
    sent = world.call(batch, data, value=sum(value for _, value, _ in calls))
    assert world.succeeded(sent)
    return sent


def test_three_values_to_one_recipient_pay_three_requests(
    world: World, ask: Ask, ether: Token, batch: str
) -> None:
    requests = [ask("0.01", ether), ask("0.02", ether), ask("0.03", ether)]
    stranger = ask("0.01", ether)
    before = world.coins(stranger.recipient_address)
    calls = [(r.recipient_address, r.amount, bytes(r.reference)) for r in requests]
    sent = paid_in_batch(world, batch, *calls)
    assert world.coins(stranger.recipient_address) - before == 6 * WEI
    submit_all(sent, stranger, *requests)
    assert refusal(stranger, sent) == "transaction_not_bound"
    for request in requests:
        assert is_paid(request, sent)
        assert request.amount_paid == request.amount
    assert sorted(ConsumedTransfer.objects.values_list("slot", flat=True)) == ["0.0", "0.1", "0.2"]


def test_inner_value_without_a_trace_is_not_verifiable(
    world: World, ask: Ask, ether: Token, batch: str, without_traces: Chain
) -> None:
    request = ask("0.01", ether)
    sent = paid_in_batch(world, batch, (request.recipient_address, WEI, bytes(request.reference)))
    assert refusal(request, sent) == "not_verifiable"


def test_reference_of_the_outer_call_binds_no_inner_value(
    world: World, ask: Ask, ether: Token, batch: str
) -> None:
    thief = ask("0.01", ether)
    data = call_data(f"run{CALLS}", [(thief.recipient_address, WEI, b"", False)]) + bytes(thief.reference)
    assert refusal(thief, world.call(batch, data, value=WEI)) == "transaction_not_bound"


def test_delegatecall_with_value_moves_nothing(world: World, ask: Ask, ether: Token, batch: str) -> None:
    """A DELEGATECALL shows the value of the outer call. The contract whose code runs never gets that value."""
    request = ask("0.01", ether)
    data = call_data("borrow(address,bytes)", request.recipient_address, bytes(request.reference))
    before = world.coins(request.recipient_address)
    sent = world.call(batch, data, value=WEI)
    assert world.succeeded(sent)
    assert world.coins(request.recipient_address) == before
    assert refusal(request, sent) == "wrong_recipient"


def test_coin_of_a_selfdestruct_carries_no_reference(world: World, ask: Ask, ether: Token) -> None:
    request = ask("0.01", ether)
    legacy = world.deploy("Legacy")
    world.chain.rpc("anvil_setBalance", legacy, hex(WEI))
    before = world.coins(request.recipient_address)
    close = call_data("close(address)", request.recipient_address) + bytes(request.reference)
    sent = world.call(legacy, close)
    assert world.coins(request.recipient_address) - before == WEI
    # The coin arrived, so the merchant may accept it.
    assert refusal(request, sent) == "transaction_not_bound"
