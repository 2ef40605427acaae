"""Exponential backoff after repeated failures."""

_MAX_DOUBLINGS = 16  # a larger power of two would only overflow a float


def doubled(first: float, longest: float, doublings: int) -> float:
    """Return `first` doubled this many times (none if negative), at most `longest`. The caller chooses the unit."""
    return min(first * 2.0 ** min(max(doublings, 0), _MAX_DOUBLINGS), longest)
