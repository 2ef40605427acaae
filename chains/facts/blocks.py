"""Blocks of a chain."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Block:
    """The block (on Solana the slot) that contains a transaction; `time` is the block's timestamp, in UTC."""

    number: int
    hash: str
    time: datetime
