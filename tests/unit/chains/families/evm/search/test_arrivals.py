"""One search finds transfers to very many addresses with few queries."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from eth_utils.address import to_checksum_address

from chains.families.evm.client import EvmClient
from chains.rpc.json_rpc import Call, RpcFault
from chains.rpc.nodes import LogLimits

TOKEN, OTHER_TOKEN = "0x" + "11" * 20, "0x" + "22" * 20
ADDRESSES = [to_checksum_address(f"0x{number:040x}") for number in range(2**100, 2**100 + 10_000)]
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def log(block: int, to: str, amount: int, *, token: str = TOKEN, hash_: int = 1) -> dict[str, Any]:
    return {
        "address": token,
        "blockNumber": hex(block),
        "transactionHash": f"0x{hash_:064x}",
        "topics": [TRANSFER, "0x" + "00" * 12 + "33" * 20, "0x" + to[2:].lower().rjust(64, "0")],
        "data": f"0x{amount:064x}",
    }


@dataclass
class Node:
    """A node with these logs. A query can contain up to `most` recipients."""

    logs: Sequence[dict[str, Any]] = ()
    most: int = 10_000
    log_limits: LogLimits = field(default_factory=LogLimits)
    requests: int = 0
    size: int = 1

    def each(self) -> list["Node"]:
        return [self]

    def batch(self, calls: Sequence[Call], read: Any, *, isolating: bool = False) -> Any:
        self.requests += 1
        return read([self._result(arguments[0]) for _, arguments in calls])

    def _result(self, filters: dict[str, Any]) -> Any:
        first, last = int(filters["fromBlock"], 16), int(filters["toBlock"], 16)
        if len(filters["topics"]) < 3:  # this query has no results
            return []
        wanted = set(filters["topics"][2])
        if len(wanted) > self.most:
            return RpcFault(-32602, "too many topics")
        return [
            each
            for each in self.logs
            if first <= int(each["blockNumber"], 16) <= last
            and each["topics"][2] in wanted
            and each["address"] in [address.lower() for address in filters["address"]]
        ]


def client(node: Node) -> EvmClient:
    made = EvmClient(["http://node.invalid"], 1)
    made._rpc = node  # type: ignore[assignment]
    return made


def token_of(address: str) -> str:
    return to_checksum_address(OTHER_TOKEN if address == ADDRESSES[7] else TOKEN)


def test_ten_thousand_addresses_take_twenty_queries() -> None:
    node = Node([log(60, ADDRESSES[9_999], 5), log(61, ADDRESSES[0], 3, hash_=2)])
    tokens = {address: token_of(address) for address in ADDRESSES}
    found = client(node).find_arrivals(tokens, since_block=50, until_block=70)
    assert found.found == ((ADDRESSES[0], f"0x{2:064x}", 3), (ADDRESSES[9_999], f"0x{1:064x}", 5))
    assert found.next_block == 71
    assert node.requests == 20


def test_node_with_a_lower_limit_of_recipients_returns_all() -> None:
    node = Node([log(60, each, 5) for each in ADDRESSES[:1000]], most=100)
    tokens = {address: token_of(address) for address in ADDRESSES[:1000]}
    found = client(node).find_arrivals(tokens, since_block=60, until_block=60)
    assert {address for address, _, _ in found.found} == {*ADDRESSES[:1000]} - {ADDRESSES[7]}


def test_amounts_of_one_transaction_are_added() -> None:
    node = Node([log(60, ADDRESSES[1], 5), log(60, ADDRESSES[1], 6), log(60, ADDRESSES[1], 0)])
    found = client(node).find_arrivals(
        {ADDRESSES[1]: to_checksum_address(TOKEN)}, since_block=60, until_block=60
    )
    assert found.found == ((ADDRESSES[1], f"0x{1:064x}", 11),)


def test_other_tokens_at_an_address_are_left_out() -> None:
    node = Node([log(60, ADDRESSES[7], 5), log(60, ADDRESSES[1], 5, token=OTHER_TOKEN)])
    tokens = {address: token_of(address) for address in ADDRESSES[:10]}
    assert client(node).find_arrivals(tokens, since_block=60, until_block=60).found == ()


def test_nothing_is_asked_beyond_the_head_or_without_addresses() -> None:
    node = Node()
    assert client(node).find_arrivals({}, since_block=5, until_block=9).next_block == 10
    assert client(node).find_arrivals({ADDRESSES[0]: TOKEN}, since_block=10, until_block=9).next_block == 10
    assert node.requests == 0
