"""Decide when to poll a chain's head again: rarely just after a block, often when the next block is due. Pure."""

from dataclasses import dataclass

# Fractions of the block time.
_QUIET = 0.8
_FINE = 1 / 20
_OVERDUE = 2.0
_COARSE = 1 / 4
_SHORTEST_SECONDS = 0.05
_LONGEST_SECONDS = 2.0


@dataclass
class Pacing:
    """The pauses between polls of one chain's head. Times are seconds of the same monotonic clock."""

    block_seconds: float
    seen_at: float | None = None

    def saw_block(self, now: float) -> None:
        """Note that a new block was seen."""
        self.seen_at = now

    def pause(self, now: float) -> float:
        """Return the seconds until the next poll: about four polls for each block that arrives on time."""
        fine = self._within(self.block_seconds * _FINE)
        if self.seen_at is None:
            return fine
        age = now - self.seen_at
        if age < self.block_seconds * _QUIET:
            return max(self.block_seconds * _QUIET - age, fine)
        return fine if age < self.block_seconds * _OVERDUE else self._within(self.block_seconds * _COARSE)

    @staticmethod
    def _within(seconds: float) -> float:
        return min(max(seconds, _SHORTEST_SECONDS), _LONGEST_SECONDS)
