"""Balances of many addresses are read in batches. If a token returns no balance, the others are still read."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from chains.client import ChainError
from chains.families.evm.deposits.holdings import holdings
from chains.rpc.json_rpc import Call, RpcFault

ADDRESS, TOKEN = "0x" + "a1" * 20, "0x" + "b2" * 20
BOTH = [(ADDRESS, ""), (ADDRESS, TOKEN)]
WORD = f"0x{7:064x}"
REVERTED = RpcFault(3, "execution reverted")
BUSY = RpcFault(-32005, "too many requests")


class Node:
    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.calls: list[Call] = []

    def batch(self, calls: Sequence[Call], read: Callable[[list[Any]], Any]) -> Any:
        self.calls += calls
        return read(self.results)


def read(*results: Any) -> dict[tuple[str, str], int]:
    node: Any = Node(*results)
    return holdings(node, BOTH)


def test_coin_and_token_of_an_address_are_read() -> None:
    assert read("0x5", WORD) == {(ADDRESS, ""): 5, (ADDRESS, TOKEN): 7}


@pytest.mark.parametrize("answer", [REVERTED, "0x", "0x01", None])
def test_token_without_a_balance_is_omitted(answer: Any) -> None:
    assert read("0x5", answer) == {(ADDRESS, ""): 5}


@pytest.mark.parametrize("answers", [(BUSY, WORD), ("0x5", BUSY), (None, WORD)])
def test_node_that_fails_reports_no_balances(answers: tuple[Any, Any]) -> None:
    with pytest.raises(ChainError):
        read(*answers)


def test_no_addresses_need_no_query() -> None:
    node: Any = Node()
    assert (holdings(node, []), node.calls) == ({}, [])
