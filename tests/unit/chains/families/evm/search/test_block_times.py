"""The block at a time is found from the blocks' own timestamps with few calls. It is never too late."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chains.client import ChainError, NodeState
from chains.families.evm.client import EvmClient
from chains.families.evm.search.block_times import CLOSE_ENOUGH, BlockTime, KeptHeights, last_block_until
from tests.support.chains.faulty_node import CHAIN_ID, Exchange, serving


def chain_of(times: list[int]) -> tuple[BlockTime, Callable[[int], BlockTime], list[int]]:
    asked: list[int] = []

    def block_at(height: int) -> BlockTime:
        asked.append(height)
        return BlockTime(height, times[height])

    return BlockTime(len(times) - 1, times[-1]), block_at, asked


@given(pauses=st.lists(st.integers(0, 9), min_size=1, max_size=3000), time=st.integers(-5, 30_000))
def test_it_is_never_later_than_the_time_and_close_to_it(pauses: list[int], time: int) -> None:
    times = [sum(pauses[:1])]
    for pause in pauses[1:]:
        times.append(times[-1] + pause)
    latest, block_at, _ = chain_of(times)
    height = last_block_until(time, latest, block_at)
    right = max((number for number, at in enumerate(times) if at <= time), default=0)
    assert right - CLOSE_ENOUGH <= height <= right


def test_a_long_chain_costs_few_questions() -> None:
    asked = []

    def block_at(height: int) -> BlockTime:
        asked.append(height)
        return BlockTime(height, height // 4)

    latest = BlockTime(10**8, 10**8 // 4)
    assert 10**8 - 20 <= last_block_until(latest.time - 1, latest, block_at) <= 10**8
    assert len(asked) <= 6
    asked.clear()
    last_block_until(12, latest, block_at)
    assert len(asked) <= 45


def test_another_block_than_asked_for_is_no_answer() -> None:
    with pytest.raises(ChainError):
        last_block_until(50, BlockTime(1000, 1000), lambda height: BlockTime(height + 1, 10))


def test_heights_are_kept_and_not_without_end() -> None:
    kept, found = KeptHeights(), []

    def find() -> int:
        found.append(len(found))
        return len(found)

    assert [kept.get(5, find), kept.get(5, find)] == [1, 1]
    for time in range(6, 1006):
        kept.get(time, find)
    assert kept.get(5, find) == 1002


def node_with(time_of: Callable[[int], int], head: int = 5000) -> Callable[[Exchange], None]:
    """Return the behaviour of a node with blocks at these times. It knows nothing else."""

    def behave(exchange: Exchange) -> None:
        results: list[Any] = []
        for question in exchange.questions:
            if question["method"] != "eth_getBlockByNumber":
                results.append(hex(CHAIN_ID if question["method"] == "eth_chainId" else head))
                continue
            tag = question["params"][0]
            height = head if tag == "latest" else int(tag, 16)
            results.append({"number": hex(height), "timestamp": hex(time_of(height))})
        exchange.results(*results)

    return behave


def every_two_seconds(height: int) -> int:
    return 1_000_000 + 2 * height


def time_of(height: int) -> datetime:
    return datetime.fromtimestamp(every_two_seconds(height), UTC)


def test_a_node_is_asked_for_the_block_of_a_time_once() -> None:
    with serving(node_with(every_two_seconds)) as node:
        client = EvmClient([node.url], CHAIN_ID)
        assert 1200 - CLOSE_ENOUGH <= client.block_at(time_of(1200)) <= 1200
        asked = len(node.heard)
        client.block_at(time_of(1200))
        assert len(node.heard) == asked
        assert client.block_at(time_of(-9)) == 0
        assert client.block_at(time_of(6000)) == 5000


@pytest.mark.parametrize("lie", [lambda height: 1, lambda height: 10**10])
def test_where_two_nodes_have_to_agree_the_lower_height_counts(lie: Callable[[int], int]) -> None:
    honest = node_with(every_two_seconds)
    with serving(node_with(lie)) as first, serving(honest) as second, serving(honest) as third:
        client = EvmClient([first.url, second.url, third.url], CHAIN_ID)
        assert client.block_at(time_of(1200)) <= 1200


def test_node_without_old_blocks_stays_healthy_without_height() -> None:
    def forgetful(exchange: Exchange) -> None:
        head = {"number": "0x1388", "timestamp": hex(every_two_seconds(5000))}
        exchange.results(
            *(head if question["params"] == ["latest", False] else None for question in exchange.questions)
        )

    with serving(forgetful) as node:
        client = EvmClient([node.url], CHAIN_ID)
        with pytest.raises(ChainError):
            client.block_at(time_of(1200))
        assert [health.state for health in client.health()] == [NodeState.ANSWERING]
