"""The inputs and the results of searches on a chain."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Watch:
    """A payment to search for without a transaction hash: `token` to `recipient`, carrying `reference`."""

    reference: bytes
    token: str
    recipient: str


@dataclass(frozen=True)
class Discovery:
    """The (reference, transaction hash) pairs found, and the block to continue from.

    A pair is a transfer of the watched token to the watched recipient with the reference. A pair may also be a
    transaction that delivered such tokens and has the reference in its input, but could not be read fully. `unreadable`
    counts the skipped pairs of block and recipient whose logs no node returns.
    """

    found: tuple[tuple[bytes, str], ...]
    next_block: int
    unreadable: int = 0


@dataclass(frozen=True)
class LoggedWords:
    """The (word, transaction hash) pairs found in logs, in the order of the chain, and the block to continue from."""

    found: tuple[tuple[bytes, str], ...]
    next_block: int


@dataclass(frozen=True)
class Arrivals:
    """The amounts that the found transactions moved: (recipient, transaction hash, amount in base units), sorted.

    The next search continues at `next_block`. `unreadable` counts the skipped pairs of block and recipient whose logs
    no node returns.
    """

    found: tuple[tuple[str, str, int], ...]
    next_block: int
    unreadable: int = 0


@dataclass(frozen=True)
class SearchLimits:
    """How `discover` searches a chain, and the limits of one search.

    `by_block`: a search covers a range of blocks for all of its watches (EVM logs). Otherwise a search looks up each
    watch separately, at any height (Solana); `since_block` and `next_block` then count watches, and 0 means that all
    are done. `watches` limits the watches per search, `searches` the searches per pass.
    """

    by_block: bool
    watches: int
    searches: int
