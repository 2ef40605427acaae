"""Why a chain's nodes sent no usable response."""


class ChainError(Exception):
    """No usable response from the chain's nodes. If `permanent`, a retry can't help. `retry_after` is in seconds."""

    def __init__(self, message: str, *, permanent: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.retry_after = retry_after


class StateMissing(ChainError):
    """No node has the chain's state at this block any more."""


class SweepsMissing(ChainError):
    """No node returns the sweeps of any of these addresses now."""
