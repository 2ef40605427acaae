"""The inputs and the results of searches on a chain."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Watch:
    """A payment to find, whose hash is unknown: a transfer of `token` to `recipient` with `reference`."""

    reference: bytes
    token: str
    recipient: str


@dataclass(frozen=True)
class Discovery:
    """The (reference, transaction hash) pairs that were found, and the block at which the next search begins.

    Each transaction transfers the watched token to the watched recipient, with the reference. If a transaction could
    not be read fully, the reference may be in another part of its input. `unreadable` counts the (block, recipient)
    pairs that were skipped because no node returns their logs.

    `doubtful` has pairs of which nothing is known but that the transaction names the reference: it could not be read at
    all. Anyone can send such transactions.
    """

    found: tuple[tuple[bytes, str], ...]
    next_block: int
    unreadable: int = 0
    doubtful: tuple[tuple[bytes, str], ...] = ()


@dataclass(frozen=True)
class LoggedWords:
    """The (word, transaction hash) pairs from logs, in chain order, and the block at which the next search begins."""

    found: tuple[tuple[bytes, str], ...]
    next_block: int


@dataclass(frozen=True)
class Arrivals:
    """The amounts that the found transactions moved: (recipient, transaction hash, amount in base units), sorted.

    The next search continues at `next_block`. `unreadable` counts the (block, recipient) pairs that were skipped
    because no node returns their logs.
    """

    found: tuple[tuple[str, str, int], ...]
    next_block: int
    unreadable: int = 0


@dataclass(frozen=True)
class SearchLimits:
    """How `discover` searches a chain, and the limits of one search.

    If `by_block`, a search reads the logs of a range of blocks for all of its watches (EVM). Otherwise it looks up each
    watch separately, at any height (Solana): `since_block` and `next_block` then count watches, and 0 means that all
    watches are done. A search has at most `watches` watches. At most `searches` searches run in a row.
    """

    by_block: bool
    watches: int
    searches: int
