"""A chain's head is queried about four times a block, and most often when the next block is due."""

import pytest

from chains.heads.pacing import Pacing


def questions(pacing: Pacing, seconds: float) -> int:
    """Return the number of queries in this time. Each gets an immediate response, and there is no new block."""
    now, count = 0.0, 0
    while now < seconds:
        now += pacing.pause(now)
        count += 1
    return count


@pytest.mark.parametrize("block_seconds", [1.0, 2.0, 12.0])
def test_a_block_that_comes_in_time_costs_a_few_questions(block_seconds: float) -> None:
    pacing = Pacing(block_seconds)
    pacing.saw_block(0.0)
    assert questions(pacing, block_seconds) <= 5


@pytest.mark.parametrize(("block_seconds", "latest"), [(1.0, 0.051), (2.0, 0.101), (12.0, 0.61)])
def test_a_block_is_seen_soon_after_it_is_due(block_seconds: float, latest: float) -> None:
    pacing = Pacing(block_seconds)
    pacing.saw_block(0.0)
    now = 0.0
    while now < block_seconds:
        now += pacing.pause(now)
    assert now - block_seconds < latest


def test_a_chain_that_stands_still_is_asked_less_often() -> None:
    pacing = Pacing(2.0)
    pacing.saw_block(0.0)
    assert pacing.pause(60.0) == 0.5


@pytest.mark.parametrize(("block_seconds", "pause"), [(0.025, 0.05), (600.0, 2.0)])
def test_pauses_have_limits(block_seconds: float, pause: float) -> None:
    pacing = Pacing(block_seconds)
    assert pacing.pause(0.0) == pause
