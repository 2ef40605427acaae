"""Compute a transaction's cost: the price of gas, and the fee for its data on chains of the OP stack. Pure.

Sources: EIP-1559, the Ethereum execution API, the OP stack's GasPriceOracle
(https://docs.optimism.io/stack/transactions/fees).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import rlp
from eth_abi.abi import encode

from chains.client import EvmCall
from chains.families.evm.abi import selector
from chains.families.evm.quantities import quantity, to_hex
from chains.families.evm.tokens import word
from chains.rpc.json_rpc import Call, RpcFault, is_execution_failure, json_object, result_of

_BASE_FEE_GROWTH = 2  # a base fee can grow by 12.5 % a block, so it doubles in about six full blocks
_DATA_FEE_MARGIN_PERCENT = 125  # the data fee follows the base fee of Ethereum
_FALLBACK_TIP_WEI = 1_000_000_000
_HISTORY_BLOCKS = "0x5"
_MEDIAN = 50
_GET_L1_FEE = bytes.fromhex("49948e0e")  # getL1Fee(bytes)
# Maximum values, so that the encoded transaction is at least as long as the signed one.
_LARGEST_NONCE = 2**32 - 1
_LARGEST_PRICE = 2**64 - 1
_LARGEST_GAS = 2**32 - 1


@dataclass(frozen=True)
class FeeRules:
    """The catalogue's settings for a chain's fees. `l1_oracle` is the contract that returns the data fee; "" if there
    is none. `min_tip` is in wei.
    """

    l1_oracle: str = ""
    min_tip: int = 0


@dataclass(frozen=True)
class Prices:
    """The latest block's prices from a node, in wei per unit of gas.

    `base_fee` is None on a chain without EIP-1559. `tip` is None if the node suggests no tip.
    """

    base_fee: int | None
    tip: int | None
    block_gas: int
    data_fee: int = 0


@dataclass(frozen=True)
class Fees:
    """The maximum price per unit of gas in wei, the block's gas limit, and the fee for the data in wei.

    `priority_fee` is None on a chain without EIP-1559, because its transactions have only one price.
    """

    max_fee: int
    priority_fee: int | None
    block_gas: int
    data_fee: int = 0

    @property
    def usual_price(self) -> int:
        """The price per unit of gas at the latest block's base fee."""
        if self.priority_fee is None:
            return self.max_fee
        return (self.max_fee - self.priority_fee) // _BASE_FEE_GROWTH + self.priority_fee

    def fields(self) -> dict[str, str]:
        if self.priority_fee is None:
            return {"gasPrice": hex(self.max_fee)}
        return {"maxFeePerGas": hex(self.max_fee), "maxPriorityFeePerGas": hex(self.priority_fee)}


def price_calls(call: EvmCall, rules: FeeRules, chain_id: int) -> list[Call]:
    """Return the calls whose results `prices` parses. The data of `call` may cost a fee."""
    calls: list[Call] = [("eth_getBlockByNumber", ["latest", False]), ("eth_maxPriorityFeePerGas", [])]
    return [*calls, *data_fee_calls(call, rules, chain_id)]


def data_fee_calls(call: EvmCall, rules: FeeRules, chain_id: int) -> list[Call]:
    """Return the query for the data fee of `call`; empty on a chain without such a fee."""
    if not rules.l1_oracle:
        return []
    data = _GET_L1_FEE + encode(["bytes"], [_encoded(call, chain_id)])
    return [("eth_call", [{"to": rules.l1_oracle, "data": to_hex(data)}, "latest"])]


def operator_fee_calls(gas: int, rules: FeeRules) -> list[Call]:
    """Return the query for the rollup operator's fee for this gas; empty on a chain without a data fee."""
    if not rules.l1_oracle:
        return []
    data = selector("getOperatorFee(uint256)") + encode(["uint256"], [gas])
    return [("eth_call", [{"to": rules.l1_oracle, "data": to_hex(data)}, "latest"])]


def operator_fee(result: Any) -> int:
    """Return the operator's fee in wei; 0 if the oracle's version has no such fee. Raises ChainError."""
    if isinstance(result, RpcFault) and is_execution_failure(result):
        return 0
    return word(result)


def prices(results: Sequence[Any]) -> Prices:
    """Return the prices. Raises ChainError for malformed results, and if the oracle does not respond."""
    block, tip, *oracle = json_object(result_of(results[0])), *results[1:]
    base_fee = block.get("baseFeePerGas")
    return Prices(
        base_fee=None if base_fee is None else quantity(base_fee),
        tip=None if isinstance(tip, RpcFault) else quantity(tip),
        block_gas=quantity(block.get("gasLimit")),
        data_fee=sum(word(each) * _DATA_FEE_MARGIN_PERCENT // 100 for each in oracle),
    )


def fallback_calls(known: Prices) -> list[Call]:
    """Return the calls for missing prices; empty if none is missing."""
    if known.base_fee is None:
        return [("eth_gasPrice", [])]
    if known.tip is None:
        return [("eth_feeHistory", [_HISTORY_BLOCKS, "latest", [_MEDIAN]])]
    return []


def fees(known: Prices, fallback: Sequence[Any], rules: FeeRules) -> Fees:
    """Return the fees. `fallback` has the results of `fallback_calls`. Raises ChainError for malformed results."""
    if known.base_fee is None:
        price = max(quantity(result_of(fallback[0])), rules.min_tip)
        return Fees(price, None, known.block_gas, known.data_fee)
    suggested = known.tip if known.tip is not None else _tip_of(fallback[0])
    tip = max(suggested if suggested is not None else rules.min_tip or _FALLBACK_TIP_WEI, rules.min_tip)
    return Fees(known.base_fee * _BASE_FEE_GROWTH + tip, tip, known.block_gas, known.data_fee)


def _tip_of(history: Any) -> int | None:
    """Return the median of the recent blocks' median tips; None if the node has no fee history."""
    if isinstance(history, RpcFault):
        return None
    rewards = json_object(history).get("reward")
    tips = sorted(quantity(each[0]) for each in rewards if each) if isinstance(rewards, list) else []
    return tips[len(tips) // 2] if tips else None


def _encoded(call: EvmCall, chain_id: int) -> bytes:
    """Return the unsigned transaction (EIP-1559). Unknown values are replaced by the largest possible ones."""
    to = bytes.fromhex(call.to[2:])
    fields = [
        chain_id,
        _LARGEST_NONCE,
        _LARGEST_PRICE,
        _LARGEST_PRICE,
        _LARGEST_GAS,
        to,
        call.value,
        call.data,
        [],
    ]
    return b"\x02" + bytes(rlp.encode(fields))
