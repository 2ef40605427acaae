"""Read the balances of many addresses, in tokens and native coin, in batches."""

from collections.abc import Sequence
from typing import Any

from chains.client import ChainError
from chains.families.evm.quantities import data_bytes, quantity
from chains.families.evm.tokens import balance_call
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault, is_execution_failure, result_of

_WORD = 32


def holdings(rpc: JsonRpc, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the latest balance of each (address, token), from one node; the token "" is the native coin.

    Tokens whose contract returns no balance are omitted. Raises ChainError if the node can't return the other balances.
    """
    if not places:
        return {}

    def read(results: list[Any]) -> dict[tuple[str, str], int]:
        balances = {place: _balance(place[1], result) for place, result in zip(places, results, strict=True)}
        return {place: balance for place, balance in balances.items() if balance is not None}

    return rpc.batch([_call(*place) for place in places], read)


def _call(address: str, token: str) -> Call:
    return balance_call(token, address) if token else ("eth_getBalance", [address, "latest"])


def _balance(token: str, result: Any) -> int | None:
    """Return the balance; None if the token's contract reverts or returns anything else."""
    if not token:
        return quantity(result_of(result))
    if isinstance(result, RpcFault) and is_execution_failure(result):
        return None
    data = result_of(result)
    try:
        word = data_bytes(data)
    except ChainError:
        return None
    return int.from_bytes(word) if len(word) == _WORD else None
