"""Exponential backoff after repeated failures."""

_MAX_DOUBLINGS = 16  # a much larger power of two would overflow a float


def doubled(first: float, longest: float, doublings: int) -> float:
    """Return `first` doubled `doublings` times, but at most `longest`. A negative count is zero."""
    return min(first * 2.0 ** min(max(doublings, 0), _MAX_DOUBLINGS), longest)
