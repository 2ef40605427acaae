"""The values that the contracts of tokens and price feeds return."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TokenMetadata:
    """A token's metadata, from its contract or mint. `symbol` is None on Solana.

    If merchants can't request the token, `problem` is a sentence with the reason.
    """

    symbol: str | None
    decimals: int
    problem: str = ""


@dataclass(frozen=True)
class FeedAnswer:
    """The latest round of a price feed: `answer` with `decimals` fraction digits, updated at `updated_at` (Unix
    seconds). All are 0 if there is no round.
    """

    answer: int
    decimals: int
    updated_at: int
