"""Nodes with a height, logs and transactions, for searches. Each of them can hide data, lie about its head or fail."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault
from chains.rpc.nodes import LogLimits

TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def log(block: int, to: str, amount: int, *, token: str, hash_: int = 1) -> dict[str, Any]:
    return {
        "address": token.lower(),
        "blockNumber": hex(block),
        "transactionHash": f"0x{hash_:064x}",
        "topics": [TRANSFER, "0x" + "00" * 12 + "33" * 20, "0x" + to[2:].lower().rjust(64, "0")],
        "data": f"0x{amount:064x}",
    }


@dataclass
class LogNode:
    """A node. It rejects log queries for more than `max_blocks` blocks, and for the blocks in `broken`."""

    height: int = 100
    logs: Sequence[dict[str, Any]] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    max_blocks: int = 10_000
    broken: frozenset[int] = frozenset()
    is_down: bool = False
    log_limits: LogLimits = field(default_factory=LogLimits)
    requests: int = 0

    def batch(
        self, calls: Sequence[Call], read: Callable[[list[Any]], Any], *, isolating: bool = False
    ) -> Any:
        if self.is_down:
            raise ChainError("the node is down")
        self.requests += 1
        return read([self._result(method, parameters) for method, parameters in calls])

    def _result(self, method: str, parameters: Sequence[Any]) -> Any:
        if method == "eth_blockNumber":
            return hex(self.height)
        if method == "eth_getTransactionByHash":
            (hash_,) = parameters
            return {"hash": hash_, "input": self.inputs[hash_]} if hash_ in self.inputs else None
        if method == "eth_getBlockByNumber":
            number = self.height if parameters[0] == "latest" else int(parameters[0], 16)
            ago = 12 * (self.height - number)
            return {"number": hex(number), "timestamp": hex(int(datetime.now(UTC).timestamp()) - ago)}
        assert method == "eth_getLogs"
        return self._logs(*parameters)

    def _logs(self, filters: dict[str, Any]) -> Any:
        blocks = range(int(filters["fromBlock"], 16), int(filters["toBlock"], 16) + 1)
        if len(filters["topics"]) < 3:  # this query has no results
            return []
        if len(blocks) > self.max_blocks or self.broken & {*blocks}:
            return RpcFault(-32005, "query returned more than 10000 results")
        found = [each for each in self.logs if int(each["blockNumber"], 16) in blocks]
        return [each for each in found if each["topics"][2] in filters["topics"][2]]


@dataclass
class LogNodes:
    """The nodes of one chain, in the configured order."""

    nodes: Sequence[LogNode]

    @property
    def size(self) -> int:
        return len(self.nodes)

    def each(self) -> list[LogNode]:
        return list(self.nodes)

    def seconds_until_ready(self) -> float:
        return 0.0

    def client(self) -> EvmClient:
        made = EvmClient(["http://node.invalid"], 1)
        made._rpc = cast(JsonRpc, self)
        return made
