"""A transaction's cost: gas price with and without EIP-1559, tip, and data fee."""

from typing import Any

import pytest

from chains.client import ChainError, EvmCall, Refusal, TransferRefused
from chains.families.evm.abi import selector
from chains.families.evm.building import fees
from chains.families.evm.building import transactions as building
from chains.families.evm.building.fees import FeeRules, Fees, Prices
from chains.rpc.json_rpc import RpcFault

GWEI = 10**9
ORACLE = "0x420000000000000000000000000000000000000F"
CALL = EvmCall("0x" + "aa" * 20, b"\x01" * 84, 0)
NO_METHOD = RpcFault(-32601, "the method does not exist")
NO_RULES = FeeRules()


def block(**values: str) -> dict[str, str]:
    return {"gasLimit": hex(30_000_000), **values}


def read(results: list[Any], fallback: tuple[Any, ...] = (), rules: FeeRules = NO_RULES) -> Fees:
    return fees.fees(fees.prices(results), fallback, rules)


def test_base_fee_may_double_and_the_node_suggests_the_tip() -> None:
    known = fees.prices([block(baseFeePerGas=hex(3 * GWEI)), hex(2 * GWEI)])
    assert fees.fallback_calls(known) == []
    cost = fees.fees(known, [], NO_RULES)
    assert (cost.max_fee, cost.priority_fee, cost.usual_price) == (8 * GWEI, 2 * GWEI, 5 * GWEI)
    assert cost.fields() == {"maxFeePerGas": hex(8 * GWEI), "maxPriorityFeePerGas": hex(2 * GWEI)}


def test_tip_is_at_least_the_catalogues_minimum() -> None:
    results = [block(baseFeePerGas=hex(GWEI)), hex(1)]
    assert read(results, rules=FeeRules(min_tip=25 * GWEI)).priority_fee == 25 * GWEI


def test_tip_comes_from_the_fee_history_without_a_suggestion() -> None:
    results = [block(baseFeePerGas=hex(GWEI)), NO_METHOD]
    assert fees.fallback_calls(fees.prices(results)) == [("eth_feeHistory", ["0x5", "latest", [50]])]
    history = {"reward": [[hex(5)], [hex(1)], [hex(9)]]}
    assert read(results, (history,)).priority_fee == 5


@pytest.mark.parametrize("history", [NO_METHOD, {}, {"reward": []}, {"reward": None}])
def test_tip_without_any_source_is_a_gwei_or_the_minimum(history: Any) -> None:
    results = [block(baseFeePerGas=hex(GWEI)), NO_METHOD]
    assert read(results, (history,)).priority_fee == GWEI
    assert read(results, (history,), FeeRules(min_tip=7)).priority_fee == 7


def test_chain_without_base_fee_gets_a_gas_price() -> None:
    results = [block(), NO_METHOD]
    assert fees.fallback_calls(fees.prices(results)) == [("eth_gasPrice", [])]
    cost = read(results, (hex(4 * GWEI),))
    assert cost.fields() == {"gasPrice": hex(4 * GWEI)}
    assert cost.usual_price == 4 * GWEI
    assert read(results, (hex(4 * GWEI),), FeeRules(min_tip=5 * GWEI)).max_fee == 5 * GWEI


def test_base_fee_of_zero_is_a_base_fee() -> None:
    assert read([block(baseFeePerGas="0x0"), hex(7)]).fields()["maxFeePerGas"] == hex(7)


def test_oracle_prices_the_bytes_of_the_whole_transaction() -> None:
    *_, (method, (call, _)) = fees.price_calls(CALL, FeeRules(ORACLE), 8453)
    assert (method, call["to"]) == ("eth_call", ORACLE)
    data = bytes.fromhex(call["data"][2:])
    assert data[:4].hex() == "49948e0e"  # getL1Fee(bytes)
    assert CALL.data in data
    assert len(fees.price_calls(CALL, NO_RULES, 8453)) == 2


def test_data_fee_has_a_margin_of_a_quarter() -> None:
    results = [block(baseFeePerGas=hex(GWEI)), hex(1), "0x" + (1000).to_bytes(32).hex()]
    assert read(results).data_fee == 1250


def test_operator_fee_is_queried_for_the_gas_limit() -> None:
    [(method, [call, _])] = fees.operator_fee_calls(110_000, FeeRules(ORACLE))
    assert (method, call["to"]) == ("eth_call", ORACLE)
    assert call["data"] == "0x" + selector("getOperatorFee(uint256)").hex() + f"{110_000:064x}"
    assert fees.operator_fee_calls(110_000, NO_RULES) == []


def test_oracle_without_operator_fee_counts_as_zero() -> None:
    assert fees.operator_fee("0x" + f"{7:064x}") == 7
    assert fees.operator_fee(RpcFault(3, "execution reverted")) == 0
    for fault in (NO_METHOD, "0x", None):
        with pytest.raises(ChainError):
            fees.operator_fee(fault)


def test_data_fee_is_queried_only_where_there_is_an_oracle() -> None:
    [query] = fees.data_fee_calls(CALL, FeeRules(ORACLE), 8453)
    assert query == fees.price_calls(CALL, FeeRules(ORACLE), 8453)[-1]
    assert fees.data_fee_calls(CALL, NO_RULES, 8453) == []


@pytest.mark.parametrize("wrong", [NO_METHOD, "0x", "not hex", None])
def test_silent_oracle_is_an_outside_fault(wrong: Any) -> None:
    with pytest.raises(ChainError):
        fees.prices([block(baseFeePerGas=hex(GWEI)), hex(1), wrong])


def wallet(coins: int, gas: int | RpcFault = 43_401) -> building.Funding:
    return building.Funding(coins=coins, tokens=10**6, gas=gas)


PLAIN = Fees(max_fee=2, priority_fee=1, block_gas=30_000_000)


def test_token_transfer_covers_a_recipient_that_was_emptied() -> None:
    """Measured gas: 43,401 for a transfer to an account with a balance, and 17,100 more if its balance is zero."""
    assert building.gas_limit(wallet(10**9), PLAIN, 1, CALL, is_token_transfer=True) == 63_401
    assert building.gas_limit(wallet(10**9), PLAIN, 1, CALL) == 54_251


def test_data_fee_is_part_of_what_the_wallet_needs() -> None:
    cost = Fees(max_fee=2, priority_fee=1, block_gas=30_000_000, data_fee=1000)
    needed = 54_251 * 2 + 1000
    assert building.gas_limit(wallet(needed), cost, 1, CALL) == 54_251
    with pytest.raises(TransferRefused) as refused:
        building.gas_limit(wallet(needed - 1), cost, 1, CALL)
    assert (refused.value.refusal, refused.value.missing) == (Refusal.INSUFFICIENT_GAS, 1)


def test_usual_fee_counts_the_data() -> None:
    cost = Fees(max_fee=2 * 10 + 3, priority_fee=3, block_gas=30_000_000, data_fee=1000)
    assert building.usual_fee("0xToken", cost) == 65_000 * 13 + 1000
    assert building.usual_fee("", cost) == 21_512 * 13 + 1000
    assert len(building.usual_transfer("0xToken").data) == 84


def test_prices_without_a_block_are_an_outside_fault() -> None:
    with pytest.raises(ChainError):
        fees.prices([NO_METHOD, hex(1)])
    assert Prices(1, 1, 1).data_fee == 0
