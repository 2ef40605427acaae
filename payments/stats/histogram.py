"""How long things took, counted in steps, so that days and merchants can be added up and percentiles still be told.

Percentiles of parts can't be added; counts can. Each step is a quarter longer than the one before, so that what is told
is off by a seventh at most: enough to see whether payments take half a minute or half an hour.
"""

from collections.abc import Iterable, Sequence

_STEPS_PER_DOUBLING = 3
_LONGEST_MS = 24 * 3600 * 1000

BOUNDS_MS: tuple[int, ...] = tuple(
    round(1000 * 2 ** (step / _STEPS_PER_DOUBLING))
    for step in range(_STEPS_PER_DOUBLING * 17)
    if 1000 * 2 ** (step / _STEPS_PER_DOUBLING) <= _LONGEST_MS
)
"""Where one step ends and the next begins, in milliseconds: one second up to a day."""


def total(counts: Iterable[Sequence[int]]) -> list[int]:
    """Return the sum of these counts, step by step; shorter ones are as if they went on with zeros."""
    added = [0] * (len(BOUNDS_MS) + 1)
    for each in counts:
        for step, count in enumerate(each):
            added[step] += count
    return added


def percentile(counts: Sequence[int], part: int) -> int | None:
    """Return the milliseconds within which `part` per cent ended, or None if nothing did.

    The middle of the step in which that one lies; its edge for the first step and the last.
    """
    number = sum(counts)
    if number == 0:
        return None
    wanted = -(-number * part // 100)
    seen = 0
    for step, count in enumerate(counts):
        seen += count
        if seen >= wanted:
            return _middle(step)
    return _middle(len(counts) - 1)


def _middle(step: int) -> int:
    if step == 0:
        return BOUNDS_MS[0]
    if step >= len(BOUNDS_MS):
        return BOUNDS_MS[-1]
    return (BOUNDS_MS[step - 1] + BOUNDS_MS[step]) // 2
