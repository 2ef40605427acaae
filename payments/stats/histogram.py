"""Histograms of durations. The counts can be added up over days and merchants, and still give percentiles.

Each bucket is about a quarter longer than the one before, so a percentile is wrong by about a seventh at most.
"""

from collections.abc import Iterable, Sequence

_STEPS_PER_DOUBLING = 3
_LONGEST_MS = 24 * 3600 * 1000

BOUNDS_MS: tuple[int, ...] = tuple(
    round(1000 * 2 ** (step / _STEPS_PER_DOUBLING))
    for step in range(_STEPS_PER_DOUBLING * 17)
    if 1000 * 2 ** (step / _STEPS_PER_DOUBLING) <= _LONGEST_MS
)
"""The boundaries of the buckets in milliseconds, from one second to a day."""


def total(counts: Iterable[Sequence[int]]) -> list[int]:
    """Add up histograms by bucket. Shorter ones are padded with zeros."""
    added = [0] * (len(BOUNDS_MS) + 1)
    for each in counts:
        for step, count in enumerate(each):
            added[step] += count
    return added


def percentile(counts: Sequence[int], part: int) -> int | None:
    """Return the percentile `part` (such as 95) in milliseconds, or None if there is no data.

    The value is the middle of the bucket. For the first and the last bucket, it is the boundary.
    """
    number = sum(counts)
    if number == 0:
        return None
    rank = -(-number * part // 100)
    cumulative = 0
    for step, count in enumerate(counts):
        cumulative += count
        if cumulative >= rank:
            return _middle(step)
    return _middle(len(counts) - 1)


def _middle(step: int) -> int:
    if step == 0:
        return BOUNDS_MS[0]
    if step >= len(BOUNDS_MS):
        return BOUNDS_MS[-1]
    return (BOUNDS_MS[step - 1] + BOUNDS_MS[step]) // 2
