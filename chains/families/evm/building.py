"""Build simulated unsigned transactions: their cost, and why a wallet can't make one now.

Sources: the Ethereum execution API, EIP-1559 (fees).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chains.client import ChainError, EvmCall, Refusal, Spending, TransferRefused
from chains.families.evm.quantities import data_bytes, json_object, quantity, to_hex
from chains.families.evm.tokens import balance_call, word
from chains.rpc.json_rpc import Call, RpcFault, is_execution_failure, result_of

_GAS_MARGIN_PERCENT = 125
# The maximum of a provider's suggested gas limit, as a multiple of the node's estimate.
_MAX_ADVISED = 3
_BASE_FEE_GROWTH = 2  # a base fee can grow by 12.5 % a block: doubling covers about six full blocks
_FALLBACK_TIP_WEI = 1_000_000_000
_PLAIN_GAS = 21_000
# A reference of 32 bytes costs 16 gas each (EIP-2028); common ERC-20 tokens take 45,000 to 65,000 for a transfer.
_COIN_TRANSFER_GAS = 21_512
_TOKEN_TRANSFER_GAS = 65_000


@dataclass(frozen=True)
class Fees:
    """The maximum price per unit of gas in wei (EIP-1559), and the block's gas limit."""

    max_fee: int
    priority_fee: int
    block_gas: int


@dataclass(frozen=True)
class Funding:
    """A wallet's balances (wei, base units of the token) and the cost of its call; `gas` may be the node's error.

    `is_sponsored`: another account may pay for the gas.
    """

    coins: int
    tokens: int
    gas: int | RpcFault
    fees: Fees
    is_sponsored: bool = False


def fee_calls() -> list[Call]:
    """Return the calls whose results `fees` parses."""
    return [("eth_getBlockByNumber", ["latest", False]), ("eth_maxPriorityFeePerGas", [])]


def fees(results: Sequence[Any]) -> Fees:
    """Return the gas price; on chains without a base fee, both values are the same."""
    block, tip = json_object(result_of(results[0])), results[1]
    priority_fee = _FALLBACK_TIP_WEI if isinstance(tip, RpcFault) else quantity(tip)
    base_fee = block.get("baseFeePerGas")
    max_fee = (quantity(base_fee) * _BASE_FEE_GROWTH if base_fee else 0) + priority_fee
    return Fees(max_fee, priority_fee, quantity(block.get("gasLimit")))


def usual_fee(token: str, results: Sequence[Any]) -> int:
    """Return the cost of a transfer in wei at the latest block's prices, from the results of `fee_calls`."""
    known = fees(results)
    base_fee = (known.max_fee - known.priority_fee) // _BASE_FEE_GROWTH
    return (_TOKEN_TRANSFER_GAS if token else _COIN_TRANSFER_GAS) * (base_fee + known.priority_fee)


def funding_calls(call: EvmCall, sender: str, token: str, *, with_code: bool = False) -> list[Call]:
    """Return the calls whose results `funding` parses: fees, the wallet's balances, and the call's simulation.

    With `with_code`, also whether the wallet is a contract or delegates to one.
    """
    coins: Call = ("eth_getBalance", [sender, "latest"])
    code: Call = ("eth_getCode", [sender, "latest"])
    return [
        *fee_calls(),
        *([code] if with_code else []),
        coins,
        balance_call(token, sender) if token else coins,
        ("eth_estimateGas", [_fields(call, sender)]),
    ]


def funding(token: str, results: Sequence[Any]) -> Funding:
    """Return the wallet's balances and the call's cost. Raises ChainError if the node could not simulate.

    A wallet with code (a contract, or an EIP-7702 account) counts as sponsored: bundlers and relayers may send its
    calls and pay for the gas.
    """
    _, _, *code, coins, tokens, gas = results
    if isinstance(gas, RpcFault) and not is_execution_failure(gas):
        raise ChainError(f"the node could not simulate: {gas.message}")
    return Funding(
        coins=quantity(result_of(coins)),
        tokens=word(tokens) if token else quantity(result_of(tokens)),
        gas=gas if isinstance(gas, RpcFault) else quantity(gas),
        fees=fees(results[:2]),
        is_sponsored=any(data_bytes(result_of(each)) for each in code),
    )


def check_value(call: EvmCall, spending: Spending) -> None:
    """Raise ValueError unless the call's value is exactly the native coin that the wallet should spend."""
    native = 0 if spending.token else spending.amount
    if call.value != native + spending.extra_native:
        raise ValueError(
            f"the call's value of {call.value} wei is not the {native} + {spending.extra_native} to spend"
        )


def gas_limit(funding: Funding, amount: int, call: EvmCall) -> int:
    """Return the gas limit of a call that spends `amount` and that the wallet can pay for; raises TransferRefused.

    A provider's suggestion is used if it is higher than the estimate with its margin, up to a maximum. A sponsored
    wallet needs no coin for gas.
    """
    if funding.tokens < amount:
        raise TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=amount - funding.tokens)
    max_fee = funding.fees.max_fee
    if isinstance(funding.gas, RpcFault):
        raise _refusal(funding, funding.gas, call.value)
    limit = max(funding.gas * _GAS_MARGIN_PERCENT // 100, min(call.gas or 0, funding.gas * _MAX_ADVISED))
    missing = call.value + limit * max_fee - funding.coins
    if missing > 0 and not funding.is_sponsored:
        raise TransferRefused(Refusal.INSUFFICIENT_GAS, missing=missing)
    return limit


def unsigned(call: EvmCall, *, sender: str, chain_id: int, gas: int | None, fees: Fees) -> dict[str, Any]:
    """Return the transaction as hex quantities, ready for `eth_sendTransaction`.

    Without `gas`, the wallet estimates it.
    """
    return {
        "chainId": hex(chain_id),
        **_fields(call, sender),
        **({} if gas is None else {"gas": hex(min(gas, fees.block_gas))}),
        "maxFeePerGas": hex(fees.max_fee),
        "maxPriorityFeePerGas": hex(fees.priority_fee),
    }


def _fields(call: EvmCall, sender: str) -> dict[str, str]:
    return {"from": sender, "to": call.to, "data": to_hex(call.data), "value": hex(call.value)}


def _refusal(funding: Funding, fault: RpcFault, value: int) -> TransferRefused:
    """Return why the estimate failed: insufficient gas if the wallet can't pay for even a plain transfer."""
    missing = value + _PLAIN_GAS * funding.fees.max_fee - funding.coins
    if missing > 0 and not funding.is_sponsored:
        return TransferRefused(Refusal.INSUFFICIENT_GAS, missing=missing)
    return TransferRefused(Refusal.WOULD_FAIL, note=fault.message)
