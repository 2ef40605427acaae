"""Build unsigned transactions from a node's simulation. If the wallet can't send the transaction, find the reason.

Source: the Ethereum execution API.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chains.client import ChainError, EvmCall, Refusal, Spending, TransferRefused
from chains.families.evm.building.fees import Fees
from chains.families.evm.quantities import data_bytes, quantity, to_hex
from chains.families.evm.tokens import balance_call, word
from chains.rpc.json_rpc import Call, RpcFault, is_execution_failure, result_of

_GAS_MARGIN_PERCENT = 125
# A provider's suggested gas limit may be at most this multiple of the node's estimate.
_MAX_ADVISED = 3
_PLAIN_GAS = 21_000
# Storing an account's first balance costs 20,000 gas (EIP-2200). The estimate may lack this gas, because the recipient
# may empty its account later.
_NEW_BALANCE_GAS = 20_000
# A reference costs 32 bytes of 16 gas each (EIP-2028). Transfers of common ERC-20 tokens take 45,000 to 65,000 gas.
_COIN_TRANSFER_GAS = 21_512
_TOKEN_TRANSFER_GAS = 65_000
_TOKEN_TRANSFER_BYTES = 4 + 2 * 32 + 16
_COIN_TRANSFER_BYTES = 16
_ANY_ADDRESS = "0x" + "ff" * 20


@dataclass(frozen=True)
class Funding:
    """A wallet's balances, in wei and in base units of the token.

    `gas` is the estimated gas of the wallet's call, or the node's error.

    If `is_sponsored`, another account may pay for the gas.
    """

    coins: int
    tokens: int
    gas: int | RpcFault
    is_sponsored: bool = False


def usual_transfer(token: str) -> EvmCall:
    """Return a sample transfer. The sample's data costs as much as the data of any transfer with a reference."""
    return EvmCall(_ANY_ADDRESS, b"\xff" * (_TOKEN_TRANSFER_BYTES if token else _COIN_TRANSFER_BYTES), 0)


def usual_fee(token: str, fees: Fees) -> int:
    """Return the cost of a transfer in wei at the latest block's prices."""
    gas = _TOKEN_TRANSFER_GAS if token else _COIN_TRANSFER_GAS
    return gas * fees.usual_price + fees.data_fee


def funding_calls(call: EvmCall, sender: str, token: str, *, with_code: bool) -> list[Call]:
    """Return the calls whose results `funding` parses: the wallet's balances, and the estimate of the call's gas.

    With `with_code`, the wallet's code is queried too.
    """
    coins: Call = ("eth_getBalance", [sender, "latest"])
    code: Call = ("eth_getCode", [sender, "latest"])
    return [
        *([code] if with_code else []),
        coins,
        balance_call(token, sender) if token else coins,
        ("eth_estimateGas", [_fields(call, sender)]),
    ]


def funding(token: str, results: Sequence[Any]) -> Funding:
    """Return the wallet's balances and the call's gas. Raises ChainError if the node could not simulate.

    A wallet with code (a contract, or an EIP-7702 account) counts as sponsored: bundlers and relayers may send its
    calls and pay for the gas.
    """
    *code, coins, tokens, gas = results
    if isinstance(gas, RpcFault) and not is_execution_failure(gas):
        raise ChainError(f"the node could not simulate: {gas.message}")
    return Funding(
        coins=quantity(result_of(coins)),
        tokens=word(tokens) if token else quantity(result_of(tokens)),
        gas=gas if isinstance(gas, RpcFault) else quantity(gas),
        is_sponsored=any(data_bytes(result_of(each)) for each in code),
    )


def check_value(call: EvmCall, spending: Spending) -> None:
    """Raise ValueError unless the call's value is exactly the native coin that the wallet should spend."""
    native = 0 if spending.token else spending.amount
    if call.value != native + spending.extra_native:
        raise ValueError(
            f"the call's value of {call.value} wei is not the {native} + {spending.extra_native} to spend"
        )


def gas_limit(
    funding: Funding, fees: Fees, amount: int, call: EvmCall, *, is_token_transfer: bool = False
) -> int:
    """Return the gas limit of a call that spends `amount`. Raises TransferRefused if the wallet can't pay for the call.

    If a provider suggests more gas than the estimate with its margin, the suggestion is used, up to a maximum. A
    sponsored wallet needs no coin for gas.
    """
    if funding.tokens < amount:
        raise TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=amount - funding.tokens)
    if isinstance(funding.gas, RpcFault):
        raise _refusal(funding, fees, funding.gas, call.value)
    limit = max(
        funding.gas * _GAS_MARGIN_PERCENT // 100,
        funding.gas + (_NEW_BALANCE_GAS if is_token_transfer else 0),
        min(call.gas or 0, funding.gas * _MAX_ADVISED),
    )
    missing = call.value + limit * fees.max_fee + fees.data_fee - funding.coins
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
        **fees.fields(),
    }


def _fields(call: EvmCall, sender: str) -> dict[str, str]:
    return {"from": sender, "to": call.to, "data": to_hex(call.data), "value": hex(call.value)}


def _refusal(funding: Funding, fees: Fees, fault: RpcFault, value: int) -> TransferRefused:
    """Return why the estimate failed. The reason is insufficient gas if the wallet can't even pay for a plain
    transfer.
    """
    missing = value + _PLAIN_GAS * fees.max_fee + fees.data_fee - funding.coins
    if missing > 0 and not funding.is_sponsored:
        return TransferRefused(Refusal.INSUFFICIENT_GAS, missing=missing)
    return TransferRefused(Refusal.WOULD_FAIL, note=fault.message)
