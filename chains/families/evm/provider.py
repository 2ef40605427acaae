"""A web3 provider over our own transport, with its batches, failover, limits and chain verification.

web3 formats a response after the provider has returned it. If the formatting fails, it is too late to query another
node. So the provider validates each response first, and supports only the methods that it can validate.

Batches whose results must come from one node use `JsonRpc.batch` directly.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from web3 import Web3
from web3.providers.base import JSONBaseProvider
from web3.types import RPCEndpoint, RPCResponse

from chains.families.evm.quantities import data_bytes, quantity, to_hex
from chains.rpc.json_rpc import Call, JsonRpc, result_of


def _whole(result: Any) -> str:
    return hex(quantity(result))


def _data(result: Any) -> str:
    return to_hex(data_bytes(result))


# The parser of each method's result, which also normalises the result.
_CHECKS: Mapping[str, Callable[[Any], str]] = {
    "eth_blockNumber": _whole,
    "eth_chainId": _whole,
    "eth_getBalance": _whole,
    "eth_getTransactionCount": _whole,
    "eth_getCode": _data,
}


class NodesProvider(JSONBaseProvider):
    """A provider for web3. Each call raises ChainError if no node sends a usable response."""

    # With EIP-3668, a contract could make this service call any URL.
    global_ccip_read_enabled = False

    def __init__(self, rpc: JsonRpc) -> None:
        super().__init__(cache_allowed_requests=False)
        self._rpc = rpc

    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Return the first usable response of a node. Raises ChainError."""
        (response,) = self.make_batch_request([(method, params)])
        return response

    def make_batch_request(self, requests: list[tuple[RPCEndpoint, Any]]) -> list[RPCResponse]:
        """Return the results in order, all from one node. Raises ChainError if any call fails."""
        checks = [_check_of(method) for method, _ in requests]
        calls: list[Call] = [(method, list(params or ())) for method, params in requests]

        def read(results: Sequence[Any]) -> list[str]:
            return [check(result_of(result)) for check, result in zip(checks, results, strict=True)]

        results = self._rpc.batch(calls, read)
        return [RPCResponse(jsonrpc="2.0", id=place, result=result) for place, result in enumerate(results)]


def connect(rpc: JsonRpc) -> Web3:
    """Return web3 on these nodes, without its middleware.

    web3's middleware `validation` would query the chain id twice per call, and `ens_name_to_address` would look up
    names.
    """
    return Web3(NodesProvider(rpc), middleware=[])


def _check_of(method: str) -> Callable[[Any], str]:
    check = _CHECKS.get(method)
    if check is None:
        raise ValueError(
            f"{method} has no check in chains/families/evm/provider.py; add one to call it through web3"
        )
    return check
