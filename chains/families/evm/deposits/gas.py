"""Estimate the gas of calls that any account may send."""

from collections.abc import Sequence

from chains.client import EvmCall
from chains.families.evm.quantities import quantity, to_hex
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault

_ANY_ADDRESS = "0x" + "ff" * 20


def estimated_gas(rpc: JsonRpc, calls: Sequence[EvmCall]) -> list[int | None]:
    """Return one node's estimate for each call; None for a call that it can't estimate. Raises ChainError if no
    node responds.
    """
    requests: list[Call] = [
        ("eth_estimateGas", [{"from": _ANY_ADDRESS, "to": call.to, "data": to_hex(call.data)}])
        for call in calls
    ]
    return rpc.batch(
        requests, lambda results: [None if isinstance(gas, RpcFault) else quantity(gas) for gas in results]
    )
