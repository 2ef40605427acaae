"""Exponential backoff doubles up to its maximum, and never overflows."""

import pytest

from config.backoff import doubled


@pytest.mark.parametrize(("doublings", "seconds"), [(-1, 2), (0, 2), (1, 4), (4, 32), (5, 60), (10_000, 60)])
def test_a_wait_doubles_up_to_the_longest(doublings: int, seconds: float) -> None:
    assert doubled(2, 60, doublings) == seconds
