"""The values that the contracts of tokens and price feeds return."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenMetadata:
    """A token's metadata as its contract or mint returns it; `symbol` is None on Solana.

    `problem` is a sentence on why merchants can't request the token, or empty.
    """

    symbol: str | None
    decimals: int
    problem: str = ""


@dataclass(frozen=True)
class FeedAnswer:
    """The latest round of a price feed: `answer` with `decimals`, at `updated_at` (Unix seconds); zeros if none."""

    answer: int
    decimals: int
    updated_at: int
