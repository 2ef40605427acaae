"""The effect of a provider's call is read from its bytes. Hostile bytes are unreadable or unknown."""

import contextlib
import json
import random

import pytest

from chains.client import Action, EvmCall, SolanaInstruction, SolanaInstructions, SolanaTransaction
from payments.providers import actions
from payments.providers.calldata import (
    BridgeCall,
    DepositCall,
    SwapCall,
    Unreadable,
    carries_id,
    read_call,
)
from tests.support.routing.offers import (
    DAI_HERE,
    ID,
    MERCHANT,
    MERCHANT_ON_SOLANA,
    PAYER,
    THERE,
    USDC_HERE,
    ZERO,
    bridge_data,
    deposit_data,
    packed_data,
    swap_data,
)

# The deposit of a Relay quote of 2026-02-23: 50 POL on Polygon, paid in ETH on Ethereum.
RECORDED_DEPOSIT = bytes.fromhex(
    "49290c1c000000000000000000000000c78438e6f037a6a684bcb5663664fbbab1a0ed3e"
    "a6d4d11c9014465bc3dc9f0002a8b1f78325f17f96b3daad5998c2246ce035de"
)
RECORDED_ORDER = bytes.fromhex("a6d4d11c9014465bc3dc9f0002a8b1f78325f17f96b3daad5998c2246ce035de")


def test_a_bridges_call_is_read_whatever_the_bridge_is_called() -> None:
    bridge = BridgeCall(ID, USDC_HERE, MERCHANT, 10_050_000, THERE, has_source_swaps=False)
    assert read_call(bridge_data(), ID) == bridge
    assert read_call(b"\xff" * 4 + bridge_data()[4:], ID) == bridge


def test_the_zero_address_is_the_native_coin() -> None:
    call = read_call(bridge_data(asset=ZERO), ID)
    assert isinstance(call, BridgeCall)
    assert call.asset == ""


@pytest.mark.parametrize(
    "selector", ["4666fc80", "733214a3", "af7060fd", "4630a0d8", "5fd9ae2e", "2c57e884", "736eac0b"]
)
def test_each_kind_of_swap_is_read(selector: str) -> None:
    swap = SwapCall(ID, MERCHANT, 10_000_000, DAI_HERE, 10_020_000_000_000_000_000, USDC_HERE)
    assert read_call(swap_data(selector), ID) == swap


def test_a_recorded_deposit_is_read() -> None:
    depositor = "0xc78438e6f037a6a684bCB5663664fBbAb1A0Ed3e"
    assert read_call(RECORDED_DEPOSIT, RECORDED_ORDER) == DepositCall(RECORDED_ORDER, depositor, "", None)
    assert carries_id(RECORDED_DEPOSIT, RECORDED_ORDER)


def test_a_tokens_deposit_is_read() -> None:
    assert read_call(deposit_data(), ID) == DepositCall(ID, PAYER, USDC_HERE, 10_050_000)


def test_a_call_of_another_shape_is_unknown() -> None:
    assert read_call(packed_data(), ID) is None
    assert read_call(b"", ID) is None
    assert read_call(bridge_data(), bytes(reversed(ID))) is None


@pytest.mark.parametrize("whole", [bridge_data(), swap_data(), swap_data("4630a0d8"), deposit_data()])
def test_truncated_call_is_unreadable_or_unknown_at_any_length(whole: bytes) -> None:
    for length in range(len(whole)):
        try:
            call = read_call(whole[:length], ID)
        except Unreadable:
            continue
        # ABI decoding ignores bytes after the last meaningful one. The decoded call must be the encoded one.
        assert call is None or call == read_call(whole, ID)


def test_bytes_turned_at_random_never_break_the_reader() -> None:
    chance = random.Random(6)
    for whole in (bridge_data(), swap_data(), swap_data("5fd9ae2e"), deposit_data()):
        for _ in range(400):
            bent = bytearray(whole)
            for _ in range(chance.randint(1, 4)):
                bent[chance.randrange(4, len(bent))] = chance.randrange(256)
            with contextlib.suppress(Unreadable):
                read_call(bytes(bent), ID)


@pytest.mark.parametrize(
    "action",
    [
        EvmCall(PAYER, b"\x00\xff", 2**255, 400_000),
        EvmCall(PAYER, b"", 0, None),
        SolanaTransaction(b"\x01\x00"),
        SolanaInstructions(
            (SolanaInstruction(MERCHANT_ON_SOLANA, ((MERCHANT_ON_SOLANA, True, False),), b"\x07"),),
            ("table",),
        ),
    ],
    ids=["call", "plain call", "transaction", "instructions"],
)
def test_an_action_comes_back_from_the_database_as_it_went_in(action: Action) -> None:
    assert actions.from_json(json.loads(json.dumps(actions.to_json(action)))) == action
